/* The transport to an accelerator in Verilator, for programs that are tried without a board. */
#ifndef RBDHW_SIMULATED_H
#define RBDHW_SIMULATED_H

#include "rbdhw_transport.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes an accelerator that has just been reset, with a clock of this period; NULL without memory. Time is that of its
 * clock, which runs only while the driver waits. After `patience` cycles in which nothing moves, a wait is over. */
void *rbdhw_simulated_new(double period_ns, int64_t patience);
void rbdhw_simulated_delete(void *self);

/* Fills in the transport to it, which has to be gone before the accelerator is deleted. */
void rbdhw_simulated_transport(void *self, struct rbdhw_transport *made);

void rbdhw_simulated_reset(void *self);

/* Its time in nanoseconds, for the options `clock` and `of_clock` of a driver. */
uint64_t rbdhw_simulated_clock(void *self);

#ifdef __cplusplus
}
#endif

#endif
