#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "rbdhw_links.h"

/* The registers of AXI DMA (AMD PG021), in words: those of one direction, and what they hold. */
enum { TO_DEVICE = 0, FROM_DEVICE = 0x30 / 4 };
enum { CONTROL = 0, STATUS = 1, ADDRESS = 0x18 / 4, ADDRESS_HIGH = 0x1C / 4, LENGTH = 0x28 / 4 };
enum { RUN = 1, RESET = 4, IDLE = 2, ERRORS = 0x770 };

enum { MAPPED = 4096, MOST_PATH = 256, RESET_READS = 1000 };

static const long POLL_NANOSECONDS = 2000;

static int open_path(const char *format, const char *name, int flags)
{
    char path[MOST_PATH];
    const int size = snprintf(path, sizeof path, format, name);
    return size >= 0 && size < (int)sizeof path ? open(path, flags | O_CLOEXEC) : -1;
}

/* Reads a number of the buffer from sysfs; 0 if there is none. */
static uint64_t number_of_buffer(const struct rbdhw_uio *uio, const char *format)
{
    char text[32] = "";
    const int file = open_path(format, uio->buffer, O_RDONLY);
    const ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    return size > 0 ? strtoull(text, NULL, 0) : 0;
}

static void *map(int file, size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void close_uio(void *self)
{
    struct rbdhw_uio *uio = self;
    if (uio->control)
        munmap((void *)(uintptr_t)uio->control, MAPPED);
    if (uio->registers)
        munmap((void *)(uintptr_t)uio->registers, MAPPED);
    if (uio->memory)
        munmap(uio->memory, uio->size);
    for (int k = 0; k < 3; k++)
        if (uio->files[k] >= 0)
            close(uio->files[k]);
}

/* Writes to a register only after all that was written to the buffer is there. */
static void start_transfer(struct rbdhw_uio *uio, uint32_t direction, uint64_t address, size_t bytes)
{
    uio->control[direction + ADDRESS] = (uint32_t)address;
    uio->control[direction + ADDRESS_HIGH] = (uint32_t)(address >> 32);
    __sync_synchronize();
    uio->control[direction + LENGTH] = (uint32_t)bytes;
}

static void expect_answer(struct rbdhw_uio *uio)
{
    start_transfer(uio, FROM_DEVICE, uio->physical + uio->size / 2, uio->answer_bytes);
}

/* Resets the DMA, lets both directions run, and waits for the first answer. */
static int begin(struct rbdhw_uio *uio)
{
    uio->control[TO_DEVICE + CONTROL] = RESET; /* of both directions */
    for (int k = 0; uio->control[TO_DEVICE + CONTROL] & RESET; k++)
        if (k == RESET_READS)
            return RBDHW_TIMEOUT;
    uio->control[TO_DEVICE + CONTROL] = RUN;
    uio->control[FROM_DEVICE + CONTROL] = RUN;
    expect_answer(uio);
    return RBDHW_OK;
}

static int open_uio(void *self)
{
    struct rbdhw_uio *uio = self;
    uio->size = (size_t)number_of_buffer(uio, "/sys/class/u-dma-buf/%s/size");
    uio->physical = number_of_buffer(uio, "/sys/class/u-dma-buf/%s/phys_addr");
    uio->files[0] = open_path("%s", uio->dma, O_RDWR | O_SYNC);
    uio->files[1] = uio->files[0] < 0 ? -1 : open_path("%s", uio->registers_of, O_RDWR | O_SYNC);
    uio->files[2] = uio->files[1] < 0 ? -1 : open_path("/dev/%s", uio->buffer, O_RDWR | O_SYNC);
    int code = errno == EBUSY ? RBDHW_IN_USE : RBDHW_ABSENT;
    if (uio->files[2] >= 0 && uio->size / 2 >= uio->answer_bytes) {
        uio->control = map(uio->files[0], MAPPED);
        uio->registers = map(uio->files[1], MAPPED);
        uio->memory = map(uio->files[2], uio->size);
        if (uio->control && uio->registers && uio->memory)
            code = begin(uio);
    }
    if (code)
        close_uio(uio);
    return code;
}

static int read_register(void *self, uint32_t address, uint32_t *value)
{
    *value = ((struct rbdhw_uio *)self)->registers[address / 4];
    return RBDHW_OK;
}

static int write_register(void *self, uint32_t address, uint32_t value)
{
    ((struct rbdhw_uio *)self)->registers[address / 4] = value;
    return RBDHW_OK;
}

static int send_packet(void *self, const unsigned char *packet, size_t bytes)
{
    struct rbdhw_uio *uio = self;
    const uint32_t status = uio->control[TO_DEVICE + STATUS];
    if (status & ERRORS || bytes > uio->size / 2)
        return RBDHW_LOST;
    if (uio->is_sending && !(status & IDLE))
        return RBDHW_BUSY;
    memcpy(uio->memory, packet, bytes);
    start_transfer(uio, TO_DEVICE, uio->physical, bytes);
    uio->is_sending = 1;
    return RBDHW_OK;
}

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int receive_packet(void *self, unsigned char *packet, size_t room, size_t *bytes, uint64_t wait)
{
    struct rbdhw_uio *uio = self;
    const struct timespec pause = {0, POLL_NANOSECONDS};
    const uint64_t begun = nanoseconds();
    uint32_t status = uio->control[FROM_DEVICE + STATUS];
    while (!(status & (IDLE | ERRORS))) {
        if (nanoseconds() - begun >= wait)
            return RBDHW_TIMEOUT;
        nanosleep(&pause, NULL);
        status = uio->control[FROM_DEVICE + STATUS];
    }
    if (status & ERRORS)
        return RBDHW_LOST;
    const size_t size = uio->control[FROM_DEVICE + LENGTH];
    __sync_synchronize();
    *bytes = size < room ? size : room;
    memcpy(packet, uio->memory + uio->size / 2, *bytes);
    expect_answer(uio);
    return RBDHW_OK;
}

void rbdhw_uio(struct rbdhw_uio *uio, struct rbdhw_transport *made, const struct rbdhw_design *design,
    const char *dma, const char *registers, const char *buffer)
{
    memset(uio, 0, sizeof *uio);
    uio->dma = dma;
    uio->registers_of = registers;
    uio->buffer = buffer;
    uio->answer_bytes = rbdhw_longest_answer(design);
    uio->files[0] = uio->files[1] = uio->files[2] = -1;
    const struct rbdhw_transport transport = {
        open_uio, close_uio, read_register, write_register, send_packet, receive_packet, uio, 0, 0};
    *made = transport;
}
