#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "rbdhw_links.h"

enum { REQUEST_ROOM = 4096 }; /* bytes of requests that a board holds */

static const struct {
    uint32_t baud;
    speed_t speed;
} SPEEDS[] = {{9600, B9600}, {19200, B19200}, {38400, B38400}, {57600, B57600}, {115200, B115200},
    {230400, B230400}, {460800, B460800}, {921600, B921600}, {1000000, B1000000}, {2000000, B2000000},
    {3000000, B3000000}};

/* Makes a terminal pass bytes as they are. */
static int make_raw(int file, uint32_t baud)
{
    struct termios line;
    if (tcgetattr(file, &line))
        return RBDHW_ABSENT;
    line.c_iflag = line.c_oflag = line.c_lflag = 0;
    line.c_cflag = CS8 | CREAD | CLOCAL;
    line.c_cc[VMIN] = line.c_cc[VTIME] = 0;
    for (size_t k = 0; k < sizeof SPEEDS / sizeof *SPEEDS; k++)
        if (SPEEDS[k].baud == baud) {
            cfsetispeed(&line, SPEEDS[k].speed);
            cfsetospeed(&line, SPEEDS[k].speed);
            return tcsetattr(file, TCSANOW, &line) || tcflush(file, TCIOFLUSH) ? RBDHW_ABSENT : RBDHW_OK;
        }
    return RBDHW_ARGUMENT;
}

static int read_line(void *self, unsigned char *bytes, size_t room, size_t *count, uint64_t wait)
{
    struct rbdhw_serial_port *serial = self;
    struct pollfd poller = {serial->file, POLLIN, 0};
    const uint64_t most = 60000, rounded = wait / 1000000 + (wait % 1000000 != 0);
    *count = 0;
    if (wait && poll(&poller, 1, (int)(rounded > most ? most : rounded)) < 0 && errno != EINTR)
        return RBDHW_LOST;
    if (poller.revents & (POLLHUP | POLLERR | POLLNVAL))
        return RBDHW_LOST;
    const ssize_t size = read(serial->file, bytes, room);
    if (size < 0 && errno != EAGAIN && errno != EINTR)
        return RBDHW_LOST;
    *count = size > 0 ? (size_t)size : 0;
    return RBDHW_OK;
}

static int write_line(void *self, const unsigned char *bytes, size_t size, size_t *count)
{
    struct rbdhw_serial_port *serial = self;
    const ssize_t written = write(serial->file, bytes, size);
    if (written < 0 && errno != EAGAIN && errno != EINTR)
        return RBDHW_LOST;
    *count = written > 0 ? (size_t)written : 0;
    return RBDHW_OK;
}

static int open_serial(void *self)
{
    struct rbdhw_serial_port *serial = self;
    serial->file = open(serial->path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (serial->file < 0)
        return errno == EBUSY ? RBDHW_IN_USE : RBDHW_ABSENT;
    int code = RBDHW_OK;
    if (flock(serial->file, LOCK_EX | LOCK_NB) || ioctl(serial->file, TIOCEXCL))
        code = errno == EWOULDBLOCK ? RBDHW_IN_USE : RBDHW_ABSENT;
    if (!code)
        code = make_raw(serial->file, serial->baud);
    if (!code) {
        const struct rbdhw_line line = {read_line, write_line, serial};
        code = rbdhw_frames_open(&serial->frames, serial->design, line);
    }
    if (code)
        close(serial->file);
    return code;
}

static void close_serial(void *self)
{
    struct rbdhw_serial_port *serial = self;
    rbdhw_frames_close(&serial->frames);
    close(serial->file);
}

static int read_register(void *self, uint32_t address, uint32_t *value)
{
    return rbdhw_frames_read_register(&((struct rbdhw_serial_port *)self)->frames, address, value);
}

static int write_register(void *self, uint32_t address, uint32_t value)
{
    return rbdhw_frames_write_register(&((struct rbdhw_serial_port *)self)->frames, address, value);
}

static int send_packet(void *self, const unsigned char *packet, size_t bytes)
{
    return rbdhw_frames_send(&((struct rbdhw_serial_port *)self)->frames, packet, bytes);
}

static int receive_packet(void *self, unsigned char *packet, size_t room, size_t *bytes, uint64_t wait)
{
    return rbdhw_frames_receive(&((struct rbdhw_serial_port *)self)->frames, packet, room, bytes, wait);
}

void rbdhw_serial(struct rbdhw_serial_port *serial, struct rbdhw_transport *made, const struct rbdhw_design *design,
    const char *path, uint32_t baud)
{
    memset(serial, 0, sizeof *serial);
    serial->path = path;
    serial->baud = baud;
    serial->design = design;
    const struct rbdhw_transport transport = {open_serial, close_serial, read_register, write_register, send_packet,
        receive_packet, serial, REQUEST_ROOM, 0};
    *made = transport;
}
