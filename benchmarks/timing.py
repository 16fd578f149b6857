"""Generated C with a clock around it: the time of calls, without the overhead of Python."""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment
from numpy.typing import NDArray

from rbdhw.software.arrays import Array
from rbdhw.software.compiler import compile_library
from rbdhw.software.float_library import FLAGS, REALS
from rbdhw.software.folder import Software

Arrays = Mapping[str, NDArray[Any]]
Interfaces = Mapping[str, tuple[tuple[Array, ...], tuple[Array, ...]]]
"""The inputs and results of each function, in the order of the C function's parameters."""

FEW = 64
"""The tasks through which single calls go, few enough that they stay in the processor's cache."""

ROUNDS = 15
"""The measurements of each figure."""

ROUND_SECONDS = 0.02
"""The least time of a measurement."""


class TimedLibrary:
    """The functions of a C header, compiled with a clock around them.

    Parameters
    ----------
    sources
        The texts by name.
    header
        The name of the header that declares the functions.
    arrays
        The functions.
    number
        The type of numbers, one of :data:`rbdhw.software.float_library.REALS`.
    flags
        Options of the compiler.
    exact
        Whether the functions are those of the bit-exact model, which take arrays only in rows, and a status.
    threads
        Whether calls use several threads. Then the figures are the shortest elapsed times, because other
        processes delay the rest. Otherwise they are medians of processor time.
    created
        The threads that are created for each call, which has its tasks in rows; 0 for those of the library.
    """

    def __init__(
        self,
        sources: Mapping[str, str],
        header: str,
        arrays: Interfaces,
        number: str = "float64",
        flags: Sequence[str] = (),
        *,
        exact: bool = False,
        threads: bool = False,
        created: int = 0,
    ) -> None:
        real, self._dtype = REALS[number]
        self._arrays, self._in_rows = dict(arrays), exact or created > 0
        elapsed, flags = threads or created > 0, [*flags, *["-pthread"] * (created > 0)]
        self._typical = min if elapsed else statistics.median
        template = files("benchmarks").joinpath("timing.c.template").read_text(encoding="utf-8")
        text = Environment(trim_blocks=True, lstrip_blocks=True).from_string(template)
        timing = text.render(
            header=header,
            created=created,
            clock="CLOCK_MONOTONIC" if elapsed else "CLOCK_PROCESS_CPUTIME_ID",
            functions=[
                _parameters(name, real, exact, self._in_rows, *sides) for name, sides in arrays.items()
            ],
        )
        compiled = ["timing.c", *compiled_files(sources)]
        self._library = ctypes.CDLL(str(compile_library({**sources, "timing.c": timing}, compiled, flags)))

    def seconds(self, function: str, tasks: Arrays, count: int = 1) -> float:
        """Return the time of a call for ``count`` tasks, in rows or in columns, whichever is faster.

        Single tasks are always in rows, and calls go through the first :data:`FEW` of them.

        Parameters
        ----------
        tasks
            The inputs by name, with an axis of at least ``count`` tasks, for ``count`` = 1 of :data:`FEW`.
        """
        if count == 1:
            return self._seconds(function, tasks, 1, FEW, by_columns=False)
        return min(
            self._seconds(function, tasks, count, count, by_columns)
            for by_columns in {False, not self._in_rows}
        )

    def _seconds(self, function: str, tasks: Arrays, count: int, states: int, by_columns: bool) -> float:
        """Return the time of a call for ``count`` of ``states`` tasks."""
        inputs, outputs = self._arrays[function]
        layout = _columns if by_columns else np.ascontiguousarray
        arrays = [
            None if array.optional else layout(tasks[array.name][:states].astype(self._dtype))
            for array in inputs
        ]
        arrays += [
            None if array.optional else layout(np.zeros((states, *array.shape), self._dtype))
            for array in outputs
        ]
        pointers = [None if array is None else array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
        call = getattr(self._library, f"time_{function}")
        call.restype = ctypes.c_double

        def run(calls: int) -> float:
            sizes = map(ctypes.c_size_t, (count, states, calls))
            return float(call(*sizes, int(by_columns), *pointers))

        calls = 1
        while run(calls) < ROUND_SECONDS:
            calls *= 2
        return self._typical(run(calls) / calls for _ in range(ROUNDS))


def timed_software(
    software: Software, number: str, *, threads: bool = False, created: int = 0
) -> TimedLibrary:
    """Return the functions of a folder of C, in ``float64`` or ``float32``, on one thread or several."""
    arrays = {function: software.arrays(function) for function in software.functions}
    flags = [*FLAGS, f"-DRBDHW_REAL={REALS[number][0]}", *["-fopenmp"] * threads]
    return TimedLibrary(
        software.sources, "dynamics.h", arrays, number, flags, threads=threads, created=created
    )


def compiled_files(sources: Mapping[str, str]) -> list[str]:
    """Return the names of the sources that are compiled; they include the others."""
    return [name for name in sources if name.endswith(".c")]


def _parameters(
    name: str, real: str, exact: bool, in_rows: bool, inputs: Sequence[Array], outputs: Sequence[Array]
) -> dict[str, Any]:
    """Return a function's parameters, and its arguments for tasks in rows and in columns."""
    sides = [f"const {real} *{array.name}" for array in inputs]
    sides += [f"{real} *{array.name}" for array in outputs]
    both = [array.name for array in (*inputs, *outputs)]
    rows = [f"{array.name} ? {array.name} + first * {array.size} : NULL" for array in (*inputs, *outputs)]
    return {
        "name": name,
        "parameters": ", ".join(sides),
        "fields": " ".join(f"{side};" for side in sides),
        "own": ", ".join(f"own->{array}" for array in both),
        "rows": ", ".join([*rows, "NULL"] if exact else rows),
        "columns": ", ".join(f"{array} ? {array} + first : NULL" for array in both),
        "by_columns": not in_rows,
    }


def _columns(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array whose axis of tasks varies fastest."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 0, -1)), -1, 0)
