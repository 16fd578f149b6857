/* Frames on a line whose reads bring what the command line says, in hexadecimal digits; nothing, in time, if that is
 * empty. The line takes some bytes at a time, then none once.
 *
 * frames receive ROOM READ...: prints code, bytes and packet of each call, with 0xEE behind it, and the frames dropped.
 * frames send TAKES PACKET...: prints the calls that each packet took, and what the line got.
 * frames access TAKES ADDRESS WORD READ...: reads a register, or writes the word; prints code, word, and what the line
 * got. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"

enum { ROOM = 4096, LONGEST = 16, UNTOUCHED = 0xEE };

struct line {
    char **reads;
    unsigned char sent[ROOM];
    size_t length, takes, is_full;
};

static size_t bytes_of(const char *digits, unsigned char *bytes)
{
    const size_t count = strlen(digits) / 2;
    unsigned byte = 0;
    for (size_t k = 0; k < count && sscanf(digits + 2 * k, "%2x", &byte) == 1; k++)
        bytes[k] = (unsigned char)byte;
    return count;
}

static void print(const unsigned char *bytes, size_t count)
{
    for (size_t k = 0; k < count; k++)
        printf("%02x", bytes[k]);
    putchar('\n');
}

static int read_line(void *self, unsigned char *bytes, size_t room, size_t *count, uint64_t wait)
{
    struct line *line = self;
    (void)room, (void)wait;
    *count = *line->reads ? bytes_of(*line->reads++, bytes) : 0;
    return *count ? RBDHW_OK : RBDHW_TIMEOUT;
}

static int write_line(void *self, const unsigned char *bytes, size_t size, size_t *count)
{
    struct line *line = self;
    *count = line->is_full ? 0 : size < line->takes ? size : line->takes;
    line->is_full = !line->is_full;
    memcpy(line->sent + line->length, bytes, *count);
    line->length += *count;
    return RBDHW_OK;
}

static void receive(struct rbdhw_frames *frames, struct line *line, size_t room)
{
    while (*line->reads || frames->read < frames->available) {
        unsigned char packet[ROOM];
        size_t bytes = 0;
        memset(packet, UNTOUCHED, sizeof packet);
        const int code = rbdhw_frames_receive(frames, packet, room, &bytes, 0);
        printf("%d %zu ", code, bytes);
        print(packet, room + 1);
    }
    printf("%d\n", (int)frames->dropped);
}

static void send_all(struct rbdhw_frames *frames, struct line *line)
{
    for (; *line->reads; line->reads++) {
        unsigned char packet[LONGEST];
        const size_t bytes = bytes_of(*line->reads, packet);
        int calls = 1;
        while (rbdhw_frames_send(frames, packet, bytes) == RBDHW_BUSY)
            calls++;
        printf("%d\n", calls);
    }
}

static void access_register(struct rbdhw_frames *frames, const char *place, const char *word)
{
    const uint32_t address = (uint32_t)strtoul(place, NULL, 0);
    uint32_t value = (uint32_t)strtoul(word, NULL, 0);
    const int code = *word ? rbdhw_frames_write_register(frames, address, value)
                           : rbdhw_frames_read_register(frames, address, &value);
    printf("%d %u\n", code, (unsigned)value);
}

int main(int count, char **words)
{
    static const struct rbdhw_function FUNCTION = {.request[0].bytes = 8, .answer[0].bytes = LONGEST};
    static const struct rbdhw_design DESIGN = {.functions = 1, .function = &FUNCTION};
    static struct line line;
    static struct rbdhw_frames frames;
    if (count < 3)
        return 1;
    const int is_access = count > 4 && !strcmp(words[1], "access"), is_sent = !strcmp(words[1], "send");
    const size_t number = strtoul(words[2], NULL, 0);
    line.takes = number;
    line.reads = words + (is_access ? 5 : 3);
    if (rbdhw_frames_open(&frames, &DESIGN, (struct rbdhw_line){.read = read_line, .write = write_line, .self = &line}))
        return 1;
    if (is_access)
        access_register(&frames, words[3], words[4]);
    else if (is_sent)
        send_all(&frames, &line);
    else
        receive(&frames, &line, number);
    if (is_access || is_sent)
        print(line.sent, line.length);
    rbdhw_frames_close(&frames);
    return 0;
}
