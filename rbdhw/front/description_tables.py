"""Printed tables of a robot before a build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rbdhw.design.entries import RobotEntry
from rbdhw.errors import one_line
from rbdhw.front.printing import print_table, print_text
from rbdhw.front.tables import INDENT, OPERATIONS, freedoms_text, limbs_text
from rbdhw.frontend.algorithms import ADDITION_COST, NANOSECOND_COST

COST = (
    f"cost: multiplications + {ADDITION_COST:g} x additions + {NANOSECOND_COST:g} x ns of the longest paths"
)
"""What the cost is that alternatives are compared by."""


def print_description(data: dict[str, Any]) -> None:
    """Print the result of ``rbdhw info``: the robot, and the operations of its functions."""
    robot = RobotEntry.model_validate(data["robot"])
    print_text(f"{one_line(robot.name)}: {freedoms_text(robot)}, depth {robot.depth}")
    names = ("name", "kind", "link", "parent_link")
    joints = []
    for joint in data["joints"]:
        followed = joint["mimics"]["joint"] if joint["mimics"] else ""
        joints.append([one_line(text) for text in (*(joint[name] for name in names), followed)])
    print_table("joints", ["joint", "kind", "link", "parent", "mimics"], joints)
    print_coordinates(data["coordinates"], counted=bool(data["functions"]))
    print_roots(data["roots"])
    if data["functions"]:
        print_operations(data["functions"])
    for function, reason in data["omitted"].items():
        print_text(f"{function} is not counted: {reason}", INDENT)
    print_algorithms(data["algorithms"])
    if "limbs" in data:
        print_limbs(data["limbs"])


def print_operations(functions: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the operations of each function."""
    columns = ["function", "variable x\nvariable", "variable x\nconstant", "additions", "reciprocals"]
    rows = []
    for name, counts in functions.items():
        products = counts["multiplications"]
        figures = products["variable"], products["constant"], counts["additions"], counts["reciprocals"]
        rows.append([name, *map(str, figures)])
    print_table("operations a task", columns, rows)


def print_coordinates(coordinates: Mapping[str, Sequence[Mapping[str, Any]]], counted: bool) -> None:
    """Print each coordinate of q and v: its joint, unit and bounds, and how it is sent to the accelerator.

    ``counted`` says whether any function was traced, so that it is known what travels.
    """
    for array, title in (("q", "configuration"), ("v", "velocity; a and tau have the same order")):
        rows = [
            [
                f"{array}[{coordinate['index']}]",
                one_line(coordinate["joint"]) + (f", {coordinate['part']}" if coordinate["part"] else ""),
                coordinate["kind"],
                coordinate["unit"],
                *("-" if bound is None else f"{bound:.4g}" for bound in coordinate["bounds"].values()),
                ", ".join(coordinate["travels"]) or ("no" if counted else "?"),
            ]
            for coordinate in coordinates[array]
        ]
        columns = ["", "joint", "kind", "unit", "lower", "upper", "travels"]
        print_table(f"coordinates: {title}", columns, rows)
    print_text(
        "lower, upper: the bounds of the inputs, beyond which a task is flagged (`-`: an angle that wraps)\n"
        "travels: in which arrays of a task the coordinate is sent; no result depends on the others",
        INDENT,
    )


def print_limbs(limbs: dict[str, Any]) -> None:
    """Print the groups of symmetric limbs, and the hardware at the least interval that lets all share it."""
    if limbs["groups"]:
        rows = [
            [f"share-limbs={way}", *(str(count) for count in counts.values())]
            for way, counts in limbs["hardware"].items()
        ]
        title = f"limbs alike: {limbs_text(limbs['groups'])}; at an II of {limbs['ii']}"
        print_table(title, ["", "multipliers", "adders"], rows)


def print_roots(trials: list[dict[str, Any]]) -> None:
    """Print the candidate root links and their costs."""
    rows = [[trial["link"], str(trial["depth"]), f"{trial['cost']:.0f}"] for trial in trials]
    if rows:
        title = f"roots\ndepth: joints on the longest path from the root; {COST}"
        print_table(title, ["link", "depth", "cost"], rows)


def print_algorithms(algorithms: dict[str, Any]) -> None:
    """Print the chosen algorithms, and the cost of each alternative summed over all functions."""
    rows = []
    for step, choice in algorithms.items():
        for name, cost in choice["costs"].items():
            taken = "taken" if name == choice["chosen"] else ""
            counts = f"{cost['multiplications']} / {cost['additions']}"
            figures = [counts, f"{cost['nanoseconds']:.0f} ns", f"{cost['total']:.0f}"]
            rows.append([f"{step}={name}", taken, *figures])
    if rows:
        title = (
            "algorithms\n"
            "longest paths: to the last result of each function, added up, before widths are known\n"
            f"{COST}"
        )
        print_table(title, ["algorithm", "", OPERATIONS, "longest\npaths", "cost"], rows)
