"""Means of samples on accelerators: resources, and the cycles of the Verilog."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.rows import Row, Rows
from rbdhw.design.folder import Design, read, write
from rbdhw.model.packets import merge, requests
from rbdhw.model.rollouts.draw_means import draw_mean
from rbdhw.model.traffic import packet_bytes
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import MPPI
from rbdhw.robots import path
from rbdhw.verilator import bulk
from rbdhw.verilator.simulator import Disturbance

BUILDS: tuple[tuple[str, str, int], ...] = (
    ("toy", "xcvu9p", 1),
    ("iiwa14", "xcvu9p", 1),
    ("iiwa14", "xck26", 4),
)
"""Robots, targets, and the intervals of steps."""

BITS, STEPS, HOLD, SAMPLES = 24, 64, 8, 1024


def mean_rows(builds: Sequence[tuple[str, str, int]] = BUILDS) -> Rows:
    """Return the resources of each build, those beyond its rollouts, and the cycles of a mean."""
    return [_row(*build) for build in builds]


def _row(name: str, target: str, ii: int) -> Row:
    options = BuildOptions((MPPI,), target=target, width=BITS, ii=ii, horizon=STEPS, hold=HOLD, samples=1024)
    rolling = generate(path(name), replace(options, means=False))
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as made:
        folder = Path(made) / "design"
        write(generate(path(name), options), folder)
        design = read(folder)
        cycles = _cycles(design, bulk.build(folder))
    described, means = design.description, design.description.means
    assert means is not None
    of_all, without = (each.estimate for each in (described, rolling.description))
    return {
        "robot": name,
        "target": target,
        "ii": ii,
        "clock, MHz": round(described.clock_mhz),
        "luts": of_all.luts,
        "dsp_blocks": of_all.dsp_blocks,
        "block_rams": of_all.block_rams,
        "luts of means": of_all.luts - without.luts,
        "dsp blocks of them": of_all.dsp_blocks - without.dsp_blocks,
        "samples at once": means.rollouts,
        "bytes": "{} + {}".format(*packet_bytes(design.interface, MPPI)),
        "cycles": cycles,
        "time": f"{cycles / described.clock_mhz / 1e3:.2f} ms",
    }


def _cycles(design: Design, simulator: Path) -> int:
    """Return the cycles from the first beat of a request for a mean to the last of its answer."""
    *loads, (command, words) = draw_mean(design, SAMPLES, np.random.default_rng(0))[:3]
    packets = [*loads, (command, words)]
    tags = [np.arange(len(next(iter(words.values())))) for _, words in packets]
    asked = {k: requests(design, name, tags[k], each) for k, (name, each) in enumerate(packets)}
    ends = np.cumsum([len(each) for each in tags])
    sent = merge({k: ends[k] - len(each) + each for k, each in enumerate(tags)}, asked)
    (outcome,) = bulk.exchange(simulator, [sent], Disturbance(patience=1 << 24))
    first = int(outcome.sent[np.flatnonzero(sent.last)[-2] + 1])
    return int(outcome.taken[-1]) - first + 1
