/* The inverse of a mass matrix of NV coordinates by its factorisation M = L D L'. */
#include "cholesky.h"

static void factorise(double *l)
{
    for (size_t k = 0; k < NV; k++) {
        for (size_t j = 0; j < k; j++) {
            const double scaled = l[k * NV + j], factor = scaled / l[j * NV + j];
            for (size_t i = k; i < NV; i++)
                l[i * NV + k] -= l[i * NV + j] * factor;
        }
    }
    for (size_t k = 0; k < NV; k++)
        for (size_t i = k + 1; i < NV; i++)
            l[i * NV + k] /= l[k * NV + k];
}

/* One column of the inverse; rows above `column` of the first solution are zero. */
static void solve(const double *l, size_t column, double *x)
{
    for (size_t i = column; i < NV; i++) {
        double sum = i == column;
        for (size_t j = column; j < i; j++)
            sum -= l[i * NV + j] * x[j];
        x[i] = sum;
    }
    for (size_t i = NV; i-- > column;) {
        double sum = x[i] / l[i * NV + i];
        for (size_t j = i + 1; j < NV; j++)
            sum -= l[j * NV + i] * x[j];
        x[i] = sum;
    }
}

void RBDHW_NAME(inverse)(size_t tasks, const double *M, double *Minv, unsigned char *status)
{
    for (; tasks; tasks--, M += NV * NV, Minv += NV * NV) {
        double l[NV * NV], x[NV];
        memcpy(l, M, sizeof l);
        factorise(l);
        for (size_t column = 0; column < NV; column++) {
            solve(l, column, x);
            for (size_t i = column; i < NV; i++)
                Minv[i * NV + column] = Minv[column * NV + i] = x[i];
        }
    }
    (void)status;
}
