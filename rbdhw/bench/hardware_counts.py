"""Counts of the generated hardware: operations, cycles and resources."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rbdhw.bench.builds import ALL, graph_of, plan_of, robot_of
from rbdhw.bench.rows import Row, Rows, by_function, robot_label
from rbdhw.emit.manifest import function_counts
from rbdhw.emit.operation_counts import program_counts
from rbdhw.estimate.core import counts
from rbdhw.frontend.algorithms import longest_paths
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, ROOT_ALGORITHMS, operation_delay
from rbdhw.frontend.functions import trace, unmerged
from rbdhw.passes.factor import factor
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.reroot import candidate_roots, reroot

FIXED = (("iiwa14", "fixed"), ("hyq", "fixed"), ("atlas", "fixed"))

OTHERS = (
    ("hyq", "floating"),
    ("spot_arm", "floating"),
    ("atlas", "floating"),
    ("iiwa14", "given"),
    ("tiago", "fixed"),
    ("hand22", "fixed"),
)
"""Robots with a floating, planar or moving base, or with many branches."""

LATENCIES: tuple[tuple[str, int, str | None], ...] = (
    ("iiwa14", 18, None),
    ("iiwa14", 18, "single_pivots"),
    ("iiwa14", 27, None),
    ("hyq", 27, None),
)
"""Robots, widths and algorithms of the latency table."""

PAPERS = Algorithms(derivatives="columns", inverse="articulated", gradient="repeated")
"""The algorithms of the published accelerators."""


def operations(robots: Iterable[tuple[str, str]] = FIXED) -> Rows:
    """Return the operations of every function, in the program of all functions and in graphs.

    Programs are 18 bits wide. The graphs are that of the function alone and, for robots that they support,
    that of the published accelerators' algorithms.
    """
    rows = []
    for name, base in robots:
        source = robot_of(name, base)
        plain = align_axes(elementary(source))
        published = PAPERS.possible_for(source)
        program = plan_of(name, base=base).program
        for function in ALL:
            built = program_counts(program, function)
            alone = function_counts(graph_of(name, (function,), base), function)
            rows.append(
                {
                    "robot": name,
                    "base": base,
                    "degrees of freedom": source.nv,
                    "function": function,
                    "multiplications": products(built),
                    "additions": built["additions"],
                    "reciprocals": built["reciprocals"],
                    "multiplications of the function alone": products(alone),
                    "multiplications by columns and articulated bodies": (
                        products(function_counts(factor(unmerged(plain, (function,), (), PAPERS)), function))
                        if published
                        else None
                    ),
                }
            )
    return rows


def operations_layout(rows: Rows) -> Rows:
    """Return lines of built multiplications / those of the graph alone, and of published algorithms."""
    return by_function(
        rows,
        (robot_label, _both_counts),
        (
            lambda row: f"{robot_label(row)}, published algorithms",
            lambda row: f"{row['multiplications by columns and articulated bodies']:,}",
        ),
    )


def others_layout(rows: Rows) -> Rows:
    """Return lines of degrees of freedom, and of built multiplications / those of the graph alone."""
    freedoms = {robot_label(row): row["degrees of freedom"] for row in rows}
    shown = by_function(rows, (robot_label, _both_counts))
    return [{"": row[""], "nv": freedoms[row[""]]} | row for row in shown]


def roots() -> Rows:
    """Return the effect of another root on Atlas: depth, operations, and time to the results."""
    base = robot_of("atlas", "floating")
    rows = []
    for robot in (base, best_depth(base)):
        plain = regroup_inertias(align_axes(elementary(robot)))
        graph = factor(trace(plain, ALL, (), ROOT_ALGORITHMS))
        paths = longest_paths(graph, operation_delay(DEFAULT_DELAYS))
        for function in ALL:
            rows.append(
                {
                    "root": robot.bodies[0].name,
                    "depth": robot.depth,
                    "function": function,
                    "multiplications": products(function_counts(graph, function)),
                    "nanoseconds": round(paths[function]),
                }
            )
    return rows


def roots_layout(rows: Rows) -> Rows:
    """Return lines of each root's depth, and of each function's operations and longest path."""
    return by_function(
        rows,
        (
            lambda row: f"{row['root']}, {row['depth']} bodies deep",
            lambda row: f"{row['multiplications']:,}, {row['nanoseconds']} ns",
        ),
    )


def best_depth(robot: Robot) -> Robot:
    """Return a floating robot with the root that minimises its depth."""
    return reroot(robot, candidate_roots(robot)[0][0])


def latencies(builds: Iterable[tuple[str, int, str | None]] = LATENCIES) -> Rows:
    """Return core latencies at II = 1, and those with reciprocals on the critical path."""
    rows = []
    for name, width, inverse in builds:
        plan = plan_of(name, width=width, inverse=inverse)
        ports = "×".join(map(str, plan.program.port_widths))
        rows += [
            {"robot": name, "bits": ports, "inverse": inverse, "function": function, "cycles": cycles}
            for function, cycles in plan.core.latency.items()
        ]
    return rows


def latencies_layout(rows: Rows) -> Rows:
    """Return lines of each build's cycles by function."""

    def label(row: Row) -> str:
        pivots = ", pivots one by one" if row["inverse"] else ""
        return f"{robot_label(row)}, {row['bits']} bits{pivots}"

    return by_function(rows, (label, lambda row: str(row["cycles"])))


def base_pivots() -> Rows:
    """Return the latencies of eliminating a floating base: HyQ's inverse mass matrix, 27x18 bits, II = 1."""
    return [
        {
            "pivots": inverse.replace("_", " "),
            "core latency (cycles)": plan_of(
                "hyq", ("minv",), 27, inverse=inverse, base="floating"
            ).core.latency["minv"],
        }
        for inverse in ("single_pivots", "paired_pivots", "block_pivots")
    ]


def limbs(bases: Iterable[str] = ("fixed", "floating")) -> Rows:
    """Return the resources of HyQ with and without shared limb hardware: all functions, 18x18 bits."""
    rows = []
    for base in bases:
        for ii, share in ((1, "off"), (4, "off"), (4, "on")):
            plan = plan_of("hyq", ii=ii, base=base, share=share)
            taken = vars(counts(plan.program, plan.pipeline))
            named = {name.replace("_", " "): count for name, count in taken.items()}
            rows.append(
                {"base": base, "II": ii, "limbs": "in turn" if share == "on" else "each its own"} | named
            )
    return rows


def _both_counts(row: Row) -> str:
    """Return the multiplications in the program of all functions / those of the function's graph alone."""
    return f"{row['multiplications']:,} / {row['multiplications of the function alone']:,}"


def products(found: dict[str, Any]) -> int:
    """Return all multiplications of a function's counts."""
    return sum(found["multiplications"].values())
