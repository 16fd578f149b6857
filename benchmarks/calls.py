"""The cost of a single call from Python, beside the C that it calls and beside Pinocchio from Python."""

from __future__ import annotations

import tempfile
import timeit
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rbdhw
from benchmarks.builds import plan_of, software_of, tasks_of
from benchmarks.processors import STATES, timed_model
from benchmarks.rows import Row, Rows
from benchmarks.timing import timed_software
from rbdhw.design import folder as design_folder
from rbdhw.explore.plan import accelerator_of
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import emit_design
from rbdhw.protocol import FUNCTIONS
from rbdhw.robots import bundled
from rbdhw.software import folder as software_folder

CALLED = ("id", "fd", "dfd")
"""The functions that are called."""

CALLS, REPEATS = 2000, 9
"""The calls of a measurement, and the measurements of which the shortest counts."""


def call_rows(name: str = "iiwa14") -> Rows:
    """Return the microseconds of a call for one task: through C, through ``rbdhw.load``, and in Pinocchio."""
    tasks = tasks_of(name, "fixed", STATES)
    software, plan = software_of(name, "fixed", functions=CALLED), plan_of(name, CALLED, None, 1)
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        software_folder.write(software, Path(folder) / "software")
        design = emit_design(accelerator_of(plan), BuildOptions(CALLED, ii=1))
        design_folder.write(design, Path(folder) / "accelerator")
        kinds = ("float64", "float32")
        libraries = {engine: timed_software(software, engine) for engine in kinds}
        loaded = {engine: rbdhw.load(Path(folder) / "software", engine) for engine in kinds}
        model = rbdhw.load(Path(folder) / "accelerator")
        rows: Rows = []
        for function in CALLED:
            arrays = [tasks[array][0] for array in FUNCTIONS[function].inputs[:3]]
            row: Row = {"function": function}
            row["Pinocchio"] = _microseconds(_by_pinocchio(name, function, arrays))
            for engine in kinds:
                row[f"{engine}, C"] = 1e6 * libraries[engine].seconds(function, tasks, 1)
                row[engine] = _microseconds(partial(getattr(loaded[engine], function), *arrays))
            row["model, C"] = 1e6 * timed_model(design, function).seconds(function, tasks)
            row["model"] = _microseconds(partial(getattr(model, function), *arrays))
            rows.append(row)
    return rows


def _by_pinocchio(name: str, function: str, arrays: list[NDArray[np.float64]]) -> Callable[[], object]:
    """Return a call of Pinocchio for one task."""
    import pinocchio

    model = pinocchio.buildModelFromUrdf(str(bundled()[name]))
    data = model.createData()
    call = {"id": pinocchio.rnea, "fd": pinocchio.aba, "dfd": pinocchio.computeABADerivatives}[function]
    return lambda: call(model, data, *arrays)


def _microseconds(call: Callable[[], object]) -> float:
    """Return the shortest time of a call; the first, which may compile, does not count."""
    call()
    return 1e6 * min(timeit.repeat(call, number=CALLS, repeat=REPEATS)) / CALLS


def call_layout(rows: Rows) -> Rows:
    """Return a line for each function: the time of a call, and in brackets that of its C alone."""
    engines = ("float64", "float32", "model")
    return [
        {"": row["function"], "Pinocchio": f"{row['Pinocchio']:.2f} µs"}
        | {engine: f"{row[engine]:.2f} µs ({row[f'{engine}, C']:.2f})" for engine in engines}
        for row in rows
    ]
