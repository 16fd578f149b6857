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

#include "files.h"
#include "rbdhw_links.h"

/* What is said here of AMD's driver is in its sources: XDMA/linux-kernel/xdma of github.com/Xilinx/dma_ip_drivers. */

enum { MOST_PATH = 256, REGISTER_BYTES = 4096, PAGE = 4096, TRANSFERS = RBDHW_XDMA_READS + RBDHW_XDMA_WRITES };

static const int64_t PENDING = -1;
static const uint64_t SECOND = 1000000000, PAUSE = 10000000;

static size_t larger(size_t one, size_t other)
{
    return one > other ? one : other;
}

void rbdhw_longest(const struct rbdhw_design *design, size_t *request, size_t *answer)
{
    *request = *answer = (size_t)design->beat_bytes;
    for (int k = 0; k < design->functions; k++)
        for (int extended = 0; extended <= design->function[k].extensible; extended++) {
            *request = larger(*request, (size_t)design->function[k].request[extended].bytes);
            *answer = larger(*answer, (size_t)design->function[k].answer[extended].bytes);
        }
    *answer += 2 * (size_t)design->beat_bytes;
}

static int divides_an_answer(const struct rbdhw_design *design, size_t bytes)
{
    for (int k = 0; k < design->functions; k++)
        for (int extended = 0; extended <= design->function[k].extensible; extended++)
            if ((size_t)design->function[k].answer[extended].bytes % bytes == 0)
                return 1;
    return 0;
}

/* Returns the bytes of a read. It ends when it is full, or with a packet, and does not say which. So it has a length
 * of which no answer is a multiple. It is within a page, because the driver of the device would put the next packet
 * into the other pages of a longer one. */
static size_t bytes_of_read(const struct rbdhw_design *design)
{
    const size_t beat = (size_t)design->beat_bytes;
    size_t bytes = PAGE;
    while (bytes > beat && divides_an_answer(design, bytes))
        bytes -= beat;
    return bytes;
}

static int open_file(const struct rbdhw_xdma *xdma, const char *direction, int flags)
{
    char path[MOST_PATH];
    const char *const format = direction ? "%s_%s_%u" : "%s_user";
    const int size = snprintf(path, sizeof path, format, xdma->path, direction, (unsigned)xdma->channel);
    return size < (int)sizeof path ? open(path, flags | O_CLOEXEC) : -1;
}

static unsigned char *buffer_of(const struct rbdhw_xdma *xdma, uint32_t transfer)
{
    return xdma->buffers + transfer * xdma->stride;
}

/* Begins a transfer: a read of the next part of an answer, or the write of a packet. */
static int begin_transfer(struct rbdhw_xdma *xdma, uint32_t number, size_t bytes)
{
    const int is_read = number < RBDHW_XDMA_READS;
    struct iocb transfer;
    struct iocb *list[] = {&transfer};
    memset(&transfer, 0, sizeof transfer);
    transfer.aio_data = number;
    transfer.aio_lio_opcode = is_read ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE;
    transfer.aio_fildes = (uint32_t)(is_read ? xdma->answers : xdma->requests);
    transfer.aio_buf = (uint64_t)(uintptr_t)buffer_of(xdma, number);
    transfer.aio_nbytes = bytes;
    xdma->moved[number] = PENDING;
    if (syscall(SYS_io_submit, xdma->context, 1L, list) == 1)
        return RBDHW_OK;
    xdma->moved[number] = 0;
    return RBDHW_LOST;
}

/* Notes the transfers that have ended; waits for one, but not longer than `wait`. */
static int end_transfers(struct rbdhw_xdma *xdma, uint64_t wait)
{
    struct io_event events[TRANSFERS];
    struct timespec limit = {(time_t)(wait / SECOND), (long)(wait % SECOND)};
    const long ended = syscall(SYS_io_getevents, xdma->context, wait ? 1L : 0L, (long)TRANSFERS, events, &limit);
    int code = ended < 0 && errno != EINTR ? RBDHW_LOST : RBDHW_OK;
    for (long k = 0; k < ended; k++) {
        xdma->moved[events[k].data] = events[k].res < 0 ? 0 : events[k].res;
        code = events[k].res < 0 ? RBDHW_LOST : code;
    }
    return code;
}

static uint32_t pending(const struct rbdhw_xdma *xdma)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < TRANSFERS; k++)
        count += xdma->moved[k] == PENDING;
    return count;
}

static int send_packet(void *self, const unsigned char *packet, size_t bytes)
{
    struct rbdhw_xdma *xdma = self;
    const uint32_t number = RBDHW_XDMA_READS + xdma->next_write;
    if (xdma->moved[number] == PENDING) {
        const int code = end_transfers(xdma, 0);
        if (code || xdma->moved[number] == PENDING)
            return code ? code : RBDHW_BUSY;
    }
    memcpy(buffer_of(xdma, number), packet, bytes);
    xdma->next_write = (xdma->next_write + 1) % RBDHW_XDMA_WRITES;
    return begin_transfer(xdma, number, bytes);
}

/* Ends the reads that wait, by requests of a beat, each of which has an answer: the kernel has no other way to end
 * them, and waits for them, without end, when their context is destroyed. Returns whether nothing is left. */
static int end_all(struct rbdhw_xdma *xdma)
{
    const uint64_t until = rbdhw_now() + SECOND;
    unsigned char beat[RBDHW_XDMA_BEAT] = {0};
    for (uint32_t sent = 0; pending(xdma); ) {
        if (sent < RBDHW_XDMA_READS && send_packet(xdma, beat, xdma->beat_bytes) == RBDHW_OK)
            sent++;
        else if (end_transfers(xdma, PAUSE) || rbdhw_now() > until)
            return 0;
    }
    return 1;
}

static void close_xdma(void *self)
{
    struct rbdhw_xdma *xdma = self;
    /* Of a device that does not answer, context and buffers are left: it may still write to them. */
    if (!xdma->context || end_all(xdma)) {
        if (xdma->context)
            syscall(SYS_io_destroy, xdma->context);
        free(xdma->buffers);
    }
    if (xdma->registers)
        munmap((void *)(uintptr_t)xdma->registers, REGISTER_BYTES);
    if (xdma->requests >= 0)
        close(xdma->requests);
    if (xdma->answers >= 0)
        close(xdma->answers);
    xdma->context = 0;
    xdma->registers = NULL;
    xdma->buffers = NULL;
}

/* Maps the registers and begins all reads. */
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
    xdma->buffers = aligned_alloc(PAGE, TRANSFERS * xdma->stride + xdma->stride);
    if (!xdma->buffers)
        return RBDHW_NO_MEMORY;
    memset(xdma->moved, 0, sizeof xdma->moved);
    xdma->next_read = xdma->next_write = 0;
    xdma->joined = 0;
    int code = syscall(SYS_io_setup, (long)TRANSFERS, &xdma->context) ? RBDHW_ABSENT : RBDHW_OK;
    for (uint32_t k = 0; k < RBDHW_XDMA_READS && !code; k++)
        code = begin_transfer(xdma, k, xdma->read_bytes);
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

static int receive_packet(void *self, unsigned char *packet, size_t room, size_t *bytes, uint64_t wait)
{
    struct rbdhw_xdma *xdma = self;
    const uint64_t begun = wait ? rbdhw_now() : 0;
    const uint32_t number = xdma->next_read;
    for (uint64_t left = wait; xdma->moved[number] == PENDING;) {
        const int code = end_transfers(xdma, left);
        const uint64_t passed = wait ? rbdhw_now() - begun : 0;
        if (code)
            return code;
        if (xdma->moved[number] == PENDING && passed >= wait)
            return RBDHW_TIMEOUT;
        left = wait - passed;
    }
    /* The parts of an answer are joined behind the buffers. */
    unsigned char *answer = buffer_of(xdma, TRANSFERS);
    const size_t size = (size_t)xdma->moved[number], left = xdma->stride - xdma->joined;
    const size_t taken = size < left ? size : left;
    memcpy(answer + xdma->joined, buffer_of(xdma, number), taken);
    xdma->joined += taken;
    *bytes = 0;
    if (size < xdma->read_bytes) {
        *bytes = xdma->joined < room ? xdma->joined : room;
        memcpy(packet, answer, *bytes);
        xdma->joined = 0;
    }
    xdma->next_read = (number + 1) % RBDHW_XDMA_READS;
    return begin_transfer(xdma, number, xdma->read_bytes);
}

void rbdhw_xdma(struct rbdhw_xdma *xdma, struct rbdhw_transport *made, const struct rbdhw_design *design,
    const char *path, uint32_t channel)
{
    size_t request, answer;
    rbdhw_longest(design, &request, &answer);
    memset(xdma, 0, sizeof *xdma);
    xdma->path = path;
    xdma->channel = channel;
    xdma->beat_bytes = (size_t)design->beat_bytes;
    xdma->read_bytes = bytes_of_read(design);
    xdma->stride = (larger(request, answer) + PAGE - 1) / PAGE * PAGE;
    xdma->requests = xdma->answers = -1;
    const struct rbdhw_transport transport = {
        open_xdma, close_xdma, read_register, write_register, send_packet, receive_packet, xdma, 0, 0};
    *made = transport;
}
