"""What there is to tell of a robot before anything is built: joints, operations, algorithms, limbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rbdhw.config import BuildOptions, Mounting
from rbdhw.limbs import hardware, least_interval, limb_inputs, limb_names
from rbdhw.manifest import function_counts, robot_entry
from rbdhw.mounting import load_mounted
from rbdhw.passes.factor import factor
from rbdhw.passes.twins import find_twins
from rbdhw.planning import Progress, silent
from rbdhw.preparation import prepare, rooted, traced
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.model import BASE, Robot
from rbdhw.robot.symmetry import limb_groups

DEFAULT_MOUNTING = Mounting()


def describe(
    urdf: Path,
    functions: Sequence[str],
    fext: str = "none",
    forced: Mapping[str, str] = MappingProxyType({}),
    mounting: Mounting = DEFAULT_MOUNTING,
    progress: Progress = silent,
) -> dict[str, Any]:
    """The robot, the operations of each function of the graph that would be built, and its algorithms.

    Raises
    ------
    InputError
        For a robot, function or link that cannot be built.
    """
    BuildOptions(functions=tuple(functions), mounting=mounting).check(tuple(FUNCTIONS))
    source = load_mounted(urdf, mounting)
    progress("choosing the root")
    source, trials = rooted(source, mounting.root, functions, fext)
    progress("rewriting frames and inertias")
    model = prepare(source, functions, fext, forced=forced)
    progress("tracing")
    graph = factor(traced(model, functions))
    groups = limb_groups(model.robot)
    ii = least_interval(groups)
    twins = find_twins(graph, limb_inputs(model.robot, groups))
    return {
        "robot": robot_entry(source),
        "functions": {function: function_counts(graph, function) for function in functions},
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
