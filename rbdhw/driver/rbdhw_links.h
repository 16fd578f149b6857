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

/* The character devices of AMD's XDMA driver: PATH_h2c_N, PATH_c2h_N, and PATH_user with the registers. */
enum { RBDHW_XDMA_READS = 16 };
struct rbdhw_xdma {
    const char *path;
    uint32_t channel;
    size_t answer_bytes;   /* of a buffer for an answer */
    int requests, answers; /* files */
    volatile uint32_t *registers;
    unsigned long context; /* of asynchronous reads */
    unsigned char *buffers;
    uint32_t next;         /* the read that ends next */
    int64_t read[RBDHW_XDMA_READS]; /* the bytes of each, -1 while it is not complete */
};
void rbdhw_xdma(struct rbdhw_xdma *xdma, struct rbdhw_transport *made, const struct rbdhw_design *design,
    const char *path, uint32_t channel);

/* AMD's AXI DMA in simple mode, by UIO, with a buffer of u-dma-buf. */
struct rbdhw_uio {
    const char *dma, *registers_of, *buffer; /* /dev/uio0, /dev/uio1, and udmabuf0 */
    size_t answer_bytes;
    int files[3];
    volatile uint32_t *control, *registers;
    unsigned char *memory; /* of the buffer: a half for requests, a half for answers */
    size_t size;
    uint64_t physical;
    int is_sending;
};
void rbdhw_uio(struct rbdhw_uio *uio, struct rbdhw_transport *made, const struct rbdhw_design *design,
    const char *dma, const char *registers, const char *buffer);

/* Returns the bytes of the longest packet that a design sends: a reset makes an answer that it cuts longer than any. */
size_t rbdhw_longest_answer(const struct rbdhw_design *design);

#ifdef __cplusplus
}
#endif

#endif
