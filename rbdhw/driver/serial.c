#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "files.h"
#include "rbdhw_links.h"

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

static int read_serial(void *self, unsigned char *bytes, size_t room, size_t *count, uint64_t wait)
{
    return rbdhw_read_file(((struct rbdhw_serial_port *)self)->file, bytes, room, count, wait);
}

static int write_serial(void *self, const unsigned char *bytes, size_t size, size_t *count)
{
    return rbdhw_write_file(((struct rbdhw_serial_port *)self)->file, bytes, size, count);
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
    if (code)
        close(serial->file);
    return code;
}

static void close_serial(void *self)
{
    close(((struct rbdhw_serial_port *)self)->file);
}

void rbdhw_serial(struct rbdhw_serial_port *serial, struct rbdhw_transport *made, const struct rbdhw_design *design,
    const char *path, uint32_t baud)
{
    const struct rbdhw_line line = {open_serial, close_serial, read_serial, write_serial, serial};
    memset(serial, 0, sizeof *serial);
    serial->path = path;
    serial->baud = baud;
    rbdhw_frames_transport(&serial->frames, made, design, line);
}
