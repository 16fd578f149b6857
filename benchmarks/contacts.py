"""Legged robots with contacts: operations, intervals on the VU9P, and C beside Pinocchio in C++."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.forward_dynamics import snake
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
from rbdhw.dynamics.shared_axes import can_share_axes
from rbdhw.emit.manifest import function_counts
from rbdhw.estimate.calibration import weigh
from rbdhw.estimate.model import weights_of
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.frontend.algorithms import AlgorithmChoice, cost_of
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.build_graph import (
    DEFAULT_DELAYS,
    Model,
    operation_delay,
    optimise,
    prepare,
    trace_accelerator,
    trace_model,
)
from rbdhw.frontend.read import load_mounted
from rbdhw.options.build import BuildOptions, CoreName, Mounting, Pacing
from rbdhw.pipeline import generate_software
from rbdhw.protocol import CONTACT
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.link_frames import choose_contacts
from rbdhw.robot.model import Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robots import path
from rbdhw.software.float_library import REALS
from rbdhw.software.folder import Software
from rbdhw.target import target

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
    *((ArrayCore.name, 18, ii) for ii in (64, 256)),
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


CONTACT_WAYS = tuple(
    Algorithms(axes="shared", inverse="block_pivots", products="solves", forward=forward, contacts=contacts)
    for forward, contacts in (("inverse", "factored"), ("propagated", "propagated"))
)
"""The two ways of contacts that are compared, with the other algorithms that mostly cost least."""

CHAINS = (8, 16, 32)
"""The links of the chains whose last one touches the world."""


def touching() -> Iterator[tuple[str, Robot]]:
    """Yield floating robots on their feet, and chains that touch the world with a point of the last link."""
    for each in legged():
        yield each.name, load_mounted(each.urdf, each.mounting)
    soles = (("l_foot", "surface"), ("r_foot", "surface"))
    yield "Atlas, two surfaces", load_mounted(path("atlas"), Mounting("floating", contacts=soles))
    for links in CHAINS:
        tip = (f"link_{links - 1}@0.1:0.2:0.3", "point")
        yield f"chain of {links}, a point at its end", choose_contacts(snake(links), [tip])


def contact_algorithms(robots: Iterable[tuple[str, Robot]] | None = None) -> Rows:
    """Return the multiplications and the longest path (ns, operators of the VU9P) of ``cfd`` both ways.

    Frames and inertias are those of a build, without a search in chains.
    """
    rows, delays = [], target("xcvu9p").delays
    robots = touching() if robots is None else robots
    for name, source in robots:
        if source.floats:
            model = prepare(source, ("cfd",), delays=delays)
        else:
            robot = regroup_inertias(align_axes(elementary(source)))
            model = Model(source, robot, (), (), AlgorithmChoice(Algorithms(), {}))
        for way in CONTACT_WAYS:
            chosen = way if any(can_share_axes(model.robot)) else replace(way, axes="turning")
            traced = trace_model(replace(model, choice=AlgorithmChoice(chosen, {})), ("cfd",))
            cost = cost_of(optimise(traced, delays), operation_delay(delays))
            row: Row = {"robot": name, "contacts": way.contacts}
            rows.append(row | {"multiplications": cost.multiplications, "nanoseconds": cost.nanoseconds})
    return rows


def contact_algorithms_layout(rows: Rows) -> Rows:
    """Return a line for each robot, with multiplications and the longest path both ways."""
    lines: dict[str, Row] = {}
    for row in rows:
        shown = f"{row['multiplications']:,}, {row['nanoseconds']:.0f} ns"
        lines.setdefault(row["robot"], {"": row["robot"]})[row["contacts"]] = shown
    return list(lines.values())


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
                "MHz": plan.clock_mhz,
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
                "MHz": core.schedule.clock_mhz,
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
                **{name: row[name] for name in ("core", "bits", "II", "MHz", "latency (cycles)")},
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
