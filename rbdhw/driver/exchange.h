/* Requests in flight: each is sent until its answer comes, or as often as the options say. */
#ifndef RBDHW_EXCHANGE_H
#define RBDHW_EXCHANGE_H

#include "packets.h"

/* What an accelerator keeps from one task for the next: the last solution, or the plan of means of samples. */
struct rbdhw_kept {
    const struct rbdhw_function *moves, *reads; /* commands that follow and replace it, and that read it; or NULL */
    int is_torn; /* it is not known: a task may have been lost or computed twice */
};

/* A call that waits for answers. */
struct rbdhw_job {
    const struct rbdhw_function *function;
    unsigned options;
    const struct rbdhw_data *data;
    size_t done;       /* tasks that are answered */
    int code;          /* the error of a task that was given up */
    int is_load;       /* packets have an effect in their order, so one that fails ends the job, */
    struct rbdhw_kept *kept; /* and so have tasks that follow and replace what is kept; NULL for others */
    int steps, every;  /* of rollouts */
};

enum rbdhw_state { RBDHW_FREE, RBDHW_READY, RBDHW_IN_FLIGHT, RBDHW_HELD, RBDHW_ANSWERED };

struct rbdhw_slot {
    struct rbdhw_job *job; /* NULL for the task of a ticket */
    const struct rbdhw_function *function;
    size_t task;
    uint64_t deadline;
    uint32_t generation, ticket, tag;
    uint32_t flags; /* of the status: inputs that were limited, or not finite */
    uint32_t attempts, answers; /* times that it was sent, and answers that are missing */
    uint16_t previous, next;
    uint16_t problem; /* of a solution */
    uint8_t state, extended, set;
    uint8_t is_warm; /* a solution that follows the last one */
    int code;
};

struct rbdhw_list {
    uint16_t first, last;
    uint32_t length;
};

/* The words of tasks and answers of `solve` that say what it follows; `problem` is NULL if there is one alone. */
struct rbdhw_solution_words {
    const struct rbdhw_word *warm, *problem, *iterations, *solved, *followed;
};

/* What was loaded, to load it again. */
struct rbdhw_rows {
    const struct rbdhw_function *function;
    size_t packets;
    int64_t *words;
};

struct rbdhw_driver {
    const struct rbdhw_design *design;
    const struct rbdhw_function *loads_parameters, *loads_plan, *rolls_out; /* commands; NULL if there is none */
    struct rbdhw_kept solution, plan; /* a group of solutions is one: some of its tasks may wait for others */
    int has_moved;                    /* the plan is not what was loaded any more */
    const struct rbdhw_word *problem; /* the word of a goal's problem; NULL unless several are solved together */
    struct rbdhw_solution_words of_solution;
    struct rbdhw_transport transport;
    struct rbdhw_options options;
    struct rbdhw_statistics statistics;
    uint64_t now;
    uint64_t moved;       /* when the link last took a request */
    uint64_t stray_until; /* when packets that were given up may still come */
    uint32_t tickets;
    size_t request_bytes, answer_bytes, seen_bytes; /* of a slot */
    size_t requests_on_way, answers_on_way;         /* in bytes */
    struct rbdhw_slot *slots;
    struct rbdhw_list lists[RBDHW_ANSWERED];
    unsigned char *requests, *answers, *seen, *packet;
    int64_t *numbers;
    double *values;
    uint8_t *parity;         /* of the loads of each set */
    uint8_t *can_follow;     /* whether the last solution of each problem has gains */
    int64_t *parameters;     /* words of each set */
    struct rbdhw_rows *rows; /* of rollouts, and of the goal of each problem */
    size_t loads;            /* their number */
    int is_dirty, is_loading; /* something else may be loaded than should be; it is being loaded */
};

/* Makes all slots free. Tags begin at `first`. */
void rbdhw_empty(struct rbdhw_driver *driver, uint32_t first);

/* Returns whether nothing is in flight or in line. */
int rbdhw_is_idle(const struct rbdhw_driver *driver);

/* Returns a slot for a request; NULL if there is none. Some are kept for loads. */
struct rbdhw_slot *rbdhw_take_slot(struct rbdhw_driver *driver, int for_load);
void rbdhw_release(struct rbdhw_driver *driver, struct rbdhw_slot *slot);

/* Writes the request of a task into a slot, and puts it in line. */
void rbdhw_start(struct rbdhw_driver *driver, struct rbdhw_slot *slot, const struct rbdhw_function *function,
    unsigned options, const int64_t *numbers);

/* Returns the packet of the answer to a ticket. */
unsigned char *rbdhw_request_in(const struct rbdhw_driver *driver, const struct rbdhw_slot *slot);
const unsigned char *rbdhw_answer_in(const struct rbdhw_driver *driver, const struct rbdhw_slot *slot);

/* Sends what is in line, as far as there is room. */
int rbdhw_send_ready(struct rbdhw_driver *driver);

/* Sends what is in line, takes what has come, for which it waits until `until` at most, and repeats what is late. */
int rbdhw_pump(struct rbdhw_driver *driver, uint64_t until);

/* Returns the packets of a command that loads rows for so many steps, and the most that it may have. */
size_t rbdhw_packets(const struct rbdhw_function *function, int32_t steps);
size_t rbdhw_most_packets(const struct rbdhw_design *design, const struct rbdhw_function *function);

/* Returns the number of problems whose rows a command loads. */
size_t rbdhw_problems(const struct rbdhw_driver *driver, const struct rbdhw_function *function);

/* Takes requests in flight or in line out of them, so that answers to them are ignored; then puts them in line. */
void rbdhw_hold(struct rbdhw_driver *driver);
void rbdhw_resume(struct rbdhw_driver *driver);

/* Returns what an accelerator keeps on which tasks of a command depend; NULL for others. */
struct rbdhw_kept *rbdhw_kept_for(struct rbdhw_driver *driver, const struct rbdhw_function *function);

/* Gives up all requests that depend on what is kept, because that is not known any more. */
void rbdhw_tear(struct rbdhw_driver *driver, struct rbdhw_kept *kept);

/* Gives up all requests of a job. */
void rbdhw_abandon(struct rbdhw_driver *driver, struct rbdhw_job *job);

/* Loads all again that was loaded. */
int rbdhw_restore(struct rbdhw_driver *driver);

/* Checks by its registers that an accelerator has the driver's design, and resets it. */
int rbdhw_identify(struct rbdhw_driver *driver);

uint64_t rbdhw_time(struct rbdhw_driver *driver);

#endif
