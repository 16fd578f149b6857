"""Means of samples in the simulation, compared with the model bit for bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdhw.design.folder import Design
from rbdhw.engines.packets import PacketEngine
from rbdhw.model.responses import respond
from rbdhw.model.rollouts.draw_means import draw_mean
from rbdhw.model.rollouts.mean_session import MeanSession
from rbdhw.protocol import MPPI
from rbdhw.sim.command_check import compare

PLANS, SAMPLES = 4, 192
"""The plans of a simulation, for each of which a mean is taken, and once more a step later; and the samples
of each."""


@dataclass(frozen=True)
class MeanReport:
    """The means of a simulation, and answers that differ from the model's.

    Of the ``samples`` of all means ``counted`` are those with a weight.
    """

    tasks: int
    mismatches: int
    samples: int
    counted: int


def check_means(design: Design, engine: PacketEngine, seed: int) -> MeanReport:
    """Take means of samples around random plans, and compare every answer with the model's."""
    rng = np.random.default_rng(seed)
    packets = [each for _ in range(PLANS) for each in draw_mean(design, SAMPLES, rng)]
    step = design.interface.step.name
    session = MeanSession(design, lambda words: respond(design, step, words))
    tasks = counted = mismatches = 0
    for command, expected, differing in compare(design, engine, session, packets):
        mismatches += differing
        if command == MPPI:
            tasks += 1
            counted += int(expected[f"{MPPI}.counted"][0])
    return MeanReport(tasks, mismatches, tasks * SAMPLES, counted)
