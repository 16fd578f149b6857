"""Random rollouts: most stay in the domain, held by the forces of a plan, and some leave it.

Rollouts of a plan have the same rows. The rows hold the robot at one state, with the forces that inverse
dynamics gives, and shake it a little, differently in each step. The first states lie around that state. Far
from it, or after many long steps, a robot falls; a rollout that would leave its domain starts nearer and
takes shorter steps. One rollout in :data:`LEAVING` starts anywhere and at any speed, so that flags are
compared, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.domain.sampling import quaternions, sample
from rbdhw.fixed.format import Integers
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.rollouts.codec import check, golden_answers
from rbdhw.model.rollouts.data import Array
from rbdhw.model.rollouts.parts import ARRAYS, parts_in
from rbdhw.model.rollouts.random_states import NEAR, NEARER, SHAKEN, longest_step, speeds
from rbdhw.model.rollouts.rows import repeated
from rbdhw.protocol import BASE_HELD, CONTACT, FUNCTIONS, PARAMETERS, ROW_INPUTS
from rbdhw.robot.parameters import nominal_parameters

PLANS = 4
"""The plans of a simulation."""

LEAVING = 8
"""One rollout in this many starts anywhere in the domain."""

CANDIDATES = 64
"""The states among which a plan takes the one that needs the smallest forces."""

HALVINGS = 4
"""How often a rollout that leaves its domain may start nearer to its plan."""

MARGIN = 0.05
"""The part of the domain, at each of its bounds, that a rollout in double precision must not reach."""


@dataclass(frozen=True)
class Plan:
    """Some rollouts with the same rows: their numbers, which are consecutive, and their arrays."""

    numbers: Integers
    arrays: dict[str, Array]


def draw_plans(
    model: AcceleratorModel, arrays: Mapping[str, Array], steps: Integers, rows: int, rng: np.random.Generator
) -> list[Plan]:
    """Return N rollouts of ``steps`` (N,) each, at most ``rows``, which each plan has.

    ``arrays`` are random tasks (N, ...) of a step, whose inertial parameters stay as they are.
    """
    plans = []
    for numbers in np.array_split(np.arange(len(steps)), PLANS):
        if len(numbers):
            inputs = [name for name in FUNCTIONS[model.interface.step.name].inputs if name not in ROW_INPUTS]
            drawn = {name: arrays[name][numbers] for name in inputs if name in arrays}
            plans.append(Plan(numbers, _draw_plan(model, drawn, steps[numbers], rows, numbers, rng)))
    return plans


def _draw_plan(
    model: AcceleratorModel,
    drawn: dict[str, Array],
    steps: Integers,
    count: int,
    numbers: Integers,
    rng: np.random.Generator,
) -> dict[str, Array]:
    centre = _draw_centre(model, rng)
    rows = _forces(model, centre, count, rng)
    if FUNCTIONS[model.interface.step.name].touches:
        rows[CONTACT] = rng.integers(0, 2, (count, model.robot.sizes["contacts"])).astype(np.float64)
    for part in parts_in(model):
        rows |= part.draw_rows(model, centre, count, rng)
    each = [part.draw_each(len(steps), rng) for part in parts_in(model)]
    drawn |= {name: array for arrays in each for name, array in arrays.items()}
    free = numbers % LEAVING == LEAVING - 1
    share = np.ones(len(steps))
    for _ in range(HALVINGS):
        arrays = _first_states(model, centre, drawn, share)
        left = ~_stays(model, arrays | rows, steps) & ~free
        if not left.any():
            break
        share[left] *= NEARER
    arrays = _first_states(model, centre, drawn, share)
    return rows | {name: _where(free, array, arrays[name]) for name, array in drawn.items()}


def _where(chosen: NDArray[np.bool_], array: Array, other: Array) -> Array:
    return np.where(chosen.reshape(-1, *[1] * (array.ndim - 1)), array, other)


def _draw_centre(model: AcceleratorModel, rng: np.random.Generator) -> dict[str, Array]:
    """Return a task (1, ...) at rest, of several the one whose forces are the farthest from their bounds."""
    drawn = sample(model.robot, model.domain, CANDIDATES, rng, model.fext)
    limited = _limited(model)
    middle = np.where(limited[:, np.newaxis], model.domain.bounds["q"], 0.0).mean(axis=1)
    inner = np.where(limited, middle + (1.0 - 4.0 * MARGIN) * (drawn["q"] - middle), drawn["q"])
    drawn["q"] = golden.with_unit_quaternions(model.robot, inner)
    still = np.broadcast_to(np.clip(0.0, *model.domain.bounds["v"].T), drawn["v"].shape)
    drawn |= {"v": still, "a": np.zeros_like(still)}
    if model.robot.base_chosen:
        drawn["base_a"] = np.zeros_like(drawn["base_a"])
    if PARAMETERS in drawn:
        drawn[PARAMETERS] = np.broadcast_to(nominal_parameters(model.robot), drawn[PARAMETERS].shape)
    efforts = np.abs(_efforts(model, golden.evaluate(model.robot, "id", drawn)["tau"]))
    best = int(np.argmin(np.where(_supported(drawn), 0.0, efforts).max(axis=1)))
    return {name: array[best : best + 1] for name, array in drawn.items()}


def _limited(model: AcceleratorModel) -> NDArray[np.bool_]:
    """Return for each coordinate of ``q`` whether it has bounds that a robot can leave."""
    limited = ~np.array(model.domain.wraps)
    for span in quaternions(model.robot):
        limited[span] = False
    return limited


def _supported(tasks: Mapping[str, Array]) -> NDArray[np.bool_]:
    """Return for each force (N, nv) whether a support bears it, which holds the base."""
    supported = np.zeros(tasks["v"].shape, np.bool_)
    if BASE_HELD in tasks:
        supported[:, :6] = tasks[BASE_HELD][:, np.newaxis] != 0.0
    return supported


def _efforts(model: AcceleratorModel, tau: Array) -> Array:
    """Return forces (..., nv) as shares of the way from the middle of their bounds to these."""
    lower, upper = model.domain.bounds["tau"].T
    return np.asarray((2.0 * tau - lower - upper) / (upper - lower))


def _forces(
    model: AcceleratorModel, centre: Mapping[str, Array], horizon: int, rng: np.random.Generator
) -> dict[str, Array]:
    """Return forces ``tau`` (K, nv) that hold the robot and shake it, and deviations ``std`` of samples."""
    tasks, (lower, upper) = repeated(centre, horizon), model.domain.bounds["tau"].T
    supported, shaken = _supported(tasks), rng.uniform(-SHAKEN, SHAKEN, (horizon + 1, model.robot.nv))
    shaken[0] = 0.0
    changes = np.where(supported, 0.0, np.diff(shaken * speeds(model), axis=0) / longest_step(model))
    still, moved = (
        golden.evaluate(model.robot, "id", tasks | {"a": a})["tau"] for a in (0.0 * changes, changes)
    )
    room = np.maximum(1.0 - np.abs(_efforts(model, still)), MARGIN)
    most = np.where(supported, 0.0, np.abs(_efforts(model, moved) - _efforts(model, still)) / room).max()
    forces = still + min(1.0, 0.5 / max(float(most), MARGIN)) * (moved - still)
    any_force = rng.uniform(lower, upper, forces.shape)  # a held base does not feel it
    return {"tau": np.clip(np.where(supported, any_force, forces), lower, upper)}


def _first_states(
    model: AcceleratorModel, centre: Mapping[str, Array], drawn: Mapping[str, Array], share: Array
) -> dict[str, Array]:
    """Return the arrays of rollouts whose states are a ``share`` (N,) of the usual way from the centre."""
    first = {name: array for name, array in drawn.items() if name in (PARAMETERS, *ARRAYS)}
    for name in (name for name in drawn if name not in first):
        array, ways = drawn[name], share.reshape(-1, *[1] * (drawn[name].ndim - 1))
        if name == "h":
            lowest = model.domain.bounds["h"][0, 0]
            first[name] = lowest + share * (array - lowest)
        else:
            first[name] = centre[name] + (NEAR * ways) * (array - centre[name])
    if BASE_HELD in first:
        first[BASE_HELD] = np.broadcast_to(centre[BASE_HELD], share.shape)
        first["base_a"] = first["base_a"] * centre[BASE_HELD]
    return first | {"q": golden.with_unit_quaternions(model.robot, first["q"])}


def _stays(model: AcceleratorModel, arrays: Mapping[str, Array], steps: Integers) -> NDArray[np.bool_]:
    """Return for each rollout (N,) whether it stays well in the domain for its ``steps`` (N,)."""
    bounds = np.concatenate([model.domain.bounds["q"], model.domain.bounds["v"]])
    limited = np.append(_limited(model), np.ones(model.robot.nv, np.bool_))
    bounds = np.where(limited[:, np.newaxis], bounds, [-np.inf, np.inf])
    slack = MARGIN * np.where(limited, np.diff(bounds, axis=1)[:, 0], 0.0)
    with np.errstate(all="ignore"):  # a robot that falls may become infinitely fast
        states = golden_answers(model, check(model, arrays, 1), 1)["states"].astype(np.float64)
        inside = ((states >= bounds[:, 0] + slack) & (states <= bounds[:, 1] - slack)).all(axis=2)
    later = np.arange(inside.shape[1]) >= steps[:, np.newaxis]
    return np.asarray((inside | later).all(axis=1))
