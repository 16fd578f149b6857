"""The check of one robot of a sweep: each stage's result is compared with that of the previous one.

The golden model is compared with Pinocchio, which reads the file itself; the graph with the golden model; and
the bit-exact program, with all seven functions in one build, with the golden model. Builds of some functions
only (:mod:`benchmarks.robot_subsets`) must meet the budget. Frames are aligned and
inertias regrouped, but frame placements are not optimised, so a real build may take fewer operations than are
counted here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.hardware_counts import products
from benchmarks.robot_subsets import check_subsets
from rbdhw import golden
from rbdhw.domain.bounds import Domain, input_domain
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.domain.sampling import sample
from rbdhw.emit.operation_counts import program_counts
from rbdhw.errors import InputError
from rbdhw.fixed.figures import HEADROOM, Measured
from rbdhw.frontend.algorithms import AlgorithmChoice
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, Model, optimise, trace_accelerator
from rbdhw.frontend.read import mount
from rbdhw.frontend.solvability import WITHOUT_INVERSE
from rbdhw.golden.pinocchio import Reference
from rbdhw.graph.graph import Graph
from rbdhw.graph.interpret import interpret
from rbdhw.graph.twins import no_twins
from rbdhw.model.interface import unflatten
from rbdhw.options.build import DEFAULT_MAX_ERROR, BuildOptions
from rbdhw.protocol import DEFAULT_FUNCTIONS, FUNCTIONS, flag_values
from rbdhw.quantize.formats import choose_formats
from rbdhw.quantize.observation import Draws, add_inverse_bounds, observe
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.mounting import Mounting
from rbdhw.robot.regroup import regroup_inertias

Array = NDArray[np.float64]
Arrays = Mapping[str, Array]

TOLERANCE = 1e-9
"""The largest error of the golden model against Pinocchio, and of the graph against the golden model."""

TASKS = 16
"""Random tasks for these two comparisons."""

WIDTH = 32
"""Bits of the multipliers' operands: the widest, because no error budget is searched for."""

DRAWS = Draws(ranging=512, held_out=256, chunk=256, group=16, probed=256, headroom=2.0)

ALGORITHMS = Algorithms(products="solves")
"""The algorithms for all robots, not the cheapest of each; solves exploit branches."""

MAX_CANCELLATION = 1e5
"""The largest amplification of rounding errors in the inverse of a mass matrix.

Beyond it the matrix is nearly singular, and 32 bits do not suffice. See
:data:`rbdhw.golden.dynamics.MAX_CANCELLATION`.
"""


@dataclass(frozen=True)
class File:
    """A URDF file as read: a robot with remarks, or the reason for its refusal."""

    name: str
    path: Path
    robot: Robot | None
    remarks: tuple[str, ...]
    refusal: str = ""


@dataclass(frozen=True)
class Build:
    """A robot on a base, and all files that describe it."""

    robot: Robot
    base: str
    files: tuple[File, ...]


@dataclass(frozen=True)
class Evaluated:
    """The errors of a build's graph and program relative to the golden model, and its operations.

    ``graph`` is relative to the largest entry; ``errors`` are those of the manifest. ``operations`` are the
    multiplications of each function in the bit-exact program.
    """

    graph: float
    errors: Measured
    operations: dict[str, int]

    @property
    def complaints(self) -> list[str]:
        """The errors beyond their limits, one line each."""
        complaints = [f"graph off by {self.graph:.1e}"] if not self.graph <= TOLERANCE else []
        for function, figures in self.errors.items():
            if not figures.bound <= HEADROOM * DEFAULT_MAX_ERROR:
                result, _ = figures.worst
                whole = figures.results[result].whole
                flagged = f"{whole.flagged} of {whole.samples} flagged"
                complaints.append(f"{result} of {function} off by {whole.max:.1e}, {flagged}")
        return complaints


@dataclass(frozen=True)
class Row:
    """The result for one file and base; ``evaluated`` is None if the check raised an error."""

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
        """Return the row for the JSON report."""
        facts = {name: value for name, value in vars(self).items() if name != "evaluated"}
        if self.evaluated is None:
            return facts
        errors = {
            function: {
                "whole": asdict(figures.whole),
                "strata": {k: asdict(f) for k, f in figures.strata.items()},
            }
            | asdict(figures)
            for function, figures in self.evaluated.errors.items()
        }
        return facts | vars(self.evaluated) | {"errors": errors}


def on_base(robot: Robot, base: str) -> Robot:
    return mount(robot, Mounting(base))


def check_robot_file(build: Build) -> list[Row]:
    """Return the rows of one build. Pinocchio reads each of its files; the other checks are common to all."""
    start = time.process_time()
    robot = replace(build.robot, name=build.files[0].name)
    domain = input_domain(robot)
    functions, singular = _possible(robot, build.base, domain)
    compared = [_compare_with_pinocchio(file, build.base, domain, functions) for file in build.files]
    evaluated = _evaluate_program(robot, domain, functions)
    subsets = check_subsets(robot, _rewrite(robot), domain, functions)
    seconds = time.process_time() - start
    rows = []
    for k, (file, worst) in enumerate(zip(build.files, compared, strict=True)):
        failures = [f"golden model off Pinocchio by {worst:.1e}"] if not worst <= TOLERANCE else []
        failures += [*evaluated.complaints, *subsets]
        spent = seconds if k == len(compared) - 1 else 0.0
        facts = (file.name, build.base, robot.nv, robot.depth, worst, evaluated, spent)
        rows.append(Row(*facts, tuple(failures), (*domain.remarks, *singular)))
    return rows


def _possible(robot: Robot, base: str, domain: Domain) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the functions that can be checked, and a remark if these are not all."""
    poses = sample(robot, domain, 4 * TASKS, np.random.default_rng(6))
    try:
        M, Minv = (golden.evaluate(robot, f, poses)[name] for f, name in (("m", "M"), ("minv", "Minv")))
        cancelled = float(np.abs(Minv * M).sum(axis=-1).max())
    except InputError:
        cancelled = math.inf
    if cancelled <= MAX_CANCELLATION:
        return DEFAULT_FUNCTIONS, ()
    left = ", ".join(WITHOUT_INVERSE)
    return WITHOUT_INVERSE, (
        f"{base} base: the mass matrix is singular, or nearly so, in some poses; only {left} are checked",
    )


def _compare_with_pinocchio(file: File, base: str, domain: Domain, functions: Sequence[str]) -> float:
    """Return the largest error of the golden model relative to Pinocchio, in terms of the largest entry."""
    assert file.robot is not None
    robot = on_base(file.robot, base)
    arrays = sample(robot, domain, TASKS, np.random.default_rng(5))
    reference = Reference.read(file.path, robot)
    ours = {function: golden.evaluate(robot, function, arrays) for function in functions}
    theirs = {function: reference.evaluate(function, arrays) for function in functions}
    return _worst(ours, theirs)


def _worst(results: Mapping[str, Arrays], expected: Mapping[str, Arrays]) -> float:
    """Return the largest error of all functions, per task relative to the largest entry of each array.

    Errors of derivatives are relative to the larger of the derivative and the function itself. An array that
    is small beside those of most tasks counts as a quarter of their median.
    """
    worst = 0.0
    for function, arrays in expected.items():
        floor = np.float64(0.0)
        base_function = FUNCTIONS[function].derivative_of
        if base_function is not None:
            # The derivatives of a balanced rotor are only rounding errors: they count beside its results.
            (base,) = expected[base_function].values()
            floor = np.abs(base).max(axis=1)
        for name, array in arrays.items():
            entries = tuple(range(1, array.ndim))
            error = np.abs(results[function][name] - array).max(axis=entries)
            size = np.maximum(np.abs(array).max(axis=entries), floor)
            size = np.maximum(
                size, np.median(size) / 4.0
            )  # a robot at rest has accelerations of rounding errors
            shares = np.divide(error, size, out=np.where(error > 0.0, np.inf, 0.0), where=size > 0.0)
            worst = max(worst, float(shares.max()))
    return worst


def _rewrite(robot: Robot) -> Robot:
    """Return a robot with aligned axes and regrouped inertias."""
    return regroup_inertias(align_axes(elementary(robot)))


def _evaluate_program(robot: Robot, domain: Domain, functions: tuple[str, ...]) -> Evaluated:
    """Compare the graph and the bit-exact program of a robot with the golden model."""
    model = Model(
        robot, _rewrite(robot), ("align_axes", "regroup_inertias"), (), AlgorithmChoice(ALGORITHMS, {})
    )
    graph = optimise(trace_accelerator(model, functions), DEFAULT_DELAYS)
    arrays = _level(robot, sample(robot, domain, TASKS, np.random.default_rng(7)))
    expected = {function: golden.evaluate(robot, function, arrays) for function in functions}
    off = _worst(_interpret(graph, robot, arrays, expected), expected)
    options = BuildOptions(functions=functions, width=WIDTH, samples=DRAWS.ranging)
    if any(FUNCTIONS[function].takes_inverse for function in functions):
        domain = add_inverse_bounds(domain, robot, options)
    formats = choose_formats(observe(model, graph, domain, options, DRAWS), options, no_twins(graph))
    operations = {function: products(program_counts(formats.program, function)) for function in functions}
    return Evaluated(off, formats.errors, operations)


def _level(robot: Robot, arrays: dict[str, Array]) -> dict[str, Array]:
    """Return the tasks with quaternions of unit length, which graphs normalise only to first order."""
    for body, span in zip(robot.bodies, robot.q_of, strict=True):
        if (part := body.joint.kind.quaternion) is not None:
            quaternions = arrays["q"][:, span][:, part]  # a view
            quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    return arrays


def _interpret(
    graph: Graph, robot: Robot, arrays: Arrays, like: Mapping[str, Arrays]
) -> dict[str, dict[str, Array]]:
    """Return the results of a graph in double precision, in arrays shaped as those of the golden model."""
    inputs = graph_inputs(robot, arrays)
    runs: dict[tuple[tuple[str, bool], ...], dict[str, Array]] = {}
    results = {f: {name: np.zeros_like(a) for name, a in shapes.items()} for f, shapes in like.items()}
    for function, result in results.items():
        flags = flag_values(function, extended=False)
        key = tuple(flags.items())
        if key not in runs:
            flag_arrays = {name: np.asarray(float(value)) for name, value in flags.items()}
            idle = {name: np.zeros(()) for name in graph.inputs}
            runs[key] = interpret(graph, {**idle, **inputs, **flag_arrays})
        outputs = runs[key].items()
        named = ((name, values) for name, values in outputs if name.startswith(f"{function}."))
        unflatten(result, named, robot.nv, arrays.get("h", math.nan))
    return results
