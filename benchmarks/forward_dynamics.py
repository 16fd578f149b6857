"""The table of forward dynamics of chains: by the inverse of the mass matrix, or without it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchmarks.rows import Row, Rows
from benchmarks.second_order import chain
from rbdhw.frontend.algorithms import AlgorithmChoice, cost_of
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.build_graph import Model, multiplications, operation_delay, optimise, trace_model
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.spatial import point_inertia
from rbdhw.target import target

WAYS = {
    "inverse": Algorithms(),
    "solves": Algorithms(products="solves"),
    "propagated": Algorithms(forward="propagated"),
    "reduced": Algorithms(forward="reduced"),
    "eliminated": Algorithms(forward="eliminated"),
}
"""The ways that are compared."""

LINKS = (7, 16, 32, 64, 128, 256, 512, 1024)
"""The links of the chains."""

MOST_LINKS = {"inverse": 32, "solves": 64, "eliminated": 128}
"""The longest chains that are traced in some ways: the graphs of others are large."""

LINK = point_inertia(
    1.0, (0.02, 0.05, 0.2), ((0.009, 0.001, 0.0006), (0.001, 0.008, 0.0008), (0.0006, 0.0008, 0.003))
)
"""The inertia of a link, with no entry zero."""


def chains(links: Iterable[int] = LINKS) -> Rows:
    """Return the multiplications and the longest path (ns, operators of the VU9P) of ``fd`` of chains."""
    return [_row(count, way) for count in links for way in WAYS if count <= MOST_LINKS.get(way, count)]


def snake(links: int) -> Robot:
    """Return a chain of equal rigid bodies on revolute joints, whose axes turn by 90 degrees each."""
    robot = chain(links)
    return robot.with_bodies([replace(body, inertia=LINK) for body in robot.bodies])


def model(links: int, way: str) -> Model:
    """Return a snake prepared for tracing in some way, without a search for cheaper frames."""
    source = snake(links)
    robot = regroup_inertias(align_axes(elementary(source)))
    return Model(source, robot, (), (), AlgorithmChoice(WAYS[way], {}))


def _row(links: int, way: str) -> Row:
    device = target("xcvu9p")
    graph = optimise(trace_model(model(links, way), ("fd",)), device.delays)
    path = cost_of(graph, operation_delay(device.delays)).nanoseconds
    return {"links": links, "way": way, "multiplications": multiplications(graph), "nanoseconds": path}


def chains_layout(rows: Rows) -> Rows:
    """Return a line for each chain."""
    lines: dict[int, Row] = {}
    for row in rows:
        line = lines.setdefault(row["links"], {"links": f"{row['links']}"} | dict.fromkeys(WAYS, "-"))
        line[row["way"]] = f"{row['multiplications']:,} / {row['nanoseconds']:,.0f} ns"
    return list(lines.values())
