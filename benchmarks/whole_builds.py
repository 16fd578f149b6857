"""Whole accelerators: all functions of a robot at the default budget, at the shortest interval that fits.

Dadu-RBD is evaluated with iiwa, HyQ and Atlas on the VU9P, with 32 GB/s between the device and its memory.
These builds have streams of the same bandwidth each way, and at most the share of the device that it takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from benchmarks.builds import ALL, robot_of
from benchmarks.counts import count_cells, count_design
from benchmarks.durations import on_all_cores
from benchmarks.rows import Row, Rows, by_function, robot_label
from rbdhw.explore.plan import AcceleratorPlan, Plan
from rbdhw.model.traffic import traffic
from rbdhw.options.build import BuildOptions, Pacing
from rbdhw.pipeline import generate, plan_build
from rbdhw.robot.mounting import Mounting
from rbdhw.robots import path
from rbdhw.target import target

ROBOTS = (
    ("iiwa14", "fixed"),
    ("hyq", "fixed"),
    ("hyq", "floating"),
    ("spot_arm", "floating"),
    ("atlas", "fixed"),
)

COUNTED = ROBOTS[:2]
"""The robots whose accelerators Yosys maps in a quarter of an hour."""

TIMED = ("id", "dfd")
"""The functions whose times are stated at the clock that the check confirms."""

SHARE = 0.6
"""The largest share of a resource: Dadu-RBD takes 62 % of the DSP blocks."""

BITS, PAIRS = 1024, 2
"""The width of a stream and their pairs: 32 GB/s each way at 125 MHz."""

OPTIONS = BuildOptions(ALL, pacing=Pacing(), fit=SHARE, data_width=BITS, streams=PAIRS)


RESOURCES = {
    "luts": "look-up tables",
    "flip_flops": "flip-flops",
    "dsp_blocks": "DSP blocks",
    "block_rams": "block RAMs",
}


@lru_cache(maxsize=len(ROBOTS))
def plan_whole(name: str, base: str) -> AcceleratorPlan:
    """Return the plan of all functions of a bundled robot."""
    return plan_build(robot_of(name, base), OPTIONS)


def whole_rows(robots: Iterable[tuple[str, str]] = ROBOTS) -> Rows:
    """Return interval, width of products, and resources of each robot's accelerator."""
    rows = []
    for name, base in robots:
        plan = plan_whole(name, base)
        core = plan.parts[0].plan
        row: Row = {"robot": name, "base": base, "ii": core.ii, "bits": core.program.port_widths}
        rows.append(row | vars(plan.estimate) | {"core": core.core.name, "clock_mhz": plan.clock_mhz})
    return rows


def whole_layout(rows: Rows) -> Rows:
    """Return a line for each robot; resources are followed by their share of the device."""
    device = target(OPTIONS.target)
    return [
        {
            "": robot_label(row),
            "core": row["core"],
            "II": row["ii"],
            "MHz": f"{row['clock_mhz']:g}",
            "bits": "×".join(map(str, row["bits"])),
        }
        | {
            heading: f"{row[name]:,} ({row[name] / getattr(device, name):.1%})"
            for name, heading in RESOURCES.items()
        }
        for row in rows
    ]


def counted_rows() -> Rows:
    """Return what is estimated and counted of accelerators, and their clocks."""
    return list(on_all_cores(counted_row, COUNTED))


def counted_row(robot: tuple[str, str]) -> Row:
    """Return the row of a robot's accelerator. Its times are those at a clock that the check confirms."""
    name, base = robot
    design = generate(Path(path(name)), replace(OPTIONS, mounting=Mounting(base)))
    counted = count_design(design, OPTIONS.target)
    share = min(1.0, counted["safe"] / counted["scheduled"])
    timed = [row for row in function_rows([robot]) if row["function"] in TIMED]
    return {
        "robot": name,
        "base": base,
        **counted,
        "latency (µs)": {row["function"]: row["latency (µs)"] / share for row in timed},
        "tasks a second": min(row["tasks a second"] for row in timed) * share,
    }


def counted_layout(rows: Rows) -> Rows:
    """Return a line for each robot."""
    return [
        {
            "": robot_label(row),
            **count_cells(row),
            **{f"`{function}`, µs": f"{latency:.2f}" for function, latency in row["latency (µs)"].items()},
            "tasks, M/s": f"{row['tasks a second'] / 1e6:.1f}",
        }
        for row in rows
    ]


def function_rows(robots: Iterable[tuple[str, str]] = ROBOTS) -> Rows:
    """Return latency, rate and errors of each function of each robot's accelerator."""
    rows = []
    for name, base in robots:
        plan = plan_whole(name, base)
        packets = traffic(plan.interface)
        for function in ALL:
            core: Plan = plan.part_of(function).plan
            errors = core.formats.errors[function].whole
            rows.append(
                {
                    "robot": name,
                    "base": base,
                    "function": function,
                    "latency (cycles)": plan.latency(function),
                    "latency (µs)": plan.latency(function) / plan.clock_mhz,
                    "tasks a second": 1e6 * plan.clock_mhz / packets[function].cycles(core.ii),
                    "median": errors.median,
                    "largest": errors.max,
                }
            )
    return rows


def function_layout(rows: Rows) -> Rows:
    """Return three lines for each robot: latency, rate and errors."""

    def latency(row: Row) -> str:
        return f"{row['latency (µs)']:.2f} µs"

    def rate(row: Row) -> str:
        return f"{row['tasks a second'] / 1e6:.1f} M/s"

    def errors(row: Row) -> str:
        return f"{row['median']:.0e} / {row['largest']:.0e}"

    lines = (("latency", latency), ("tasks", rate), ("errors", errors))
    return by_function(rows, *((partial(_label, title), text) for title, text in lines))


def _label(title: str, row: Row) -> str:
    return f"{robot_label(row)}, {title}"
