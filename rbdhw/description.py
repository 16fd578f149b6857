"""What there is to tell of a robot before anything is built: joints, operations, algorithms, limbs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rbdhw.config import BuildOptions
from rbdhw.limbs import hardware, least_interval, limb_inputs, limb_names
from rbdhw.manifest import function_counts, robot_entry
from rbdhw.passes.factor import factor
from rbdhw.passes.twins import find_twins
from rbdhw.pipeline import read
from rbdhw.planning import Progress, silent
from rbdhw.preparation import prepare, traced
from rbdhw.robot.model import BASE, Robot
from rbdhw.robot.symmetry import limb_groups
from rbdhw.target import target


def describe(urdf: Path, options: BuildOptions, progress: Progress = silent) -> dict[str, Any]:
    """The robot, the operations of each function of the graph that would be built, and its algorithms.

    Raises
    ------
    InputError
        For a robot or option that cannot be built.
    """
    source, trials = read(urdf, options, progress)
    progress("rewriting frames and inertias")
    delays = target(options.target).delays
    model = prepare(source, options.functions, options.fext, delays, options.algorithms)
    progress("tracing")
    graph = factor(traced(model, options.functions))
    groups = limb_groups(model.robot)
    ii = least_interval(groups)
    twins = find_twins(graph, limb_inputs(model.robot, groups))
    return {
        "robot": robot_entry(source),
        "functions": {function: function_counts(graph, function) for function in options.functions},
        "algorithms": model.choice.json(),
        "limbs": {
            "groups": limb_names(model.robot, groups),
            "ii": ii,
            "hardware": hardware(graph, twins, ii),
        },
        "joints": joint_rows(source),
        "roots": [vars(trial) for trial in trials],
    }


def joint_rows(robot: Robot) -> list[dict[str, str]]:
    """Each joint with its kind, the link that it moves, the parent of that, and what it mimics."""
    rows = []
    for body in robot.bodies:
        joint, mimic = body.joint, body.joint.mimic
        parent = robot.base if body.parent == BASE else robot.bodies[body.parent].name
        row = {"joint": joint.name, "kind": joint.kind.value, "link": body.name, "parent": parent}
        rows.append(row | {"mimics": mimic.joint if mimic else ""})
    return rows
