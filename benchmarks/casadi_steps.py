"""Functions in C from CasADi and Pinocchio, differentiated automatically, beside the generated C."""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Row, Rows, robot_label
from benchmarks.solver import ROOT, STEPS, TIME_STEP, run_in
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate_software
from rbdhw.robots import bundled
from rbdhw.software.compiler import find_compiler
from rbdhw.software.folder import Software

ENVIRONMENT = ROOT / "build" / "casadi"

PACKAGES = ("cmeel-casadi-kin-dyn==1.6.14", "numpy==1.24.4")
"""Pinocchio 2.6.20 over CasADi's scalars, with the CasADi of the same build; its NumPy is older."""

ROBOT = "iiwa14"

STEPPED = ("step", "dstep")
"""The functions of steps in time."""

SECOND = "sid"
"""The function with whole second derivatives."""

SECOND_ROBOTS = ("hyq", "iiwa14")
"""The robots, on fixed bases, whose second derivatives are compared."""

FLAGS = ("-O2", "-march=native", "-ffp-contract=fast", "-fPIC", "-shared")

LOOP = """
#define _POSIX_C_SOURCE 199309L
#include <stddef.h>
#include <time.h>
#ifdef OURS
#include "dynamics.h"
#else
int CALLED(const double **, double **, long long *, double *, int);
#endif
static double one_round(int passes, int tasks, const int *sizes, double **arrays, double *work)
{
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (int pass = 0; pass < passes; pass++) {
        for (int i = 0; i < tasks; i++) {
            double *own[ARRAYS];
            for (int k = 0; k < ARRAYS; k++)
                own[k] = arrays[k] + (ptrdiff_t)i * sizes[k];
#ifdef OURS
            CALLED(1, PASSED);
#else
            CALLED((const double **)own, own + INPUTS, (long long *)work, work, 0);
#endif
        }
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

double seconds(int rounds, int tasks, const int *sizes, double **arrays, double *work)
{
    int passes = 1;
    while (one_round(passes, tasks, sizes, arrays, work) < 1e-4)
        passes *= 2;
    double least = 1e9;
    for (int round = 0; round < rounds; round++) {
        const double taken = one_round(passes, tasks, sizes, arrays, work) / passes;
        least = taken < least ? taken : least;
    }
    return least / tasks;
}
"""
"""Calls a function for one task after the other, in rounds of at least a tenth of a millisecond."""

OWN = ("called", "kernels")
"""How the names of sources begin that are a function's own."""

ROUNDS = 1000

AGREEMENT = 1e-10
"""The largest difference of an element of steps, and of second derivatives relative to the largest."""

Arrays = Mapping[str, NDArray[np.float64]]


def software_of_steps() -> Software:
    """Return steps in time and their derivatives in C."""
    return generate_software(bundled()[ROBOT], BuildOptions(STEPPED, target="c"))


def software_of_second(name: str) -> Software:
    """Return the second derivatives of inverse dynamics of a robot in C."""
    return generate_software(bundled()[name], BuildOptions((SECOND,), target="c"))


@dataclass(frozen=True)
class Timed:
    """A function in C: the time of a task, the results by name, and what compiling it takes."""

    seconds: float
    results: Arrays
    lines: int
    size: int
    """The bytes of the library."""
    compiling: float
    """The processor time of the compiler in seconds."""


def casadi_rows() -> Rows:
    """Return the seconds of a task of each function, by CasADi's C and by the generated one, in doubles."""
    return _rows(ROBOT, STEPPED, software_of_steps())


def second_code_rows(robots: Iterable[str] = SECOND_ROBOTS) -> Rows:
    """Return the same of whole second derivatives, with lines of C and bytes of compiled code."""
    return [row for name in robots for row in _rows(name, (SECOND,), software_of_second(name))]


def _rows(name: str, functions: Iterable[str], software: Software) -> Rows:
    with code_of_casadi(bundled()[name], functions) as theirs:
        return [
            {"robot": name, "function": function}
            | {
                key: _figures(timed)
                for key, timed in zip(("casadi", "ours"), time_both(theirs, software, function), strict=True)
            }
            for function in functions
        ]


def random_tasks(nv: int) -> dict[str, NDArray[np.float64]]:
    """Return random states and a step, always the same."""
    rng = np.random.default_rng(0)
    states = {key: rng.uniform(-1.0, 1.0, (STEPS, nv)) for key in ("q", "v", "tau", "a")}
    return states | {"h": np.full(STEPS, TIME_STEP), "lambda_tau": rng.uniform(-1.0, 1.0, (STEPS, nv))}


def time_ours(software: Software, function: str) -> Timed:
    """Return the figures of a function of the generated C."""
    inputs, outputs = software.arrays(function)
    tasks = random_tasks(software.robot.nv)
    called = {"called.c": software.sources[f"dynamics_{function}.c"]}
    called |= {key: software.sources[key] for key in ("dynamics.h", "batch.h", f"kernels_{function}.h")}
    flags = ["-DOURS", "-DRBDHW_REAL=double", f"-DCALLED=rbdhw_{function}"]
    passed = {array.name: tasks[array.name] for array in inputs}
    return time_called(called, flags, passed, {array.name: array.shape for array in outputs})


def time_both(theirs: Path, software: Software, function: str) -> tuple[Timed, Timed]:
    """Return the figures of a function by CasADi and of the generated C, whose results agree."""
    inputs, outputs = software.arrays(function)
    tasks = random_tasks(software.robot.nv)
    casadi = time_called(
        {"called.c": (theirs / f"{function}.c").read_text()},
        [f"-DCALLED={function}_of_casadi"],
        {array.name: tasks[array.name] for array in inputs},
        {array.name: array.shape for array in outputs},
    )
    ours = time_ours(software, function)
    for key, expected in ours.results.items():
        limit = AGREEMENT * max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(casadi.results[key], expected, rtol=0.0, atol=limit)
    return casadi, ours


def _figures(timed: Timed) -> Row:
    return {"seconds": timed.seconds, "lines": timed.lines, "bytes": timed.size}


def casadi_layout(rows: Rows) -> Rows:
    """Return a line for each function."""
    return [{"": row["function"]} | _times(row) for row in rows]


def second_code_layout(rows: Rows) -> Rows:
    """Return a line for each robot: times, thousands of lines of C, and megabytes of the library."""
    return [
        {"": robot_label(row)}
        | _times(row)
        | {
            f"{title}, {what}": f"{row[key][figure] / unit:.1f} {sign}".strip()
            for what, figure, unit, sign in (("lines", "lines", 1e3, "k"), ("compiled", "bytes", 1e6, "MB"))
            for title, key in (("CasADi", "casadi"), ("generated C", "ours"))
        }
        for row in rows
    ]


def _times(row: Row) -> dict[str, str]:
    theirs, ours = (1e6 * row[key]["seconds"] for key in ("casadi", "ours"))
    return {"CasADi": f"{theirs:.2f} µs", "generated C": f"{ours:.2f} µs ({theirs / ours:.1f}×)"}


@contextmanager
def code_of_casadi(urdf: Path, functions: Iterable[str]) -> Iterator[Path]:
    """Return a folder with a source of each function of a robot."""
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        program = ROOT / "benchmarks" / "casadi_code.py"
        run_in(ENVIRONMENT, PACKAGES, program, urdf, folder, *functions)
        yield Path(folder)


def time_called(
    sources: Mapping[str, str], flags: list[str], inputs: Arrays, shapes: Mapping[str, tuple[int, ...]]
) -> Timed:
    """Compile ``called.c`` and time it for tasks one after the other.

    Parameters
    ----------
    flags
        Options of the compiler, with ``-DOURS`` for the generated C. CasADi's arrays are in columns.
    inputs
        The inputs of the tasks, in the order in which they are passed.
    shapes
        The shapes of the results of a task.
    """
    tasks = len(next(iter(inputs.values())))
    results = {name: np.zeros((tasks, math.prod(shape))) for name, shape in shapes.items()}
    arrays = [*inputs.values(), *results.values()]
    sizes = np.array([array.size // tasks for array in arrays], np.int32)
    passed = ", ".join(f"own[{k}]" for k in range(len(arrays)))
    flags = [*flags, f"-DARRAYS={len(arrays)}", f"-DINPUTS={len(inputs)}", f"-DPASSED={passed}"]
    work = np.zeros(1 << 20)
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        for name, text in {**sources, "loop.c": LOOP}.items():
            Path(folder, name).write_text(text)
        files = [str(Path(folder, name)) for name in ("called.c", "loop.c")]
        library = Path(folder, "library.so")
        command = [*find_compiler(), "-std=gnu11", *FLAGS, *flags, *files, "-o", str(library), "-lm"]
        before = os.times()
        subprocess.run(command, check=True)
        after = os.times()
        compiling = sum(after[2:4]) - sum(before[2:4])
        call = ctypes.CDLL(str(library)).seconds
        call.restype = ctypes.c_double
        pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        seconds = call(
            ROUNDS,
            tasks,
            sizes.ctypes.data_as(ctypes.c_void_p),
            pointers,
            work.ctypes.data_as(ctypes.c_void_p),
        )
        by_columns = "-DOURS" not in flags
        shaped = {name: _shaped(results[name], shape, by_columns) for name, shape in shapes.items()}
        lines = sum(text.count("\n") for name, text in sources.items() if name.startswith(OWN))
        return Timed(seconds, shaped, lines, library.stat().st_size, compiling)


def _shaped(numbers: NDArray[np.float64], shape: tuple[int, ...], by_columns: bool) -> NDArray[np.float64]:
    """Return the results of tasks, whose first index varies fastest if they are in columns."""
    if not by_columns:
        return numbers.reshape(-1, *shape)
    reverse = (0, *range(len(shape), 0, -1))
    return numbers.reshape(-1, *shape[::-1]).transpose(reverse)
