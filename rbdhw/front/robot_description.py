"""The description of a robot before a build: joints, operations, algorithms, limbs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

from rbdhw.cores.checks import check_build
from rbdhw.cores.pipeline.limb_sharing import hardware, least_interval, limb_inputs, limb_names
from rbdhw.domain.bounds import Domain, input_domain
from rbdhw.domain.overrides import Overrides
from rbdhw.emit.manifest import coordinates_entry, function_counts, operation_counts, robot_entry
from rbdhw.frontend.build_graph import prepare, trace_accelerator
from rbdhw.frontend.read import load, rooted
from rbdhw.frontend.sizes import MOST_COUNTED, Countable, countable
from rbdhw.frontend.solvability import check_constraints
from rbdhw.graph.graph import Graph
from rbdhw.options.build import PROCESSORS, BuildOptions
from rbdhw.passes.factor import factor
from rbdhw.passes.prune import alive
from rbdhw.passes.twins import find_twins
from rbdhw.progress import Progress, silent
from rbdhw.remarks import warn
from rbdhw.robot.model import BASE, Robot
from rbdhw.robot.symmetry import limb_groups
from rbdhw.software.floating import trace_sources
from rbdhw.target import target

UNITS = {True: ("rad", "rad/s", "Nm"), False: ("m", "m/s", "N")}
"""Units of the position, velocity and effort of a rotational (True) or translational degree of freedom."""

MOST_TRACED = 1_500_000
"""The most operations that a search for frames and algorithms may trace here: some 20 s."""


def describe(
    urdf: Path, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> dict[str, Any]:
    """Return the robot, the operations of each function in the graph of this build, and its algorithms.

    For an FPGA this is the graph of all functions, with the limbs that can share hardware. For a processor it
    is the graph of each function alone. A function that the robot cannot have, or that would take long to
    count, is left out, with the reason in ``omitted``. Of a large robot what is counted is what ``generate``
    would build without its search for cheaper frames and algorithms; a remark says so.

    Raises InputError for a robot or an option that cannot be built.
    """
    check_build(options)
    source = load(urdf, options, progress)
    check_constraints(source)
    counted = countable(source, options.functions, options.algorithms)
    options = replace(options, functions=tuple(counted.functions))
    source, trials = rooted(source, options, progress) if counted.functions else (source, [])
    domain = input_domain(source, overrides, strict=options.mounting.strict)
    warn(domain.remarks)
    build = _software if options.target in PROCESSORS else _accelerator
    entries, inputs, remarks = _NOTHING
    if counted.functions:
        entries, inputs, remarks = build(source, options, progress)
    return {
        "robot": robot_entry(source).data(),
        **entries,
        "omitted": _omitted(counted),
        "joints": joint_entries(source),
        "coordinates": _with_bounds(coordinates_entry(source, inputs).data(), domain),
        "roots": [vars(trial) for trial in trials],
        "remarks": [*source.remarks, *domain.remarks, *remarks],
    }


_NOTHING: tuple[dict[str, Any], Collection[str], Sequence[str]] = {"functions": {}, "algorithms": {}}, (), ()
"""The entries of a robot of which no function is counted."""


def _omitted(counted: Countable) -> dict[str, str]:
    refused = {function: str(refusal) for function, refusal in counted.refused.items()}
    large = {
        function: f"about {size:,} operations, more than are counted here ({MOST_COUNTED:,})"
        for function, size in counted.large.items()
    }
    return refused | large


def _with_bounds(
    coordinates: Mapping[str, list[dict[str, Any]]], domain: Domain
) -> dict[str, list[dict[str, Any]]]:
    """Return the entries of coordinates with the bounds of a task; those of an angle that wraps are None."""
    return {
        array: [
            row
            | {
                "bounds": {
                    side: bound if isfinite(bound) else None
                    for side, bound in zip(("lower", "upper"), map(float, pair), strict=True)
                }
            }
            for row, pair in zip(rows, domain.bounds[array], strict=True)
        ]
        for array, rows in coordinates.items()
    }


def _accelerator(
    source: Robot, options: BuildOptions, progress: Progress
) -> tuple[dict[str, Any], Collection[str], Sequence[str]]:
    """Return the entries of a build for an FPGA, the inputs that it reads, and remarks."""
    delays = target(options.target).delays
    model = prepare(
        source, options.functions, options.fext, delays, options.algorithms, progress, most_traced=MOST_TRACED
    )
    warn(model.remarks)
    progress("tracing")
    graph = factor(trace_accelerator(model, options.functions))
    groups = limb_groups(model.robot)
    ii = least_interval(groups)
    twins = find_twins(graph, limb_inputs(model.robot, groups))
    entries = {
        "functions": {name: function_counts(graph, name).data() for name in options.functions},
        "algorithms": model.choice.json(),
        "limbs": {
            "groups": limb_names(model.robot, groups),
            "ii": ii,
            "hardware": hardware(graph, twins, ii),
        },
    }
    return entries, find_used_inputs(graph), model.remarks


def _software(
    source: Robot, options: BuildOptions, progress: Progress
) -> tuple[dict[str, Any], Collection[str], Sequence[str]]:
    """Return the entries of software for a processor, the inputs that it reads, and remarks."""
    model = prepare(
        source,
        options.functions,
        options.fext,
        forced=options.algorithms,
        progress=progress,
        most_traced=MOST_TRACED,
    )
    warn(model.remarks)
    graphs = {traced.function: traced.graph for traced in trace_sources(model, options.functions, progress)}
    entries = {
        "functions": {name: operation_counts(graph).data() for name, graph in graphs.items()},
        "algorithms": model.choice.json(),
    }
    inputs = {name for graph in graphs.values() for name in find_used_inputs(graph)}
    return entries, inputs, model.remarks


def find_used_inputs(graph: Graph) -> set[str]:
    """Return the inputs that a graph's results depend on."""
    kept = alive(graph)
    return {name for name, node in graph.inputs.items() if kept[node]}


def joint_entries(robot: Robot) -> list[dict[str, Any]]:
    """Return each joint: its kind, its link and that link's parent, what it mimics, and its limits.

    The URDF's parent link, ``parent_link``, may be fixed to ``parent``, which gives the body its name.
    There is one entry of limits for each degree of freedom. A missing limit is None.
    """
    entries = []
    for body in robot.bodies:
        joint = body.joint
        above = robot.base if body.parent == BASE else robot.bodies[body.parent].name
        entries.append(
            {
                "name": joint.name,
                "kind": joint.kind.value,
                "link": body.name,
                "parent": above,
                "parent_link": body.parent_link or above,
                "mimics": vars(joint.mimic) if joint.mimic else None,
                "limits": [
                    {name: bound if isfinite(bound) else None for name, bound in vars(limits).items()}
                    | {"units": dict(zip(("position", "velocity", "effort"), UNITS[turns], strict=True))}
                    for limits, turns in zip(joint.limits, joint.kind.angular, strict=True)
                ],
            }
        )
    return entries
