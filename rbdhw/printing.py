"""What the command line prints for people: tables of a robot, a design and a simulation."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from rbdhw.estimate.model import NAMES

FILE_WIDTH = 160
"""Columns of a table that does not go to a terminal."""


def print_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A table on standard output; the first column is of names."""
    table = Table(title=title, title_justify="left", box=MARKDOWN)
    for k, column in enumerate(columns):
        table.add_column(column, justify="right" if k else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else FILE_WIDTH).print(table)


def print_description(data: dict[str, Any]) -> None:
    """What ``rbdhw info`` tells of a robot and of the operations that its functions take."""
    robot = data["robot"]
    print(f"{robot['name']}: {freedoms_text(robot)}, depth {robot['depth']}")
    names = ("name", "kind", "link", "parent")
    joints = [
        [*(own[name] for name in names), own["mimics"]["joint"] if own["mimics"] else ""]
        for own in data["joints"]
    ]
    print_table("joints", ["joint", "kind", "link", "parent", "mimics"], joints)
    print_coordinates(data["coordinates"])
    print_roots(data["roots"])
    print_table(
        "operations a task",
        ["function", "variable x variable", "variable x constant", "additions", "reciprocals"],
        [
            [
                name,
                str(counts["multiplications"]["variable"]),
                str(counts["multiplications"]["constant"]),
                str(counts["additions"]),
                str(counts["reciprocals"]),
            ]
            for name, counts in data["functions"].items()
        ],
    )
    print_algorithms(data["algorithms"])
    print_limbs(data["limbs"])


def print_coordinates(coordinates: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Each coordinate of q and v: its joint, unit and limits, and whether it travels to the accelerator."""
    for array, title in (("q", "configuration"), ("v", "velocity; a and tau have the same order")):
        rows = [
            [
                f"{array}[{own['index']}]",
                own["joint"] + (f", {own['part']}" if own["part"] else ""),
                own["kind"],
                own["unit"],
                *("-" if bound is None else f"{bound:.4g}" for bound in own["limits"].values()),
                ", ".join(own["travels"]) or "no",
            ]
            for own in coordinates[array]
        ]
        columns = ["", "joint", "kind", "unit", "lower", "upper", "travels"]
        print_table(f"coordinates: {title}", columns, rows)


def freedoms_text(robot: Mapping[str, Any]) -> str:
    """The number of joints, whether the base floats, and the degrees of freedom if they are not as many."""
    floats = robot["base"] == "floating"
    joints = len(robot["joints"]) - floats
    text = f"{joints} joint" + "s" * (joints != 1) + " and a floating base" * floats
    return text if robot["dof"] == joints else f"{text}, {robot['dof']} degrees of freedom"


def print_limbs(limbs: dict[str, Any]) -> None:
    """The limbs that are alike, and the hardware at the least interval at which all of them can share."""
    if limbs["groups"]:
        rows = [
            [f"share-limbs={way}", *(str(count) for count in counts.values())]
            for way, counts in limbs["hardware"].items()
        ]
        title = f"limbs alike: {limbs_text(limbs['groups'])}; at an II of {limbs['ii']}"
        print_table(title, ["", "multipliers", "adders"], rows)


def print_roots(trials: list[dict[str, Any]]) -> None:
    """The links tried as roots, and their costs."""
    rows = [[trial["link"], str(trial["depth"]), f"{trial['cost']:.0f}"] for trial in trials]
    if rows:
        print_table("roots", ["link", "depth", "cost"], rows)


def print_algorithms(algorithms: dict[str, Any]) -> None:
    """The algorithms taken, and what each alternative would cost, all functions together."""
    rows = []
    for step, choice in algorithms.items():
        for name, cost in choice["costs"].items():
            taken = "taken" if name == choice["chosen"] else ""
            figures = [str(cost["multiplications"]), str(cost["additions"]), f"{cost['nanoseconds']:.0f} ns"]
            rows.append([f"{step}={name}", taken, *figures, f"{cost['total']:.0f}"])
    if rows:
        columns = ["algorithm", "", "multiplications", "additions", "longest paths", "cost"]
        print_table("algorithms", columns, rows)


def print_manifest(manifest: dict[str, Any], output: Path) -> None:
    """A short table of a design."""
    robot = manifest["robot"]
    rows = []
    for name, function in manifest["functions"].items():
        error = manifest["error"][name]
        products = function["multiplications"]
        rows.append(
            [
                name,
                str(products["variable"] + products["constant"]),
                str(function["additions"]),
                str(manifest["ii"]),
                f"{function['latency_cycles']} cycles",
                str(manifest["multipliers"]),
                f"{error['median']:.1e} / {error['max']:.1e}",
            ]
        )
    width = " x ".join(str(bits) for bits in manifest["width"])
    print_table(
        f"{robot['name']} ({freedoms_text(robot)}) for {manifest['target']} "
        f"at {manifest['clock_mhz']:g} MHz, {width} bits -> {output}",
        ["function", "multiplications", "additions", "II", "latency", "multipliers", "error median / max"],
        rows,
    )
    print_interval(manifest)
    if "limbs" in manifest:
        print_sharing(manifest["limbs"])


def print_interval(manifest: dict[str, Any]) -> None:
    """Why tasks come at this interval, what the design takes by estimate, and why its core was chosen."""
    chosen, found = manifest["interval"], manifest["estimate"]
    taken = [f"{found[name]:,} {NAMES[name]} ({share:.1%})" for name, share in found["shares"].items()]
    print(f"II {chosen['ii']}: {chosen['why']}; by estimate {', '.join(taken)} of {manifest['target']}")
    if manifest["core"] != manifest["cores"]["asked"]:
        print(f"core {manifest['core']}: {manifest['cores']['why']}")


def print_sharing(limbs: dict[str, Any]) -> None:
    """The limbs that are alike, and what it costs to let them share hardware or not."""
    if not limbs["costs"]:
        return
    rows = []
    for way, cost in limbs["costs"].items():
        taken = "taken" if (way == "on") == limbs["shared"] else ""
        rows.append([f"share-limbs={way}", taken, *(str(count) for count in cost.values())])
    columns = [name.replace("_", " ") for name in next(iter(limbs["costs"].values()))]
    print_table(f"limbs alike: {limbs_text(limbs['groups'])}", ["", "", *columns], rows)


def limbs_text(groups: list[list[str]]) -> str:
    """Groups of limbs in a line, each limb by the name of its first link."""
    return "; ".join(", ".join(group) for group in groups)


def _error_cell(median: float | None, largest: float | None) -> str:
    return "-" if median is None or largest is None else f"{median:.1e} / {largest:.1e}"


def print_report(manifest: dict[str, Any], report: dict[str, Any]) -> None:
    """A short table of a simulation."""
    rows = []
    for name, function in report["functions"].items():
        products = manifest["functions"][name]["multiplications"]
        rows.append(
            [
                name,
                str(function["tasks"]),
                str(products["variable"] + products["constant"]),
                str(manifest["ii"]),
                "-" if function["latency_cycles"] is None else f"{function['latency_cycles']} cycles",
                str(manifest["multipliers"]),
                str(report["mismatches"]),
                _error_cell(function["error_median"], function["error_max"]),
            ]
        )
    columns = ["function", "tasks", "multiplications", "II", "latency", "multipliers", "mismatches"]
    print_table(
        f"{manifest['robot']['name']}: RTL in Verilator against the bit-exact model and the golden model; "
        f"{report['flagged']} flagged, {report['cycles']} cycles",
        [*columns, "error median / max"],
        rows,
    )


MOST_CAUSES = 10
"""Causes of flagged tasks that are printed; `--json` lists all."""

LINE_WIDTH = 80
"""Columns of a line of text."""


def print_causes(causes: Sequence[Mapping[str, Any]]) -> None:
    """Why tasks were flagged, the causes of most tasks first."""
    for cause in causes[:MOST_CAUSES]:
        print(textwrap.fill(cause["text"], LINE_WIDTH, initial_indent="  ", subsequent_indent="    "))
    if len(causes) > MOST_CAUSES:
        print(f"  and {len(causes) - MOST_CAUSES} more causes, which --json lists")


def print_synthesis(directory: Path, report: dict[str, Any]) -> None:
    """A short table of what synthesis found."""
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    tries = ", ".join(f"seed {one['seed']}: {one['clock_mhz_achieved']:g} MHz" for one in report["tries"])
    rows = [
        [name.replace("_", " "), "-" if value in (None, "") else str(value)]
        for name, value in (report | {"versions": versions, "tries": tries}).items()
    ]
    print_table(str(directory), ["", ""], rows)
