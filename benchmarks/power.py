"""The energy of a task by the coarse estimate, beside one core of a processor by its data sheet."""

from __future__ import annotations

from benchmarks.builds import ALL, plan_of
from benchmarks.pinocchio_cpp import measure
from benchmarks.processors import float_speeds
from benchmarks.rows import Rows
from rbdhw.estimate.energy import energy_of
from rbdhw.explore.plan import accelerator_of
from rbdhw.model.traffic import traffic
from rbdhw.robots import bundled
from rbdhw.target import target

CORE_WATTS = 360.0 / 96
"""A core's share of the thermal design power of an AMD EPYC 9654, by its data sheet."""


def power_rows(name: str = "iiwa14", ii: int = 4) -> Rows:
    """Return power and energy of each function alone, at its largest rate."""
    plan, device = plan_of(name, ii=ii), target("xcvu9p")
    accelerator, packets = accelerator_of(plan), traffic(plan.interface)
    ours, theirs = float_speeds(name, "fixed", "float32"), measure(bundled()[name], "fixed", ALL)
    rows = []
    for function in ALL:
        rate = plan.clock_mhz * 1e6 / max(ii, packets[function].beats)
        latency_us = accelerator.latency(function) / plan.clock_mhz
        estimate = energy_of(plan.program, function, rate, latency_us, device)
        assert estimate is not None
        rows.append(
            {
                "function": function,
                "tasks a second": rate,
                **vars(estimate),
                "C float": 1e9 * CORE_WATTS / ours[function].rate,
                "Pinocchio": 1e9 * CORE_WATTS / theirs[function].tasks_per_second,
            }
        )
    return rows


def power_layout(rows: Rows) -> Rows:
    """Return a line for each function."""
    return [
        {
            "": row["function"],
            "tasks a second": f"{row['tasks a second'] / 1e6:.1f} M",
            "power": f"{row['watts']:.1f} W",
            "a task": f"{row['nanojoules']:.0f} nJ",
            "times latency": f"{row['delay_product']:.0f} nJ µs",
            "C float, one core, a task": f"{row['C float']:.0f} nJ",
            "Pinocchio, one core, a task": f"{row['Pinocchio']:,.0f} nJ",
        }
        for row in rows
    ]
