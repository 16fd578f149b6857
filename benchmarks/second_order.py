"""The tables of second derivatives: operations, and accuracy beside finite differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from benchmarks.builds import graph_of, robot_of
from benchmarks.double_precision import Array, Arrays, by_graph, evaluated, random_states, shifted
from benchmarks.hardware_counts import products
from benchmarks.rows import Row, Rows, by_function, robot_label
from rbdhw import golden
from rbdhw.emit.manifest import function_counts
from rbdhw.fixed.result_words import result_words
from rbdhw.frontend.build_graph import multiplications
from rbdhw.robot.model import BASE, UNLIMITED, Body, Inertia, Joint, JointKind, Placement, Robot

SECOND = ("sid", "sfd", "hid", "hfd")

FIRST = {"sid": "did", "hid": "did", "sfd": "dfd", "hfd": "dfd"}
"""The first derivatives of which each function has the derivatives."""

COUNTED = (
    ("iiwa14", "fixed", SECOND),
    ("hyq", "fixed", SECOND),
    ("hyq", "floating", ("sid", "hid", "hfd")),
)
"""Robots and the functions that are counted. The search for HyQ's frames takes too long for ``sfd``."""

SIZES = (4, 8, 16)
"""The bodies of the chains and binary trees."""

FORWARD = ("chain of 8", "iiwa14")
"""The robots whose second derivatives of forward dynamics are compared, too."""

RESULTS = {"sid": "tau", "sfd": "a"}
"""What the second derivatives are of."""

MATRICES = {"sid": "M", "sfd": "Minv"}
"""The matrix whose derivatives a function has."""

FROM_FIRST, FROM_VALUES = "differences of first derivatives", "second differences of values"

BEST_STEPS = {FROM_FIRST: 3e-5, FROM_VALUES: 3e-4}
"""The steps of the differences (rad, rad/s), about the best of :func:`second_steps`."""

SWEPT = (("sid", "chain", 8), ("sid", "binary tree", 8), ("sfd", "chain", 8))
"""The functions, and the shapes and sizes of robots, whose differences are compared over their step."""

SWEPT_STEPS = tuple(10.0 ** -(0.5 * k) for k in range(2, 19))
"""The steps: from a tenth to a billionth."""

ERROR = "root mean square relative"
"""The error by which steps are compared, as in the paper."""


# Operations


def second_operations(robots: Iterable[tuple[str, str, tuple[str, ...]]] = COUNTED) -> Rows:
    """Return the multiplications and the words of each function's graph alone.

    Beside them are the multiplications of central differences of first derivatives, by all positions and
    velocities.
    """
    rows = []
    for name, base, functions in robots:
        evaluations = 4 * robot_of(name, base).nv
        first = {function: _products(name, base, function) for function in ("did", "dfd")}
        for function in functions:
            graph = graph_of(name, (function,), base)
            rows.append(
                {
                    "robot": name,
                    "base": base,
                    "function": function,
                    "multiplications": multiplications(graph),
                    "words": len(result_words(graph)),
                    "by differences": evaluations * first[FIRST[function]],
                }
            )
    return rows


def _products(name: str, base: str, function: str) -> int:
    """Return the multiplications for the results that every task of the function has."""
    return products(function_counts(graph_of(name, (function,), base), function))


def second_operations_layout(rows: Rows) -> Rows:
    """Return lines of each robot's multiplications and words that travel, and of differences."""
    lines = by_function(
        rows,
        (robot_label, lambda row: f"{row['multiplications']:,}, {row['words']:,} words"),
        (lambda row: f"{robot_label(row)}, by differences", lambda row: f"{row['by differences']:,}"),
    )
    return [{"": line[""]} | {function: line.get(function, "-") for function in SECOND} for line in lines]


# Accuracy


def differences(sizes: Iterable[int] = SIZES) -> Rows:
    """Return the errors of ``sid``, and of ``sfd`` for :data:`FORWARD`, by the graph and by differences.

    The graph is interpreted in double precision. The reference is the complex step of the golden model's
    first derivatives.
    """
    robots = [(f"{kind} of {size}", make(size)) for kind, make in SHAPES.items() for size in sizes]
    robots += [(robot_label({"robot": name}), robot_of(name)) for name in ("iiwa14", "hyq")]
    compared = [("sid", label, robot) for label, robot in robots]
    compared += [("sfd", label, robot) for label, robot in robots if label in FORWARD]
    rows = []
    for function, label, robot in compared:
        arrays = random_states(robot)
        arrays["tau"] = golden.evaluate(robot, "id", arrays)["tau"]
        truth = golden.evaluate(robot, function, arrays)
        rows.append(_accuracy(function, label, GRAPH, by_graph(robot, arrays, function), truth))
        for method, step in BEST_STEPS.items():
            results = DIFFERENCES[method](robot, arrays, function, step)
            rows.append(_accuracy(function, label, method, results, truth))
    return rows


def _accuracy(function: str, robot: str, method: str, results: Arrays, truth: Arrays) -> Row:
    return {"function": function, "robot": robot, "method": method} | _errors(results, truth)


def second_steps(swept: Iterable[tuple[str, str, int]] = SWEPT, steps: Iterable[float] = SWEPT_STEPS) -> Rows:
    """Return the errors of :func:`differences` by the step, and those by the graph without a step."""
    rows: Rows = []
    for function, kind, size in swept:
        robot, label = SHAPES[kind](size), f"{kind} of {size}"
        arrays = random_states(robot)
        arrays["tau"] = golden.evaluate(robot, "id", arrays)["tau"]
        truth = golden.evaluate(robot, function, arrays)
        exact = _accuracy(function, label, GRAPH, by_graph(robot, arrays, function), truth)
        rows.append(exact | {"step": None})
        for method, compute in DIFFERENCES.items():
            for step in steps:
                results = compute(robot, arrays, function, step)
                rows.append(_accuracy(function, label, method, results, truth) | {"step": step})
    return rows


def second_steps_layout(rows: Rows) -> Rows:
    """Return a line for each robot: the error by the graph, and those of differences at their best steps."""
    best: dict[tuple[str, str], dict[str, Row]] = {}
    for row in sorted(rows, key=lambda row: row[ERROR], reverse=True):
        best.setdefault((row["function"], row["robot"]), {})[row["method"]] = row
    lines = []
    for function, robot in dict.fromkeys((row["function"], row["robot"]) for row in rows):
        line: Row = {"": f"{robot}, {function}"}
        for method in (GRAPH, *DIFFERENCES):
            row = best[function, robot][method]
            line[method] = f"{row[ERROR]:.1e}" + (f", step {row['step']:.0e}" if row["step"] else "")
        lines.append(line)
    return lines


def differences_layout(rows: Rows) -> Rows:
    """Return a line for each robot and method."""
    return [
        {name: value if isinstance(value, str) else f"{value:.1e}" for name, value in row.items()}
        for row in rows
    ]


def _errors(results: Arrays, truth: Arrays) -> Row:
    """Return the largest and root-mean-square errors of all elements, absolute and relative."""
    pairs = [(results[name].ravel(), array.ravel()) for name, array in truth.items()]
    actual, expected = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    error = np.abs(actual - expected)
    kept = np.abs(expected) > 1e-9 * np.abs(expected).max()
    relative = error[kept] / np.abs(expected[kept])
    return {
        "largest": float(error.max()),
        "root mean square": float(np.sqrt(np.mean(error**2))),
        "largest relative": float(relative.max()),
        "root mean square relative": float(np.sqrt(np.mean(relative**2))),
    }


def _from_first(robot: Robot, arrays: Arrays, function: str, step: float) -> Arrays:
    """Return second derivatives by central differences of first ones and of M or its inverse."""
    x = RESULTS[function]

    def slope(differentiated: str, name: str, moved: str) -> Array:
        ends = [shifted(robot, arrays, [(moved, sign * step)]) for sign in (1, -1)]
        ahead, behind = (evaluated(robot, differentiated, name, states) for states in ends)
        return np.moveaxis((ahead - behind) / (2 * step), 0, -1)

    matrix, first = MATRICES[function], FIRST[function]
    return {
        f"d2{x}_dqdq": slope(first, f"d{x}_dq", "q"),
        f"d2{x}_dqdv": slope(first, f"d{x}_dq", "v"),
        f"d2{x}_dvdv": slope(first, f"d{x}_dv", "v"),
        f"d{matrix}_dq": slope(matrix.lower(), matrix, "q"),
    }


def _from_values(robot: Robot, arrays: Arrays, function: str, step: float) -> Arrays:
    """Return second derivatives by second central differences of inverse or forward dynamics."""
    x = RESULTS[function]

    def slopes(one: str, other: str) -> Array:
        corners = [
            (a * b, shifted(robot, arrays, [(one, a * step), (other, b * step)]))
            for a in (1, -1)
            for b in (1, -1)
        ]
        total = sum(sign * evaluated(robot, function[1:], x, corner) for sign, corner in corners)
        return np.moveaxis(np.asarray(total) / (4 * step**2), (0, 1), (-2, -1))

    return {
        f"d2{x}_dqdq": slopes("q", "q"),
        f"d2{x}_dqdv": slopes("q", "v"),
        f"d2{x}_dvdv": slopes("v", "v"),
        f"d{MATRICES[function]}_dq": slopes("tau" if x == "a" else "a", "q"),
    }


GRAPH = "graph in double precision"

DIFFERENCES: dict[str, Callable[[Robot, Arrays, str, float], Arrays]] = {
    FROM_FIRST: _from_first,
    FROM_VALUES: _from_values,
}
"""How second derivatives are found by differences with a step."""


def chain(size: int) -> Robot:
    """Return a chain of equal bodies on revolute joints."""
    return _tree("chain", [i - 1 for i in range(size)])


def binary_tree(size: int) -> Robot:
    """Return a tree of equal bodies on revolute joints, each with up to two children."""
    return _tree("tree", [(i - 1) // 2 if i else BASE for i in range(size)])


def _tree(name: str, parents: list[int]) -> Robot:
    inertia = Inertia(1.0, (0.02, 0.05, 0.2), (0.06, 0.001, 0.002, 0.05, 0.004, 0.01))
    turns = (
        ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)),
        ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)),
    )
    bodies = []
    for i, parent in enumerate(parents):
        placement = Placement(turns[i % 2], (0.05, 0.0, 0.3) if parent != BASE else (0.0, 0.0, 0.0))
        joint = Joint(f"joint_{i}", JointKind.REVOLUTE, (0.0, 0.0, 1.0), placement, (UNLIMITED,))
        bodies.append(Body(f"link_{i}", parent, joint, inertia))
    return Robot(name, "base", tuple(bodies))


SHAPES: dict[str, Callable[[int], Robot]] = {"chain": chain, "binary tree": binary_tree}
"""Robots of equal bodies, by their number."""
