"""The description of a robot before a build: joints, operations, algorithms, limbs."""

from __future__ import annotations

from collections.abc import Collection
from math import isfinite
from pathlib import Path
from typing import Any

from rbdhw.config import PROCESSORS, BuildOptions
from rbdhw.emit.manifest import coordinates_entry, function_counts, operation_counts, robot_entry
from rbdhw.explore.limb_sharing import hardware, least_interval, limb_inputs, limb_names
from rbdhw.frontend.build_graph import prepare, trace_model
from rbdhw.frontend.read import read
from rbdhw.graph.graph import Graph
from rbdhw.passes.factor import factor
from rbdhw.passes.prune import alive
from rbdhw.passes.twins import find_twins
from rbdhw.progress import Progress, silent
from rbdhw.remarks import warn
from rbdhw.robot.model import BASE, Robot
from rbdhw.robot.symmetry import limb_groups
from rbdhw.software.build import trace_sources
from rbdhw.target import target

UNITS = {True: ("rad", "rad/s", "Nm"), False: ("m", "m/s", "N")}
"""Units of the position, velocity and effort of a rotational (True) or translational degree of freedom."""


def describe(urdf: Path, options: BuildOptions, progress: Progress = silent) -> dict[str, Any]:
    """Return the robot, the operations of each function in the graph of this build, and its algorithms.

    For an FPGA this is the graph of all functions, with the limbs that can share hardware. For a processor it
    is the graph of each function alone.

    Raises
    ------
    InputError
        For a robot or an option that cannot be built.
    """
    source, trials = read(urdf, options, progress)
    build = _software if options.target in PROCESSORS else _accelerator
    entries, inputs = build(source, options, progress)
    return {
        "robot": robot_entry(source),
        **entries,
        "joints": joint_entries(source),
        "coordinates": coordinates_entry(source, inputs),
        "roots": [vars(trial) for trial in trials],
    }


def _accelerator(
    source: Robot, options: BuildOptions, progress: Progress
) -> tuple[dict[str, Any], Collection[str]]:
    """Return the entries of a build for an FPGA, and the inputs that it reads."""
    delays = target(options.target).delays
    model = prepare(source, options.functions, options.fext, delays, options.algorithms, progress)
    warn(model.remarks)
    progress("tracing")
    graph = factor(trace_model(model, options.functions))
    groups = limb_groups(model.robot)
    ii = least_interval(groups)
    twins = find_twins(graph, limb_inputs(model.robot, groups))
    entries = {
        "functions": {function: function_counts(graph, function) for function in options.functions},
        "algorithms": model.choice.json(),
        "limbs": {
            "groups": limb_names(model.robot, groups),
            "ii": ii,
            "hardware": hardware(graph, twins, ii),
        },
    }
    return entries, find_used_inputs(graph)


def _software(
    source: Robot, options: BuildOptions, progress: Progress
) -> tuple[dict[str, Any], Collection[str]]:
    """Return the entries of software for a processor, and the inputs that it reads."""
    model = prepare(source, options.functions, options.fext, forced=options.algorithms, progress=progress)
    warn(model.remarks)
    graphs = {own.function: own.graph for own in trace_sources(model, options.functions, progress)}
    entries = {
        "functions": {function: operation_counts(graph) for function, graph in graphs.items()},
        "algorithms": model.choice.json(),
    }
    return entries, {name for graph in graphs.values() for name in find_used_inputs(graph)}


def find_used_inputs(graph: Graph) -> set[str]:
    """Return the inputs that a graph's results depend on."""
    kept = alive(graph)
    return {name for name, node in graph.inputs.items() if kept[node]}


def joint_entries(robot: Robot) -> list[dict[str, Any]]:
    """Return each joint: its kind, its link and that link's parent, what it mimics, and its limits.

    There is one entry of limits for each degree of freedom. A missing limit is None.
    """
    entries = []
    for body in robot.bodies:
        joint = body.joint
        entries.append(
            {
                "name": joint.name,
                "kind": joint.kind.value,
                "link": body.name,
                "parent": robot.base if body.parent == BASE else robot.bodies[body.parent].name,
                "mimics": vars(joint.mimic) if joint.mimic else None,
                "limits": [
                    {name: bound if isfinite(bound) else None for name, bound in vars(limits).items()}
                    | {"units": dict(zip(("position", "velocity", "effort"), UNITS[turns], strict=True))}
                    for limits, turns in zip(joint.limits, joint.kind.angular, strict=True)
                ],
            }
        )
    return entries
