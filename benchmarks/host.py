"""What a task costs the host beside the accelerator: the driver with one that answers at once."""

from __future__ import annotations

import ctypes
import tempfile
import timeit
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np

from benchmarks.builds import plan_of, tasks_of
from benchmarks.rows import Row, Rows
from rbdhw.design.folder import Design, draft_design
from rbdhw.driver import library as driver_library
from rbdhw.driver.library import Data, Driver, Library, Options, Transport
from rbdhw.engines.driver import DriverEngine
from rbdhw.engines.engine import Source
from rbdhw.protocol import FUNCTIONS
from rbdhw.software.compiler import compile_library, load_library

CALLED = ("id", "fd", "dfd")
"""The functions that are called."""

BATCH = 1024
"""The tasks of a batch."""

CALLS, REPEATS = 100, 400
"""The calls for one task of a measurement, and the measurements of which the shortest counts."""


class Echo:
    """An accelerator that answers at once."""

    def __init__(self, library: Library) -> None:
        texts = {name: text for name, text in driver_library.sources().items() if name.endswith(".h")}
        texts["echo.c"] = files("benchmarks").joinpath("echo.c").read_text(encoding="utf-8")
        self._c = load_library(compile_library(texts, ["echo.c"], driver_library.FLAGS))
        self._c.echo_seconds.restype = ctypes.c_double
        self._library, self._made = library, Transport()
        self._c.echo_transport(ctypes.byref(self._made), library.described)

    def open(self) -> Driver:
        """Return a driver before it."""
        return self._library.open(self._made, Options(quiet=1), "echo")

    def seconds(self, driver: Driver, function: str, tasks: int, data: Data) -> float:
        """Return the seconds of a call from C."""
        structure = data.structure()
        arguments = (
            self._library.function("run"),
            driver.handle,
            self._library.numbers[function],
            ctypes.c_size_t(tasks),
        )
        calls = 1 if tasks > 1 else CALLS
        measure: Callable[..., float] = self._c.echo_seconds
        return min(measure(*arguments, ctypes.byref(structure), calls) for _ in range(REPEATS))


class EchoEngine(DriverEngine):
    """The engine before such an accelerator."""

    def open(self) -> Driver:
        """Open the link."""
        self.echo = Echo(self.library)
        return self.echo.open()


def host_rows(name: str = "iiwa14") -> Rows:
    """Return the microseconds of a task in batches and alone, called from C and from Python."""
    design: Design = draft_design(plan_of(name, CALLED, None, 1).accelerator)
    arrays = tasks_of(name, "fixed", BATCH)
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        engine = EchoEngine("driver", Source(Path(folder), "", design))
        return [_row(engine, function, arrays) for function in CALLED]


def _row(engine: EchoEngine, function: str, arrays: dict[str, np.ndarray]) -> Row:
    tasks = {array: np.ascontiguousarray(arrays[array]) for array in FUNCTIONS[function].inputs[:3]}
    driver = engine.driver
    outputs = [
        None if array.optional else np.empty((BATCH, *array.shape))
        for array in engine.library.arrays(function)[1]
    ]
    data = Data([*tasks.values()], outputs, status=np.empty(BATCH, np.uint8))

    def call() -> None:
        engine.compute(function, tasks, extended=False)

    interface = engine.design.interface
    from_python = min(timeit.repeat(call, number=1, repeat=REPEATS))
    return {
        "function": function,
        "words": len(interface.inputs(function)) + len(interface.outputs(function)),
        "C": 1e6 * engine.echo.seconds(driver, function, BATCH, data) / BATCH,
        "C, one": 1e6 * engine.echo.seconds(driver, function, 1, data),
        "Python": 1e6 * from_python / BATCH,
    }


def host_layout(rows: Rows) -> Rows:
    """Return a line for each function."""
    return [
        {
            "": row["function"],
            "words of a task": str(row["words"]),
            f"C, batches of {BATCH:,}": f"{row['C']:.2f} µs",
            "C, one task": f"{row['C, one']:.2f} µs",
            f"Python, batches of {BATCH:,}": f"{row['Python']:.2f} µs",
        }
        for row in rows
    ]
