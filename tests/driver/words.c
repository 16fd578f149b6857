/* Writes words of every width at every bit into packets, between ones and zeros, and reads them again. */
#include <stdio.h>
#include <string.h>

#include "packets.h"

enum { BYTES = 32 };

static int64_t within(uint64_t bits, int width)
{
    return (int64_t)(bits << (64 - width)) >> (64 - width);
}

int main(void)
{
    static const uint64_t PATTERNS[] = {0, UINT64_MAX, 0x8000000000000001, 0x7FFFFFFFFFFFFFFE, 0x123456789ABCDEF5};
    int wrong = 0, count = 0;
    for (int width = 1; width <= 64; width++)
        for (uint32_t before = 1; before <= 64; before++)
            for (unsigned pattern = 0; pattern < sizeof PATTERNS / sizeof *PATTERNS; pattern++) {
                const uint32_t first = 32 + before, behind = first + (uint32_t)width;
                struct rbdhw_word words[] = {{.bit = 32, .number = 0}, {.bit = first, .number = 1}, {.bit = behind, .number = 2}};
                const uint8_t widths[] = {(uint8_t)before, (uint8_t)width, 9};
                unsigned char packet[BYTES + RBDHW_SLACK] = {0};
                for (int ones = 0; ones < 2; ones++) {
                    const int64_t numbers[] = {-ones, within(PATTERNS[pattern], width), -ones};
                    for (int k = 0; k < 3; k++)
                        words[k].width = words[k].travels = widths[k];
                    const struct rbdhw_packet made = {.bytes = BYTES, .words = 3, .word = words};
                    const struct rbdhw_head head = {.tag = 0xFFFF};
                    rbdhw_write_packet(&made, 0, head, numbers, packet);
                    for (int k = 0; k < 3; k++, count++)
                        wrong += rbdhw_read_number(&made, 0, packet, k) != numbers[k];
                }
            }
    printf("%d of %d\n", wrong, count);
    return 0;
}
