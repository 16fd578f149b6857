/* The inverse of symmetric matrices, in rows, beside that by the robot's structure. */
#include <stddef.h>
#include <string.h>

#define RBDHW_NAME(name) cholesky_##name
void RBDHW_NAME(inverse)(size_t tasks, const double *M, double *Minv, unsigned char *status);
