#include "packets.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A turn, and what is missing from it; these are the numbers of the bit-exact model. */
#define TURN 6.283185307179586
#define TURN_REST 2.4492935982947064e-16

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LITTLE_ENDIAN_HOST
#endif

static uint64_t load64(const unsigned char *bytes)
{
    uint64_t value = 0;
#ifdef LITTLE_ENDIAN_HOST
    memcpy(&value, bytes, sizeof value);
#else
    for (int k = 0; k < 8; k++)
        value |= (uint64_t)bytes[k] << 8 * k;
#endif
    return value;
}

static void store64(unsigned char *bytes, uint64_t value)
{
#ifdef LITTLE_ENDIAN_HOST
    memcpy(bytes, &value, sizeof value);
#else
    for (int k = 0; k < 8; k++)
        bytes[k] = (unsigned char)(value >> 8 * k);
#endif
}

static int64_t sign_extend(uint64_t bits, int width)
{
    return (int64_t)(bits << (64 - width)) >> (64 - width);
}

static uint64_t low_bits(int64_t value, int width)
{
    return (uint64_t)value & (UINT64_MAX >> (64 - width));
}

/* Returns 2^power, for powers of numbers that are not subnormal. */
static double power_of_two(int power)
{
    const uint64_t bits = (uint64_t)(power + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns an angle without its whole turns. The remainder is exact; each turn is too short by TURN_REST. */
static double drop_turns(double angle)
{
    if (fabs(angle) < TURN)
        return angle;
    const double rest = fmod(angle, TURN);
    const volatile double correction = rint((angle - rest) / TURN) * TURN_REST;
    return rest - correction;
}

/* Returns the largest integer up to a number within those of a width. The function of the library would be called. */
static int64_t saturated_floor(double value, int width)
{
    const double limit = power_of_two(width - 1);
    const int64_t highest = (int64_t)((UINT64_C(1) << (width - 1)) - 1);
    if (value >= limit)
        return highest;
    if (value < -limit)
        return -highest - 1;
    const int64_t truncated = (int64_t)value;
    return truncated - ((double)truncated > value);
}

/* Returns the number that an accelerator gets if it travels as a single. */
static double as_single(double value)
{
    const double most = (double)FLT_MAX;
    const float single = (float)(value > most ? most : value < -most ? -most : value);
    return fabsf(single) < FLT_MIN ? 0.0 : (double)single;
}

static int64_t limited(const struct rbdhw_word *word, int64_t number, uint32_t *flags)
{
    if (!(word->kind & RBDHW_BOUNDED) || (number >= word->lowest && number <= word->highest))
        return number;
    *flags |= RBDHW_STATUS_OUTSIDE;
    return number < word->lowest ? word->lowest : word->highest;
}

static int64_t encode(const struct rbdhw_word *word, int singles, double value, uint32_t *flags)
{
    if (!(value - value == 0.0)) {
        *flags |= RBDHW_STATUS_NOT_FINITE;
        value = 0.0;
    }
    int width = word->width;
    if (word->kind & RBDHW_WRAPS)
        value = drop_turns(value);
    if (word->kind & RBDHW_ANGLE)
        value /= TURN;
    if (singles) {
        value = as_single(value);
        width = width > 32 || !(word->kind & RBDHW_BOUNDED) ? width : 32;
    }
    const double steps = value * word->scale + 0.5;
    if (word->kind & RBDHW_BOUNDED)
        return saturated_floor(steps, width);
    return sign_extend((uint64_t)(int64_t)fmod(floor(steps), power_of_two(width)), width);
}

uint32_t rbdhw_encode(const struct rbdhw_function *function, const struct rbdhw_packet *request, int singles,
    const struct rbdhw_data *data, size_t task, int64_t *numbers)
{
    if (data->words) {
        for (int k = 0; k < request->words; k++) {
            const size_t number = request->word[k].number;
            numbers[number] = data->words[task * (size_t)request->numbers + number];
        }
        return 0;
    }
    uint32_t flags = 0;
    const double *rows[RBDHW_MOST_ARRAYS];
    for (int k = 0; k < function->inputs; k++)
        rows[k] = data->inputs[k] ? data->inputs[k] + task * (size_t)function->input[k].size : NULL;
    for (int k = 0; k < request->words; k++) {
        const struct rbdhw_word *word = &request->word[k];
        const double *row = rows[word->array];
        const int64_t number = row ? encode(word, singles, row[word->place], &flags) : 0;
        numbers[word->number] = function->load || !row ? number : limited(word, number, &flags);
    }
    return flags;
}

uint32_t rbdhw_flag(
    const struct rbdhw_function *function, const struct rbdhw_data *data, size_t task, uint32_t flags, uint32_t status)
{
    if (!(flags & RBDHW_STATUS_NOT_FINITE))
        return status | flags;
    for (int k = 0; k < function->outputs; k++) {
        const size_t size = (size_t)function->output[k].size;
        for (size_t i = 0; data->outputs[k] && i < size; i++)
            data->outputs[k][task * size + i] = NAN;
    }
    return RBDHW_STATUS_NOT_FINITE;
}

/* Returns the integer of a word in a packet. */
static inline int64_t number_in(const struct rbdhw_word *word, int singles, const unsigned char *packet)
{
    const unsigned char *place = packet + word->bit / 8;
    const int shift = (int)(word->bit % 8), width = word->travels;
    uint64_t bits = load64(place) >> shift;
    if (shift + width > 64)
        bits |= (uint64_t)place[8] << (64 - shift);
    if (!singles)
        return sign_extend(bits, width);
    const uint32_t single_bits = (uint32_t)bits;
    float single;
    memcpy(&single, &single_bits, sizeof single);
    const double steps = (double)single * power_of_two(word->point);
    return fabs(steps) < power_of_two(word->width) ? (int64_t)steps : 0; /* zero if it is none */
}

int64_t rbdhw_read_number(const struct rbdhw_packet *answer, int singles, const unsigned char *packet, int number)
{
    return number_in(&answer->word[number], singles, packet);
}

/* Writes the values of the words of an answer, whose numbers are in their order, and the elements of results that they
 * are. */
static void read_values(
    const struct rbdhw_packet *answer, const unsigned char *packet, double *values, double *const *rows)
{
    for (int k = 0; k < answer->words; k++) {
        const struct rbdhw_word *word = &answer->word[k];
        values[k] = (double)number_in(word, 0, packet) * word->scale;
        rows[word->array][word->place] = values[k];
    }
}

/* The same of numbers that travel as singles, to which they are rounded, angles in turns. */
static void read_singles(
    const struct rbdhw_packet *answer, const unsigned char *packet, double *values, double *const *rows)
{
    for (int k = 0; k < answer->words; k++) {
        const struct rbdhw_word *word = &answer->word[k];
        const double number = (double)number_in(word, 1, packet);
        const double value = (double)(float)(number * power_of_two(-word->point));
        values[k] = word->kind & RBDHW_ANGLE ? value * TURN : value;
        rows[word->array][word->place] = values[k];
    }
}

/* Adds the elements that follow from others by the time step of a request. */
static void integrate(const struct rbdhw_function *function, int extended, int singles, const unsigned char *request,
    double *const *rows)
{
    const struct rbdhw_packet *answer = &function->answer[extended];
    double h = function->time_step;
    if (function->h >= 0) {
        const struct rbdhw_word *word = &function->request[extended].word[function->h];
        h = (double)number_in(word, singles, request) * power_of_two(-word->point);
    }
    for (int k = 0; k < answer->integrals; k++) {
        const struct rbdhw_element *integral = &answer->integral[k];
        double *value = rows[integral->array] + integral->place;
        *value += h * value[function->output[integral->array].size / 2];
    }
}

void rbdhw_decode(const struct rbdhw_function *function, int extended, int singles, const unsigned char *request,
    const unsigned char *packet, double *values, const struct rbdhw_data *data, size_t task)
{
    const struct rbdhw_packet *answer = &function->answer[extended];
    if (data->results) {
        int64_t *row = data->results + task * (size_t)answer->numbers;
        for (int k = 0; k < answer->words; k++)
            row[k] = number_in(&answer->word[k], singles, packet);
        return;
    }
    double *rows[RBDHW_MOST_ARRAYS];
    for (int k = 0; k < function->outputs; k++) {
        const size_t size = (size_t)function->output[k].size;
        rows[k] = data->outputs[k] ? data->outputs[k] + task * size : values + answer->numbers; /* or nobody takes it */
        if (!(answer->filled >> k & 1))
            memset(rows[k], 0, size * sizeof(double));
    }
    for (int k = 0; k < function->ones; k++)
        rows[function->one[k].array][function->one[k].place] = 1.0;
    if (singles)
        read_singles(answer, packet, values, rows);
    else
        read_values(answer, packet, values, rows);
    const struct rbdhw_element *element = answer->element, *const end = element + answer->elements;
    for (; element < end - answer->negatives; element++)
        rows[element->array][element->place] = values[element->word];
    for (; element < end; element++)
        rows[element->array][element->place] = 0.0 - values[element->word];
    if (answer->integrals)
        integrate(function, extended, singles, request, rows);
}

/* Returns the bits that travel for a word. */
static uint64_t bits_of(const struct rbdhw_word *word, int singles, int64_t number)
{
    if (!singles)
        return low_bits(number, word->travels);
    const float single = (float)((double)number * power_of_two(-word->point));
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return number ? bits : 0;
}

void rbdhw_write_packet(const struct rbdhw_packet *request, int singles, struct rbdhw_head head,
    const int64_t *numbers, unsigned char *packet)
{
    const uint32_t options = (uint32_t)head.extended | head.code >> 5 << 1;
    uint64_t bits = head.tag | (head.code & 31) << 16 | options << 21 | head.status << 24;
    uint32_t first = 0; /* of the bits in `bits` */
    unsigned char *next = packet;
    for (int k = 0; k < request->words; k++) {
        const struct rbdhw_word *word = &request->word[k];
        const uint64_t own = bits_of(word, singles, numbers[word->number]);
        for (; word->bit - first >= 64; first += 64, next += 8, bits = 0)
            store64(next, bits);
        const uint32_t shift = word->bit - first;
        bits |= own << shift;
        if (shift + word->travels > 64) {
            store64(next, bits);
            first += 64;
            next += 8;
            bits = own >> (64 - shift);
        }
    }
    store64(next, bits);
    for (next += 8; next < packet + request->bytes; next += 8)
        store64(next, 0);
}

struct rbdhw_head rbdhw_read_head(const unsigned char *packet)
{
    const uint32_t bits = (uint32_t)load64(packet), options = bits >> 21 & 7;
    struct rbdhw_head head = {bits & 0xFFFF, (bits >> 16 & 31) | (options >> 1 & 1) << 5, bits >> 24,
        (uint8_t)(options & 1), (uint8_t)(options >> 2)};
    return head;
}

int rbdhw_finite(const struct rbdhw_function *function, size_t tasks, const struct rbdhw_data *data)
{
    int finite = 1;
    for (int k = 0; !data->words && k < function->inputs; k++) {
        const double *array = data->inputs[k];
        const size_t size = array ? tasks * (size_t)function->input[k].size : 0;
        for (size_t i = 0; i < size; i++)
            finite &= array[i] - array[i] == 0.0;
    }
    return finite;
}
