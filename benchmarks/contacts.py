"""Legged robots with contacts: operations, intervals on the VU9P, and C beside Pinocchio in C++."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.hardware_counts import products
from benchmarks.pinocchio_cpp import RESULTS, measure
from benchmarks.processors import STATES, Speed, speed, speed_row
from benchmarks.rows import Row, Rows
from benchmarks.timing import timed_software
from rbdhw.cores.array.core import ArrayCore
from rbdhw.cores.core import Core
from rbdhw.cores.pipeline.core import PipelineCore
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.sampling import sample
from rbdhw.emit.manifest import function_counts
from rbdhw.estimate.calibration import weigh
from rbdhw.estimate.model import weights_of
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, optimise, prepare, trace_accelerator
from rbdhw.frontend.read import load_mounted
from rbdhw.options.build import BuildOptions, CoreName, Mounting, Pacing
from rbdhw.pipeline import generate_software
from rbdhw.protocol import CONTACT
from rbdhw.robots import path
from rbdhw.software.float_library import REALS
from rbdhw.software.folder import Software

HUMANOID = "simple_humanoid.urdf"
"""The robot of 29 joints in the package example-robot-data."""

FUNCTIONS = (
    "fd",
    "cfd",
    "dfd",
    "dcfd",
    "impulse",
    "cinertia",
    "cstep",
    "dcstep",
    "com",
    "centroidal",
    "dcentroidal",
)

SHARE = 0.6
"""The largest share of the device."""

BITS = 24
"""The width of multipliers."""

BUILDS: tuple[tuple[CoreName, int, int], ...] = (
    *((PipelineCore.name, BITS, ii) for ii in (8, 16, 48)),
    (ArrayCore.name, 18, 256),
)
"""The cores of derivatives with contacts that are compared: their kind, bits and interval."""


@dataclass(frozen=True)
class Legged:
    """A robot that floats, its feet, and the functions that are timed."""

    name: str
    urdf: Path
    feet: tuple[tuple[str, str], ...]
    timed: tuple[str, ...] = tuple(RESULTS)

    @property
    def mounting(self) -> Mounting:
        return Mounting("floating", contacts=self.feet, contact_axes="local")


def legged() -> tuple[Legged, ...]:
    """Return HyQ on four points, and a humanoid of 29 joints on two soles.

    A compiler would take too long for the humanoid's derivatives.
    """
    feet = tuple((f"{leg}_lowerleg@0.346:0:0", "point") for leg in ("lf", "lh", "rf", "rh"))
    soles = (("l_ankle", "surface"), ("r_ankle", "surface"))
    (humanoid,) = (file for file in files("example-robot-data") or () if file.name == HUMANOID)
    return (
        Legged("HyQ, four points", path("hyq"), feet),
        Legged("humanoid of 29 joints, two surfaces", Path(str(humanoid.locate())), soles, ("cfd",)),
    )


def contact_operations() -> Rows:
    """Return the operations of each function's graph alone."""
    rows = []
    for each in legged():
        robot = load_mounted(each.urdf, each.mounting)
        for function in FUNCTIONS:
            model = prepare(robot, (function,))
            graph = optimise(trace_accelerator(model, (function,)), DEFAULT_DELAYS)
            counts = function_counts(graph, function)
            rows.append({"robot": each.name, "function": function, "multiplications": products(counts)})
    return rows


def contact_operations_layout(rows: Rows) -> Rows:
    """Return a line for each function; with contacts, in brackets, what it takes beyond that without."""
    shown = []
    for function in FUNCTIONS:
        line: Row = {"": function}
        for row in (row for row in rows if row["function"] == function):
            count = row["multiplications"]
            free = function.removeprefix("c").replace("dc", "d") if function in ("cfd", "dcfd") else function
            (base,) = (
                other["multiplications"]
                for other in rows
                if other["robot"] == row["robot"] and other["function"] == free
            )
            line[row["robot"]] = f"{count:,}" + f" (+{count - base:,})" * (free != function)
        shown.append(line)
    return shown


def contact_builds(functions: Sequence[str] = ("cfd",)) -> Rows:
    """Return the shortest intervals at which functions of HyQ fit the share of the VU9P, and their cost."""
    hyq, *_ = legged()
    robot = load_mounted(hyq.urdf, hyq.mounting)
    rows = []
    for function in functions:
        pacing = Pacing(link=False)
        options = BuildOptions((function,), width=BITS, pacing=pacing, fit=SHARE, mounting=hyq.mounting)
        plan = make_plan(robot, options)
        assert isinstance(plan.core, PipelineCore)
        rows.append(
            {
                "function": function,
                "II": plan.ii,
                "latency (cycles)": plan.latency[function],
                "DSP blocks": plan.core.dsp_blocks,
                "tasks/s": plan.clock_mhz * 1e6 / plan.ii,
            }
        )
    return rows


def contact_builds_layout(rows: Rows) -> Rows:
    """Return a line for each function."""
    return [row | {"tasks/s": f"{row['tasks/s'] / 1e6:.2f} M"} for row in rows]


def contact_intervals(function: str = "dcfd", builds: Sequence[tuple[CoreName, int, int]] = BUILDS) -> Rows:
    """Return the cost of HyQ's core of a function; in a pipeline, legs take turns."""
    hyq, *_ = legged()
    robot = load_mounted(hyq.urdf, hyq.mounting)
    rows = []
    for name, width, ii in builds:
        limbs = "on" if name == PipelineCore.name else "auto"
        options = BuildOptions(
            (function,), core=name, width=width, ii=ii, share_limbs=limbs, mounting=hyq.mounting
        )
        core = make_plan(robot, options).core
        device = core.device
        cost = weigh(core.cells(), core.dsp_blocks, weights_of(device, name))
        rows.append(
            {
                "core": name,
                "bits": width,
                "II": ii,
                "latency (cycles)": core.schedule.latency[function],
                "adders": _adders(core),
                "DSP blocks": cost.dsp_blocks,
                "look-up tables": cost.luts,
                "shares": [cost.dsp_blocks / device.dsp_blocks, cost.luts / device.luts],
            }
        )
    return rows


def _adders(core: Core) -> int:
    """Return the adders of a pipeline, or the accumulators of an array."""
    if isinstance(core, ArrayCore):
        return core.multipliers
    assert isinstance(core, PipelineCore)
    return core.costs["on"].counts.adders


def contact_intervals_layout(rows: Rows) -> Rows:
    """Return a line for each interval, with shares of the device in brackets."""
    shown = []
    for row in rows:
        blocks, tables = row["shares"]
        shown.append(
            {
                **{name: row[name] for name in ("core", "bits", "II", "latency (cycles)")},
                "adders": f"{row['adders']:,}",
                "DSP blocks": f"{row['DSP blocks']:,} ({blocks:.1%})",
                "look-up tables": f"{row['look-up tables']:,} ({tables:.1%})",
            }
        )
    return shown


def contact_speeds() -> Rows:
    """Return the speed of the functions with contacts in C and in Pinocchio, on one core."""
    rows = []
    for each in legged():
        theirs = measure(each.urdf, "floating", each.timed, contacts=each.feet)
        double, single = (_speeds(each, number) for number in REALS)
        for function in each.timed:
            row = {"robot": each.name, "base": "fixed", "function": function}
            rows.append(row | speed_row(theirs[function], double[function], single[function]))
    return rows


@cache
def contact_software(each: Legged) -> Software:
    """Return the timed functions of a robot in C."""
    options = BuildOptions(each.timed, target="c", mounting=each.mounting)
    return generate_software(each.urdf, options)


def _speeds(each: Legged, number: str) -> dict[str, Speed]:
    """Return the speeds of a robot's C with all contacts."""
    library = timed_software(contact_software(each), number)
    tasks = _tasks(each)
    return {function: speed(library, function, tasks) for function in each.timed}


def _tasks(each: Legged) -> dict[str, NDArray[np.float64]]:
    robot = load_mounted(each.urdf, each.mounting)
    tasks = sample(robot, input_domain(robot), STATES, np.random.default_rng(0))
    return tasks | {CONTACT: np.ones_like(tasks[CONTACT])}
