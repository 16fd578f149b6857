"""An iteration of optimal control of an arm on accelerators, one core of a processor and a GPU.

The published time is that which the documents of GATO state for an iteration of sequential quadratic
programming of an Indy7, an arm of six joints, with 64 knots on an RTX 5090. The GPU's power is that of its
data sheet.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.power import CORE_WATTS
from benchmarks.rows import Row, Rows
from benchmarks.solver import BATCH, solver_row
from benchmarks.solver_cores import ALPHAS, Build, solver_plans

ARM = "iiwa14"

BUILDS: tuple[Build, ...] = (
    Build(ARM, "xcvu9p", 1, 15, blocks=4),
    Build(ARM, "xcvu9p", 1, 52),
    Build(ARM, "xcvu9p", 1, 8, problems=16),
    Build(ARM, "xcvu9p", 4, 280),
    Build(ARM, "xck26", 64, 680, core="array"),
)

CORE = "one core"
GPU = "GATO, arm of six joints, RTX 5090, published"
GPU_MICROSECONDS, GPU_WATTS = 133.0, 575.0

PROCESSOR = {
    "Crocoddyl FDDP": "Crocoddyl (µs)",
    "C double": "float64, 1 (µs)",
    "C float": "float32, 1 (µs)",
    f"C float, a problem of {BATCH}": f"float32, {BATCH} (µs)",
}
"""The lines of the processor, and the columns of their times."""


def iteration_rows() -> Rows:
    """Return time, power and energy of an iteration: of each build, on one core, and as published."""
    return [*_builds(), *_processor(), _row(GPU, 1, GPU_MICROSECONDS, GPU_WATTS)]


def _builds() -> Iterator[Row]:
    for build, plan in solver_plans(BUILDS):
        assert plan.solver is not None
        energy = plan.solver.energy(plan.clock_mhz)
        assert energy is not None
        microseconds = plan.solver.timing.iteration / build.problems / plan.clock_mhz
        options = {"sweep-ii": build.sweep_ii or 1, "blocks": build.blocks, "problems": build.problems}
        others = "".join(f" --{name} {number}" for name, number in options.items() if number > 1)
        of_several = f", a problem of {build.problems}" if build.problems > 1 else ""
        core = f" --core {build.core}" if build.core else ""
        name = f"{build.target},{core} --ii {build.ii}{others}{of_several}"
        yield _row(name, ALPHAS, microseconds, energy.watts)


def _processor() -> Iterator[Row]:
    times = solver_row(ARM, "fixed", "")
    for name, column in PROCESSOR.items():
        yield _row(f"{name}, {CORE}", 1, times[column], CORE_WATTS)


def _row(name: str, lengths: int, microseconds: float, watts: float) -> Row:
    return {"": name, "step lengths": lengths, "microseconds": microseconds, "watts": watts}


def iteration_layout(rows: Rows) -> Rows:
    """Return a line for each row."""
    return [
        {
            "": row[""],
            "step lengths": row["step lengths"],
            "time": f"{row['microseconds']:.0f} µs",
            "power": f"{row['watts']:.2f} W" if row["watts"] < 100.0 else f"{row['watts']:.0f} W",
            "energy": f"{row['microseconds'] * row['watts']:,.0f} µJ",
        }
        for row in rows
    ]
