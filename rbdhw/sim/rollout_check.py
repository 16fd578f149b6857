"""Random rollouts in the simulation, compared with the model bit for bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdhw.design.folder import Design
from rbdhw.engines.packets import Connection
from rbdhw.model.diagnosis import Cause, merge_causes
from rbdhw.model.rollouts.stream import draw_stream
from rbdhw.verilator.simulator import Disturbance

MOST = 256
"""The most rollouts of a simulation."""


@dataclass(frozen=True)
class RolloutReport:
    """The rollouts of a simulation, their steps, and answers that differ from the model's.

    ``mismatches`` also counts answers that are missing or surplus, and violations of the stream protocol.
    ``flagged`` are the rollouts with a status that is not zero.
    """

    tasks: int
    steps: int
    mismatches: int
    flagged: int


def check_rollouts(
    design: Design,
    tasks: int,
    rng: np.random.Generator,
    traffic: Disturbance,
    connection: Connection,
) -> tuple[RolloutReport, tuple[Cause, ...]]:
    """Send rollouts of :mod:`rbdhw.model.rollouts.draw`, and compare every answer with the model's.

    The causes of flags come beside the report.
    """
    assert design.interface.rollout is not None
    horizon, count = design.interface.rollout.horizon, min(tasks, MOST)
    stream = draw_stream(design, count, horizon, rng)
    disturbed = Disturbance(traffic.bubbles, traffic.back_pressure, traffic.seed, surplus=stream.surplus)
    (outcome,) = connection([stream.beats], disturbed)
    wrong = outcome.violations + stream.count_mismatches(outcome.responses)
    report = RolloutReport(count, stream.steps, wrong, stream.flagged)
    return report, merge_causes(stream.causes)
