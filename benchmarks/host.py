"""What a task costs the host beside the accelerator: the driver with one that answers at once."""

from __future__ import annotations

import ctypes
import tempfile
import timeit
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np

from benchmarks.builds import robot_of, tasks_of
from benchmarks.rows import Row, Rows
from rbdhw.design.folder import Design, draft_design
from rbdhw.driver import library as driver_library
from rbdhw.driver.library import Data, Driver, Library, Options, Transport
from rbdhw.engines.driver import DriverEngine
from rbdhw.engines.engine import Source
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.explore.plan import Plan
from rbdhw.options.build import BuildOptions
from rbdhw.protocol import FUNCTIONS
from rbdhw.software.compiler import compile_library, load_library

CALLED = ("id", "fd", "dfd")
"""The functions that are called."""

NUMBERS: dict[str, str] = {"fixed": "fixed point", "float32": "singles"}
"""The numbers of packets, and their names in the table."""

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
    """Return the microseconds of a task in batches and alone, called from C and from Python.

    Packets are in fixed point, to which the host converts, or in singles, which are converted on the chip.
    Beside the times stand the latency of packets (cycles) and the look-up tables of the build, by estimate.
    """
    rows: Rows = []
    arrays = tasks_of(name, "fixed", BATCH)
    for number in NUMBERS:
        plan = plan_for(name, number)
        design: Design = draft_design(plan.accelerator)
        with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
            engine = EchoEngine("driver", Source(Path(folder), "", design))
            for function in CALLED:
                hardware = {"latency": plan.latency[function], "luts": plan.estimate.luts}
                rows.append(_row(engine, function, arrays) | {"number": number} | hardware)
    return rows


def plan_for(name: str, number: str) -> Plan:
    """Return the build of a bundled robot whose packets have a number format."""
    return make_plan(robot_of(name), BuildOptions(CALLED, ii=1, number=number))


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
            "": f"{row['function']}, {NUMBERS[row['number']]}",
            "words of a task": str(row["words"]),
            f"C, batches of {BATCH:,}": f"{row['C']:.2f} µs",
            "C, one task": f"{row['C, one']:.2f} µs",
            f"Python, batches of {BATCH:,}": f"{row['Python']:.2f} µs",
            "latency": f"{row['latency']} cycles",
            "LUTs": f"{row['luts']:,}",
        }
        for row in rows
    ]
