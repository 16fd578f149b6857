#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rbdhw_links.h"

enum { MOST_PATH = 256, REGISTER_BYTES = 4096, SECOND = 1000000000 };

size_t rbdhw_longest_answer(const struct rbdhw_design *design)
{
    int32_t most = design->beat_bytes;
    for (int k = 0; k < design->functions; k++)
        for (int extended = 0; extended <= design->function[k].extensible; extended++)
            if (design->function[k].answer[extended].bytes > most)
                most = design->function[k].answer[extended].bytes;
    return (size_t)(most + 2 * design->beat_bytes);
}

static int open_file(const struct rbdhw_xdma *xdma, const char *direction, int flags)
{
    char path[MOST_PATH];
    const char *const format = direction ? "%s_%s_%u" : "%s_user";
    const int size = snprintf(path, sizeof path, format, xdma->path, direction, (unsigned)xdma->channel);
    return size < (int)sizeof path ? open(path, flags | O_CLOEXEC) : -1;
}

/* Posts a read: each ends with the packet that it takes. */
static int post(struct rbdhw_xdma *xdma, uint32_t number)
{
    struct iocb read;
    struct iocb *list[] = {&read};
    memset(&read, 0, sizeof read);
    read.aio_data = number;
    read.aio_lio_opcode = IOCB_CMD_PREAD;
    read.aio_fildes = (uint32_t)xdma->answers;
    read.aio_buf = (uint64_t)(uintptr_t)(xdma->buffers + number * xdma->answer_bytes);
    read.aio_nbytes = xdma->answer_bytes;
    xdma->read[number] = -1;
    return syscall(SYS_io_submit, xdma->context, 1L, list) == 1 ? RBDHW_OK : RBDHW_LOST;
}

static void close_xdma(void *self)
{
    struct rbdhw_xdma *xdma = self;
    if (xdma->context)
        syscall(SYS_io_destroy, xdma->context);
    if (xdma->registers)
        munmap((void *)(uintptr_t)xdma->registers, REGISTER_BYTES);
    if (xdma->requests >= 0)
        close(xdma->requests);
    if (xdma->answers >= 0)
        close(xdma->answers);
    free(xdma->buffers);
    xdma->context = 0;
    xdma->registers = NULL;
    xdma->buffers = NULL;
}

/* Maps the registers and posts all reads. */
static int begin(struct rbdhw_xdma *xdma)
{
    const int user = open_file(xdma, NULL, O_RDWR | O_SYNC);
    if (xdma->requests < 0 || xdma->answers < 0 || user < 0) {
        const int code = errno == EBUSY ? RBDHW_IN_USE : RBDHW_ABSENT;
        if (user >= 0)
            close(user);
        return code;
    }
    void *registers = mmap(NULL, REGISTER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, user, 0);
    close(user);
    if (registers == MAP_FAILED)
        return RBDHW_ABSENT;
    xdma->registers = registers;
    xdma->buffers = malloc(RBDHW_XDMA_READS * xdma->answer_bytes);
    if (!xdma->buffers)
        return RBDHW_NO_MEMORY;
    int code = syscall(SYS_io_setup, (long)RBDHW_XDMA_READS, &xdma->context) ? RBDHW_ABSENT : RBDHW_OK;
    for (uint32_t k = 0; k < RBDHW_XDMA_READS && !code; k++)
        code = post(xdma, k);
    return code;
}

static int open_xdma(void *self)
{
    struct rbdhw_xdma *xdma = self;
    xdma->requests = open_file(xdma, "h2c", O_WRONLY);
    xdma->answers = xdma->requests < 0 ? -1 : open_file(xdma, "c2h", O_RDONLY);
    const int code = begin(xdma);
    if (code)
        close_xdma(xdma);
    return code;
}

static int read_register(void *self, uint32_t address, uint32_t *value)
{
    *value = ((struct rbdhw_xdma *)self)->registers[address / 4];
    return *value == UINT32_MAX && !address ? RBDHW_LOST : RBDHW_OK; /* what a bus without the card reads */
}

static int write_register(void *self, uint32_t address, uint32_t value)
{
    ((struct rbdhw_xdma *)self)->registers[address / 4] = value;
    return RBDHW_OK;
}

static int send_packet(void *self, const unsigned char *packet, size_t bytes)
{
    const ssize_t written = write(((struct rbdhw_xdma *)self)->requests, packet, bytes);
    return written == (ssize_t)bytes ? RBDHW_OK : RBDHW_LOST;
}

static int receive_packet(void *self, unsigned char *packet, size_t room, size_t *bytes, uint64_t wait)
{
    struct rbdhw_xdma *xdma = self;
    struct io_event events[RBDHW_XDMA_READS];
    struct timespec limit = {(time_t)(wait / SECOND), (long)(wait % SECOND)};
    const int is_there = xdma->read[xdma->next] >= 0;
    const long ended = syscall(SYS_io_getevents, xdma->context, is_there ? 0L : 1L, (long)RBDHW_XDMA_READS, events,
        is_there ? NULL : &limit);
    if (ended < 0 && errno != EINTR)
        return RBDHW_LOST;
    for (long k = 0; k < ended; k++) {
        if (events[k].res < 0)
            return RBDHW_LOST;
        xdma->read[events[k].data] = events[k].res;
    }
    const int64_t size = xdma->read[xdma->next];
    if (size < 0)
        return RBDHW_TIMEOUT;
    *bytes = (size_t)size < room ? (size_t)size : room;
    memcpy(packet, xdma->buffers + xdma->next * xdma->answer_bytes, *bytes);
    const int code = post(xdma, xdma->next);
    xdma->next = (xdma->next + 1) % RBDHW_XDMA_READS;
    return code;
}

void rbdhw_xdma(struct rbdhw_xdma *xdma, struct rbdhw_transport *made, const struct rbdhw_design *design,
    const char *path, uint32_t channel)
{
    memset(xdma, 0, sizeof *xdma);
    xdma->path = path;
    xdma->channel = channel;
    xdma->answer_bytes = rbdhw_longest_answer(design);
    xdma->requests = xdma->answers = -1;
    const struct rbdhw_transport transport = {
        open_xdma, close_xdma, read_register, write_register, send_packet, receive_packet, xdma, 0, 0};
    *made = transport;
}
