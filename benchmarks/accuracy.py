"""Errors of the generated hardware against the golden model, beside those of Q16.16."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from benchmarks.builds import ALL, errors_of, plan_of
from benchmarks.q16_16 import uniform_errors
from benchmarks.rows import Row, Rows, by_function, robot_label
from rbdhw.arrays import is_optional
from rbdhw.domain.strata import STRATA, draw
from rbdhw.fixed.figures import FunctionErrors, ResultErrors
from rbdhw.options.build import DEFAULT_MAX_ERROR

BUILDS: tuple[tuple[str, int | None], ...] = (
    ("iiwa14", 18),
    ("iiwa14", 27),
    ("iiwa14", None),
    ("hyq", 18),
    ("hyq", 27),
    ("atlas", 18),
)
"""Robots and widths of the error tables; None stands for the default error budget."""

UNIFORM_TASKS = 4096
"""Tasks for the errors of Q16.16."""

UNIFORM = "Q16.16"
"""The entry for Q16.16 in the column of bits."""

ALL_STRATA = "all"
"""The entry for all tasks in the column of strata."""


def accuracy(builds: Iterable[tuple[str, int | None]] = BUILDS) -> Rows:
    """Return errors against the golden model, and after each robot's builds those of Q16.16."""
    rows: Rows = []
    builds = list(builds)
    for name in dict.fromkeys(name for name, _ in builds):
        for width in (width for robot, width in builds if robot == name):
            rows += _own_errors(name, width)
        rows += _uniform_errors(name)
    return rows


def _own_errors(name: str, width: int | None) -> Rows:
    plan = plan_of(name, width=width)
    bits = "×".join(map(str, plan.program.port_widths))
    if width is None:
        wide = len(plan.program.wide)
        wider = f" and {wide:,} wider products" if wide else ""
        bits = f"budget {DEFAULT_MAX_ERROR:g}: {bits}{wider}"
    return [row for function in ALL for row in _error_rows(name, bits, function, errors_of(plan, function))]


def _uniform_errors(name: str) -> Rows:
    plan = plan_of(name)
    source, robot = plan.prepared.model.source, plan.prepared.model.robot
    drawn = draw(source, plan.prepared.domain, UNIFORM_TASKS, np.random.default_rng(1))
    rows = []
    for function in ALL:
        built, clipped = errors_of(plan, function).results, drawn.clipped_of(function)
        floors = {f"{function}.{result}": figures.floor for result, figures in built.items()}
        errors, overflow = uniform_errors(source, robot, function, drawn.of(function), floors)
        results = {
            result: ResultErrors.of(
                values, ~overflow, clipped, drawn.stratum, STRATA, built[result].floor, {}
            )
            for result, values in errors.items()
        }
        rows += _error_rows(name, UNIFORM, function, FunctionErrors(results))
    return rows


def _error_rows(name: str, bits: str, function: str, errors: FunctionErrors) -> Rows:
    """Return a row for all tasks, and one for each stratum, of each result that is not optional."""
    return [
        {
            "robot": name,
            "bits": bits,
            "function": f"{function}.{result}",
            "stratum": stratum,
            "median": figures.median,
            "largest": figures.max,
            "tasks": figures.samples,
            "tasks counted": figures.samples - figures.flagged - figures.clipped,
        }
        for result, entry in errors.results.items()
        if not is_optional(f"{function}.{result}")
        for stratum, figures in {ALL_STRATA: entry.whole, **entry.strata}.items()
    ]


def accuracy_layout(rows: Rows) -> Rows:
    """Return lines of median / largest error by result; with the counted tasks where some overflow."""

    def label(row: Row) -> str:
        return f"{robot_label(row)}, {row['bits']}"

    whole = [row for row in rows if row["stratum"] == ALL_STRATA]
    tasks = {label(row): row["tasks"] for row in whole}
    shown = by_function(whole, (label, _errors))
    return [{"": row[""], "tasks": tasks[row[""]]} | row for row in shown]


def _errors(row: Row) -> str:
    if not row["tasks counted"]:
        return "-"
    missing = row["tasks counted"] < row["tasks"]
    counted = f" ({row['tasks counted']:,})" if missing else ""
    return f"{row['median']:.1e} / {row['largest']:.1e}{counted}"
