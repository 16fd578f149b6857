/* A transport whose accelerator takes no time: every request is answered at once, with zeros. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rbdhw.h"

enum { MOST = 4096, CODES = 64, HEADER = 4 };

struct echo {
    unsigned char headers[MOST][HEADER];
    size_t first, last;
    size_t bytes[CODES][2]; /* of answers, without and with optional arrays */
};

static struct echo echo;

static int open_echo(void *self)
{
    (void)self;
    return RBDHW_OK;
}

static void close_echo(void *self)
{
    (void)self;
}

static int send_packet(void *self, const unsigned char *packet, size_t bytes)
{
    (void)self;
    (void)bytes;
    memcpy(echo.headers[echo.last++ % MOST], packet, HEADER);
    return RBDHW_OK;
}

static int receive_packet(void *self, unsigned char *packet, size_t room, size_t *bytes, uint64_t wait)
{
    (void)self;
    (void)room;
    (void)wait;
    if (echo.first == echo.last)
        return RBDHW_TIMEOUT;
    const unsigned char *header = echo.headers[echo.first++ % MOST];
    *bytes = echo.bytes[header[2] & 31][header[2] >> 5 & 1];
    memset(packet, 0, *bytes);
    memcpy(packet, header, HEADER);
    return RBDHW_OK;
}

void echo_transport(struct rbdhw_transport *made, const struct rbdhw_design *design)
{
    for (int k = 0; k < design->functions; k++)
        for (int extended = 0; extended <= design->function[k].extensible; extended++)
            echo.bytes[design->function[k].code][extended] = (size_t)design->function[k].answer[extended].bytes;
    echo.first = echo.last = 0;
    const struct rbdhw_transport transport
        = {open_echo, close_echo, NULL, NULL, send_packet, receive_packet, NULL, 0, 0};
    *made = transport;
}

/* Returns the seconds of a call, by `run` of the driver. */
double echo_seconds(int (*run)(struct rbdhw_driver *, int, unsigned, size_t, const struct rbdhw_data *),
    struct rbdhw_driver *driver, int function, size_t tasks, const struct rbdhw_data *data, int calls)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int k = 0; k < calls; k++)
        if (run(driver, function, 0, tasks, data))
            abort();
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec)) / calls;
}
