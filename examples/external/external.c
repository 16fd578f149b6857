/* A step in time and its derivatives as external functions of CasADi and acados, from generated C in `double`:
 *
 *     step(x, u) -> x_next                      CasADi's function, acados' dyn_disc_phi_fun
 *     jac_step(x, u, x_next) -> A, B            its Jacobian, which CasADi finds by the name
 *     step_fun_jac(x, u) -> x_next, [B A]^T     acados' dyn_disc_phi_fun_jac
 *
 * -DTIME_STEP=0.01 chooses the step in seconds. Joints have as many coordinates as degrees of freedom.
 */

#include "dynamics.h"

#ifndef TIME_STEP
#define TIME_STEP 0.01
#endif

enum { NX = 2 * RBDHW_NV, NU = RBDHW_NV };

_Static_assert(RBDHW_NQ == RBDHW_NV, "x_next - x is a difference only if no joint has a quaternion");

typedef long long casadi_int;

/* Sparsities: rows, columns, and 1 for a dense matrix, whose columns follow each other. */
static const casadi_int state[] = {NX, 1, 1}, force[] = {NU, 1, 1};
static const casadi_int by_state[] = {NX, NX, 1}, by_force[] = {NX, NU, 1}, by_both[] = {NU + NX, NX, 1};

/* What tells CasADi the arguments and results of a function, and its memory: MEMORY numbers. */
#define DESCRIBE(name, MEMORY, INPUTS, OUTPUTS, ...) \
    static const casadi_int *const name##_sparsities[] = {__VA_ARGS__}; \
    casadi_int name##_n_in(void) { return INPUTS; } \
    casadi_int name##_n_out(void) { return OUTPUTS; } \
    const casadi_int *name##_sparsity_in(casadi_int i) { return name##_sparsities[i]; } \
    const casadi_int *name##_sparsity_out(casadi_int i) { return name##_sparsities[INPUTS + i]; } \
    int name##_work(casadi_int *arguments, casadi_int *results, casadi_int *integers, casadi_int *numbers) \
    { \
        *arguments = INPUTS, *results = OUTPUTS, *integers = 0, *numbers = MEMORY; \
        return 0; \
    }

DESCRIBE(step, NX, 2, 1, state, force, state)
DESCRIBE(jac_step, NX + NX * NX + NX * NU, 3, 2, state, force, state, by_state, by_force)
DESCRIBE(step_fun_jac, NX + NX * NX + NX * NU, 2, 2, state, force, state, by_both)

static const double h = TIME_STEP, zeros[NX];

/* What is zero may be NULL. */
#define ARGUMENT(i) (arguments[i] ? arguments[i] : zeros)

int step(const double **arguments, double **results, casadi_int *integers, double *memory, int number)
{
    const double *x = ARGUMENT(0), *u = ARGUMENT(1);
    (void)integers, (void)number;
    rbdhw_step(1, x, x + RBDHW_NQ, u, &h, results[0] ? results[0] : memory);
    return 0;
}

int jac_step(const double **arguments, double **results, casadi_int *integers, double *memory, int number)
{
    const double *x = ARGUMENT(0), *u = ARGUMENT(1);
    double *A = memory + NX, *B = A + NX * NX;
    (void)integers, (void)number;
    rbdhw_dstep(1, x, x + RBDHW_NQ, u, &h, memory, A, B);
    for (int i = 0; i < NX; i++) {
        for (int j = 0; results[0] && j < NX; j++)
            results[0][j * NX + i] = A[i * NX + j];
        for (int j = 0; results[1] && j < NU; j++)
            results[1][j * NX + i] = B[i * NU + j];
    }
    return 0;
}

int step_fun_jac(const double **arguments, double **results, casadi_int *integers, double *memory, int number)
{
    const double *x = ARGUMENT(0), *u = ARGUMENT(1);
    double *A = memory + NX, *B = A + NX * NX;
    (void)integers, (void)number;
    rbdhw_dstep(1, x, x + RBDHW_NQ, u, &h, results[0] ? results[0] : memory, A, B);
    for (int i = 0; results[1] && i < NX; i++)
        for (int j = 0; j < NU + NX; j++)
            results[1][i * (NU + NX) + j] = j < NU ? B[i * NU + j] : A[i * NX + j - NU];
    return 0;
}
