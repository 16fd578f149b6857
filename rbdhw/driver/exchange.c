#include "slots.h"

#include <string.h>

enum { KNOWN_STATUS = 15, STALLED = 2 };

static const uint64_t PATIENCE = 1000000; /* nanoseconds to wait for room on a link that takes nothing */

static const struct rbdhw_packet *answer_of(const struct rbdhw_slot *slot)
{
    return &slot->function->answer[slot->extended];
}

/* Moves a slot to another list, and counts what is on its way. */
static void move(struct rbdhw_driver *driver, struct rbdhw_slot *slot, enum rbdhw_state state)
{
    const size_t request = (size_t)slot->function->request[slot->extended].bytes;
    const size_t answer = (size_t)answer_of(slot)->bytes;
    if (slot->state == RBDHW_IN_FLIGHT) {
        driver->requests_on_way -= request;
        driver->answers_on_way -= answer;
    }
    if (slot->state != RBDHW_ANSWERED)
        rbdhw_unlink(driver, slot);
    if (state == RBDHW_IN_FLIGHT) {
        driver->requests_on_way += request;
        driver->answers_on_way += answer;
    }
    slot->state = (uint8_t)state;
    if (state != RBDHW_ANSWERED)
        rbdhw_append(driver, slot, state);
}

unsigned char *rbdhw_request_in(const struct rbdhw_driver *driver, const struct rbdhw_slot *slot)
{
    return driver->requests + rbdhw_number_of(driver, slot) * driver->request_bytes;
}

/* Gives a request a tag that none has on the way. */
static void give_tag(struct rbdhw_driver *driver, struct rbdhw_slot *slot)
{
    unsigned char *request = rbdhw_request_in(driver, slot);
    slot->generation++;
    slot->tag = (slot->generation * driver->options.window + rbdhw_number_of(driver, slot)) & 0xFFFF;
    request[0] = (unsigned char)slot->tag;
    request[1] = (unsigned char)(slot->tag >> 8);
}

uint64_t rbdhw_time(struct rbdhw_driver *driver)
{
    driver->now = driver->options.clock(driver->options.of_clock);
    return driver->now;
}

void rbdhw_empty(struct rbdhw_driver *driver, uint32_t first)
{
    for (int state = 0; state < RBDHW_ANSWERED; state++)
        driver->lists[state] = (struct rbdhw_list){RBDHW_NONE, RBDHW_NONE, 0};
    for (uint32_t k = 0; k < driver->options.window; k++) {
        driver->slots[k].generation = first;
        rbdhw_append(driver, &driver->slots[k], RBDHW_FREE);
    }
}

int rbdhw_is_idle(const struct rbdhw_driver *driver)
{
    return !driver->lists[RBDHW_READY].length && !driver->lists[RBDHW_IN_FLIGHT].length;
}

const unsigned char *rbdhw_answer_in(const struct rbdhw_driver *driver, const struct rbdhw_slot *slot)
{
    return driver->answers + rbdhw_number_of(driver, slot) * driver->answer_bytes;
}

struct rbdhw_slot *rbdhw_take_slot(struct rbdhw_driver *driver, int for_load)
{
    const uint32_t reserve = for_load ? 0 : driver->options.window / 8;
    return driver->lists[RBDHW_FREE].length > reserve ? rbdhw_first_of(driver, RBDHW_FREE) : NULL;
}

void rbdhw_release(struct rbdhw_driver *driver, struct rbdhw_slot *slot)
{
    move(driver, slot, RBDHW_FREE);
}

void rbdhw_start(struct rbdhw_driver *driver, struct rbdhw_slot *slot, const struct rbdhw_function *function,
    unsigned options, const int64_t *numbers)
{
    struct rbdhw_head head = {0};
    slot->function = function;
    slot->extended = head.extended = options & RBDHW_EXTENDED;
    slot->set = (uint8_t)(options >> RBDHW_SET_SHIFT);
    slot->attempts = 0;
    slot->code = RBDHW_OK;
    head.code = function->code;
    head.status = slot->set;
    rbdhw_write_packet(
        &function->request[slot->extended], driver->design->singles, head, numbers, rbdhw_request_in(driver, slot));
    give_tag(driver, slot);
    if (function->steps >= 0)
        memset(driver->seen + rbdhw_number_of(driver, slot) * driver->seen_bytes, 0, driver->seen_bytes);
    move(driver, slot, RBDHW_READY);
}

static int has_room(const struct rbdhw_driver *driver, const struct rbdhw_slot *slot)
{
    const struct rbdhw_transport *link = &driver->transport;
    if (!driver->requests_on_way)
        return 1;
    const size_t request = driver->requests_on_way + (size_t)slot->function->request[slot->extended].bytes;
    const size_t answer = driver->answers_on_way + (size_t)answer_of(slot)->bytes;
    return (!link->request_room || request <= link->request_room)
        && (!link->answer_room || answer <= link->answer_room);
}

int rbdhw_send_ready(struct rbdhw_driver *driver)
{
    for (struct rbdhw_slot *slot; (slot = rbdhw_first_of(driver, RBDHW_READY)) != NULL && has_room(driver, slot);) {
        const size_t bytes = (size_t)slot->function->request[slot->extended].bytes;
        const int code = driver->transport.send(driver->transport.self, rbdhw_request_in(driver, slot), bytes);
        if (code)
            return code;
        driver->statistics.sent += bytes;
        driver->statistics.retries += slot->attempts != 0;
        slot->attempts++;
        slot->deadline = driver->now + driver->options.timeout;
        move(driver, slot, RBDHW_IN_FLIGHT);
    }
    return RBDHW_OK;
}

/* Ends a request, with or without an answer. */
static void finish(struct rbdhw_driver *driver, struct rbdhw_slot *slot, int code)
{
    struct rbdhw_job *job = slot->job;
    if (!job) {
        slot->code = code;
        move(driver, slot, RBDHW_ANSWERED);
        return;
    }
    if (code && !job->code)
        job->code = code;
    job->done += code == RBDHW_OK;
    rbdhw_release(driver, slot);
}

/* Returns whether the order of a request among those of its job counts. */
static int is_in_order(const struct rbdhw_slot *slot)
{
    return slot->job && (slot->job->is_load || slot->job->kept);
}

/* Sends a request again, or gives it up. */
static void repeat(struct rbdhw_driver *driver, struct rbdhw_slot *slot, int code)
{
    driver->stray_until = driver->now + driver->options.timeout;
    if (slot->attempts >= driver->options.attempts || is_in_order(slot))
        finish(driver, slot, code);
    else
        move(driver, slot, RBDHW_READY);
}

/* Returns which of the answers of a rollout one is, by the number of steps so far; -1 if it is none. */
static int place_of(const struct rbdhw_job *job, int64_t step)
{
    if (step == job->steps)
        return rbdhw_answers(job->steps, job->every) - 1;
    if (!job->every || step <= 0 || step > job->steps || step % job->every)
        return -1;
    return (int)(step / job->every) - 1;
}

/* Stores an answer of a rollout; returns 0 if it is none. */
static int store_step(struct rbdhw_driver *driver, struct rbdhw_slot *slot, uint32_t status)
{
    const struct rbdhw_packet *answer = answer_of(slot);
    struct rbdhw_job *job = slot->job;
    const int singles = driver->design->singles;
    const int place = place_of(job, rbdhw_read_number(answer, singles, driver->packet, slot->function->step));
    if (place < 0)
        return 0;
    unsigned char *seen = driver->seen + rbdhw_number_of(driver, slot) * driver->seen_bytes + place / 8;
    slot->deadline = driver->now + driver->options.timeout; /* it is on its way */
    if (*seen >> place % 8 & 1)
        return 1;
    *seen = (unsigned char)(*seen | 1 << place % 8);
    const size_t row = slot->task * (size_t)rbdhw_answers(job->steps, job->every) + (size_t)place;
    rbdhw_decode(slot->function, slot->extended, singles, rbdhw_request_in(driver, slot), driver->packet, driver->values,
        job->data, row);
    status = rbdhw_flag(slot->function, job->data, row, slot->flags, status);
    if (job->data->status)
        job->data->status[row] = (unsigned char)status;
    slot->answers--;
    return 1;
}

static void count(struct rbdhw_statistics *statistics, uint32_t status)
{
    statistics->tasks++;
    statistics->outside += status & RBDHW_STATUS_OUTSIDE && 1;
    statistics->overflow += status & RBDHW_STATUS_OVERFLOW && 1;
    statistics->not_finite += status & RBDHW_STATUS_NOT_FINITE && 1;
}

/* Stores the answer to a task of a job; returns 0 if it is none. */
static int store_answer(struct rbdhw_driver *driver, struct rbdhw_slot *slot, uint32_t status)
{
    const struct rbdhw_data *data = slot->job->data;
    const int singles = driver->design->singles;
    if (slot->job->steps)
        return store_step(driver, slot, status);
    rbdhw_decode(slot->function, slot->extended, singles, rbdhw_request_in(driver, slot), driver->packet, driver->values,
        data, slot->task);
    status = rbdhw_flag(slot->function, data, slot->task, slot->flags, status);
    if (data->status)
        data->status[slot->task] = (unsigned char)status;
    slot->answers = 0;
    return 1;
}

static int64_t answered(const struct rbdhw_driver *driver, const struct rbdhw_slot *slot, const struct rbdhw_word *word)
{
    return rbdhw_read_number(answer_of(slot), driver->design->singles, driver->packet, word->number);
}

/* Returns whether the solution in `driver->packet` was to follow the last one, which has gains, and did not: the
 * accelerator was reset in between. Notes whether this one has gains: not one without iterations, or that failed. */
static int is_forgotten(struct rbdhw_driver *driver, const struct rbdhw_slot *slot)
{
    const struct rbdhw_solution_words *words = &driver->of_solution;
    uint8_t *can_follow = &driver->can_follow[slot->problem];
    const int forgotten = slot->is_warm && *can_follow && !answered(driver, slot, words->followed);
    *can_follow = answered(driver, slot, words->iterations) > 0 && answered(driver, slot, words->solved) <= STALLED;
    return forgotten;
}

/* Takes the answer in `driver->packet` to the task in a slot. */
static void store(struct rbdhw_driver *driver, struct rbdhw_slot *slot, uint32_t status)
{
    if (!slot->job) {
        unsigned char *kept = driver->answers + rbdhw_number_of(driver, slot) * driver->answer_bytes;
        memcpy(kept, driver->packet, (size_t)answer_of(slot)->bytes);
    } else if (!store_answer(driver, slot, status)) {
        driver->statistics.damaged++;
        repeat(driver, slot, RBDHW_DAMAGED);
        return;
    } else if (slot->answers) {
        return;
    }
    count(&driver->statistics, status | slot->flags);
    finish(driver, slot, RBDHW_OK);
}

/* Takes the answer to a load. Answers come in the order of loads, unless one was lost. */
static void store_load(struct rbdhw_driver *driver, struct rbdhw_slot *slot, struct rbdhw_head head)
{
    if (slot->task != slot->job->done) {
        finish(driver, slot, RBDHW_DAMAGED);
        return;
    }
    if (slot->function->load == RBDHW_LOAD_PARAMETERS)
        driver->parity[slot->set] = !head.loaded;
    if (slot->job->data->status)
        slot->job->data->status[slot->task] = (unsigned char)head.status;
    finish(driver, slot, RBDHW_OK);
}

struct rbdhw_kept *rbdhw_kept_for(struct rbdhw_driver *driver, const struct rbdhw_function *function)
{
    if (function == driver->solution.moves || function == driver->solution.reads)
        return &driver->solution;
    const int takes_plan = function == driver->rolls_out;
    return takes_plan || function == driver->plan.moves || function == driver->plan.reads ? &driver->plan : NULL;
}

void rbdhw_tear(struct rbdhw_driver *driver, struct rbdhw_kept *kept)
{
    kept->is_torn = 1;
    driver->stray_until = driver->now + driver->options.timeout;
    for (uint32_t k = 0; k < driver->options.window; k++) {
        struct rbdhw_slot *slot = &driver->slots[k];
        if (slot->state != RBDHW_FREE && slot->state != RBDHW_ANSWERED
            && rbdhw_kept_for(driver, slot->function) == kept)
            finish(driver, slot, RBDHW_DAMAGED);
    }
}

/* Notes that a task was repeated on the way, if it moved what is kept. The accelerator refuses a solution that is not
 * of the next problem. Any other task was computed twice, and followed itself. */
static void take_repeated(struct rbdhw_driver *driver, struct rbdhw_head head, struct rbdhw_kept *kept)
{
    if (kept->moves && head.code == kept->moves->code && !kept->is_torn)
        rbdhw_tear(driver, kept);
}

/* Takes an answer for which nothing waits. That of a load shows that a load was repeated on the way, perhaps an
 * old one. */
static void take_stray(struct rbdhw_driver *driver, struct rbdhw_head head)
{
    driver->statistics.strays++;
    take_repeated(driver, head, &driver->solution);
    take_repeated(driver, head, &driver->plan);
    for (int k = 0; k < driver->design->functions; k++)
        if (driver->design->function[k].code == head.code && driver->design->function[k].load)
            driver->is_dirty = 1;
}

/* Takes the answer in `driver->packet`. */
static void take(struct rbdhw_driver *driver, size_t bytes)
{
    const struct rbdhw_head head = rbdhw_read_head(driver->packet);
    struct rbdhw_slot *slot = &driver->slots[head.tag & (driver->options.window - 1)];
    driver->statistics.received += bytes;
    if (bytes < 4) {
        driver->statistics.damaged++;
        return;
    }
    if (slot->state != RBDHW_IN_FLIGHT || slot->tag != head.tag || slot->function->code != head.code
        || slot->extended != head.extended) {
        take_stray(driver, head);
        return;
    }
    if (bytes != (size_t)answer_of(slot)->bytes || head.status & RBDHW_STATUS_MALFORMED
        || head.status > KNOWN_STATUS) {
        driver->statistics.damaged++;
        const struct rbdhw_kept *kept = rbdhw_kept_for(driver, slot->function);
        driver->is_dirty |= kept && slot->function != kept->reads; /* perhaps its rows are lost */
        repeat(driver, slot, RBDHW_DAMAGED);
    } else if (slot->job && slot->job->is_load) {
        store_load(driver, slot, head);
    } else if (slot->job && slot->job->kept && slot->task != slot->job->done) {
        finish(driver, slot, RBDHW_DAMAGED); /* a task before it was lost, or came later */
    } else if (slot->function == driver->solution.moves && is_forgotten(driver, slot)) {
        finish(driver, slot, RBDHW_FORGOTTEN);
    } else if (slot->function->loaded && head.loaded != driver->parity[slot->set]) {
        driver->is_dirty = 1; /* the task had other parameters; it is sent again behind a load */
    } else {
        store(driver, slot, head.status);
    }
}

/* Takes answers that are there, of one window at most; returns their number, or less than zero for an error. */
static int take_all(struct rbdhw_driver *driver, uint64_t wait)
{
    int taken = 0;
    const struct rbdhw_transport *link = &driver->transport;
    while ((uint32_t)taken < driver->options.window && (driver->is_loading || !driver->is_dirty)) {
        size_t bytes = 0;
        const int code = link->receive(link->self, driver->packet, driver->answer_bytes, &bytes, taken ? 0 : wait);
        if (code == RBDHW_TIMEOUT)
            break;
        if (code)
            return -code;
        if (bytes)
            take(driver, bytes);
        taken++;
    }
    return taken;
}

/* Sends what is in line; RBDHW_TIMEOUT if the link has taken nothing for too long, with nothing on the way. */
static int push(struct rbdhw_driver *driver)
{
    const uint32_t waiting = driver->lists[RBDHW_READY].length;
    const int code = rbdhw_send_ready(driver);
    if (code && code != RBDHW_BUSY)
        return code;
    if (!waiting || driver->lists[RBDHW_READY].length < waiting || rbdhw_first_of(driver, RBDHW_IN_FLIGHT))
        driver->moved = driver->now;
    return driver->now - driver->moved > driver->options.timeout ? RBDHW_TIMEOUT : RBDHW_OK;
}

/* Takes what has come, for which it waits until `until` at most. */
static int pull(struct rbdhw_driver *driver, uint64_t until)
{
    int taken = take_all(driver, 0);
    if (!taken) {
        const struct rbdhw_slot *oldest = rbdhw_first_of(driver, RBDHW_IN_FLIGHT);
        const uint64_t now = rbdhw_time(driver);
        if (oldest && oldest->deadline < until)
            until = oldest->deadline;
        if (rbdhw_first_of(driver, RBDHW_READY) && now + PATIENCE < until)
            until = now + PATIENCE;
        taken = take_all(driver, until > now ? until - now : 0);
    }
    rbdhw_time(driver);
    return taken < 0 ? -taken : RBDHW_OK;
}

int rbdhw_pump(struct rbdhw_driver *driver, uint64_t until)
{
    int code = push(driver);
    if (!code)
        code = pull(driver, until);
    if (code)
        return code;
    for (struct rbdhw_slot *slot; (slot = rbdhw_first_of(driver, RBDHW_IN_FLIGHT)) != NULL
         && slot->deadline <= driver->now;) {
        driver->statistics.timeouts++;
        repeat(driver, slot, RBDHW_TIMEOUT);
    }
    return driver->is_dirty && !driver->is_loading ? rbdhw_restore(driver) : RBDHW_OK;
}

void rbdhw_hold(struct rbdhw_driver *driver)
{
    for (int state = RBDHW_READY; state <= RBDHW_IN_FLIGHT; state++)
        for (struct rbdhw_slot *slot; (slot = rbdhw_first_of(driver, (enum rbdhw_state)state)) != NULL;)
            move(driver, slot, RBDHW_HELD);
}

void rbdhw_resume(struct rbdhw_driver *driver)
{
    for (struct rbdhw_slot *slot; (slot = rbdhw_first_of(driver, RBDHW_HELD)) != NULL;) {
        if (slot->attempts >= driver->options.attempts || (slot->attempts && is_in_order(slot))) {
            finish(driver, slot, RBDHW_DAMAGED);
            continue;
        }
        give_tag(driver, slot);
        move(driver, slot, RBDHW_READY);
    }
}

void rbdhw_abandon(struct rbdhw_driver *driver, struct rbdhw_job *job)
{
    driver->stray_until = driver->now + driver->options.timeout;
    for (uint32_t k = 0; k < driver->options.window; k++) {
        struct rbdhw_slot *slot = &driver->slots[k];
        if (slot->job == job && slot->state != RBDHW_FREE && slot->state != RBDHW_ANSWERED)
            rbdhw_release(driver, slot);
    }
}
