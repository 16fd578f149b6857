"""Steps in time and their derivatives in C from CasADi and Pinocchio, beside the generated C, on one core."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Rows
from benchmarks.solver import ROOT, STEPS, TIME_STEP, run_in
from rbdhw.frontend.read import load_mounted
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate_software
from rbdhw.robot.mounting import Mounting
from rbdhw.robots import bundled
from rbdhw.software.compiler import find_compiler
from rbdhw.software.folder import Software

ENVIRONMENT = ROOT / "build" / "casadi"

PACKAGES = ("cmeel-casadi-kin-dyn==1.6.14", "numpy==1.24.4")
"""Pinocchio 2.6.20 over CasADi's scalars, with the CasADi of the same build; its NumPy is older."""

ROBOT = "iiwa14"

FUNCTIONS = {"step": 1, "dstep": 3}
"""The functions, and how many arrays each returns."""

FLAGS = ("-O2", "-march=native", "-ffp-contract=fast", "-fPIC", "-shared")

LOOP = """
#define _POSIX_C_SOURCE 199309L
#include <time.h>
#ifdef OURS
#include "dynamics.h"
#else
int CALLED(const double **, double **, long long *, double *, int);
#endif
double seconds(int rounds, int tasks, int n, const double *q, const double *v, const double *tau,
    const double *h, double *x, double *A, double *B, double *work)
{
    double least = 1e9;
    for (int round = 0; round < rounds; round++) {
        struct timespec from, to;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        for (int i = 0; i < tasks; i++) {
            const double *inputs[] = {q + i * n, v + i * n, tau + i * n, h + i};
            double *results[] = {x + i * 2 * n, A + i * 4 * n * n, B + i * 2 * n * n};
#ifdef OURS
            CALLED(1, inputs[0], inputs[1], inputs[2], inputs[3], PASSED);
#else
            CALLED(inputs, results, (long long *)work, work, 0);
#endif
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        const double taken = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
        least = taken < least ? taken : least;
    }
    return least / tasks;
}
"""
"""Calls a function for one task after the other."""

ROUNDS = 1000

AGREEMENT = 1e-10
"""The largest difference of an element."""


def software_of_steps() -> Software:
    """Return the functions in C."""
    return generate_software(bundled()[ROBOT], BuildOptions(tuple(FUNCTIONS), target="c"))


def casadi_rows() -> Rows:
    """Return the seconds of a task of each function, by CasADi's C and by the generated one, in doubles."""
    robot = load_mounted(bundled()[ROBOT], Mounting())
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-1.0, 1.0, (STEPS, robot.nv)) for _ in range(3)] + [np.full(STEPS, TIME_STEP)]
    software = software_of_steps()
    rows = []
    with _code_of_casadi() as theirs:
        for name, count in FUNCTIONS.items():
            source = (theirs / f"{name}.c").read_text()
            ours = {**software.sources, "called.c": software.sources[f"dynamics_{name}.c"]}
            passed = ", ".join(f"results[{k}]" for k in range(count))
            flags = ["-DOURS", "-DRBDHW_REAL=double", f"-DPASSED={passed}", f"-DCALLED=rbdhw_{name}"]
            casadi, found = _time({"called.c": source}, [f"-DCALLED={name}_of_casadi"], arrays)
            generated, expected = _time(ours, flags, arrays)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=0.0, atol=AGREEMENT)
            rows.append({"function": name, "casadi": casadi, "ours": generated})
    return rows


def casadi_layout(rows: Rows) -> Rows:
    """Return a line for each function."""
    return [
        {
            "": row["function"],
            "CasADi": f"{1e6 * row['casadi']:.2f} µs",
            "generated C": f"{1e6 * row['ours']:.2f} µs ({row['casadi'] / row['ours']:.1f}×)",
        }
        for row in rows
    ]


@contextmanager
def _code_of_casadi() -> Iterator[Path]:
    """Return a folder with a source of each function."""
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        program = ROOT / "benchmarks" / "casadi_code.py"
        run_in(ENVIRONMENT, PACKAGES, program, bundled()[ROBOT], folder)
        yield Path(folder)


def _time(
    sources: dict[str, str], flags: list[str], arrays: list[NDArray[np.float64]]
) -> tuple[float, list[NDArray[np.float64]]]:
    """Compile ``called.c`` and time it; return the seconds of a task, and its results in columns or rows."""
    tasks, n = arrays[0].shape
    results = [np.zeros((tasks, size)) for size in (2 * n, 4 * n * n, 2 * n * n)]
    work = np.zeros(1 << 20)
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        for name, text in {**sources, "loop.c": LOOP}.items():
            Path(folder, name).write_text(text)
        files = [str(Path(folder, name)) for name in ("called.c", "loop.c")]
        library = str(Path(folder, "library.so"))
        command = [*find_compiler(), "-std=gnu11", *FLAGS, *flags, *files, "-o", library, "-lm"]
        subprocess.run(command, check=True)
        call = ctypes.CDLL(library).seconds
        call.restype = ctypes.c_double
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (*arrays, *results, work)]
        seconds: float = call(ROUNDS, tasks, n, *pointers)
    return seconds, _in_rows(results, n, "-DOURS" in flags)


def _in_rows(results: list[NDArray[np.float64]], n: int, ours: bool) -> list[NDArray[Any]]:
    """Return the results with matrices in rows; CasADi's are in columns."""
    x, A, B = results
    if ours:
        return [x, A.reshape(-1, 2 * n, 2 * n), B.reshape(-1, 2 * n, n)]
    return [x, A.reshape(-1, 2 * n, 2 * n).swapaxes(1, 2), B.reshape(-1, n, 2 * n).swapaxes(1, 2)]
