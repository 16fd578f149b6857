"""The pace of each function: with one core and several, and with several pairs of streams."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count
from pathlib import Path

import numpy as np

from rbdhw.bench.builds import robot_of
from rbdhw.bench.linked import answer_cycles, answer_cycles_of_mix
from rbdhw.bench.rows import Rows
from rbdhw.config import BuildOptions, CoreRequest
from rbdhw.design.folder import write
from rbdhw.explore.accelerator import Planner
from rbdhw.explore.plan import AcceleratorPlan
from rbdhw.explore.search import prepare_build
from rbdhw.pipeline import emit_design
from rbdhw.protocol import DEFAULT_FUNCTIONS

SHARES = (0.05, 0.2)
"""Shares of the device's DSP blocks with which builds are compared."""

FAST: Sequence[Mapping[tuple[str, ...], int]] = ({}, {("id",): 1}, {("id",): 2}, {("id", "m"): 1})
"""The functions of a core of their own and its interval, for each build; all others share a second core."""

MIX = {"id": 10, "dfd": 1}
"""Tasks of functions in the mix that is measured."""

PAIRS = (1, 2, 4)
"""The numbers of pairs of streams before a core that takes a task in every cycle."""

TASKS = 6000
"""Tasks of each function that are simulated."""


@lru_cache(maxsize=1)
def planner(name: str) -> Planner:
    """Return the planner of all functions of a bundled robot on the VU9P, with the default error budget."""
    options = BuildOptions(DEFAULT_FUNCTIONS)
    return Planner(prepare_build(robot_of(name), options), options)


def pace_rows(name: str = "iiwa14", among: Sequence[float] = SHARES) -> Rows:
    """Return the simulated rates of every function, and of :data:`MIX`, in millions of tasks a second."""
    return [
        {"share": share, "cores": _text(options)} | vars(plan.estimate) | _rates(plan, options)
        for share in among
        for plan, options in _builds(planner(name), share)
    ]


def pair_rows(name: str = "iiwa14", among: Sequence[int] = PAIRS) -> Rows:
    """Return the simulated rates with some pairs of streams, in millions of tasks a second."""
    rows = []
    for streams in among:
        options = replace(planner(name).options, ii=1, streams=streams)
        plan = planner(name).plan_cores(options)
        rows.append({"streams": streams} | vars(plan.estimate) | _rates(plan, options))
    return rows


def _builds(own: Planner, share: float) -> Iterator[tuple[AcceleratorPlan, BuildOptions]]:
    """Yield the builds of :data:`FAST`, each with the shortest interval of the other functions that fits."""
    for fast in FAST:
        chosen = tuple(CoreRequest(*item) for item in fast.items())
        rest = tuple(f for f in own.options.functions if not any(f in functions for functions in fast))
        for ii in count(1):
            options = replace(own.options, cores=(*chosen, CoreRequest(rest, ii)))
            plan = own.plan_cores(options)
            if plan.estimate.dsp_blocks <= share * plan.device.dsp_blocks:
                yield plan, options
                break


def _text(options: BuildOptions) -> str:
    """Return the cores of a build as ``--cores`` takes them; the last has all other functions."""
    *fast, rest = options.cores
    last = f"{'others' if fast else 'all'}:{rest.ii}"
    return " ".join([*(f"{','.join(core.functions)}:{core.ii}" for core in fast), last])


def _rates(plan: AcceleratorPlan, options: BuildOptions) -> dict[str, float]:
    """Return the rates of a build in Verilator, once all queues are full."""
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        path = Path(folder) / "design"
        write(emit_design(plan, options), path)
        rates = {name: plan.clock_mhz / _pace(answer_cycles(path, name, TASKS)) for name in options.functions}
        mixed = np.sort(answer_cycles_of_mix(path, MIX, TASKS))
        return rates | {"mix": plan.clock_mhz / _pace(mixed)}


def _pace(cycles: np.ndarray) -> float:
    """Return the cycles between responses in the second half of a run."""
    half = len(cycles) // 2
    return float(cycles[-1] - cycles[half]) / (len(cycles) - 1 - half)


def pair_layout(rows: Rows) -> Rows:
    """Return a line for each number of pairs: LUTs and millions of tasks a second."""
    return [
        {"pairs of streams": row["streams"], "LUTs by estimate": row["luts"]}
        | {name: f"{row[name]:.1f}" for name in (*DEFAULT_FUNCTIONS, "mix")}
        for row in rows
    ]


def pace_layout(rows: Rows) -> Rows:
    """Return a line for each build: DSP blocks and millions of tasks a second."""
    return [
        {
            "share of DSP blocks": f"{row['share']:.0%}",
            "cores": f"`{row['cores']}`",
            "DSP blocks": row["dsp_blocks"],
            "LUTs by estimate": row["luts"],
        }
        | {name: f"{row[name]:.1f}" for name in (*DEFAULT_FUNCTIONS, "mix")}
        for row in rows
    ]
