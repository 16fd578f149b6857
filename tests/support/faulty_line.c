/* A serial line with faults between the driver and an accelerator: frames on both sides, and a time of its own.
 *
 * Each frame that passes may meet one fault. They are drawn from a seed, so that a run can be repeated.
 */
#include <stdlib.h>
#include <string.h>

#include "frames.h"

enum { IDENTITY = 0x20 };
enum { QUEUE = 1 << 20, FRAME = 1 << 16, HELD = 16, END = 0xC0 };
enum fault { LOST, CUT, DOUBLED, REORDERED, CORRUPTED, FLOODED, RESET, FAULTS };

static const uint64_t SLICE = 20000; /* nanoseconds in which the accelerator does something if it ever does */

struct direction {
    unsigned char bytes[QUEUE]; /* that have passed */
    size_t first, last;
    unsigned char frame[FRAME]; /* that is passing */
    size_t size;
};

struct held {
    unsigned char *bytes;
    size_t size;
    uint64_t until;
    struct direction *direction;
};

struct line {
    struct rbdhw_transport board; /* the accelerator behind the line */
    uint64_t (*clock)(void *);
    void (*reset)(void *);
    struct rbdhw_frames host, far;
    struct direction there, back;
    struct held held[HELD];
    uint64_t idle; /* nanoseconds that the accelerator's clock did not run */
    uint64_t random;
    uint32_t faults, one_in; /* the faults that may happen, and how rarely */
    uint64_t silent_from;    /* the time from which the board is silent */
    int is_other;            /* whether the board has another design */
    uint64_t happened[FAULTS];
    unsigned char packet[FRAME];
    size_t waiting; /* bytes of the packet that the accelerator does not take */
};

static uint64_t draw(struct line *line, uint64_t below)
{
    line->random ^= line->random << 13;
    line->random ^= line->random >> 7;
    line->random ^= line->random << 17;
    return line->random % below;
}

static uint64_t now(const struct line *line)
{
    return line->clock(line->board.self) + line->idle;
}

static void pass(struct direction *to, const unsigned char *bytes, size_t size)
{
    for (size_t k = 0; k < size && to->last - to->first < QUEUE; k++)
        to->bytes[to->last++ % QUEUE] = bytes[k];
}

static void hold(struct line *line, struct direction *to)
{
    for (int k = 0; k < HELD; k++)
        if (!line->held[k].bytes && (line->held[k].bytes = malloc(to->size)) != NULL) {
            memcpy(line->held[k].bytes, to->frame, to->size);
            line->held[k].size = to->size;
            line->held[k].direction = to;
            line->held[k].until = now(line) + draw(line, 3000000);
            return;
        }
}

static void release(struct line *line, uint64_t time)
{
    for (int k = 0; k < HELD; k++)
        if (line->held[k].bytes && line->held[k].until <= time) {
            pass(line->held[k].direction, line->held[k].bytes, line->held[k].size);
            free(line->held[k].bytes);
            line->held[k].bytes = NULL;
        }
}

static void restart_board(struct line *line)
{
    line->reset(line->board.self);
    line->far.length = line->far.read = line->far.available = 0;
    line->far.size = line->far.written = 0;
    line->waiting = 0;
}

static void flip(struct line *line, struct direction *to)
{
    const uint64_t flips = 1 + draw(line, 3);
    for (uint64_t k = 0; k < flips; k++)
        to->frame[draw(line, to->size)] ^= (unsigned char)(1 << draw(line, 8));
}

static void flood(struct line *line, struct direction *to)
{
    for (uint64_t k = 1 + draw(line, 3000); k; k--) {
        const unsigned char byte = (unsigned char)draw(line, 256);
        pass(to, &byte, 1);
    }
}

/* Lets a fault happen to a frame; returns whether what is left of it passes. */
static int spoil(struct line *line, struct direction *to)
{
    const enum fault fault = (enum fault)draw(line, FAULTS);
    if (!(line->faults >> fault & 1))
        return 1;
    line->happened[fault]++;
    const size_t place = draw(line, to->size);
    switch (fault) {
    case LOST:
        memmove(to->frame + place, to->frame + place + 1, --to->size - place);
        return 1;
    case CUT:
        to->size = place;
        return 1;
    case DOUBLED:
        pass(to, to->frame, to->size);
        return 1;
    case REORDERED:
        hold(line, to);
        return 0;
    case CORRUPTED:
        flip(line, to);
        return 1;
    case FLOODED:
        flood(line, to);
        return 1;
    default:
        pass(to, to->frame, place);
        restart_board(line);
        memmove(to->frame, to->frame + place, to->size -= place);
        return 1;
    }
}

static int write_line(struct line *line, struct direction *to, const unsigned char *bytes, size_t size, size_t *count)
{
    for (size_t k = 0; k < size; k++) {
        to->frame[to->size++] = bytes[k];
        if (bytes[k] != END || to->size == 1)
            continue; /* the first END is before the frame */
        if (!line->one_in || draw(line, line->one_in) || spoil(line, to))
            pass(to, to->frame, to->size);
        to->size = 0;
    }
    *count = size;
    return RBDHW_OK;
}

static size_t read_bytes(struct direction *from, unsigned char *bytes, size_t room)
{
    size_t count = 0;
    while (count < room && from->first < from->last)
        bytes[count++] = from->bytes[from->first++ % QUEUE];
    return count;
}

static int far_read(void *self, unsigned char *bytes, size_t room, size_t *count, uint64_t wait)
{
    (void)wait;
    *count = read_bytes(&((struct line *)self)->there, bytes, room);
    return RBDHW_OK;
}

static int far_write(void *self, const unsigned char *bytes, size_t size, size_t *count)
{
    return write_line(self, &((struct line *)self)->back, bytes, size, count);
}

static int host_write(void *self, const unsigned char *bytes, size_t size, size_t *count)
{
    return write_line(self, &((struct line *)self)->there, bytes, size, count);
}

/* Does an access to a register, if the packet is one; returns whether it is. */
static int access_register(struct line *line)
{
    const unsigned char *packet = line->packet;
    uint32_t word = 0, address = packet[4] | (uint32_t)packet[5] << 8;
    if ((packet[2] & 0x5F) != 0x5F)
        return 0;
    unsigned char answer[8] = {packet[0], packet[1], packet[2], packet[3]};
    if (packet[2] >> 5 & 1)
        line->board.write_register(line->board.self, address, packet[8] | (uint32_t)packet[9] << 8);
    else
        line->board.read_register(line->board.self, address, &word);
    word ^= address == IDENTITY && line->is_other;
    for (int k = 0; k < 4; k++)
        answer[4 + k] = (unsigned char)(word >> 8 * k);
    rbdhw_frames_send(&line->far, answer, sizeof answer);
    line->waiting = 0;
    return 1;
}

/* Lets the board work for a while; returns whether anything moved. */
static int work(struct line *line, uint64_t wait)
{
    int moved = 0;
    size_t bytes = 0;
    while (!line->waiting && line->there.first + line->far.read != line->there.last + line->far.available) {
        rbdhw_frames_receive(&line->far, line->packet, FRAME, &line->waiting, 0);
        moved = 1;
        if (line->waiting && access_register(line))
            break;
    }
    if (line->waiting && !line->board.send(line->board.self, line->packet, line->waiting)) {
        line->waiting = 0;
        moved = 1;
    }
    static unsigned char answer[FRAME];
    while (!line->board.receive(line->board.self, answer, FRAME, &bytes, moved ? 0 : wait)) {
        rbdhw_frames_send(&line->far, answer, bytes);
        moved = 1;
    }
    return moved;
}

static int host_read(void *self, unsigned char *bytes, size_t room, size_t *count, uint64_t wait)
{
    struct line *line = self;
    const uint64_t end = now(line) + wait < wait ? UINT64_MAX : now(line) + wait;
    do {
        if (now(line) >= line->silent_from)
            line->there.first = line->there.last; /* nobody listens */
        else if (!work(line, 0) && now(line) < end && !work(line, SLICE < wait ? SLICE : wait)) {
            uint64_t next = end;
            for (int k = 0; k < HELD; k++)
                if (line->held[k].bytes && line->held[k].until < next)
                    next = line->held[k].until;
            line->idle += next > now(line) ? next - now(line) : 0;
        }
        if (now(line) >= line->silent_from && now(line) < end)
            line->idle += end - now(line);
        release(line, now(line));
        *count = read_bytes(&line->back, bytes, room);
    } while (!*count && now(line) < end);
    return RBDHW_OK;
}

static int open_line(void *self)
{
    (void)self;
    return RBDHW_OK;
}

static void close_line(void *self)
{
    (void)self;
}

void *faulty_new(struct rbdhw_transport *made, const struct rbdhw_transport *board, uint64_t (*clock)(void *),
    void (*reset)(void *), const struct rbdhw_design *design)
{
    struct line *line = calloc(1, sizeof *line);
    line->board = *board;
    line->clock = clock;
    line->reset = reset;
    line->silent_from = UINT64_MAX;
    line->random = 1;
    const struct rbdhw_line host = {open_line, close_line, host_read, host_write, line};
    const struct rbdhw_line far = {open_line, close_line, far_read, far_write, line};
    rbdhw_frames_open(&line->far, design, far);
    rbdhw_frames_transport(&line->host, made, design, host);
    return line;
}

/* Begins a run of faults: a set of them, one for so many frames; 0 for none. */
void faulty_begin(
    void *self, uint64_t seed, uint32_t faults, uint32_t one_in, uint64_t silent_after, int is_other)
{
    struct line *line = self;
    line->random = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    line->faults = faults;
    line->one_in = one_in;
    line->is_other = is_other;
    line->silent_from = silent_after == UINT64_MAX ? UINT64_MAX : now(line) + silent_after;
}

uint64_t faulty_clock(void *self)
{
    return now(self);
}

uint64_t faulty_happened(const void *self, int fault)
{
    return ((const struct line *)self)->happened[fault];
}

void faulty_delete(void *self)
{
    struct line *line = self;
    release(line, UINT64_MAX);
    rbdhw_frames_close(&line->far);
    free(line);
}
