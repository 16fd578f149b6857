/* What the engines of rbdhw call beside the driver: the design of this library, and transports in memory of its own. */
#include <stdlib.h>

#include "design.h"
#include "rbdhw_links.h"

const struct rbdhw_design *rbdhw_described(void)
{
    return &rbdhw_design;
}

void *rbdhw_new_serial(struct rbdhw_transport *made, const char *path, uint32_t baud)
{
    struct rbdhw_serial_port *serial = malloc(sizeof *serial);
    if (serial)
        rbdhw_serial(serial, made, &rbdhw_design, path, baud);
    return serial;
}

void *rbdhw_new_udp(struct rbdhw_transport *made, const char *host, const char *port)
{
    struct rbdhw_udp *udp = malloc(sizeof *udp);
    if (udp)
        rbdhw_udp(udp, made, &rbdhw_design, host, port);
    return udp;
}

void *rbdhw_new_xdma(struct rbdhw_transport *made, const char *path, uint32_t channel)
{
    struct rbdhw_xdma *xdma = malloc(sizeof *xdma);
    if (xdma)
        rbdhw_xdma(xdma, made, &rbdhw_design, path, channel);
    return xdma;
}

void *rbdhw_new_uio(struct rbdhw_transport *made, const char *dma, const char *registers, const char *buffer,
    const char *attributes)
{
    struct rbdhw_uio *uio = malloc(sizeof *uio);
    if (uio)
        rbdhw_uio(uio, made, &rbdhw_design, dma, registers, buffer, attributes);
    return uio;
}

void rbdhw_free(void *transport)
{
    free(transport);
}
