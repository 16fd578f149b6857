"""The time of second derivatives in C over the number of links, beside other ways to find them.

The other ways are those of S. Singh, R. P. Russell and P. M. Wensing, "On second-order derivatives of
rigid-body dynamics", 2023: differentiation of the graph, CasADi, the complex step, and differences.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from benchmarks.casadi_steps import Timed, code_of_casadi, random_tasks, time_both, time_called, time_ours
from benchmarks.rows import Row, Rows
from benchmarks.second_order import SHAPES
from rbdhw.emit.software import emit_software
from rbdhw.frontend.build_graph import prepare
from rbdhw.robot.model import BASE, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.software.floating import trace_sources
from rbdhw.software.folder import Software

SIZES = (2, 4, 8, 12, 16, 32, 64, 110)
"""The links; 110 are the most of the paper."""


@dataclass(frozen=True)
class Way:
    """A way to a function, with the most links of a chain and of a tree.

    The code has no loops, so it grows with the operations: of more links a compiler takes minutes.
    """

    function: str
    most: tuple[int, int]
    second: str = ""
    """The algorithm of second derivatives; empty for the cheapest."""
    kind: str = "ours"
    """``ours``, ``casadi``, or ``complex step`` of the function."""

    def links(self, shape: str) -> int:
        """Return the most links of a shape."""
        return dict(zip(SHAPES, self.most, strict=True))[shape]


INVERSE = {
    "id": Way("id", (110, 110)),
    "did": Way("did", (32, 32)),
    "hid": Way("hid", (16, 16)),
    "sid, by columns": Way("sid", (12, 16), "columns"),
    "sid, differentiated": Way("sid", (12, 16), "differentiated"),
    "sid, CasADi": Way("sid", (8, 8), kind="casadi"),
    "sid, complex step of did": Way("did", (16, 16), kind="complex step"),
}

FORWARD = {
    "fd": Way("fd", (32, 32)),
    "dfd": Way("dfd", (16, 16)),
    "sfd": Way("sfd", (8, 8)),
    "its sid": Way("sid", (8, 8)),
    "sfd, CasADi": Way("sfd", (4, 4), kind="casadi"),
    "sfd, complex step of dfd": Way("dfd", (8, 8), kind="complex step"),
}

COMPUTED = {
    "sid, differences of did": ("did", 0, 4),
    "sid, second differences of id": ("id", 10, 0),
    "sfd, differences of dfd": ("dfd", 0, 4),
    "sfd, second differences of fd": ("fd", 10, 0),
}
"""Central differences: the function, and its evaluations for each pair of links and for each link."""


@lru_cache(maxsize=8)
def software_of_links(robot: Robot, function: str, second: str = "") -> Software:
    """Return a function in C."""
    model = prepare(robot, (function,), forced={"second": second} if second else {})
    return emit_software(model, trace_sources(model, (function,)), "c")


def code_of(ways: Mapping[str, Way]) -> list[Software]:
    """Return all generated code that is timed."""
    return [
        software_of_links(make(size), *key)
        for shape, make in SHAPES.items()
        for size in SIZES
        for key in {(way.function, way.second): None for way in ways.values() if size <= way.links(shape)}
    ]


def second_times(sizes: Iterable[int] = SIZES) -> Rows:
    """Return the figures of a task of inverse dynamics and its derivatives, in double on one core."""
    return _rows(INVERSE, tuple(sizes))


def second_forward_times(sizes: Iterable[int] = SIZES) -> Rows:
    """Return the same of forward dynamics."""
    return _rows(FORWARD, tuple(sizes))


def _rows(ways: Mapping[str, Way], sizes: Iterable[int]) -> Rows:
    return [
        {"shape": shape, "links": size, "figures": _figures(ways, shape, size)}
        for shape in SHAPES
        for size in sizes
        if size <= max(way.links(shape) for way in ways.values())
    ]


def _figures(ways: Mapping[str, Way], shape: str, size: int) -> dict[str, Row]:
    """Return microseconds, lines and the compiler's seconds of each way that goes as far."""
    robot = SHAPES[shape](size)
    return {
        title: {"us": 1e6 * timed.seconds, "lines": timed.lines, "compiling": timed.compiling}
        for title, way in ways.items()
        if size <= way.links(shape)
        for timed in [_timed(robot, way)]
    }


def _timed(robot: Robot, way: Way) -> Timed:
    if way.kind == "casadi":
        return _by_casadi(robot, way.function)
    software = software_of_links(robot, way.function, way.second)
    return (by_complex_step if way.kind == "complex step" else time_ours)(software, way.function)


def _by_casadi(robot: Robot, function: str) -> Timed:
    """Return the figures of CasADi's function, whose results are those of the generated code."""
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        urdf = Path(folder) / "robot.urdf"
        urdf.write_text(urdf_of(robot), encoding="utf-8")
        with code_of_casadi(urdf, (function,)) as theirs:
            # The order of the links is that of the file.
            return time_both(theirs, software_of_links(load_urdf(urdf), function), function)[0]


def by_complex_step(software: Software, function: str) -> Timed:
    """Return the figures of a function's derivatives by all coordinates and velocities.

    Its result ``slopes`` has, for each result of the generated code, the derivative by each of them.
    """
    kernels = f"kernels_{function}.h"
    match = re.search(r"WORDS = (\d+), RESULTS = (\d+)", software.sources[f"dynamics_{function}.c"])
    assert match
    words, results, nv = *map(int, match.groups()), software.robot.nv
    assert words == 3 * nv, "an input has no effect"
    sizes = f"enum {{ WORDS = {words}, RESULTS = {results}, VECTORS = 1, MOVED = {2 * nv} }};\n"
    text = files("benchmarks").joinpath("complex_step.c").read_text(encoding="utf-8")
    sources = {key: software.sources[key] for key in ("dynamics.h", "batch.h", kernels)}
    flags = [f'-DKERNELS="{kernels}"', f"-DDERIVED={function}_complex", "-DCALLED=complex_step"]
    tasks, (inputs, _) = random_tasks(nv), software.arrays(function)
    passed = {array.name: tasks[array.name] for array in inputs}
    flags += ["-DRBDHW_REAL=double", "-fcx-limited-range"]
    return time_called(sources | {"called.c": sizes + text}, flags, passed, {"slopes": (results, 2 * nv)})


def urdf_of(robot: Robot) -> str:
    """Return a URDF of a robot of :data:`SHAPES`, whose joints turn about z and whose placements about x."""
    parts = ['<link name="base"/>']
    for body in robot.bodies:
        inertia, placement = body.inertia, body.joint.placement
        c = np.array(inertia.first_moment) / inertia.mass
        xx, xy, xz, yy, yz, zz = inertia.rotational
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        about -= inertia.mass * (c @ c * np.eye(3) - np.outer(c, c))
        entries = " ".join(
            f'i{"xyz"[i]}{"xyz"[j]}="{float(about[i, j])!r}"' for i in range(3) for j in range(i, 3)
        )
        roll = np.arctan2(placement.rotation[2][1], placement.rotation[1][1])
        parent = "base" if body.parent == BASE else robot.bodies[body.parent].name
        parts.append(
            f'<link name="{body.name}"><inertial><origin xyz="{_numbers(c)}"/><mass value="{inertia.mass}"/>'
            f"<inertia {entries}/></inertial></link>"
            f'<joint name="{body.joint.name}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{body.name}"/>'
            f'<origin xyz="{_numbers(placement.translation)}" rpy="{_numbers([roll, 0.0, 0.0])}"/>'
            '<axis xyz="0 0 1"/><limit lower="-9" upper="9" velocity="9" effort="9"/></joint>'
        )
    return f'<robot name="{robot.name}">{"".join(parts)}</robot>'


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{float(value)!r}" for value in values)


def second_times_layout(rows: Rows) -> Rows:
    """Return a line for each robot, for each shape the slopes, and what the longest take to compile.

    Slopes are fitted powers of the links.
    """
    lines = []
    for shape in dict.fromkeys(row["shape"] for row in rows):
        group = [row | {"times": _times(row)} for row in rows if row["shape"] == shape]
        columns = list(dict.fromkeys(title for row in rows for title in _times(row)))
        for row in group:
            cells = {title: f"{row['times'][title]:.3g} µs" for title in row["times"]}
            lines.append({"": f"{shape} of {row['links']}"} | dict.fromkeys(columns, "-") | cells)
        lines.append({"": f"{shape}, slope"} | {title: _slope(group, title) for title in columns})
        lines.append({"": f"{shape}, the longest"} | {title: _longest(group, title) for title in columns})
    return lines


def _times(row: Row) -> dict[str, float]:
    """Return the microseconds of a row, with those of differences."""
    times, n = {title: figures["us"] for title, figures in row["figures"].items()}, row["links"]
    for title, (function, of_pairs, of_links) in COMPUTED.items():
        if function in times:
            times[title] = (of_pairs * n**2 + of_links * n) * times[function]
    return times


def _slope(group: Rows, title: str) -> str:
    points = [(row["links"], row["times"][title]) for row in group if title in row["times"]]
    links, times = np.log(np.array(points)).T
    return f"{np.polyfit(links, times, 1)[0]:.1f}"


def _longest(group: Rows, title: str) -> str:
    """Return the links, the lines of C and the seconds of the compiler where a column ends."""
    *_, last = [row for row in group if title in row["times"]]
    if title not in last["figures"]:
        return "-"
    figures = last["figures"][title]
    return f"{last['links']}: {figures['lines'] / 1e3:.1f} k lines, {figures['compiling']:.0f} s"
