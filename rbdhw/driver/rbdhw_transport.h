/* A transport carries packets between the driver and an accelerator, and reads and writes its registers. */
#ifndef RBDHW_TRANSPORT_H
#define RBDHW_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rbdhw_code {
    RBDHW_OK,
    RBDHW_BUSY,        /* nothing can be sent before something is received */
    RBDHW_TIMEOUT,     /* no answer in time */
    RBDHW_PENDING,     /* no answer yet */
    RBDHW_ABSENT,      /* no such device, or it cannot be opened */
    RBDHW_IN_USE,      /* another program has the device */
    RBDHW_LOST,        /* the device failed while it was in use */
    RBDHW_DAMAGED,     /* answers were damaged again and again */
    RBDHW_STRANGER,    /* what answers is no accelerator of rbdhw */
    RBDHW_OTHER,       /* the accelerator has another design */
    RBDHW_NOT_FINITE,  /* what is to be loaded is infinite or not a number */
    RBDHW_ARGUMENT,    /* no such function, set, row, step or array */
    RBDHW_NO_MEMORY,
    RBDHW_FORGOTTEN,   /* the last solution or mean is not known: begin without it */
    RBDHW_CODES
};

/* Returns the text of a code. */
const char *rbdhw_text(int code);

/* Functions return a code. None waits longer than it is told, or than a device takes that works. */
struct rbdhw_transport {
    int (*open)(void *self);
    void (*close)(void *self);
    /* Registers, by the address of their first byte. NULL in a transport that has none. */
    int (*read_register)(void *self, uint32_t address, uint32_t *value);
    int (*write_register)(void *self, uint32_t address, uint32_t value);
    /* Sends a packet of whole beats; RBDHW_BUSY, at once, if it has to be sent again later. */
    int (*send)(void *self, const unsigned char *packet, size_t bytes);
    /* Receives a packet; RBDHW_TIMEOUT if nothing comes within `wait` nanoseconds. `bytes` is zero if only a part of
     * a packet came. Of a packet longer than `room`, which is damaged, the rest is dropped. */
    int (*receive)(void *self, unsigned char *packet, size_t room, size_t *bytes, uint64_t wait);
    void *self;
    /* The bytes that the way to the accelerator, and the way back, hold while nobody takes them; 0 if nothing is
     * lost when they are full. */
    size_t request_room, answer_room;
};

#ifdef __cplusplus
}
#endif

#endif
