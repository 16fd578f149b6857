"""Comparisons with published accelerators and with a processor.

Published figures are from:

- B. Plancher, S. M. Neuman, T. Bourgeat, S. Kuindersma, S. Devadas, V. J. Reddi, "Accelerating robot dynamics
  gradients on a CPU, GPU, and FPGA", IEEE Robotics and Automation Letters 6 (2), 2021: the clock, the DSP
  blocks and the number format of Robomorphic Computing's accelerator.
- Y. Yang, X. Chen, Y. Han, "Dadu-RBD: robot rigid body dynamics accelerator with multifunctional pipelines",
  IEEE/ACM International Symposium on Microarchitecture (MICRO), 2023: both latencies, and all other figures
  of Dadu-RBD.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.builds import ALL, errors_of, plan_of
from benchmarks.linked import answer_cycles
from benchmarks.pinocchio_cpp import measure
from benchmarks.rows import Row, Rows
from benchmarks.synthesis import Subject, known_counts
from rbdhw.design.folder import write
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.explore.plan import Plan, accelerator_of
from rbdhw.model.traffic import traffic
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import emit_design
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from rbdhw.target import target

OURS = (
    (("difd",), 4, 18),
    (ALL, 1, 18),
    (ALL, 4, 18),
    (ALL, 12, 18),
    (ALL, 12, 32),
    (("difd",), 4, 32),
)
"""Builds of iiwa14 for the comparison with the published ones: functions, interval, width."""

NOT_PUBLISHED = "not published"

COMPARED_ROBOT = "iiwa14"
COMPARED = "difd"
"""The robot and the function that both published evaluations measure."""

SMALL_ROBOT = "iiwa14"
SMALL = BuildOptions(ALL, ii=32, width=18, target="ecp5-85", clock_mhz=50.0, core="array", data_width=128)
"""A build of all functions for a small device."""

PACED = 400
"""Tasks that are sent without a pause."""


@dataclass(frozen=True)
class Published:
    """Published figures of an accelerator for iiwa's gradient, on the VU9P."""

    name: str
    functions: str
    bits: str
    clock_mhz: float
    interval: str
    latency: int
    dsp_blocks: float
    luts: str


# Cycles are the published latencies in microseconds times the clock. Dadu-RBD's interval follows from its
# throughput, 6.3 to 7.0 times Robomorphic's.
PUBLISHED = (
    Published("Robomorphic [1, 2]", "difd", "32", 55.6, "34, one task at a time", 34, 0.775, NOT_PUBLISHED),
    Published("Dadu-RBD [3]", "all", "32", 125.0, "about 12", 95, 0.62, "54.0%"),
)


def plan_small() -> Plan:
    """Return the build of all functions for a small device."""
    return make_plan(load_urdf(bundled()[SMALL_ROBOT]), SMALL)


def measure_small() -> Rows:
    """Return tasks per second of :data:`SMALL` and of Pinocchio on one core of this machine."""
    plan = plan_small()
    packets = traffic(plan.interface)
    theirs = measure(bundled()[SMALL_ROBOT], "fixed", ALL)
    rows = []
    for function, packet in packets.items():
        cycles = packet.cycles(plan.ii)
        rate, core = plan.clock_mhz * 1e6 / cycles, theirs[function].tasks_per_second
        rows.append(
            {
                "function": function,
                "cycles a task": cycles,
                "latency (cycles)": plan.latency[function],
                "MHz": f"{plan.clock_mhz:g}",
                "tasks/s": f"{rate / 1e6:.4g} M",
                "Pinocchio, tasks/s": f"{core / 1e6:.3g} M",
                "times Pinocchio": f"{rate / core:.1f}",
            }
        )
    return rows


def small_layout(rows: Rows) -> Rows:
    """Return the rows of :func:`measure_small` as columns."""
    figures = [name for name in rows[0] if name != "function"]
    return [{"": name} | {row["function"]: row[name] for row in rows} for name in figures]


def measure_published() -> Rows:
    """Return ΔFD at given accelerations of iiwa14 on the VU9P: published accelerators and builds of rbdhw."""
    rows = [
        {
            "accelerator": design.name,
            "functions": design.functions,
            "bits": design.bits,
            "MHz": f"{design.clock_mhz:g}",
            "cycles a task": design.interval,
            "latency": _latency(design.latency, design.clock_mhz),
            "DSP blocks": f"{design.dsp_blocks:.1%}",
            "LUTs": design.luts,
            "largest error": NOT_PUBLISHED,
        }
        for design in PUBLISHED
    ]
    return rows + [_own_row(*build) for build in OURS]


def _own_row(functions: tuple[str, ...], ii: int, width: int) -> Row:
    subject = Subject(COMPARED_ROBOT, functions, ii, width, "xcvu9p")
    plan = plan_of(subject.robot, functions, width, ii)
    design = emit_design(accelerator_of(plan), subject.options)
    measured = known_counts(subject, design.verilog)
    with tempfile.TemporaryDirectory() as folder:
        write(design, Path(folder) / "design")
        cycles = pace(Path(folder) / "design", COMPARED)
    counts, how = (measured, "by Yosys") if measured else (plan.estimate, "by estimate")
    device = target(subject.target)
    return {
        "accelerator": "rbdhw",
        "functions": "all" if functions == ALL else ", ".join(functions),
        "bits": "×".join(map(str, plan.program.port_widths)),
        "MHz": f"{plan.clock_mhz:g}",
        "cycles a task": f"{cycles:g} ({ii})",
        "latency": _latency(plan.latency[COMPARED], plan.clock_mhz),
        "DSP blocks": f"{counts.dsp_blocks / device.dsp_blocks:.1%}, {how}",
        "LUTs": f"{counts.luts / device.luts:.1%}, {how}",
        "largest error": f"{errors_of(plan, COMPARED).whole.max:.1e}",
    }


def _latency(cycles: int, clock_mhz: float) -> str:
    return f"{cycles} cycles, {cycles / clock_mhz:.2f} µs"


def pace(folder: Path, function: str) -> float:
    """Return the cycles between responses of a design in Verilator for tasks without pauses."""
    ends = answer_cycles(folder, function, PACED)
    return float(ends[-1] - ends[PACED // 2]) / (PACED - 1 - PACED // 2)
