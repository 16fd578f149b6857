/* What the host does after an accelerator of ΔID: da = -Minv dtau, for both derivatives of NV coordinates. */
#include <stddef.h>

#define RBDHW_NAME(name) host_##name
enum { BLOCK = 64 };

/* Element k of task i is at by_task * i + by_element * k. */
static inline __attribute__((always_inline)) void multiply(size_t tasks, size_t by_task, size_t by_element,
    const float *Minv, const float *dtau, float *da)
{
    for (size_t first = 0; first < tasks; first += BLOCK) {
        const size_t count = tasks - first < BLOCK ? tasks - first : BLOCK;
        for (size_t row = 0; row < NV; row++)
            for (size_t column = 0; column < NV; column++) {
                float sums[BLOCK] = {0};
                for (size_t k = 0; k < NV; k++) {
                    const float *left = Minv + first * by_task + (row * NV + k) * by_element;
                    const float *right = dtau + first * by_task + (k * NV + column) * by_element;
                    for (size_t i = 0; i < count; i++)
                        sums[i] -= left[i * by_task] * right[i * by_task];
                }
                float *result = da + first * by_task + (row * NV + column) * by_element;
                for (size_t i = 0; i < count; i++)
                    result[i * by_task] = sums[i];
            }
    }
}

void host_product(size_t tasks, const float *Minv, const float *dtau_dq, const float *dtau_dv, float *da_dq,
    float *da_dv)
{
    multiply(tasks, NV * NV, 1, Minv, dtau_dq, da_dq);
    multiply(tasks, NV * NV, 1, Minv, dtau_dv, da_dv);
}

void host_product_columns(size_t tasks, size_t stride, const float *Minv, const float *dtau_dq,
    const float *dtau_dv, float *da_dq, float *da_dv)
{
    multiply(tasks, 1, stride, Minv, dtau_dq, da_dq);
    multiply(tasks, 1, stride, Minv, dtau_dv, da_dv);
}
