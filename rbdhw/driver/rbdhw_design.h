/* What the driver knows of a design. `design.h`, which rbdhw generates, holds one of these as `rbdhw_design`.
 *
 * A packet is a header of 32 bits and then words without gaps, least significant bit first.
 */
#ifndef RBDHW_DESIGN_H
#define RBDHW_DESIGN_H

#include <stdint.h>

enum { RBDHW_MOST_ARRAYS = 16 }; /* of the inputs, or of the results, of a function */

/* An array of a task, in row-major order. */
struct rbdhw_array {
    const char *name;
    int32_t size;   /* the numbers of one task */
    int32_t rows;   /* of a matrix; 1 for a vector */
    uint8_t optional;
};

enum { RBDHW_ANGLE = 1, RBDHW_WRAPS = 2, RBDHW_BOUNDED = 4 };

/* A word: an integer that stands for an element of an array. */
struct rbdhw_word {
    uint32_t bit;            /* of its lowest bit in the packet */
    uint16_t number;         /* in the order of the manifest */
    uint16_t array;
    uint32_t place;          /* in the array */
    uint8_t width, travels;  /* the bits of the word, and those in the packet */
    int16_t point;           /* its value is the integer times 2^-point */
    uint8_t kind;            /* RBDHW_ANGLE, which travels in turns, RBDHW_WRAPS and RBDHW_BOUNDED */
    int64_t lowest, highest; /* the domain of a bounded input */
    double scale;            /* 2^point in requests; in answers 2^-point, and of an angle the radians of that */
};

/* An element of a result that has no word of its own, but the value of another element's, or its negative. */
struct rbdhw_element {
    uint32_t place; /* in the array */
    uint16_t array, word;
};

/* A packet, and the elements of results in it. */
struct rbdhw_packet {
    int32_t bytes;
    int32_t numbers;               /* the words of a task in the manifest, also those that were loaded before */
    int32_t words;                 /* those that travel, */
    const struct rbdhw_word *word; /* in the order of their bits */
    int32_t elements, negatives;
    const struct rbdhw_element *element; /* the negatives are the last ones */
    uint32_t filled;               /* bit k: words and elements fill array k */
    int32_t integrals;             /* elements to which the time step adds: times the one half an array behind each */
    const struct rbdhw_element *integral;
};

enum { RBDHW_NO_LOAD, RBDHW_LOAD_ROWS, RBDHW_LOAD_PARAMETERS, RBDHW_LOAD_GOAL };

/* A function, or a command such as `load_parameters`. */
struct rbdhw_function {
    const char *name;
    uint8_t code;
    uint8_t load;        /* what it loads */
    uint8_t extensible;  /* it may have optional arrays */
    uint8_t loaded;      /* it takes inertial parameters that were loaded before */
    uint8_t inputs, outputs;
    const struct rbdhw_array *input, *output;
    struct rbdhw_packet request[2], answer[2]; /* without and with optional arrays */
    int32_t ones;                              /* elements of results that are always one */
    const struct rbdhw_element *one;
    int32_t packets;            /* of a command that loads rows: those of one step, or less than zero, of all steps */
    int16_t steps, every, step; /* of rollouts: the numbers of these words; -1 in others */
    int16_t h;                  /* the place of the time step's word among those of requests; -1 if none travels */
    double time_step;           /* of a build that has one */
};

struct rbdhw_design {
    const char *robot;
    uint32_t identity[8];      /* the SHA-256 that the manifest states */
    uint8_t singles;           /* numbers travel as IEEE singles */
    int32_t beat_bytes;        /* of the streams */
    int32_t horizon;           /* the most steps of a rollout; 0 without rollouts */
    int32_t knots;             /* the steps of a solution; 0 without a solver */
    int32_t sets;              /* of loaded parameters; 0 if none are loaded */
    const int64_t *parameters; /* the words of load_parameters after a reset */
    int32_t functions;         /* functions, and then commands */
    const struct rbdhw_function *function;
};

#endif
