"""The README's tables, measured: the generated hardware, the generator, and the simulation.

Counts (operations, multipliers, cycles, errors) are the same on every machine; seconds and megabytes are
this machine's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from rbdhw.config import BuildOptions
from rbdhw.graph.graph import Op
from rbdhw.pipeline import multiplications, planned
from rbdhw.robot.frames import align_axes
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from rbdhw.schedule.model import Resource
from rbdhw.tracing import trace

Progress = Callable[[str], None]
Row = dict[str, Any]

ROBOTS = ("toy", "iiwa14", "hyq", "atlas")
WIDTHS = (14, 18, 22, 27, 32)
INTERVALS = (1, 2, 4, 8, 16)


def measure(progress: Progress) -> dict[str, list[Row]]:
    """All tables, by title."""
    results: dict[str, list[Row]] = {}
    for title, table in TABLES.items():
        progress(title)
        results[title] = table()
    return results


def markdown(results: dict[str, list[Row]]) -> str:
    """The tables in Markdown."""
    parts = []
    for title, rows in results.items():
        columns = list(rows[0])
        lines = [f"### {title}", "", _line(columns), _line(["---"] * len(columns))]
        lines += [_line([_cell(row[column]) for column in columns]) for row in rows]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def operations() -> list[Row]:
    """Operations of one task, in the URDF's frames and after the rewrites."""
    rows = []
    for name in ROBOTS:
        source = load_urdf(bundled()[name])
        plain = trace(align_axes(source), ("id",))
        plan = planned(source, BuildOptions(width=18))
        rows.append(
            {
                "robot": name,
                "joints": source.nv,
                "multiplications in the URDF's frames": multiplications(plain),
                "multiplications": multiplications(plan.graph),
                "additions": plan.graph.count(Op.ADD),
                "latency at II = 1 (cycles)": plan.bound.latency["id"] + 1,
            }
        )
    return rows


def sharing() -> list[Row]:
    """What time-multiplexing does to iiwa14."""
    rows = []
    for ii in INTERVALS:
        bound = planned(load_urdf(bundled()["iiwa14"]), BuildOptions(width=18, ii=ii)).bound
        units = [unit for unit in bound.units if unit.resource is Resource.MULTIPLIER]
        used = sum(len(unit.steps) for unit in units)
        rows.append(
            {
                "II": ii,
                "multipliers": len(units),
                "slots used": f"{used / (len(units) * ii):.1%}",
                "trigonometry units": len(bound.units) - len(units),
                "latency (cycles)": bound.latency["id"] + 1,
            }
        )
    return rows


def accuracy() -> list[Row]:
    """Relative errors against the golden model, median / largest of 16,384 tasks over the whole domain."""
    rows = []
    for name in ROBOTS:
        row: Row = {"robot": name}
        for width in WIDTHS:
            plan = planned(load_urdf(bundled()[name]), BuildOptions(width=width))
            error = plan.errors["id"]
            ports = "×".join(str(port) for port in plan.program.port_widths)
            row[f"{ports} bits"] = f"{error.median:.1e} / {error.max:.1e}"
        rows.append(row)
    return rows


def generator() -> list[Row]:
    """Seconds and memory of `rbdhw generate`, start of Python included."""
    rows = []
    for name in ROBOTS:
        with tempfile.TemporaryDirectory() as folder:
            seconds, megabytes = _timed(["generate", str(bundled()[name]), "-o", f"{folder}/design"])
        rows.append({"robot": name, "seconds": round(seconds, 1), "memory (MB)": round(megabytes)})
    return rows


def simulation() -> list[Row]:
    """Seconds of `rbdhw simulate` for 1,000 tasks, Verilator's build included, and once built."""
    rows = []
    for name in ("toy", "iiwa14"):
        with tempfile.TemporaryDirectory() as folder:
            design = f"{folder}/design"
            _timed(["generate", str(bundled()[name]), "-o", design])
            with_build, _ = _timed(["simulate", design, "--tasks", "1000"])
            built, _ = _timed(["simulate", design, "--tasks", "1000"])
        rows.append(
            {
                "robot": name,
                "seconds with build": round(with_build, 1),
                "seconds once built": round(built, 1),
            }
        )
    return rows


TABLES: dict[str, Callable[[], list[Row]]] = {
    "Operations of an ID task": operations,
    "iiwa14 ID at 18×18 bits, xcvu9p, 125 MHz": sharing,
    "ID errors, median / largest of 16,384 tasks": accuracy,
    "Generating ID at II = 1, errors below 1e-3": generator,
    "Simulating 1,000 ID tasks": simulation,
}


def _timed(arguments: Sequence[str]) -> tuple[float, float]:
    """Wall seconds and peak megabytes of a command of ours in a process of its own."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "rbdhw", *arguments], stdout=subprocess.DEVNULL, start_new_session=True
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"rbdhw {' '.join(arguments)} exited with {process.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024.0


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
