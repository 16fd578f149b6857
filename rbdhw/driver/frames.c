#include "frames.h"

#include <stdlib.h>
#include <string.h>

enum { REGISTERS = 31 << 16 | 1 << 22, WRITES = 1 << 21, MALFORMED = 1 << 26 }; /* in the header of an access */

enum { REQUEST_ROOM = 4096 }; /* bytes of requests that a board holds */

enum { ACCESS_ATTEMPTS = 4, MOST_STRAYS = 1000, ACCESS_BYTES = 12, WORD = 4 };

static const uint64_t ACCESS_WAIT = 100000000; /* nanoseconds */

enum { END = 0xC0, ESCAPE = 0xDB, ESCAPED_END = 0xDC, ESCAPED_ESCAPE = 0xDD, CRC_BYTES = 2, BEAT_BYTES = 4 };

static uint16_t add_to_crc(uint16_t crc, unsigned char byte)
{
    crc = (uint16_t)(crc ^ byte << 8);
    for (int bit = 0; bit < 8; bit++)
        crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    return crc;
}

static uint16_t crc_of(const unsigned char *bytes, size_t size)
{
    uint16_t crc = 0xFFFF;
    for (size_t k = 0; k < size; k++)
        crc = add_to_crc(crc, bytes[k]);
    return crc;
}

/* Returns the bytes of the longest packet of a design. */
static size_t longest(const struct rbdhw_design *design)
{
    int32_t most = BEAT_BYTES;
    for (int k = 0; k < design->functions; k++)
        for (int extended = 0; extended <= design->function[k].extensible; extended++) {
            const int32_t request = design->function[k].request[extended].bytes;
            const int32_t answer = design->function[k].answer[extended].bytes;
            most = request > most ? request : most;
            most = answer > most ? answer : most;
        }
    return (size_t)most;
}

int rbdhw_frames_open(struct rbdhw_frames *frames, const struct rbdhw_design *design, struct rbdhw_line line)
{
    memset(frames, 0, sizeof *frames);
    frames->design = design;
    frames->line = line;
    frames->room = 2 * (longest(design) + CRC_BYTES) + 2;
    frames->frame = malloc(frames->room);
    frames->body = malloc(frames->room);
    if (frames->frame && frames->body)
        return RBDHW_OK;
    rbdhw_frames_close(frames);
    return RBDHW_NO_MEMORY;
}

void rbdhw_frames_close(struct rbdhw_frames *frames)
{
    free(frames->frame);
    free(frames->body);
    frames->frame = frames->body = NULL;
}

static void put(struct rbdhw_frames *frames, unsigned char byte)
{
    if (byte == END || byte == ESCAPE) {
        frames->frame[frames->size++] = ESCAPE;
        byte = byte == END ? ESCAPED_END : ESCAPED_ESCAPE;
    }
    frames->frame[frames->size++] = byte;
}

/* Writes as much of the frame as the line takes. */
static int flush(struct rbdhw_frames *frames)
{
    while (frames->written < frames->size) {
        size_t count = 0;
        const int code = frames->line.write(
            frames->line.self, frames->frame + frames->written, frames->size - frames->written, &count);
        if (code || !count)
            return code ? code : RBDHW_BUSY;
        frames->written += count;
    }
    return RBDHW_OK;
}

int rbdhw_frames_send(struct rbdhw_frames *frames, const unsigned char *packet, size_t bytes)
{
    int code = flush(frames);
    if (code)
        return code;
    const uint16_t crc = crc_of(packet, bytes);
    frames->size = frames->written = 0;
    frames->frame[frames->size++] = END; /* ends any noise before */
    for (size_t k = 0; k < bytes; k++)
        put(frames, packet[k]);
    put(frames, (unsigned char)(crc >> 8));
    put(frames, (unsigned char)crc);
    frames->frame[frames->size++] = END;
    code = flush(frames);
    return code == RBDHW_BUSY ? RBDHW_OK : code; /* what is left is written later */
}

/* Ends the frame that is received; returns the bytes of its packet, 0 if it is none. */
static size_t end_frame(struct rbdhw_frames *frames)
{
    const size_t length = frames->length, bytes = length > CRC_BYTES ? length - CRC_BYTES : 0;
    const int is_broken = frames->is_broken || frames->is_escaped, is_empty = !length && !is_broken;
    frames->length = 0;
    frames->is_broken = frames->is_escaped = 0;
    if (is_empty)
        return 0;
    if (!is_broken && bytes && bytes % BEAT_BYTES == 0) {
        const unsigned char *check = frames->body + bytes;
        if (crc_of(frames->body, bytes) == (uint16_t)(check[0] << 8 | check[1]))
            return bytes;
    }
    frames->dropped++;
    return 0;
}

/* Takes a byte; returns the bytes of the packet that it completes, or 0. */
static size_t take(struct rbdhw_frames *frames, unsigned char byte)
{
    if (byte == END)
        return end_frame(frames);
    if (byte == ESCAPE && !frames->is_escaped) {
        frames->is_escaped = 1;
        return 0;
    }
    if (frames->is_escaped) {
        frames->is_broken |= byte != ESCAPED_END && byte != ESCAPED_ESCAPE;
        byte = byte == ESCAPED_END ? END : ESCAPE;
        frames->is_escaped = 0;
    }
    if (frames->length == frames->room)
        frames->is_broken = 1;
    else
        frames->body[frames->length++] = byte;
    return 0;
}

int rbdhw_frames_receive(
    struct rbdhw_frames *frames, unsigned char *packet, size_t room, size_t *bytes, uint64_t wait)
{
    int code = flush(frames);
    if (code && code != RBDHW_BUSY)
        return code;
    if (frames->read == frames->available) {
        frames->read = frames->available = 0;
        code = frames->line.read(frames->line.self, frames->bytes, sizeof frames->bytes, &frames->available, wait);
        if (code)
            return code;
    }
    while (frames->read < frames->available) {
        const size_t size = take(frames, frames->bytes[frames->read++]);
        if (!size)
            continue;
        *bytes = size < room ? size : room;
        memcpy(packet, frames->body, *bytes);
        return RBDHW_OK;
    }
    *bytes = 0;
    return frames->available ? RBDHW_OK : RBDHW_TIMEOUT;
}

static void store32(unsigned char *bytes, uint32_t word)
{
    for (int k = 0; k < WORD; k++)
        bytes[k] = (unsigned char)(word >> 8 * k);
}

static uint32_t load32(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Waits for the answer to an access; other packets are dropped. */
static int wait_for_access(struct rbdhw_frames *frames, uint32_t header, uint32_t *word)
{
    unsigned char answer[ACCESS_BYTES];
    for (int strays = 0; strays < MOST_STRAYS; strays++) {
        size_t bytes = 0;
        const int code = rbdhw_frames_receive(frames, answer, sizeof answer, &bytes, ACCESS_WAIT);
        if (code)
            return code;
        if (bytes == WORD && load32(answer) == (header | MALFORMED))
            return RBDHW_STRANGER; /* an unknown function */
        if (bytes == 2 * WORD && load32(answer) == header) {
            *word = load32(answer + WORD);
            return RBDHW_OK;
        }
    }
    return RBDHW_DAMAGED;
}

static int access_register(struct rbdhw_frames *frames, uint32_t options, uint32_t address, uint32_t *word)
{
    int code = RBDHW_TIMEOUT;
    for (int attempts = 0; attempts < ACCESS_ATTEMPTS && (code == RBDHW_TIMEOUT || code == RBDHW_BUSY); attempts++) {
        unsigned char request[ACCESS_BYTES];
        const uint32_t header = ++frames->tag | (uint32_t)REGISTERS | options;
        store32(request, header);
        store32(request + WORD, address);
        store32(request + 2 * WORD, *word);
        code = rbdhw_frames_send(frames, request, options ? 3 * WORD : 2 * WORD);
        if (!code)
            code = wait_for_access(frames, header, word);
    }
    return code == RBDHW_BUSY ? RBDHW_TIMEOUT : code;
}

int rbdhw_frames_read_register(struct rbdhw_frames *frames, uint32_t address, uint32_t *value)
{
    *value = 0;
    return access_register(frames, 0, address, value);
}

int rbdhw_frames_write_register(struct rbdhw_frames *frames, uint32_t address, uint32_t value)
{
    return access_register(frames, WRITES, address, &value);
}

static int open_transport(void *self)
{
    struct rbdhw_frames *frames = self;
    int code = rbdhw_frames_open(frames, frames->design, frames->line);
    if (code)
        return code;
    code = frames->line.open(frames->line.self);
    if (code)
        rbdhw_frames_close(frames);
    return code;
}

static void close_transport(void *self)
{
    struct rbdhw_frames *frames = self;
    frames->line.close(frames->line.self);
    rbdhw_frames_close(frames);
}

static int read_register(void *self, uint32_t address, uint32_t *value)
{
    return rbdhw_frames_read_register(self, address, value);
}

static int write_register(void *self, uint32_t address, uint32_t value)
{
    return rbdhw_frames_write_register(self, address, value);
}

static int send_packet(void *self, const unsigned char *packet, size_t bytes)
{
    return rbdhw_frames_send(self, packet, bytes);
}

static int receive_packet(void *self, unsigned char *packet, size_t room, size_t *bytes, uint64_t wait)
{
    return rbdhw_frames_receive(self, packet, room, bytes, wait);
}

void rbdhw_frames_transport(struct rbdhw_frames *frames, struct rbdhw_transport *made,
    const struct rbdhw_design *design, struct rbdhw_line line)
{
    const struct rbdhw_transport transport = {open_transport, close_transport, read_register, write_register,
        send_packet, receive_packet, frames, REQUEST_ROOM, 0};
    frames->design = design;
    frames->line = line;
    *made = transport;
}
