/* What the host does after an accelerator of ΔID: da = -Minv dtau, for both derivatives of NV coordinates. */
#include <stddef.h>
#include <string.h>

#define RBDHW_NAME(name) host_##name
enum { LANES = 16, SIZE = NV * NV }; /* tasks that are computed together, and the elements of a matrix */
typedef float lanes __attribute__((vector_size(4 * LANES)));

/* Element k of task i is at by_task * i + by_element * k. */
static inline __attribute__((always_inline)) void load(lanes *matrix, const float *from, size_t count,
    size_t by_task, size_t by_element)
{
    for (size_t k = 0; k < SIZE; k++, from += by_element)
        if (by_task == 1 && count == LANES)
            memcpy(&matrix[k], from, sizeof *matrix);
        else
            for (size_t i = 0; i < LANES; i++)
                matrix[k][i] = i < count ? from[i * by_task] : 0;
}

static inline __attribute__((always_inline)) void store(const lanes *values, float *to, size_t count,
    size_t by_task)
{
    if (by_task == 1 && count == LANES)
        memcpy(to, values, sizeof *values);
    else
        for (size_t i = 0; i < count; i++)
            to[i * by_task] = (*values)[i];
}

static inline __attribute__((always_inline)) void multiply(const lanes *left, const float *from, float *to,
    size_t count, size_t by_task, size_t by_element)
{
    lanes right[SIZE];
    load(right, from, count, by_task, by_element);
    for (size_t row = 0; row < NV; row++)
        for (size_t column = 0; column < NV; column++) {
            lanes sum = {0};
            for (size_t k = 0; k < NV; k++)
                sum -= left[row * NV + k] * right[k * NV + column];
            store(&sum, to + (row * NV + column) * by_element, count, by_task);
        }
}

static inline __attribute__((always_inline)) void run(size_t tasks, size_t by_task, size_t by_element,
    const float *Minv, const float *dtau_dq, const float *dtau_dv, float *da_dq, float *da_dv)
{
#ifdef _OPENMP
#pragma omp parallel for if (tasks > 128 * LANES)
#endif
    for (size_t first = 0; first < tasks; first += LANES) {
        const size_t count = tasks - first < LANES ? tasks - first : LANES, place = first * by_task;
        lanes left[SIZE];
        load(left, Minv + place, count, by_task, by_element);
        multiply(left, dtau_dq + place, da_dq + place, count, by_task, by_element);
        multiply(left, dtau_dv + place, da_dv + place, count, by_task, by_element);
    }
}

void host_product(size_t tasks, const float *Minv, const float *dtau_dq, const float *dtau_dv, float *da_dq,
    float *da_dv)
{
    run(tasks, SIZE, 1, Minv, dtau_dq, dtau_dv, da_dq, da_dv);
}

void host_product_columns(size_t tasks, size_t stride, const float *Minv, const float *dtau_dq,
    const float *dtau_dv, float *da_dq, float *da_dv)
{
    run(tasks, 1, stride, Minv, dtau_dq, dtau_dv, da_dq, da_dv);
}
