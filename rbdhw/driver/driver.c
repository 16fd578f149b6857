#include "exchange.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_WINDOW = 4096, DEFAULT_WINDOW = 256, LEAST_WINDOW = 8, DEFAULT_ATTEMPTS = 4, DRAINS = 100 };

static const uint64_t DEFAULT_TIMEOUT = 200000000, DEFAULT_QUIET = 20000000, SECOND = 1000000000;

const char *rbdhw_text(int code)
{
    static const char *const texts[RBDHW_CODES] = {"done", "all places are taken by answers that nobody collects",
        "no answer in time", "no answer yet", "no such device, or it cannot be opened", "another program has the device",
        "the device failed in use", "answers are damaged again and again", "what answers is no accelerator of rbdhw",
        "the accelerator has another design", "what is to be loaded is infinite or not a number",
        "no such function, set, row, step or array", "no memory",
        "the last solution or mean is not known; solve without warm, or load all rows"};
    return code >= 0 && code < RBDHW_CODES ? texts[code] : "unknown code";
}

int rbdhw_function(const struct rbdhw_design *design, const char *name)
{
    for (int k = 0; k < design->functions; k++)
        if (!strcmp(design->function[k].name, name))
            return k;
    return -1;
}

const struct rbdhw_statistics *rbdhw_statistics(const struct rbdhw_driver *driver)
{
    return &driver->statistics;
}

static uint64_t system_clock(void *unused)
{
    struct timespec now;
    (void)unused;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* Fills in the options that are zero; returns whether the others are usable. */
static int complete(struct rbdhw_options *options)
{
    options->window = options->window ? options->window : DEFAULT_WINDOW;
    options->attempts = options->attempts ? options->attempts : DEFAULT_ATTEMPTS;
    options->timeout = options->timeout ? options->timeout : DEFAULT_TIMEOUT;
    options->quiet = options->quiet ? options->quiet : DEFAULT_QUIET;
    options->clock = options->clock ? options->clock : system_clock;
    const uint32_t window = options->window;
    return window >= LEAST_WINDOW && window <= MOST_WINDOW && !(window & (window - 1));
}

/* Returns whether there are slots for a whole group of problems, beside those that are kept for loads. */
static int holds_group(const struct rbdhw_driver *driver)
{
    const uint32_t window = driver->options.window;
    return !driver->problem || driver->problem->highest < (int64_t)(window - window / 8);
}

static size_t larger(size_t one, size_t other)
{
    return one > other ? one : other;
}

/* Finds the room that a slot takes, and returns the most words of a packet. Writes the size of the largest result. */
static size_t measure(struct rbdhw_driver *driver, size_t *largest)
{
    const struct rbdhw_design *design = driver->design;
    size_t words = 1;
    *largest = 0;
    for (int k = 0; k < design->functions; k++)
        for (int array = 0; array < design->function[k].outputs; array++)
            *largest = larger(*largest, (size_t)design->function[k].output[array].size);
    driver->request_bytes = driver->answer_bytes = 8;
    for (int k = 0; k < design->functions; k++)
        for (int extended = 0; extended <= design->function[k].extensible; extended++) {
            const struct rbdhw_packet *request = &design->function[k].request[extended];
            const struct rbdhw_packet *answer = &design->function[k].answer[extended];
            driver->request_bytes = larger(driver->request_bytes, (size_t)request->bytes);
            driver->answer_bytes = larger(driver->answer_bytes, (size_t)answer->bytes);
            words = larger(words, larger((size_t)request->numbers, (size_t)answer->numbers));
        }
    driver->request_bytes += RBDHW_SLACK;
    driver->answer_bytes += RBDHW_SLACK;
    driver->seen_bytes = (size_t)design->horizon / 8 + 1;
    return words;
}

size_t rbdhw_packets(const struct rbdhw_function *function, int32_t steps)
{
    return function->packets < 0 ? (size_t)-function->packets : (size_t)steps * (size_t)function->packets;
}

size_t rbdhw_most_packets(const struct rbdhw_design *design, const struct rbdhw_function *function)
{
    return rbdhw_packets(function, function->load == RBDHW_LOAD_GOAL ? design->knots : design->horizon);
}

size_t rbdhw_problems(const struct rbdhw_driver *driver, const struct rbdhw_function *function)
{
    return function->load == RBDHW_LOAD_GOAL && driver->problem ? (size_t)driver->problem->highest + 1 : 1;
}

static int loads_rows(const struct rbdhw_function *function)
{
    return function->load == RBDHW_LOAD_ROWS || function->load == RBDHW_LOAD_GOAL;
}

/* Allocates room for the rows of the commands that load them, for each problem of a goal. */
static int allocate_rows(struct rbdhw_driver *driver)
{
    const struct rbdhw_design *design = driver->design;
    size_t count = 1;
    for (int k = 0; k < design->functions; k++)
        count += loads_rows(&design->function[k]) ? rbdhw_problems(driver, &design->function[k]) : 0;
    driver->rows = calloc(count, sizeof *driver->rows);
    for (int k = 0; driver->rows && k < design->functions; k++) {
        const struct rbdhw_function *function = &design->function[k];
        const size_t most = rbdhw_most_packets(design, function);
        for (size_t i = 0; loads_rows(function) && i < rbdhw_problems(driver, function); i++) {
            struct rbdhw_rows *rows = &driver->rows[driver->loads++];
            rows->function = function;
            rows->words = calloc(most * (size_t)function->request[0].numbers, sizeof *rows->words);
            if (!rows->words)
                return 0;
        }
    }
    return driver->rows != NULL;
}

static int allocate(struct rbdhw_driver *driver)
{
    size_t largest;
    const size_t words = measure(driver, &largest), window = driver->options.window;
    const size_t sets = (size_t)driver->design->sets + 1;
    driver->slots = calloc(window, sizeof *driver->slots);
    driver->requests = calloc(window, driver->request_bytes);
    driver->answers = calloc(window, driver->answer_bytes);
    driver->seen = calloc(window, driver->seen_bytes);
    driver->packet = calloc(1, driver->answer_bytes);
    driver->numbers = calloc(words, sizeof *driver->numbers);
    driver->values = calloc(words + largest, sizeof *driver->values);
    driver->parity = calloc(sets, sizeof *driver->parity);
    driver->can_follow = calloc(driver->problem ? (size_t)driver->problem->highest + 1 : 1, sizeof *driver->can_follow);
    driver->parameters = calloc(sets * words, sizeof *driver->parameters);
    return driver->slots && driver->requests && driver->answers && driver->seen && driver->packet
        && driver->numbers && driver->values && driver->parity && driver->can_follow && driver->parameters
        && allocate_rows(driver);
}

static void free_all(struct rbdhw_driver *driver)
{
    for (size_t k = 0; k < driver->loads; k++)
        free(driver->rows[k].words);
    free(driver->rows);
    free(driver->slots);
    free(driver->requests);
    free(driver->answers);
    free(driver->seen);
    free(driver->packet);
    free(driver->numbers);
    free(driver->values);
    free(driver->parity);
    free(driver->can_follow);
    free(driver->parameters);
    free(driver);
}

/* Drops what an earlier host left on the link. */
static int drain(struct rbdhw_driver *driver)
{
    const struct rbdhw_transport *link = &driver->transport;
    const uint64_t end = rbdhw_time(driver) + DRAINS * driver->options.quiet;
    for (size_t bytes; rbdhw_time(driver) < end;) {
        const int code
            = link->receive(link->self, driver->packet, driver->answer_bytes, &bytes, driver->options.quiet);
        if (code)
            return code == RBDHW_TIMEOUT ? RBDHW_OK : code;
    }
    return RBDHW_STRANGER; /* it talks without end */
}

/* Loads the robot's own parameters into all sets: an earlier host may have loaded others. */
static int load_all(struct rbdhw_driver *driver)
{
    int code = RBDHW_OK;
    for (int set = 0; set < driver->design->sets && !code; set++)
        code = rbdhw_load_parameters(driver, set, NULL);
    return code;
}

static int start(struct rbdhw_driver *driver)
{
    int code = driver->transport.open(driver->transport.self);
    if (code)
        return code;
    code = rbdhw_identify(driver);
    if (!code)
        code = drain(driver);
    if (!code)
        code = load_all(driver);
    if (code)
        driver->transport.close(driver->transport.self);
    return code;
}

/* Returns the word of a number in packets, whose words are those of arrays; NULL if they have none of this name. */
static const struct rbdhw_word *word_in(
    const struct rbdhw_packet *packet, const struct rbdhw_array *arrays, const char *name)
{
    for (int k = 0; k < packet->words; k++)
        if (!strcmp(arrays[packet->word[k].array].name, name))
            return &packet->word[k];
    return NULL;
}

/* Notes the command that solves, and the words that say what a solution followed. */
static void find_solutions(struct rbdhw_driver *driver, const struct rbdhw_function *function)
{
    const struct rbdhw_packet *request = &function->request[0], *answer = &function->answer[0];
    struct rbdhw_solution_words *words = &driver->of_solution;
    driver->solution.moves = function;
    words->warm = word_in(request, function->input, "warm");
    words->problem = word_in(request, function->input, "problem");
    words->iterations = word_in(answer, function->output, "iterations");
    words->solved = word_in(answer, function->output, "solved");
    words->followed = word_in(answer, function->output, "followed");
}

int rbdhw_open(struct rbdhw_driver **made, const struct rbdhw_design *design, const struct rbdhw_transport *transport,
    const struct rbdhw_options *options)
{
    struct rbdhw_driver *driver = calloc(1, sizeof *driver);
    *made = NULL;
    if (!driver)
        return RBDHW_NO_MEMORY;
    driver->design = design;
    driver->transport = *transport;
    for (int k = 0; k < design->functions; k++) {
        const struct rbdhw_function *function = &design->function[k];
        if (function->load == RBDHW_LOAD_PARAMETERS)
            driver->loads_parameters = function;
        if (function->steps >= 0)
            driver->rolls_out = function;
        if (!strcmp(function->name, "solve"))
            find_solutions(driver, function);
        if (!strcmp(function->name, "plan"))
            driver->solution.reads = function;
        if (!strcmp(function->name, "mppi"))
            driver->plan.moves = function;
        if (!strcmp(function->name, "mean"))
            driver->plan.reads = function;
        if (!strcmp(function->name, "load"))
            driver->loads_plan = function;
        if (function->load == RBDHW_LOAD_GOAL)
            driver->problem = word_in(&function->request[0], function->input, "problem");
    }
    if (options)
        driver->options = *options;
    int code = complete(&driver->options) && holds_group(driver) ? RBDHW_OK : RBDHW_ARGUMENT;
    if (!code && !allocate(driver))
        code = RBDHW_NO_MEMORY;
    if (!code) {
        const uint64_t now = rbdhw_time(driver);
        rbdhw_empty(driver, driver->options.first_tag ? driver->options.first_tag : (uint32_t)(now >> 10));
        code = start(driver);
    }
    if (code)
        free_all(driver);
    else
        *made = driver;
    return code;
}

void rbdhw_close(struct rbdhw_driver *driver)
{
    if (!driver)
        return;
    driver->transport.close(driver->transport.self);
    free_all(driver);
}
