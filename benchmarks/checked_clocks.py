"""The clocks that the timing check confirms, and what Yosys counts, on the VU9P and on small devices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from benchmarks.durations import on_all_cores
from benchmarks.rows import Row, Rows
from benchmarks.synthesis import ALL, Subject, keep_netlist, planned
from rbdhw.boards.yosys import FAMILIES, count_resources
from rbdhw.design.replacement import VERILOG
from rbdhw.estimate.resources import Resources
from rbdhw.explore.plan import Plan
from rbdhw.options.build import BEST_LATENCY, BuildOptions
from rbdhw.target import target as find_target
from rbdhw.timing.devices import device_of
from rbdhw.timing.report import TimingReport, check_timing
from rbdhw.verilog_names import DEFAULT_NAME


class Soonest(Subject):
    """A design at a given clock, as ``--clock best-latency`` builds it there."""

    @property
    def options(self) -> BuildOptions:
        """The options of the build."""
        return replace(super().options, clock_goal=BEST_LATENCY)


def subjects() -> Iterable[Subject]:
    """Yield the designs of the table."""
    iiwa = partial(Subject, "iiwa14", target="xcvu9p", tdata=1024)
    yield iiwa(("id",), 1, 18, clock_mhz=125.0)
    yield iiwa(("fd",), 1, 18, clock_mhz=125.0)
    yield iiwa(("difd",), 1, 18, clock_mhz=125.0)
    yield iiwa(("dfd",), 1, 18, clock_mhz=125.0)
    yield iiwa(ALL, 1, 18, clock_mhz=125.0)
    soonest = partial(Soonest, "iiwa14", target="xcvu9p", tdata=1024)
    yield soonest(("fd",), 1, 18, clock_mhz=100.0)
    yield soonest(("difd",), 1, 18, clock_mhz=88.0)
    yield soonest(("dfd",), 1, 18, clock_mhz=88.0)
    yield soonest(ALL, 1, 18, clock_mhz=107.0)
    yield iiwa(("id",), 4, 18, clock_mhz=125.0)
    yield iiwa(("fd",), 4, 18, clock_mhz=125.0)
    yield iiwa(("difd",), 4, 18, clock_mhz=130.0)
    toy = partial(Subject, "toy", target="xcvu9p", tdata=256)
    yield toy(("fd",), 1, 18, clock_mhz=170.0)
    yield toy(("difd",), 1, 18, clock_mhz=150.0)
    yield toy(("fd",), 1, 32, clock_mhz=120.0)


def small_devices() -> Iterable[Subject]:
    """Yield the designs for devices of an Artix-7, a Zynq-7000 and a Kria, at their own clocks."""
    for device in ("xc7a100t", "xc7z020", "xck26"):
        for robot in ("iiwa14", "hyq"):
            yield Subject(robot, ("id",), 8, 18, device)


def checked_rows() -> Rows:
    """Return the cycles of each design, what Yosys counts, and the clock of the check."""
    return [row for rows in on_all_cores(rows_of_functions, subjects()) for row in rows]


def _checked(subject: Subject) -> tuple[Plan, Resources, TimingReport]:
    """Return the plan of a design, what Yosys counts in it, and what the check finds."""
    plan, verilog = planned(subject)
    target = find_target(subject.target)
    netlist = keep_netlist({VERILOG: verilog}, DEFAULT_NAME, target)
    report = check_timing(netlist, DEFAULT_NAME, device_of(subject.target))
    statistics = netlist.with_name("resources.json").read_text()
    return plan, count_resources(statistics, FAMILIES[target.family]), report


def rows_of_functions(subject: Subject) -> Rows:
    """Return a row for each function of a design. Its time is at a clock that the check confirms."""
    plan, counted, report = _checked(subject)
    design = {
        "robot": subject.robot,
        "all": subject.functions == ALL,
        "soonest": isinstance(subject, Soonest),
        "ii": subject.ii,
        "bits": subject.width,
        "luts": counted.luts,
        "dsp_blocks": counted.dsp_blocks,
        "scheduled": plan.clock_mhz,
        "check": report.clock_mhz,
        "safe": report.safe_mhz,
        "confirmed": report.confirms(plan.clock_mhz),
    }
    return [
        {
            **design,
            "function": function,
            "cycles": plan.core.latency[function],
            "with_packets": plan.latency[function],
            "ns": 1000.0 * plan.core.latency[function] / min(plan.clock_mhz, report.safe_mhz),
        }
        for function in subject.functions
    ]


def checked_layout(rows: Rows) -> Rows:
    """Return a line for each design."""
    return [
        {
            "": f"{row['robot']} `{row['function']}`{' of all' * row['all']}{', soonest' * row['soonest']}",
            "II": row["ii"],
            "bits": row["bits"],
            "look-up tables": f"{row['luts']:,}",
            "DSP blocks": f"{row['dsp_blocks']:,}",
            **clocks(row, "g"),
            "cycles of the core": row["cycles"],
            "with packets": row["with_packets"],
            "ns of the core": f"{row['ns']:.0f}",
        }
        for row in rows
    ]


def device_rows() -> Rows:
    """Return the estimated and counted cells of each design for a small device, and its clocks."""
    return list(on_all_cores(device_row, small_devices()))


def device_row(subject: Subject) -> Row:
    """Return the row of a design for a small device."""
    plan, counted, report = _checked(subject)
    return {
        "device": subject.target,
        "robot": subject.robot,
        "luts": (plan.estimate.luts, counted.luts),
        "flip_flops": (plan.estimate.flip_flops, counted.flip_flops),
        "dsp_blocks": (plan.estimate.dsp_blocks, counted.dsp_blocks),
        "scheduled": plan.clock_mhz,
        "check": report.clock_mhz,
        "safe": report.safe_mhz,
        "confirmed": report.confirms(plan.clock_mhz),
    }


def device_layout(rows: Rows) -> Rows:
    """Return a line for each design."""
    return [
        {
            "device": row["device"],
            "robot": row["robot"],
            "look-up tables": both(*row["luts"]),
            "flip-flops": both(*row["flip_flops"]),
            "DSP blocks": both(*row["dsp_blocks"]),
            **clocks(row),
        }
        for row in rows
    ]


def both(estimate: int, counted: int) -> str:
    """Return an estimate beside a count, and its error."""
    return f"{estimate:,} / {counted:,} ({estimate / counted - 1.0:+.0%})"


def clocks(row: Row, scheduled: str = ".0f") -> Row:
    """Return the cells of clocks: as scheduled, in this format, and of the check."""
    return {
        "scheduled, MHz": f"{row['scheduled']:{scheduled}}",
        "check, MHz": f"{row['check']:.1f}",
        "with the margin": f"{row['safe']:.1f}",
        "confirmed": "yes" if row["confirmed"] else "no",
    }
