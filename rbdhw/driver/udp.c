#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "files.h"
#include "rbdhw_links.h"

static int open_udp(void *self)
{
    struct rbdhw_udp *udp = self;
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *addresses;
    if (getaddrinfo(udp->host, udp->port, &hints, &addresses))
        return RBDHW_ABSENT;
    udp->file = -1;
    for (const struct addrinfo *one = addresses; one && udp->file < 0; one = one->ai_next) {
        udp->file = socket(one->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (udp->file >= 0 && connect(udp->file, one->ai_addr, one->ai_addrlen)) {
            close(udp->file);
            udp->file = -1;
        }
    }
    freeaddrinfo(addresses);
    return udp->file < 0 ? RBDHW_ABSENT : RBDHW_OK;
}

static void close_udp(void *self)
{
    close(((struct rbdhw_udp *)self)->file);
}

static int read_udp(void *self, unsigned char *bytes, size_t room, size_t *count, uint64_t wait)
{
    return rbdhw_read_file(((struct rbdhw_udp *)self)->file, bytes, room, count, wait);
}

static int write_udp(void *self, const unsigned char *bytes, size_t size, size_t *count)
{
    const size_t part = size < RBDHW_DATAGRAM ? size : RBDHW_DATAGRAM;
    return rbdhw_write_file(((struct rbdhw_udp *)self)->file, bytes, part, count);
}

void rbdhw_udp(struct rbdhw_udp *udp, struct rbdhw_transport *made, const struct rbdhw_design *design,
    const char *host, const char *port)
{
    const struct rbdhw_line line = {open_udp, close_udp, read_udp, write_udp, udp};
    memset(udp, 0, sizeof *udp);
    udp->host = host;
    udp->port = port;
    rbdhw_frames_transport(&udp->frames, made, design, line);
}
