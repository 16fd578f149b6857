/* The conversion between arrays, the integers of words, and packets. */
#ifndef RBDHW_PACKETS_H
#define RBDHW_PACKETS_H

#include "rbdhw.h"

enum { RBDHW_SLACK = 16 }; /* the bytes behind a packet that may be read or written, too */

struct rbdhw_head {
    uint32_t tag, code, status;
    uint8_t extended, loaded;
};

/* Writes the integers of a task's words by their numbers in the manifest, those of arrays within the domain. Returns
 * the bits of the status that say which were not; what is loaded stays as it is. */
uint32_t rbdhw_encode(const struct rbdhw_function *function, const struct rbdhw_packet *request, int singles,
    const struct rbdhw_data *data, size_t task, int64_t *numbers);

/* Writes the results of a task from the packets of its request and its answer. `values` is room for as many numbers,
 * and behind them for an array. */
void rbdhw_decode(const struct rbdhw_function *function, int extended, int singles, const unsigned char *request,
    const unsigned char *packet, double *values, const struct rbdhw_data *data, size_t task);

/* Returns the status of an answered task with these bits; without finite numbers its results are NaN. */
uint32_t rbdhw_flag(
    const struct rbdhw_function *function, const struct rbdhw_data *data, size_t task, uint32_t flags, uint32_t status);

void rbdhw_write_packet(const struct rbdhw_packet *request, int singles, struct rbdhw_head head,
    const int64_t *numbers, unsigned char *packet);
struct rbdhw_head rbdhw_read_head(const unsigned char *packet);
int64_t rbdhw_read_number(
    const struct rbdhw_packet *answer, int singles, const unsigned char *packet, int number);

/* Returns whether all numbers of what is loaded are finite. */
int rbdhw_finite(const struct rbdhw_function *function, size_t tasks, const struct rbdhw_data *data);

#endif
