#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "rbdhw_links.h"

/* The registers of AXI DMA (AMD PG021), in words: those of one direction, and what they hold. */
enum { TO_DEVICE = 0, FROM_DEVICE = 0x30 / 4 };
enum { CONTROL = 0, STATUS = 1, ADDRESS = 0x18 / 4, ADDRESS_HIGH = 0x1C / 4, LENGTH = 0x28 / 4 };
enum { RUN = 1, RESET = 4, IDLE = 2, ERRORS = 0x770, COMPLETE = 0x1000 };

enum { MAPPED = 4096, MOST_PATH = 256 };

static const char *const ATTRIBUTES = "/sys/class/u-dma-buf/";

static const uint64_t RESET_NANOSECONDS = 1000000000;
static const long POLL_NANOSECONDS = 2000;

static int open_device(const char *path)
{
    return open(path, O_RDWR | O_SYNC | O_CLOEXEC);
}

/* Reads a number of the buffer from sysfs; 0 if there is none. */
static uint64_t number_of_buffer(const struct rbdhw_uio *uio, const char *attribute)
{
    char path[MOST_PATH], text[32] = "";
    const char *const slash = strrchr(uio->buffer, '/'), *const name = slash ? slash + 1 : uio->buffer;
    const char *const folder = uio->attributes ? uio->attributes : ATTRIBUTES;
    const int length = snprintf(path, sizeof path, "%s%s/%s", folder, uio->attributes ? "" : name, attribute);
    const int file = length < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
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
    uio->control = uio->registers = NULL;
    uio->memory = NULL;
}

/* Begins a transfer. The status is that of this one: what it says of the last one is cleared. The length, which
 * begins it, is written after all that was written to the buffer is there. */
static void start_transfer(struct rbdhw_uio *uio, uint32_t direction, uint64_t address, size_t bytes)
{
    uio->control[direction + STATUS] = COMPLETE;
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
    const uint64_t until = rbdhw_now() + RESET_NANOSECONDS;
    uio->control[TO_DEVICE + CONTROL] = RESET; /* of both directions */
    while (uio->control[TO_DEVICE + CONTROL] & RESET)
        if (rbdhw_now() > until)
            return RBDHW_TIMEOUT;
    uio->is_sending = 0;
    uio->control[TO_DEVICE + CONTROL] = RUN;
    uio->control[FROM_DEVICE + CONTROL] = RUN;
    expect_answer(uio);
    return RBDHW_OK;
}

static int open_uio(void *self)
{
    struct rbdhw_uio *uio = self;
    uio->size = (size_t)number_of_buffer(uio, "size");
    uio->physical = number_of_buffer(uio, "phys_addr");
    uio->files[0] = open_device(uio->dma);
    uio->files[1] = uio->files[0] < 0 ? -1 : open_device(uio->registers_of);
    uio->files[2] = uio->files[1] < 0 ? -1 : open_device(uio->buffer);
    int code = uio->files[2] < 0 && errno == EBUSY ? RBDHW_IN_USE : RBDHW_ABSENT;
    if (uio->files[2] >= 0 && flock(uio->files[0], LOCK_EX | LOCK_NB)) {
        code = RBDHW_IN_USE;
    } else if (uio->files[2] >= 0 && uio->size / 2 >= uio->answer_bytes && uio->size / 2 >= uio->request_bytes) {
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
    if (status & ERRORS)
        return RBDHW_LOST;
    if (uio->is_sending && !(status & IDLE))
        return RBDHW_BUSY;
    memcpy(uio->memory, packet, bytes);
    start_transfer(uio, TO_DEVICE, uio->physical, bytes);
    uio->is_sending = 1;
    return RBDHW_OK;
}

static int receive_packet(void *self, unsigned char *packet, size_t room, size_t *bytes, uint64_t wait)
{
    struct rbdhw_uio *uio = self;
    const struct timespec pause = {0, POLL_NANOSECONDS};
    const uint64_t begun = rbdhw_now();
    uint32_t status = uio->control[FROM_DEVICE + STATUS];
    while (!(status & (IDLE | ERRORS))) {
        if (rbdhw_now() - begun >= wait)
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
    const char *dma, const char *registers, const char *buffer, const char *attributes)
{
    memset(uio, 0, sizeof *uio);
    uio->dma = dma;
    uio->registers_of = registers;
    uio->buffer = buffer;
    uio->attributes = attributes;
    rbdhw_longest(design, &uio->request_bytes, &uio->answer_bytes);
    uio->files[0] = uio->files[1] = uio->files[2] = -1;
    const struct rbdhw_transport transport = {
        open_uio, close_uio, read_register, write_register, send_packet, receive_packet, uio, 0, 0};
    *made = transport;
}
