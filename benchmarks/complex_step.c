/* Derivatives of a generated function by the complex step, beside those that are generated.
 * WORDS and RESULTS are those of the function, in whose order its inputs and results are. */
#include "batch.h"
#include <complex.h>

#define STEP 1e-30

typedef double _Complex number;
static const number zero_complex = 0;

static void sin_cos_complex(const number *angle, int far_away, number *sine, number *cosine)
{
    const double x = creal(*angle), step = cimag(*angle);
    double s, c;
    sin_cos_scalar(&x, far_away, &s, &c);
    *sine = CMPLX(s, c * step), *cosine = CMPLX(c, -s * step);
}

#define V number
#define KERNEL(name) name##_complex
#define STRIDE 1
#define ROWS(count) (count)
#include KERNELS

/* The derivatives by the first MOVED inputs: those of all results by the first one, then by the next. */
int complex_step(const double **inputs, double **results, long long *whole, double *work, int memory)
{
    number words[WORDS], values[RESULTS];
    (void)whole, (void)work, (void)memory;
    for (int k = 0; k < WORDS; k++)
        words[k] = inputs[k / (MOVED / 2)][k % (MOVED / 2)];
    for (int k = 0; k < MOVED; k++) {
        words[k] += CMPLX(0.0, STEP);
        DERIVED(words, values, 1, 0, 1);
        words[k] = creal(words[k]);
        for (int r = 0; r < RESULTS; r++)
            results[0][k * RESULTS + r] = cimag(values[r]) / STEP;
    }
    return 0;
}
