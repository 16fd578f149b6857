"""Means of samples in the arrays of the user's interface."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.errors import InputError
from rbdhw.fixed.cost import COST_POINT, HALF
from rbdhw.fixed.format import Integers
from rbdhw.fixed.softmin import FRACTION, MOST_EXPONENT, MOST_SAMPLES, SCALE
from rbdhw.golden.kinematics import placements
from rbdhw.golden.rollout import errors_of
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.responses import Words
from rbdhw.model.rollouts.codec import check, prepare_checked
from rbdhw.model.rollouts.cost import OF_RESIDUALS, Cost, cost_unit
from rbdhw.model.rollouts.data import Array
from rbdhw.model.rollouts.packets import row_words
from rbdhw.model.rollouts.positions import OF_POSITIONS
from rbdhw.model.solver_goal import check_problem
from rbdhw.protocol import MEAN, MPPI

RATE_STEP = 2.0 ** (FRACTION - COST_POINT)
"""The step of a cost in those of an exponent."""


@dataclass(frozen=True)
class MeanTask:
    """The words of a mean: those of the packets that load its rows, by command, and of its request (1,)."""

    rows: dict[str, dict[str, Integers]]
    request: dict[str, Integers]
    unit: float
    """What the accelerator counts as one, in the unit of the costs."""
    known: float
    """The cost of the first knot, which is the same for all samples."""
    outside: bool
    """Whether the first state was outside its domain, and is limited."""

    def has_rows_of(self, other: MeanTask) -> bool:
        """Return whether its rows are those of another mean, but for the forces."""
        return all(
            np.array_equal(words, other.rows[command][name])
            for command, rows in self.rows.items()
            for name, words in rows.items()
            if WordName.parse(name).array != "tau"
        )


def mean_task(
    model: AcceleratorModel,
    problem: Mapping[str, Array],
    std: Array,
    seed: int,
    samples: int,
    temperature: float,
) -> MeanTask:
    """Return the words of the mean of samples of a problem, without a shift of the plan.

    Raises
    ------
    InputError
        The accelerator does not take such a problem, or not as many samples, or as low a temperature.
    """
    others = ("tau_ref", "K", *(() if model.robot.tracks else ("position_weight",)))
    check_problem(problem, "means of samples", others, np.asarray(model.domain.bounds["tau"]))
    if not 1 <= samples <= MOST_SAMPLES:
        raise InputError("samples", str(samples), f"1 to {MOST_SAMPLES} on an accelerator")
    arrays = {name: problem[name][np.newaxis] for name in ("q", "v")}
    arrays |= {"h": problem["h"].reshape(1)} if "h" in problem else {}
    arrays |= {"x_ref": problem["x_ref"][1:], "Q": problem["Q"][1:], "R": problem["R"]}
    arrays |= {"tau": problem["tau"], "std": std, "seed": np.array([seed], np.float64)}
    residuals = {name: problem[name] for name in OF_RESIDUALS if np.any(problem.get("W", 0.0))}
    arrays |= {name: array if name == "C" else array[1:] for name, array in residuals.items()}
    if model.robot.tracks:
        arrays |= {name: problem[name][1:] for name in OF_POSITIONS}
    checked = check(model, arrays, 0)
    if checked.late:
        expected = "references within the domain, on an accelerator"
        raise InputError(f"array 'x_ref', row {checked.late}", "is outside the domain", expected)
    rollouts = prepare_checked(model, checked, 0, states=False)
    unit = cost_unit(model, Cost().of(checked))
    scale, exponent = scale_words(HALF * unit / temperature)
    numbers = {"samples": samples, "scale": scale, "exponent": exponent, "shift": 0}
    request = dict(rollouts.words) | {name: np.array([number]) for name, number in numbers.items()}
    rows = {
        command: dict(row_words(model, rollouts.rows, command)) for command in model.interface.row_commands
    }
    first = np.hstack([problem["q"], problem["v"]])
    error = errors_of(first, problem["x_ref"][0], np.array(model.domain.wraps))
    known = _in_order(problem["Q"][0] * error**2)
    if residuals:
        residual = _in_order(problem["C"] * error) - problem["y"][0]
        known += _in_order(problem["W"][0] * residual**2)
    if model.robot.tracks:
        reference, weights = (problem[name][0] for name in OF_POSITIONS)
        error = placements(model.robot, problem["q"][np.newaxis])[0, :, :3, 3] - reference[:, :3, 3]
        known += _in_order((weights * error**2).ravel())
    return MeanTask(rows, request, unit, HALF * float(known), bool(checked.first.status.any()))


def _in_order(numbers: Array) -> Array:
    """Return the sums (...,) of numbers (..., N), added from first to last, as the bit-exact C does."""
    sums: Array = np.add.accumulate(numbers, axis=-1)[..., -1]
    return sums


def scale_words(inverse: float) -> tuple[int, int]:
    """Return the words ``scale`` and ``exponent`` for a cost of one by the temperature.

    Raises InputError for a temperature at which the steps of a cost are too coarse.
    """
    rate = inverse / math.log(2.0) * RATE_STEP
    if not rate < SCALE.highest:
        lowest = inverse / SCALE.highest / math.log(2.0) * RATE_STEP
        reason = f"is below {lowest:.2g} of itself, at which an accelerator tells costs apart"
        raise InputError("temperature", reason, "a higher one")
    exponent = SCALE.width - 1 - math.frexp(rate)[1] if rate > 0.0 else MOST_EXPONENT
    exponent = min(max(exponent, 0), MOST_EXPONENT)
    return min(round(math.ldexp(rate, exponent)), SCALE.highest), exponent


def decode_mean(
    model: AcceleratorModel, task: MeanTask, answer: Words, rows: Words
) -> dict[str, NDArray[np.generic]]:
    """Return ``tau`` (N, nv), the ``least`` cost of a sample, and the ``effective`` number of samples.

    ``answer`` (1,) are the words of the answer to the request, and ``rows`` (N,) those of the forces of each
    step. If no sample counts, or the first state was limited, the effective number is zero and the least cost
    not a number. States and their cost are not a number: an accelerator does not tell.
    """
    nv, steps = model.robot.nv, len(next(iter(rows.values())))
    tau = np.zeros((steps, nv))
    for word in model.interface.outputs(MEAN):
        tau[:, WordName.parse(word.name).index[0]] = word.format.real(rows[word.name])
    least, weight, square = (int(answer[f"{MPPI}.{name}"][0]) for name in ("least", "weight", "square"))
    trusted = weight > 0 and not task.outside
    cost = math.ldexp(HALF * least * task.unit, -COST_POINT) + task.known
    return {
        "tau": tau,
        "states": np.full((steps + 1, model.robot.nq + nv), np.nan),
        "cost": np.array(np.nan),
        "least": np.array(cost if trusted else np.nan),
        "effective": np.array(float(weight) * weight / square if trusted else 0.0),
    }
