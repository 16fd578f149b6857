/* The driver of an accelerator that rbdhw generated, in C11.
 *
 *     #include "design.h"
 *     #include "rbdhw.h"
 *
 *     struct rbdhw_driver *driver;
 *     int code = rbdhw_open(&driver, &rbdhw_design, &transport, NULL);
 *     code = rbdhw_run(driver, RBDHW_DESIGN_ID, 0, tasks, &data);
 *     rbdhw_close(driver);
 *
 * Every function that returns `int` returns a code of rbdhw_transport.h. Memory is allocated by rbdhw_open only.
 * There are no threads and no global variables: one thread at a time may use a driver. Of an accelerator with several
 * pairs of streams it uses one, that of its transport.
 *
 * Requests are repeated if no good answer comes in time. That is safe, because an answer depends on nothing but
 * the request and what was loaded, and the driver loads again what may have been lost. Those of `solve` and `mppi`
 * are not repeated: a solution may follow the last one, and a mean begins with the last one.
 */
#ifndef RBDHW_H
#define RBDHW_H

#include "rbdhw_design.h"
#include "rbdhw_transport.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The bits of a status; 0 says that an answer is good. */
enum {
    RBDHW_STATUS_OUTSIDE = 1,    /* an input was outside its domain, and limited to it */
    RBDHW_STATUS_OVERFLOW = 2,   /* a value inside did not fit its format */
    RBDHW_STATUS_MALFORMED = 4,  /* the request was malformed */
    RBDHW_STATUS_NOT_FINITE = 8  /* an input was infinite or not a number: results are NaN */
};

/* What a call asks for, in `options`. */
enum {
    RBDHW_EXTENDED = 1,   /* optional arrays, too */
    RBDHW_SET_SHIFT = 8   /* the set of loaded parameters, times 2^8 */
};

struct rbdhw_options {
    uint32_t window;            /* the most tasks in flight, a power of two up to 4096; 256 if zero */
    uint32_t attempts;          /* the most times that a request is sent; 4 if zero */
    uint64_t timeout;           /* nanoseconds from a request to its answer; 200 ms if zero */
    uint64_t quiet;             /* nanoseconds without a packet after which rbdhw_open takes the link for empty */
    uint64_t (*clock)(void *);  /* a time in nanoseconds that never goes back; that of the system if NULL */
    void *of_clock;             /* its argument */
    uint32_t first_tag;         /* where tags begin; chosen by the time if zero */
};

struct rbdhw_statistics {
    uint64_t tasks;                     /* answered */
    uint64_t retries, timeouts;         /* requests sent again, and attempts that ran out of time */
    uint64_t damaged, strays, reloads;  /* answers that were dropped, and how often all was loaded again */
    uint64_t outside, overflow, not_finite; /* flagged tasks by cause */
    uint64_t sent, received;            /* bytes */
    uint64_t busy;                      /* nanoseconds in calls */
};

struct rbdhw_driver;

/* Opens a transport and makes sure that the accelerator behind it has this design and is empty. `options` may be
 * NULL. Design, transport and what they point to have to stay until rbdhw_close. */
int rbdhw_open(struct rbdhw_driver **driver, const struct rbdhw_design *design,
    const struct rbdhw_transport *transport, const struct rbdhw_options *options);
void rbdhw_close(struct rbdhw_driver *driver);

/* The numbers of tasks, as arrays or as the integers of words. */
struct rbdhw_data {
    /* Arrays in the function's order, with a row for each task. One that is NULL is zero, or is not written. */
    const double *const *inputs;
    double *const *outputs;
    /* Instead of them, words in the order of the manifest, with a row for each task. */
    const int64_t *words;
    int64_t *results;
    unsigned char *status; /* a byte for each task, or NULL */
};

/* Computes tasks. */
int rbdhw_run(struct rbdhw_driver *driver, int function, unsigned options, size_t tasks,
    const struct rbdhw_data *data);

/* Sends one task and returns its ticket. RBDHW_BUSY: collect another one first. */
int rbdhw_submit(struct rbdhw_driver *driver, int function, unsigned options, const struct rbdhw_data *data,
    uint32_t *ticket);

/* Takes the answer of a ticket, in any order. RBDHW_PENDING: there is none within `wait` nanoseconds, and the
 * ticket stays good. Any other code ends the ticket, and so does a `data` of NULL, which drops the answer. */
int rbdhw_collect(struct rbdhw_driver *driver, uint32_t ticket, uint64_t wait, const struct rbdhw_data *data);

/* Loads inertial parameters into a set for all later tasks, when those that were sent before are answered. `data`
 * has one row of the command `load_parameters`; NULL stands for the robot's own. */
int rbdhw_load_parameters(struct rbdhw_driver *driver, int set, const struct rbdhw_data *data);

/* Loads the rows of later rollouts: `packets` packets of one of the commands `load`, `load_cost` and `load_gains`,
 * from the first step on, or of all residuals by `load_residual`; or those of `goal`, of one problem, which later
 * solutions take. The commands `solve`, `plan`, `mppi` and `mean` are run. Tasks of `solve` are never sent again. If
 * one is lost or doubled, or a warm one did not follow a solution that has gains because the accelerator was reset,
 * `plan` and runs with a `warm` task are RBDHW_FORGOTTEN until a run without one has solved. Of a design that solves
 * several problems together, a run of `solve` has whole groups: its last task has no `more`.
 * Tasks of `mppi` are never sent again, either. If one is lost or doubled, or the accelerator was reset behind one,
 * `mppi`, `mean` and rollouts are RBDHW_FORGOTTEN until `load` has loaded all rows of the horizon. */
int rbdhw_load_rows(struct rbdhw_driver *driver, int command, size_t packets, const struct rbdhw_data *data);

/* Computes rollouts of `steps` steps with the rows that were loaded. `data` has inputs of the command `rollout`;
 * its `steps` and `every` are the arguments here. Each rollout has rbdhw_answers(steps, every) rows of results and
 * statuses: one after each `every` steps and one after the last; only this one if `every` is zero. */
int rbdhw_rollout(struct rbdhw_driver *driver, unsigned options, size_t rollouts, int steps, int every,
    const struct rbdhw_data *data);
int rbdhw_answers(int steps, int every);

/* The counts since rbdhw_open. */
const struct rbdhw_statistics *rbdhw_statistics(const struct rbdhw_driver *driver);

/* The number of a function or command of a design; -1 if it has none of this name. */
int rbdhw_function(const struct rbdhw_design *design, const char *name);

#ifdef __cplusplus
}
#endif

#endif
