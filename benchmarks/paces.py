"""The pace of each function: with one core and several, and with several pairs of streams."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from pathlib import Path

import numpy as np

from benchmarks.builds import robot_of
from benchmarks.linked import answer_cycles, answer_cycles_of_mix
from benchmarks.rows import Rows
from rbdhw.design.folder import write
from rbdhw.explore.accelerator import Planner
from rbdhw.explore.plan import AcceleratorPlan
from rbdhw.explore.search import prepare_build
from rbdhw.options.build import BuildOptions, CoreRequest
from rbdhw.pipeline import emit_design
from rbdhw.protocol import DEFAULT_FUNCTIONS


@dataclass(frozen=True)
class Pacing:
    """Builds that take at most the same share of the DSP blocks and have the same streams.

    Parameters
    ----------
    share
        The largest share of the device's DSP blocks.
    streams, data_width
        The pairs of streams, and the bits of TDATA of each.
    fast
        For each build after the single-interval one, the functions of a core of their own, and its copies,
        which take a task in every cycle. All other functions share a second core.
    """

    share: float
    streams: int
    data_width: int
    fast: Sequence[tuple[tuple[str, ...], int]]


PACINGS = (
    Pacing(0.05, 1, 1024, [(("id",), 1)]),
    Pacing(0.2, 3, 1024, [(("id",), 3)]),
    Pacing(0.6, 8, 1024, [(("id",), 8)]),
)
"""The builds that are compared; each group starts with one core for all functions."""

MIX = {"id": 10, "dfd": 1}
"""Tasks of functions in the mix that is measured."""

COMPARED = ("id", "dfd")
"""Functions whose rates are compared with those of the single-interval build."""

TASKS = 6000
"""Tasks of each function that are simulated."""


@lru_cache(maxsize=1)
def planner(name: str) -> Planner:
    """Return the planner of all functions of a bundled robot on the VU9P, with the default error budget."""
    options = BuildOptions(DEFAULT_FUNCTIONS)
    return Planner(prepare_build(robot_of(name), options), options)


def pace_rows(name: str = "iiwa14", among: Sequence[Pacing] = PACINGS) -> Rows:
    """Return the simulated rates of every function, and of :data:`MIX`, in millions of tasks a second.

    ``times`` are the rates over those of the single-interval build of the same group.
    """
    rows: Rows = []
    for pacing in among:
        single: dict[str, float] = {}
        for plan, options in _builds(planner(name), pacing):
            rates = _rates(plan, options)
            single = single or rates
            setting = {"share": pacing.share, "streams": pacing.streams, "data_width": pacing.data_width}
            times = {function: rate / single[function] for function, rate in rates.items()}
            rows.append({**setting, "cores": _text(options), **vars(plan.estimate), **rates, "times": times})
    return rows


def _builds(planner: Planner, pacing: Pacing) -> Iterator[tuple[AcceleratorPlan, BuildOptions]]:
    """Yield the single-interval build and those with a fast core, each with the shortest interval that fits.

    The interval is that of the core of all other functions.
    """
    names = planner.options.functions
    paired = replace(planner.options, streams=pacing.streams, data_width=pacing.data_width)
    for functions, copies in (((), 0), *pacing.fast):
        chosen = (CoreRequest(functions, 1, None, copies),) if functions else ()
        rest = tuple(name for name in names if name not in functions)
        for ii in count(1):
            options = replace(paired, cores=(*chosen, CoreRequest(rest, ii)))
            plan = planner.plan_cores(options)
            if plan.estimate.dsp_blocks <= pacing.share * plan.device.dsp_blocks:
                yield plan, options
                break


def _text(options: BuildOptions) -> str:
    """Return the cores of a build as ``--cores`` takes them; the last has all other functions."""
    *fast, rest = options.cores
    first = [f"{','.join(core.functions)}:{core.ii}{f'*{core.copies}' * (core.copies > 1)}" for core in fast]
    return " ".join([*first, f"{'others' if fast else 'all'}:{rest.ii}"])


def _rates(plan: AcceleratorPlan, options: BuildOptions) -> dict[str, float]:
    """Return the rates of a build in Verilator, while all pairs of streams are busy."""
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        path = Path(folder) / "design"
        write(emit_design(plan, options), path)
        rates = {name: plan.clock_mhz / _pace(answer_cycles(path, name, TASKS)) for name in options.functions}
        mixed = np.sort(answer_cycles_of_mix(path, MIX, TASKS))
        return rates | {"mix": plan.clock_mhz / _pace(mixed)}


def _pace(cycles: np.ndarray) -> float:
    """Return the cycles between responses in the middle of a run, when all pairs of streams are busy."""
    first, last = len(cycles) // 4, 3 * len(cycles) // 4
    return float(cycles[last] - cycles[first]) / (last - first)


def pace_layout(rows: Rows) -> Rows:
    """Return a line for each build: its hardware, millions of tasks a second, and gains over one interval."""
    return [
        {
            "share of DSP blocks": f"{row['share']:.0%}",
            "streams": f"{row['streams']} × {row['data_width']}",
            "cores": f"`{row['cores']}`",
            "DSP blocks": f"{row['dsp_blocks']:,}",
            "LUTs by estimate": f"{row['luts']:,}",
        }
        | {name: f"{row[name]:.1f}" for name in (*DEFAULT_FUNCTIONS, "mix")}
        | {f"{name}, times": f"{row['times'][name]:.2f}" for name in COMPARED}
        for row in rows
    ]
