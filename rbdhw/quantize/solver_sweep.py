"""The sweep with the formats that problems of a solver take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.knots import REGULARISATION, knot_program
from rbdhw.fixed.rollout import StepWords
from rbdhw.fixed.solver_numbers import step_derivatives
from rbdhw.frontend.knot_step import driven, record_sweep
from rbdhw.graph.knots import block_starts
from rbdhw.graph.sweeps import Sweeps
from rbdhw.model.fixed_sweep import FixedSweep
from rbdhw.model.solver_problems import WEIGHT
from rbdhw.quantize.knots import knot_magnitudes, solver_numbers, without_noise
from rbdhw.robot.model import Robot
from rbdhw.robot.wide_joints import floating_coordinates

Array = NDArray[np.float64]

MOST_REGULARISATION = 10.0 * WEIGHT
"""The largest regularisation that sweeps are to take."""


def observed_sweep(
    robot: Robot,
    dstep: StepWords,
    problems: Iterable[Mapping[str, Array]],
    knots: int,
    width: int,
    blocks: int = 1,
) -> FixedSweep:
    """Return the bit-exact sweep with the formats that a solver's sweeps of these problems take.

    It takes the derivatives that the words of ``dstep`` give. The costs of the problems are those of
    :func:`rbdhw.model.solver_problems.moving_problem`. Its steps are swept back in so many ``blocks``.
    """
    problems = list(problems)
    sweeps, magnitudes = observed_magnitudes(robot, dstep, problems, knots, blocks)
    program = knot_program(sweeps, magnitudes, width)
    return FixedSweep(sweeps, program, float(problems[0]["h"]), driven(robot, floating_coordinates(robot)))


def observed_magnitudes(
    robot: Robot, dstep: StepWords, problems: Iterable[Mapping[str, Array]], knots: int, blocks: int = 1
) -> tuple[Sweeps, list[float]]:
    """Return the recorded sweep, and the largest magnitude of each node of a step, with headroom."""
    held = floating_coordinates(robot)
    forces = driven(robot, held)
    derivatives = step_derivatives(dstep, robot.nv, forces)
    sweeps = record_sweep(
        *(robot, knots, held),
        coupled=False,
        derivatives=derivatives,
        moves=blocks > 1,
        of_states=True,
        positions=3 * robot.sizes["tracked"],
    )
    starts = block_starts(knots, blocks)
    numbers = without_noise(solver_numbers(robot, problems, forces, starts=starts, of_states=True))
    numbers[0] |= {REGULARISATION: np.array(MOST_REGULARISATION)}
    return sweeps, knot_magnitudes(sweeps, numbers)
