/* Packets as frames on a line of bytes: the bytes of the packet, their CRC-16 (polynomial 0x1021, first value 0xFFFF),
 * high byte first, and an END. END and ESCAPE inside are escaped (SLIP, RFC 1055). Frames that are not whole are
 * dropped. */
#ifndef RBDHW_FRAMES_H
#define RBDHW_FRAMES_H

#include "rbdhw_design.h"
#include "rbdhw_transport.h"

enum { RBDHW_DATAGRAM = 1472 }; /* the most bytes of UDP in a frame of Ethernet */

/* A line. Reading and writing return at once, or within `wait` nanoseconds, with the number of bytes that were moved,
 * which may be zero. */
struct rbdhw_line {
    int (*open)(void *self);
    void (*close)(void *self);
    int (*read)(void *self, unsigned char *bytes, size_t room, size_t *count, uint64_t wait);
    int (*write)(void *self, const unsigned char *bytes, size_t size, size_t *count);
    void *self;
};

struct rbdhw_frames {
    const struct rbdhw_design *design;
    struct rbdhw_line line;
    uint64_t dropped;
    unsigned char *frame, *body; /* what is being sent, and what is being received */
    size_t room;                 /* of each */
    size_t written, size;        /* of the frame */
    size_t length;               /* of the body */
    size_t read, available;      /* of the bytes in `bytes` */
    int is_escaped, is_broken;
    uint16_t tag;                /* of the last access to a register */
    unsigned char bytes[RBDHW_DATAGRAM]; /* room for what a read may bring at once */
};

/* Allocates room for the packets of a design; RBDHW_NO_MEMORY if there is none. */
int rbdhw_frames_open(struct rbdhw_frames *frames, const struct rbdhw_design *design, struct rbdhw_line line);
void rbdhw_frames_close(struct rbdhw_frames *frames);

/* As in a transport. */
int rbdhw_frames_send(struct rbdhw_frames *frames, const unsigned char *packet, size_t bytes);
int rbdhw_frames_receive(
    struct rbdhw_frames *frames, unsigned char *packet, size_t room, size_t *bytes, uint64_t wait);

/* Registers by packets of code 63, while no request is on the way. RBDHW_STRANGER: the board has none. */
int rbdhw_frames_read_register(struct rbdhw_frames *frames, uint32_t address, uint32_t *value);
int rbdhw_frames_write_register(struct rbdhw_frames *frames, uint32_t address, uint32_t value);

/* Makes the transport over a line to a board. */
void rbdhw_frames_transport(struct rbdhw_frames *frames, struct rbdhw_transport *made,
    const struct rbdhw_design *design, struct rbdhw_line line);

#endif
