#include "files.h"

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "rbdhw_transport.h"

/* Returns the code of a read or a write that moved `size` bytes, or failed. */
static int code_of(ssize_t size)
{
    if (size >= 0 || errno == EAGAIN || errno == EINTR)
        return RBDHW_OK;
    return errno == ECONNREFUSED ? RBDHW_ABSENT : RBDHW_LOST;
}

int rbdhw_read_file(int file, unsigned char *bytes, size_t room, size_t *count, uint64_t wait)
{
    struct pollfd poller = {file, POLLIN, 0};
    const uint64_t most = 60000, rounded = wait / 1000000 + (wait % 1000000 != 0);
    *count = 0;
    if (wait && poll(&poller, 1, (int)(rounded > most ? most : rounded)) < 0 && errno != EINTR)
        return RBDHW_LOST;
    if (poller.revents & POLLHUP)
        return RBDHW_LOST;
    const ssize_t size = read(file, bytes, room);
    *count = size > 0 ? (size_t)size : 0;
    return code_of(size);
}

int rbdhw_write_file(int file, const unsigned char *bytes, size_t size, size_t *count)
{
    const ssize_t written = write(file, bytes, size);
    *count = written > 0 ? (size_t)written : 0;
    return code_of(written);
}

uint64_t rbdhw_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
