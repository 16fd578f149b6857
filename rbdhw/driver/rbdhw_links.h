/* Transports to boards. Each begins with a structure of the caller's that has to stay as long as the transport. */
#ifndef RBDHW_LINKS_H
#define RBDHW_LINKS_H

#include "frames.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A serial port: packets in frames. */
struct rbdhw_serial_port {
    const char *path;
    uint32_t baud;
    int file;
    struct rbdhw_frames frames;
};
void rbdhw_serial(struct rbdhw_serial_port *serial, struct rbdhw_transport *made, const struct rbdhw_design *design,
    const char *path, uint32_t baud);

/* UDP: the frames of a serial line in datagrams, each a whole frame where it fits. */
struct rbdhw_udp {
    const char *host, *port; /* 192.168.1.50, or a name; 21072 */
    int file;
    struct rbdhw_frames frames;
};
void rbdhw_udp(struct rbdhw_udp *udp, struct rbdhw_transport *made, const struct rbdhw_design *design,
    const char *host, const char *port);

/* The character devices of AMD's XDMA driver: PATH_h2c_N, PATH_c2h_N, and PATH_user with the registers. Packets are
 * read and written by the kernel's asynchronous transfers, because no read of these devices can be given up. */
enum { RBDHW_XDMA_READS = 16, RBDHW_XDMA_WRITES = 16, RBDHW_XDMA_BEAT = 128 };
struct rbdhw_xdma {
    const char *path;
    uint32_t channel;
    size_t beat_bytes, read_bytes, stride; /* of the streams, of a read, and from one buffer to the next */
    int requests, answers;                 /* files */
    volatile uint32_t *registers;
    unsigned long context;                 /* of the transfers */
    unsigned char *buffers;                /* of reads, of writes, and of an answer */
    size_t joined;                         /* bytes of the answer */
    uint32_t next_read, next_write;
    int64_t moved[RBDHW_XDMA_READS + RBDHW_XDMA_WRITES]; /* the bytes of each transfer, -1 while it is not complete */
};
void rbdhw_xdma(struct rbdhw_xdma *xdma, struct rbdhw_transport *made, const struct rbdhw_design *design,
    const char *path, uint32_t channel);

/* AMD's AXI DMA in simple mode, by UIO, with a buffer of u-dma-buf. */
struct rbdhw_uio {
    const char *dma, *registers_of, *buffer; /* /dev/uio0, /dev/uio1, /dev/udmabuf0 */
    const char *attributes;                  /* of the buffer: /sys/class/u-dma-buf/udmabuf0 */
    size_t request_bytes, answer_bytes;      /* of the longest ones */
    int files[3];
    volatile uint32_t *control, *registers;
    unsigned char *memory; /* of the buffer: a half for requests, a half for answers */
    size_t size;
    uint64_t physical;
    int is_sending;
};
/* If `attributes` is NULL, they are at their place in sysfs. */
void rbdhw_uio(struct rbdhw_uio *uio, struct rbdhw_transport *made, const struct rbdhw_design *design,
    const char *dma, const char *registers, const char *buffer, const char *attributes);

/* Finds the bytes of the longest packets of a design. A reset makes an answer that it cuts longer than any. */
void rbdhw_longest(const struct rbdhw_design *design, size_t *request, size_t *answer);

#ifdef __cplusplus
}
#endif

#endif
