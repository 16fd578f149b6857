"""Every URDF file below a folder through the generator, each result held against the one before it.

For each robot, on a fixed and on a floating base: the golden model against Pinocchio, which reads the file
itself; the graph against the golden model; and the bit-exact program against the golden model, all seven
functions in one build. Frames are aligned and inertias regrouped, but no placements are searched, so that a
build may take fewer operations than are counted here.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.choice import Choice
from rbdhw.config import DEFAULT_MAX_ERROR, BuildOptions, Mounting
from rbdhw.domain import (
    FREE_REACH,
    FREE_VELOCITY,
    LEVER,
    Domain,
    JointBounds,
    Overrides,
    graph_inputs,
    input_domain,
)
from rbdhw.errors import InputError
from rbdhw.fixed.search import Fixed, Measured
from rbdhw.graph.graph import Graph
from rbdhw.graph.interpret import interpret
from rbdhw.manifest import function_counts
from rbdhw.mounting import mounted
from rbdhw.pipeline import DEFAULT_DELAYS, Draws, Model, fix, optimised, traced, with_inverse
from rbdhw.protocol import FUNCTIONS, SYMMETRIC, flag_values
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Joint, Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.urdf import load_urdf
from rbdhw.sampling import sample
from rbdhw.sim import golden
from rbdhw.sim.reference import Reference
from rbdhw.tracing import Algorithms

Array = NDArray[np.float64]
Arrays = Mapping[str, Array]
Progress = Callable[[int, int, str], None]
"""Told how many builds are done, of how many, and which was the last."""

BASES = ("fixed", "floating")

TOLERANCE = 1e-9
"""Largest error of the golden model beside Pinocchio, and of the graph beside the golden model."""

TASKS = 16
"""Random tasks in which these are compared."""

WIDTHS = (27, 32)
"""Operand widths (bits) tried, one after the other, until the errors are within the budget."""

DRAWS = Draws(ranging=1024, held_out=512, chunk=128, group=32)

ALGORITHMS = Algorithms(products="solves")
"""The same for all robots: which are cheapest is not searched, and solves are where limbs branch."""

WITHOUT_INVERSE = ("id", "m", "did")
"""The functions that are left where the mass matrix is singular."""

DERIVATIVE_OF = {"did": "id", "dfd": "fd", "difd": "fd"}
"""Whose results give derivatives their scale, too: of a balanced rotor they are nothing but rounding."""


@dataclass(frozen=True)
class File:
    """A URDF file, as it was read: a robot with remarks, or the reason of its refusal."""

    name: str
    path: Path
    robot: Robot | None
    remarks: tuple[str, ...]
    refusal: str = ""


@dataclass(frozen=True)
class Build:
    """One robot on one base, and all files that describe it."""

    robot: Robot
    base: str
    files: tuple[File, ...]


@dataclass(frozen=True)
class Evaluated:
    """How far graph and program of a build are from the golden model, and what it takes.

    ``graph`` is relative to the largest entry, ``errors`` are those of the manifest. ``operations`` are the
    multiplications of each function.
    """

    graph: float
    errors: Measured
    width: int
    operations: dict[str, int]

    @property
    def complaints(self) -> list[str]:
        """What is beyond its limit."""
        found = [f"graph off by {self.graph:.1e}"] if not self.graph <= TOLERANCE else []
        for function, figures in self.errors.items():
            if not figures.bound <= DEFAULT_MAX_ERROR:
                flagged = f"{figures.flagged} of {figures.samples} flagged"
                found.append(f"{function} supports {figures.bound:.1e} at {self.width} bits, {flagged}")
        return found


@dataclass(frozen=True)
class Row:
    """What the sweep found for one file and base; ``evaluated`` is None where that failed altogether."""

    name: str
    base: str
    dof: int
    depth: int
    golden: float
    evaluated: Evaluated | None
    seconds: float
    failures: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """The row for scripts."""
        facts = {name: value for name, value in vars(self).items() if name != "evaluated"}
        if self.evaluated is None:
            return facts
        errors = {function: vars(figures) for function, figures in self.evaluated.errors.items()}
        return facts | vars(self.evaluated) | {"errors": errors}


@dataclass(frozen=True)
class Sweep:
    """All that the sweep of a folder found."""

    files: tuple[File, ...]
    rows: tuple[Row, ...]
    seconds: float
    processor_seconds: float
    jobs: int

    @property
    def passed(self) -> bool:
        """Whether every robot that was not refused passed every check."""
        return not any(row.failures for row in self.rows)

    def json(self) -> dict[str, Any]:
        """Everything for scripts."""
        return {
            "rows": [row.json() for row in self.rows],
            "refusals": {file.name: file.refusal for file in self.files if file.robot is None},
            "remarks": remarks_of(self),
            "seconds": round(self.seconds, 1),
            "processor_seconds": round(self.processor_seconds, 1),
            "jobs": self.jobs,
        }


def sweep(folder: Path, progress: Progress, jobs: int | None = None) -> Sweep:
    """Every URDF file below a folder, on a fixed and on a floating base, in parallel processes.

    Parameters
    ----------
    jobs
        How many processes; as many as there are cores if None.

    Raises
    ------
    InputError
        Where there is no such folder, or no URDF file in it, or Pinocchio is not installed.
    """
    start = time.perf_counter()
    paths = sorted(folder.rglob("*.urdf"))
    if not paths:
        raise InputError(f"{folder}: no URDF file; expected a folder with *.urdf files in or below it")
    Reference.available()
    jobs = jobs or os.cpu_count() or 1
    files = tuple(_read(path, str(path.relative_to(folder))) for path in paths)
    rows: list[Row] = []
    spent = 0.0
    builds = sorted(_builds(files), key=lambda build: -_size(build.robot))
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=gc.disable) as pool:
        waiting = {pool.submit(examined, build): build for build in builds}
        for done, future in enumerate(as_completed(waiting), start=1):
            build = waiting[future]
            rows += _rows(build, future)
            spent += rows[-1].seconds
            progress(done, len(builds), f"{build.files[0].name}, {build.base}")
    order = {(file.name, base): k for k, (file, base) in enumerate((f, b) for f in files for b in BASES)}
    rows.sort(key=lambda row: order[row.name, row.base])
    return Sweep(files, tuple(rows), time.perf_counter() - start, spent, jobs)


def _read(path: Path, name: str) -> File:
    """The file read strictly, or else leniently, or refused."""
    try:
        return File(name, path, load_urdf(path), ())
    except InputError:
        remarks: list[str] = []
    try:
        return File(name, path, load_urdf(path, remarks), tuple(remarks))
    except InputError as error:
        return File(name, path, None, (), str(error).removeprefix(f"{path}: "))


def _builds(files: Iterable[File]) -> list[Build]:
    """What there is to build: every different robot that moves, on each base."""
    same: dict[tuple[Robot, str], list[File]] = {}
    for file in files:
        if file.robot is not None:
            nameless = replace(file.robot, name="", fixed_links=())
            same.setdefault((nameless, "floating"), []).append(file)
            if nameless.bodies and not nameless.floats:
                same.setdefault((nameless, "fixed"), []).append(file)
    return [Build(_mounted(robot, base), base, tuple(own)) for (robot, base), own in same.items()]


def _mounted(robot: Robot, base: str) -> Robot:
    return mounted(robot, Mounting(base))


def _size(robot: Robot) -> int:
    """About how long a build takes, so that the longest begin first."""
    return sum(len(robot.path(i)) for i in range(len(robot.bodies))) * len(robot.bodies)


def _rows(build: Build, future: Future[list[Row]]) -> list[Row]:
    """The rows of a build; where its process raised an error, this is the failure of all."""
    error = future.exception()
    if error is None:
        return future.result()
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    robot = build.robot
    failed = (math.nan, None, 0.0, (reason,))
    return [Row(file.name, build.base, robot.nv, robot.depth, *failed) for file in build.files]


def examined(build: Build) -> list[Row]:
    """The rows of one build: Pinocchio reads each of its files, the rest is the same for all."""
    start = time.process_time()
    robot = replace(build.robot, name=build.files[0].name)
    overrides, remarks = missing_bounds(robot)
    domain = input_domain(robot, overrides)
    functions, singular = _possible(robot, domain)
    compared = [_compared(file, build.base, domain, functions) for file in build.files]
    evaluated = _evaluated(robot, domain, functions)
    seconds = time.process_time() - start
    rows = []
    for k, (file, worst) in enumerate(zip(build.files, compared, strict=True)):
        failures = [f"golden model off Pinocchio by {worst:.1e}"] if not worst <= TOLERANCE else []
        failures += evaluated.complaints
        own = seconds if k == len(compared) - 1 else 0.0
        facts = (file.name, build.base, robot.nv, robot.depth, worst, evaluated, own)
        rows.append(Row(*facts, tuple(failures), (*remarks, *singular)))
    return rows


def missing_bounds(robot: Robot) -> tuple[Overrides, tuple[str, ...]]:
    """Bounds for joints whose limits bound nothing, and remarks that tell them.

    Velocities are those of free motion. Forces and torques are the robot's weight, on a lever where the
    joint turns. Angles are any, and slides a metre either way.
    """
    mass = sum(body.inertia.mass for body in robot.bodies) + robot.base_inertia.mass
    weight = max(mass * math.hypot(*robot.gravity), 1.0)
    joints: dict[str, JointBounds] = {}
    told: dict[str, list[str]] = {}
    for joint in (
        body.joint for body in robot.bodies if body.joint.mimic is None and body.joint.kind.nv == 1
    ):
        turns = joint.kind.turning[0]
        free = {
            "position": math.pi if turns else FREE_REACH,
            "velocity": FREE_VELOCITY[turns],
            "effort": float(f"{LEVER * weight if turns else weight:.2g}"),
        }
        units = ("rad", "rad/s", "Nm") if turns else ("m", "m/s", "N")
        missing = _missing(joint)
        for (name, bound), unit in zip(free.items(), units, strict=True):
            if name in missing:
                told.setdefault(f"{name} within {bound:.3g} {unit}", []).append(joint.name)
        bounds = {name: (-free[name], free[name]) for name in missing}
        joints |= {joint.name: JointBounds(**bounds)} if missing else {}
    return Overrides(joints=joints), tuple(f"{text}: {', '.join(own)}" for text, own in told.items())


def _missing(joint: Joint) -> list[str]:
    """Which of a joint's limits bound nothing."""
    limits = joint.limits[0]
    found = ["position"] if not limits.lower < limits.upper else []
    return found + [name for name in ("velocity", "effort") if not 0.0 < getattr(limits, name) < math.inf]


def _possible(robot: Robot, domain: Domain) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The functions that the robot has, and a remark where these are not all."""
    try:
        golden.evaluate(robot, "minv", sample(robot, domain, 4 * TASKS, np.random.default_rng(6)))
    except InputError:
        left = ", ".join(WITHOUT_INVERSE)
        return WITHOUT_INVERSE, (f"mass matrix singular in some poses; only {left} are evaluated",)
    return tuple(FUNCTIONS), ()


def _compared(file: File, base: str, domain: Domain, functions: Sequence[str]) -> float:
    """The largest error of the golden model beside Pinocchio, relative to the largest entry."""
    assert file.robot is not None
    robot = _mounted(file.robot, base)
    arrays = sample(robot, domain, TASKS, np.random.default_rng(5))
    reference = Reference.read(file.path, robot)
    own = {function: golden.evaluate(robot, function, arrays) for function in functions}
    theirs = {function: reference.evaluate(function, arrays) for function in functions}
    return _worst(own, theirs)


def _worst(results: Mapping[str, Arrays], expected: Mapping[str, Arrays]) -> float:
    """The largest error of all functions, task by task beside the largest entry of each array.

    Derivatives count beside the larger of themselves and what they are derivatives of.
    """
    worst = 0.0
    for function, arrays in expected.items():
        floor = np.float64(0.0)
        if function in DERIVATIVE_OF:
            (base,) = expected[DERIVATIVE_OF[function]].values()
            floor = np.abs(base).max(axis=1)
        for name, array in arrays.items():
            entries = tuple(range(1, array.ndim))
            error = np.abs(results[function][name] - array).max(axis=entries)
            size = np.maximum(np.abs(array).max(axis=entries), floor)
            shares = np.divide(error, size, out=np.where(error > 0.0, np.inf, 0.0), where=size > 0.0)
            worst = max(worst, float(shares.max()))
    return worst


def _evaluated(robot: Robot, domain: Domain, functions: tuple[str, ...]) -> Evaluated:
    """Graph and bit-exact program of a robot, held against the golden model."""
    rewritten = regroup_inertias(align_axes(elementary(robot)))
    model = Model(robot, rewritten, ("align_axes", "regroup_inertias"), (), Choice(ALGORITHMS, {}))
    graph = optimised(traced(model, functions), DEFAULT_DELAYS)
    arrays = sample(robot, domain, TASKS, np.random.default_rng(7))
    expected = {function: golden.evaluate(robot, function, arrays) for function in functions}
    off = _worst(_interpreted(graph, robot, arrays, expected), expected)
    options = BuildOptions(functions=functions, width=WIDTHS[0], samples=DRAWS.ranging)
    if "difd" in functions:
        domain = with_inverse(domain, robot, options)
    width, errors = _fixed(model, graph, domain, options)
    return Evaluated(off, errors, width, {function: _products(graph, function) for function in functions})


def _fixed(model: Model, graph: Graph, domain: Domain, options: BuildOptions) -> tuple[int, Measured]:
    """The first width whose program's errors are within the budget, or the last, and these errors."""
    for width in WIDTHS:
        program, errors = fix(model, graph, domain, replace(options, width=width), DRAWS)
        if Fixed(program, errors).bound <= DEFAULT_MAX_ERROR:
            break
    return width, errors


def _products(graph: Graph, function: str) -> int:
    return sum(function_counts(graph, function)["multiplications"].values())


def _interpreted(
    graph: Graph, robot: Robot, arrays: Arrays, like: Mapping[str, Arrays]
) -> dict[str, dict[str, Array]]:
    """The results of a graph in double precision, in arrays like those of the golden model."""
    inputs = graph_inputs(robot, arrays)
    runs: dict[tuple[tuple[str, bool], ...], dict[str, Array]] = {}
    results = {f: {name: np.zeros_like(a) for name, a in own.items()} for f, own in like.items()}
    for function, own in results.items():
        flags = flag_values(function, extended=False)
        key = tuple(flags.items())
        if key not in runs:
            given = {name: np.asarray(float(value)) for name, value in flags.items()}
            idle = {name: np.zeros(()) for name in graph.inputs}
            runs[key] = interpret(graph, {**idle, **inputs, **given})
        for output, values in runs[key].items():
            place, _, index = output.rstrip("]").partition("[")
            owner, _, name = place.partition(".")
            if owner == function and name in own:
                entry = tuple(int(number) for number in index.split(","))
                own[name][:, *entry] = values
                if name in SYMMETRIC:
                    own[name][:, *entry[::-1]] = values
    return results


def remarks_of(found: Sweep) -> dict[str, list[str]]:
    """All remarks by file: those of its reading, then those of its builds."""
    remarks = {file.name: list(file.remarks) for file in found.files}
    for row in found.rows:
        remarks[row.name] += [remark for remark in row.remarks if remark not in remarks[row.name]]
    return {name: own for name, own in remarks.items() if own}
