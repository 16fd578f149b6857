#include "exchange.h"

#include <string.h>

static const struct rbdhw_function *function_of(const struct rbdhw_driver *driver, int number)
{
    const struct rbdhw_design *design = driver->design;
    return number >= 0 && number < design->functions ? &design->function[number] : NULL;
}

/* Returns whether a call may ask for a function with options. */
static int is_allowed(const struct rbdhw_driver *driver, const struct rbdhw_function *function, unsigned options)
{
    const unsigned set = options >> RBDHW_SET_SHIFT, sets = (unsigned)driver->design->sets;
    return function && (!(options & RBDHW_EXTENDED) || function->extensible) && set < (sets ? sets : 1);
}

/* Notes the problem of a solution that is asked for, and whether it follows the last one. */
static void note_problem(const struct rbdhw_driver *driver, struct rbdhw_slot *slot)
{
    const struct rbdhw_solution_words *words = &driver->of_solution;
    const int64_t problem = words->problem ? driver->numbers[words->problem->number] : 0;
    const int known = problem >= 0 && problem <= (words->problem ? words->problem->highest : 0);
    slot->problem = known ? (uint16_t)problem : 0; /* others are refused */
    slot->is_warm = driver->numbers[words->warm->number] != 0;
}

/* Puts tasks of a job in line, from `next` on, as long as there are slots. Returns the next task. */
static size_t put_in_line(struct rbdhw_driver *driver, struct rbdhw_job *job, size_t next, size_t tasks)
{
    const struct rbdhw_function *function = job->function;
    const struct rbdhw_packet *request = &function->request[job->options & RBDHW_EXTENDED];
    for (struct rbdhw_slot *slot; next < tasks && (slot = rbdhw_take_slot(driver, job->is_load)) != NULL; next++) {
        slot->flags = rbdhw_encode(function, request, driver->design->singles, job->data, next, driver->numbers);
        if (job->steps) {
            driver->numbers[function->steps] = job->steps;
            driver->numbers[function->every] = job->every;
        }
        if (job->kept == &driver->solution)
            note_problem(driver, slot);
        slot->job = job;
        slot->task = next;
        slot->answers = job->steps ? (uint32_t)rbdhw_answers(job->steps, job->every) : 1;
        rbdhw_start(driver, slot, function, job->options, driver->numbers);
    }
    return next;
}

/* Waits for all tasks of a job. */
static int complete(struct rbdhw_driver *driver, struct rbdhw_job *job, size_t tasks)
{
    const uint64_t begin = rbdhw_time(driver);
    int code = RBDHW_OK;
    for (size_t next = 0; job->done < tasks && !code;) {
        next = put_in_line(driver, job, next, tasks);
        code = rbdhw_is_idle(driver) ? RBDHW_BUSY : rbdhw_pump(driver, UINT64_MAX);
        code = code ? code : job->code;
    }
    if (code)
        rbdhw_abandon(driver, job);
    if (code && job->kept)
        job->kept->is_torn = 1;
    driver->statistics.busy += rbdhw_time(driver) - begin;
    return code;
}

int rbdhw_submit(struct rbdhw_driver *driver, int number, unsigned options, const struct rbdhw_data *data,
    uint32_t *ticket)
{
    const struct rbdhw_function *function = function_of(driver, number);
    if (!is_allowed(driver, function, options) || function->load || rbdhw_kept_for(driver, function))
        return RBDHW_ARGUMENT;
    int code = rbdhw_pump(driver, 0); /* takes what has come */
    struct rbdhw_slot *slot = rbdhw_take_slot(driver, 0);
    if (code || !slot)
        return code ? code : RBDHW_BUSY;
    const struct rbdhw_packet *request = &function->request[options & RBDHW_EXTENDED];
    slot->flags = rbdhw_encode(function, request, driver->design->singles, data, 0, driver->numbers);
    slot->job = NULL;
    slot->answers = 1;
    driver->tickets += driver->options.window;
    *ticket = slot->ticket = driver->tickets + (uint32_t)(slot - driver->slots);
    rbdhw_start(driver, slot, function, options, driver->numbers);
    return rbdhw_send_ready(driver);
}

int rbdhw_collect(struct rbdhw_driver *driver, uint32_t ticket, uint64_t wait, const struct rbdhw_data *data)
{
    struct rbdhw_slot *slot = &driver->slots[ticket & (driver->options.window - 1)];
    const uint64_t begin = rbdhw_time(driver), until = begin + wait < begin ? UINT64_MAX : begin + wait;
    if (slot->state == RBDHW_FREE || slot->job || slot->ticket != ticket)
        return RBDHW_ARGUMENT;
    int code = RBDHW_OK;
    while (data && slot->state != RBDHW_ANSWERED && !code && (code = rbdhw_pump(driver, until)) == RBDHW_OK)
        if (slot->state != RBDHW_ANSWERED && driver->now >= until)
            return RBDHW_PENDING;
    code = code ? code : slot->code;
    if (data && !code) {
        const unsigned char *packet = rbdhw_answer_in(driver, slot);
        rbdhw_decode(slot->function, slot->extended, driver->design->singles, rbdhw_request_in(driver, slot), packet,
            driver->values, data, 0);
        const uint32_t status = rbdhw_flag(slot->function, data, 0, slot->flags, rbdhw_read_head(packet).status);
        if (data->status)
            *data->status = (unsigned char)status;
    }
    rbdhw_release(driver, slot);
    driver->statistics.busy += driver->now - begin;
    return code;
}

/* Loads packets of a command in their order, again from the first that is not confirmed; from the very first if that
 * one is refused, because those before it may be lost. */
static int load(struct rbdhw_driver *driver, const struct rbdhw_function *function, unsigned options, size_t packets,
    const int64_t *words, unsigned char *status)
{
    int code = RBDHW_OK;
    size_t loaded = 0, most = 0;
    for (uint32_t attempts = 0; loaded < packets && attempts < driver->options.attempts;) {
        const size_t first = loaded;
        const struct rbdhw_data data = {.words = words + first * (size_t)function->request[0].numbers,
            .status = status ? status + first : NULL};
        struct rbdhw_job job = {function, options, &data, 0, RBDHW_OK, 1, NULL, 0, 0};
        code = complete(driver, &job, packets - first);
        if (code && code != RBDHW_TIMEOUT && code != RBDHW_DAMAGED)
            return code;
        loaded = code == RBDHW_DAMAGED && !job.done ? 0 : loaded + job.done;
        attempts = loaded > most ? 0 : attempts + 1;
        most = loaded > most ? loaded : most;
    }
    return loaded < packets ? code : RBDHW_OK;
}

/* Loads the parameters of a set that are kept. The loads of a set that the accelerator counts are odd in number
 * whenever tasks are sent, so that an accelerator that was reset since is found out. */
static int load_set(struct rbdhw_driver *driver, int set, unsigned char *status)
{
    const struct rbdhw_function *function = driver->loads_parameters;
    const int64_t *words = driver->parameters + (size_t)set * (size_t)function->request[0].numbers;
    for (uint32_t attempts = 0; attempts <= driver->options.attempts; attempts++) {
        const int code = load(driver, function, (unsigned)set << RBDHW_SET_SHIFT, 1, words, status);
        if (code || driver->parity[set])
            return code;
    }
    return RBDHW_DAMAGED;
}

int rbdhw_restore(struct rbdhw_driver *driver)
{
    int code = RBDHW_OK;
    driver->is_loading = 1;
    rbdhw_hold(driver);
    if (driver->has_moved)
        rbdhw_tear(driver, &driver->plan); /* it is replaced by the rows that were loaded */
    for (uint32_t attempts = 0; driver->is_dirty && !code; attempts++) {
        if (attempts == driver->options.attempts)
            code = RBDHW_DAMAGED;
        driver->is_dirty = 0;
        driver->statistics.reloads++;
        for (int set = 0; set < driver->design->sets && !code; set++)
            code = load_set(driver, set, NULL);
        for (size_t k = 0; k < driver->loads && !code; k++)
            code = load(driver, driver->rows[k].function, 0, driver->rows[k].packets, driver->rows[k].words, NULL);
    }
    driver->is_dirty |= code != RBDHW_OK;
    driver->is_loading = 0;
    rbdhw_resume(driver);
    return code;
}

/* Waits until all that was sent before is answered, and until what was given up can come no more. */
static int settle(struct rbdhw_driver *driver)
{
    int code = driver->is_dirty ? rbdhw_restore(driver) : RBDHW_OK;
    while (!code && (!rbdhw_is_idle(driver) || rbdhw_time(driver) < driver->stray_until))
        code = rbdhw_pump(driver, rbdhw_is_idle(driver) ? driver->stray_until : UINT64_MAX);
    return code;
}

/* Returns whether a task of a run of `solve` follows the last solution. */
static int is_warm(struct rbdhw_driver *driver, size_t tasks, const struct rbdhw_data *data)
{
    const struct rbdhw_function *solves = driver->solution.moves;
    int warm = 0;
    for (size_t k = 0; k < tasks && !warm; k++) {
        (void)rbdhw_encode(solves, &solves->request[0], driver->design->singles, data, k, driver->numbers);
        warm = driver->numbers[driver->of_solution.warm->number] != 0;
    }
    return warm;
}

/* Sends a task that is refused, and waits for its answer: then all tasks before it are answered, too. It begins the
 * solutions of those that wait for others, and the next task is that of the first problem. */
static int begin_anew(struct rbdhw_driver *driver)
{
    const struct rbdhw_function *solves = driver->solution.moves;
    const struct rbdhw_data data = {.words = driver->numbers};
    int code = RBDHW_TIMEOUT;
    for (uint32_t attempts = 0; code == RBDHW_TIMEOUT && attempts < driver->options.attempts; attempts++) {
        struct rbdhw_job job = {solves, 0, &data, 0, RBDHW_OK, 0, &driver->solution, 0, 0};
        code = settle(driver);
        for (int k = 0; k < solves->request[0].numbers; k++)
            driver->numbers[k] = -1;
        code = code ? code : complete(driver, &job, 1);
    }
    code = code == RBDHW_DAMAGED ? RBDHW_OK : code; /* that it was refused */
    driver->solution.is_torn = code != RBDHW_OK;
    return code;
}

int rbdhw_run(struct rbdhw_driver *driver, int number, unsigned options, size_t tasks, const struct rbdhw_data *data)
{
    const struct rbdhw_function *function = function_of(driver, number);
    struct rbdhw_job job = {function, options, data, 0, RBDHW_OK, 0, NULL, 0, 0};
    if (!is_allowed(driver, function, options) || function->load || function->steps >= 0)
        return RBDHW_ARGUMENT;
    struct rbdhw_kept *kept = rbdhw_kept_for(driver, function);
    int code = driver->is_dirty ? rbdhw_restore(driver) : RBDHW_OK;
    if (!code && kept && kept->is_torn) {
        const int begins = function == driver->solution.moves && !is_warm(driver, tasks, data);
        code = begins ? begin_anew(driver) : RBDHW_FORGOTTEN;
    }
    if (code)
        return code;
    if (kept && function == kept->moves)
        job.kept = kept;
    driver->has_moved |= job.kept == &driver->plan;
    return complete(driver, &job, tasks);
}

/* Writes the words of packets of a command, so that they can be loaded again. */
static void keep_words(struct rbdhw_driver *driver, const struct rbdhw_function *function, size_t packets,
    const struct rbdhw_data *data, int64_t *words)
{
    const struct rbdhw_packet *request = &function->request[0];
    for (size_t k = 0; k < packets; k++)
        (void)rbdhw_encode(function, request, driver->design->singles, data, k, words + k * (size_t)request->numbers);
}

/* Ends a load. What could not be loaded is loaded before the next task. */
static int end_load(struct rbdhw_driver *driver, int code)
{
    driver->is_loading = 0;
    driver->is_dirty |= code != RBDHW_OK;
    return code;
}

int rbdhw_load_parameters(struct rbdhw_driver *driver, int set, const struct rbdhw_data *data)
{
    const struct rbdhw_function *function = driver->loads_parameters;
    if (!function || set < 0 || set >= driver->design->sets)
        return RBDHW_ARGUMENT;
    if (data && !rbdhw_finite(function, 1, data))
        return RBDHW_NOT_FINITE;
    int code = settle(driver);
    if (code)
        return code;
    const struct rbdhw_data own = {.words = driver->design->parameters};
    int64_t *words = driver->parameters + (size_t)set * (size_t)function->request[0].numbers;
    keep_words(driver, function, 1, data ? data : &own, words);
    driver->is_loading = 1;
    code = load_set(driver, set, data ? data->status : NULL);
    return end_load(driver, code);
}

/* Returns where the rows of packets of a command are kept; NULL if it loads none, or those of several problems. */
static struct rbdhw_rows *rows_of(struct rbdhw_driver *driver, const struct rbdhw_function *function, size_t packets,
    const struct rbdhw_data *data)
{
    struct rbdhw_rows *rows = driver->rows, *end = driver->rows + driver->loads;
    while (function && rows < end && rows->function != function)
        rows++;
    if (!function || rows == end || packets > rbdhw_most_packets(driver->design, function))
        return NULL;
    int64_t problem = 0;
    for (size_t k = 0; k < packets && rbdhw_problems(driver, function) > 1; k++) {
        (void)rbdhw_encode(
            function, &function->request[0], driver->design->singles, data, k, driver->numbers);
        const int64_t number = driver->numbers[driver->problem->number];
        if (number < 0 || number > driver->problem->highest || (k && number != problem))
            return NULL;
        problem = number;
    }
    return rows + problem;
}

int rbdhw_load_rows(struct rbdhw_driver *driver, int command, size_t packets, const struct rbdhw_data *data)
{
    const struct rbdhw_function *function = function_of(driver, command);
    struct rbdhw_rows *rows = rows_of(driver, function, packets, data);
    if (!rows)
        return RBDHW_ARGUMENT;
    if (!rbdhw_finite(function, packets, data))
        return RBDHW_NOT_FINITE;
    int code = settle(driver);
    if (code)
        return code;
    if (function == driver->loads_plan && packets == rbdhw_most_packets(driver->design, function))
        driver->has_moved = driver->plan.is_torn = 0; /* unless a task comes late in between */
    rows->packets = packets;
    keep_words(driver, function, packets, data, rows->words);
    driver->is_loading = 1;
    code = load(driver, function, 0, packets, rows->words, data->status);
    return end_load(driver, code);
}

int rbdhw_answers(int steps, int every)
{
    return every ? (steps - 1) / every + 1 : 1;
}

int rbdhw_rollout(struct rbdhw_driver *driver, unsigned options, size_t rollouts, int steps, int every,
    const struct rbdhw_data *data)
{
    const struct rbdhw_function *function = driver->rolls_out;
    struct rbdhw_job job = {function, options, data, 0, RBDHW_OK, 0, NULL, steps, every};
    if (!is_allowed(driver, function, options) || steps < 1 || every < 0 || every > driver->design->horizon)
        return RBDHW_ARGUMENT;
    for (size_t k = 0; k < driver->loads; k++)
        if (driver->rows[k].function->load == RBDHW_LOAD_ROWS
            && driver->rows[k].packets < rbdhw_packets(driver->rows[k].function, steps))
            return RBDHW_ARGUMENT; /* not as many rows were loaded */
    int code = driver->is_dirty ? rbdhw_restore(driver) : RBDHW_OK;
    if (!code && driver->plan.is_torn)
        code = RBDHW_FORGOTTEN; /* the forces of its rows are not known */
    return code ? code : complete(driver, &job, rollouts);
}
