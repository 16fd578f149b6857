/* Reading and writing of files that do not block, as a line of frames has it, and the time. */
#ifndef RBDHW_FILES_H
#define RBDHW_FILES_H

#include <stddef.h>
#include <stdint.h>

int rbdhw_read_file(int file, unsigned char *bytes, size_t room, size_t *count, uint64_t wait);
int rbdhw_write_file(int file, const unsigned char *bytes, size_t size, size_t *count);

/* Returns the time of the system in nanoseconds. */
uint64_t rbdhw_now(void);

#endif
