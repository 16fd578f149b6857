/* The kernel's asynchronous transfers at the devices of XDMA, in whose place are FIFOs of packets, each behind its
 * length. A read ends when it is full, or with a packet. The driver is linked with --wrap=syscall. */
#include <errno.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, LENGTH = 4, PAGE = 4096, ALIGNED = 16 };

static struct {
    struct iocb reads[MOST];      /* in the order in which they end */
    struct io_event written[MOST];
    int reading, writing;
    uint32_t left;                /* bytes of the packet that comes */
} state;

int fake_aio_abandoned; /* contexts that were destroyed while transfers waited, for which the kernel waits */
int fake_aio_holds;     /* writes wait, and do not end */

static void move(int file, unsigned char *bytes, size_t size, int is_read)
{
    while (size) {
        const ssize_t moved = is_read ? read(file, bytes, size) : write(file, bytes, size);
        if (moved <= 0)
            abort();
        bytes += moved;
        size -= (size_t)moved;
    }
}

static long submit(const struct iocb *transfer)
{
    unsigned char *bytes = (unsigned char *)(uintptr_t)transfer->aio_buf;
    if ((uintptr_t)bytes % ALIGNED)
        return -1; /* the device may ask for it */
    if (transfer->aio_lio_opcode == IOCB_CMD_PREAD) {
        if ((uintptr_t)bytes / PAGE != ((uintptr_t)bytes + transfer->aio_nbytes - 1) / PAGE)
            return -1; /* the next packet would be in the second page */
        state.reads[state.reading++] = *transfer;
        return 1;
    }
    uint32_t size = (uint32_t)transfer->aio_nbytes;
    const struct io_event event = {transfer->aio_data, 0, size, 0};
    state.written[state.writing++] = event;
    move((int)transfer->aio_fildes, (unsigned char *)&size, LENGTH, 0);
    move((int)transfer->aio_fildes, bytes, size, 0);
    return 1;
}

/* Ends the first read if something comes in time. */
static int end_read(struct io_event *event, int milliseconds)
{
    const struct iocb read = state.reads[0];
    struct pollfd poller = {(int)read.aio_fildes, POLLIN, 0};
    if (!state.reading)
        return 0;
    if (!state.left) {
        if (poll(&poller, 1, milliseconds) <= 0)
            return 0;
        move(poller.fd, (unsigned char *)&state.left, LENGTH, 1);
    }
    const int is_error = state.left == UINT32_MAX;
    const uint32_t part = state.left < read.aio_nbytes ? state.left : (uint32_t)read.aio_nbytes;
    if (!is_error)
        move(poller.fd, (unsigned char *)(uintptr_t)read.aio_buf, part, 1);
    state.left -= is_error ? state.left : part;
    event->data = read.aio_data;
    event->res = is_error ? -EIO : (int64_t)part;
    state.reading--;
    for (int k = 0; k < state.reading; k++)
        state.reads[k] = state.reads[k + 1];
    return 1;
}

static long end(long least, long most, struct io_event *events, const struct timespec *limit)
{
    long ended = 0;
    while (!fake_aio_holds && state.writing && ended < most)
        events[ended++] = state.written[--state.writing];
    const int wait = (int)(limit->tv_sec * 1000 + (limit->tv_nsec + 999999) / 1000000);
    while (ended < most && end_read(events + ended, ended < least ? wait : 0))
        ended++;
    return ended;
}

long __wrap_syscall(long number, ...)
{
    va_list arguments;
    long result = -1;
    va_start(arguments, number);
    const long first = va_arg(arguments, long); /* the context, or the number of transfers */
    if (number == SYS_io_setup) {
        state.reading = state.writing = 0;
        state.left = 0;
        *va_arg(arguments, unsigned long *) = (unsigned long)first;
        result = 0;
    } else if (number == SYS_io_submit) {
        (void)va_arg(arguments, long);
        result = submit(*va_arg(arguments, struct iocb **));
    } else if (number == SYS_io_getevents) {
        const long least = va_arg(arguments, long), most = va_arg(arguments, long);
        struct io_event *events = va_arg(arguments, struct io_event *);
        result = end(least, most, events, va_arg(arguments, const struct timespec *));
    } else if (number == SYS_io_destroy) {
        fake_aio_abandoned += state.reading || state.writing;
        result = 0;
    }
    va_end(arguments);
    return result;
}
