"""The speed of the generated C on one core, beside Pinocchio in C++, NumPy and the accelerator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.builds import ALL, plan_of, software_of, tasks_of
from benchmarks.pinocchio_cpp import Figures, measure
from benchmarks.rows import Row, Rows, robot_label
from benchmarks.timing import Arrays, TimedLibrary, timed_software
from rbdhw.design.folder import Design
from rbdhw.robots import bundled
from rbdhw.software.exact import model_files
from rbdhw.software.exact_library import ExactLibrary
from rbdhw.software.float_library import REALS

STATES = 1024
"""The tasks of a batch."""

ROBOTS = (("iiwa14", "fixed"), ("hyq", "floating"))


@dataclass(frozen=True)
class Speed:
    """The time of a call for one task, in nanoseconds, and the rate of a batch, in tasks a second."""

    nanoseconds: float
    rate: float


def float_speeds(name: str, base: str, number: str, functions: tuple[str, ...] = ALL) -> dict[str, Speed]:
    """Return the speeds of the C of a bundled robot in ``float64`` or ``float32``."""
    software = software_of(name, base, functions=functions)
    library, tasks = timed_software(software, number), tasks_of(name, base, STATES)
    return {function: speed(library, function, tasks) for function in software.functions}


def speed(library: TimedLibrary, function: str, tasks: Arrays) -> Speed:
    """Return the speed of a function for the first of :data:`STATES` tasks, and for all of them."""
    alone, together = (library.seconds(function, tasks, count) for count in (1, STATES))
    return Speed(1e9 * alone, STATES / together)


def processor_rows(robots: Sequence[tuple[str, str]] = ROBOTS) -> Rows:
    """Return the speed of each function in C and in Pinocchio, on one core."""
    rows = []
    for name, base in robots:
        theirs: Mapping[str, Figures] = measure(bundled()[name], base, ALL)
        double, single = (float_speeds(name, base, number) for number in REALS)
        for function in ALL:
            row = {"robot": name, "base": base, "function": function}
            rows.append(row | speed_row(theirs[function], double[function], single[function]))
    return rows


def speed_row(theirs: Figures, double: Speed, single: Speed) -> Row:
    """Return the times and rates of a function in Pinocchio and in C."""
    return {
        "Pinocchio, one task (µs)": theirs.nanoseconds / 1e3,
        "double, one task (µs)": double.nanoseconds / 1e3,
        "float, one task (µs)": single.nanoseconds / 1e3,
        "Pinocchio, batch (tasks/s)": theirs.tasks_per_second,
        "double, batch (tasks/s)": double.rate,
        "float, batch (tasks/s)": single.rate,
    }


def processor_layout(rows: Rows) -> Rows:
    """Return a line for each robot and function: times, rates, and ratios to Pinocchio."""
    shown = []
    for row in rows:
        times = [row[f"{engine}, one task (µs)"] for engine in ("Pinocchio", "double", "float")]
        rates = [row[f"{engine}, batch (tasks/s)"] for engine in ("Pinocchio", "double", "float")]
        shown.append(
            {
                "": f"{robot_label(row)}, {row['function']}",
                "Pinocchio, one task": f"{times[0]:.2f} µs",
                "C double": _with_ratio(f"{times[1]:.2f} µs", times[0] / times[1]),
                "C float": _with_ratio(f"{times[2]:.2f} µs", times[0] / times[2]),
                "Pinocchio, batch": f"{rates[0] / 1e6:.2f} M/s",
                "C double, batch": _with_ratio(f"{rates[1] / 1e6:.2f} M/s", rates[1] / rates[0]),
                "C float, batch": _with_ratio(f"{rates[2] / 1e6:.2f} M/s", rates[2] / rates[0]),
            }
        )
    return shown


def _with_ratio(text: str, ratio: float) -> str:
    return f"{text} ({ratio:.1f}×)"


def accelerator_rows(name: str = "iiwa14") -> Rows:
    """Return latency and rate of an accelerator beside one core, at the default error budget, II = 1."""
    plan = plan_of(name, width=None, ii=1)
    single = float_speeds(name, "fixed", "float32")
    theirs = measure(bundled()[name], "fixed", ALL)
    rows = []
    for function in ALL:
        cycles = plan.latency[function]
        words = next(words for words in plan.interface.functions if words.name == function)
        beats = [
            plan.interface.request_beats(words, extended=False),
            plan.interface.response_beats(words, extended=False),
        ]
        rows.append(
            {
                "function": function,
                "accelerator, latency (µs)": cycles / plan.clock_mhz,
                "C float, latency (µs)": single[function].nanoseconds / 1e3,
                "Pinocchio, latency (µs)": theirs[function].nanoseconds / 1e3,
                "accelerator (tasks/s)": plan.clock_mhz * 1e6 / max(plan.ii, *beats),
                "C float (tasks/s)": single[function].rate,
                "Pinocchio (tasks/s)": theirs[function].tasks_per_second,
            }
        )
    return rows


def accelerator_layout(rows: Rows) -> Rows:
    """Return a line for each function, latencies and rates apart."""
    return [
        {"": row["function"]}
        | {key: f"{row[key]:.2f}" for key in row if key.endswith("(µs)")}
        | {key: f"{row[key] / 1e6:.2f} M" for key in row if key.endswith("(tasks/s)")}
        for row in rows
    ]


def timed_model(design: Design, function: str) -> TimedLibrary:
    """Return the bit-exact model of a design with a clock around a function that takes and gives numbers."""
    arrays = {function: ExactLibrary(design).arrays(function)}
    return TimedLibrary(model_files(design), "model.h", arrays, flags=["-ffp-contract=off"], exact=True)
