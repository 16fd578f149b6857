"""Rollouts in the arrays of the user's interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers
from rbdhw.fixed.rollout import RolloutShape, force_words, row_inputs
from rbdhw.golden.rollout import rollout as golden_rollout
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.arrays import as_numbers, check_arrays
from rbdhw.model.limits import LIMIT, REFUSE, limit_tasks
from rbdhw.model.packets import NOT_FINITE, OUTSIDE, decode, encode
from rbdhw.model.rollouts.arrays import (
    check_first_states,
    check_rows,
    limit_references,
    nearer,
    with_signs,
)
from rbdhw.model.rollouts.data import Answered, Array, RolloutArrays, Rollouts, sent_after
from rbdhw.model.rollouts.evaluate import step_words
from rbdhw.model.rollouts.parts import ARRAYS, PARTS, parts_in
from rbdhw.model.rollouts.rows import row_words
from rbdhw.protocol import CONTACT, FUNCTIONS, NEXT_STATE, ROLLOUT, ROW_INPUTS
from rbdhw.robot.model import Robot


def prepare(
    model: AcceleratorModel, arrays: Mapping[str, Array], every: int, states: bool = True
) -> Rollouts:
    """Return the rollouts that arrays of the user's interface describe.

    Raises
    ------
    InputError
        The build takes no rollouts, or not as many steps; or an array is not usable.
    """
    return prepare_checked(model, check(model, arrays, every), every, states)


def prepare_checked(
    model: AcceleratorModel, arrays: RolloutArrays, every: int, states: bool = True
) -> Rollouts:
    """Return the rollouts of checked arrays; InputError if a number of a part is too large for its word."""
    step, parts = model.interface.step, parts_in(model)
    words = encode(model, step.name, arrays.states | {"tau": np.zeros_like(arrays.states["v"])})
    constant = {name: word for part in parts for name, word in part.words(arrays).items()}
    constant |= {word.name: words[word.name] for word in step.inputs if word not in row_inputs(step)}
    rows: dict[str, Integers] = {}
    for name, values in arrays.rows.items():
        rows |= row_words(model, arrays, name, values)
    for part in parts:
        rows |= part.rows(model, arrays)
    return Rollouts(constant, rows, every, states or not _may_lack_states(model))


def _may_lack_states(model: AcceleratorModel) -> bool:
    """Return whether answers may be without states, which they are not where nothing else is in them."""
    return model.interface.words(ROLLOUT).extensible


def check(
    model: AcceleratorModel, arrays: Mapping[str, Array], every: int, way: str = LIMIT
) -> RolloutArrays:
    """Return the checked arrays of rollouts within the domain; the errors are those of :func:`prepare`.

    ``way`` is one of :data:`rbdhw.model.limits.WAYS`.
    """
    shape = model.interface.rollout
    if shape is None:
        raise InputError("rollout", "this build takes none", remedy="generate with --functions rollout")
    tau = as_numbers("array 'tau'", arrays["tau"])
    if tau.ndim != 2 or not 1 <= len(tau) <= shape.horizon:
        expected = f"(K, {model.robot.nv}) for K of 1 to {shape.horizon} steps"
        longer = tau.ndim == 2 and len(tau) > shape.horizon
        remedy = "generate with a larger --horizon" if longer else ""
        raise InputError("array 'tau'", f"shape {tau.shape}", expected, remedy)
    if not 0 <= every <= shape.horizon:
        raise InputError("every", str(every), f"0 to {shape.horizon} steps")
    first = {name: array for name, array in arrays.items() if name not in (*ROW_INPUTS, *ARRAYS)}
    check_first_states(first["q"])
    limited = limit_tasks(model.robot, model.fext, model.domain, first, way)
    any_q = np.ones((len(tau), *np.shape(first["q"])[1:]))
    contacts = _contacts(model, shape, arrays, len(tau))
    checked = check_arrays(model.robot, model.fext, {"q": any_q, "tau": tau} | contacts)
    rows = {name: checked[name] for name in ("tau", *contacts)}
    late, near = (0, arrays) if way == REFUSE else limit_references(model, arrays)
    parts = _check_parts(model, shape, near, len(limited.status), len(tau))
    return _with_near_quaternions(model.robot, RolloutArrays(limited, rows, parts, late=late))


def _contacts(
    model: AcceleratorModel, shape: RolloutShape, arrays: Mapping[str, Array], steps: int
) -> dict[str, Array]:
    """Return which contacts (K, contacts) steps have, all by default; refuse them where steps have none."""
    if FUNCTIONS[shape.function].touches:
        every = np.ones(model.robot.sizes["contacts"])
        return {CONTACT: check_rows(CONTACT, arrays.get(CONTACT, every), steps, np.zeros_like(every), every)}
    if CONTACT in arrays:
        remedy = "generate with --functions rollout --contacts LINK:point"
        raise InputError(f"array '{CONTACT}'", "rollouts of this folder have no contacts", "none", remedy)
    return {}


def _check_parts(
    model: AcceleratorModel, shape: RolloutShape, arrays: Mapping[str, Array], tasks: int, steps: int
) -> dict[str, Any]:
    """Return the checked arrays of the parts of a build, and refuse those of others."""
    checked = {}
    for part in PARTS:
        if part.name in shape.parts:
            checked[part.name] = part.check(model, arrays, tasks, steps)
            continue
        for name in part.arrays:
            if name in arrays:
                remedy = f"generate with --rollout {part.name}"
                raise InputError(f"array '{name}'", part.absence, remedy=remedy)
    return checked


def _with_near_quaternions(robot: Robot, arrays: RolloutArrays) -> RolloutArrays:
    """Return rollouts whose first states have the quaternions near to the first reference's.

    That is the reference of the last part that has one; those of the others are made near, too.
    """
    if robot.nq == robot.nv:
        return arrays
    parts, first = dict(arrays.parts), None
    for part in reversed(PARTS):
        states = part.reference(parts[part.name]) if part.name in parts else None
        if states is None:
            continue
        if first is None:
            first = states[:1, : robot.nq]
        signs = nearer(robot, states[:1, : robot.nq], first)
        parts[part.name] = part.with_reference(parts[part.name], with_signs(states[np.newaxis], signs)[0])
    if first is None:
        return arrays
    q = arrays.states["q"]
    signs = nearer(robot, q, first)
    near = replace(arrays.first, arrays=arrays.states | {"q": q * signs})
    return replace(arrays, first=near, parts=parts, signs=signs)


def decode_answers(
    model: AcceleratorModel, arrays: RolloutArrays, answered: Answered
) -> dict[str, NDArray[np.generic]]:
    """Return ``states`` (N, M, nq + nv), ``first_flagged`` (N,) and ``status`` (N,) of N rollouts.

    Results of parts, such as the ``cost`` (N,) of all steps, are before the last two, and without the words
    of states these are left out. The status counts all steps. States from step ``first_flagged`` on are not
    to be trusted, and neither are costs of flagged rollouts.
    """
    results: dict[str, NDArray[np.generic]] = {}
    if answered.states:
        flat = {name: words.ravel() for name, words in answered.states.items()}
        size = model.robot.nq + model.robot.nv
        states = decode(model, model.interface.step.name, flat)[NEXT_STATE].reshape(
            *answered.status.shape, size
        )
        results["states"] = with_signs(states, arrays.signs)
    for part in parts_in(model):
        results |= part.results(model, arrays, answered)
    return results | {"first_flagged": answered.first_flagged[:, -1], "status": answered.status[:, -1]}


def golden_answers(
    model: AcceleratorModel, arrays: RolloutArrays, every: int, states: bool = True
) -> dict[str, NDArray[np.generic]]:
    """Return the same in double precision; nothing is flagged."""
    steps, bounds = len(arrays.tau), np.asarray(model.domain.bounds["tau"])
    commands = partial(golden_forces, model, arrays)
    step = model.interface.step.name
    each = [{name: row[k] for name, row in arrays.rows.items()} for k in range(steps)]
    after, forces = golden_rollout(model.robot, step, arrays.states, each, commands, bounds)
    results: dict[str, NDArray[np.generic]] = {}
    if states or not _may_lack_states(model):
        results["states"] = with_signs(after[:, sent_after(steps, every) - 1], arrays.signs)
    for part in parts_in(model):
        results |= part.golden_results(model, arrays, after, forces)
    none = np.zeros(len(after), np.int64)
    return results | {"first_flagged": none, "status": none}


def golden_forces(
    model: AcceleratorModel, arrays: RolloutArrays, step: int, state: Array | None = None
) -> Array:
    """Return the forces (N, nv) of a step before they are limited.

    What depends on the ``state`` (N, nq + nv) before the step is left out without it.
    """
    forces = np.broadcast_to(arrays.tau[step], (arrays.tasks, model.robot.nv))
    for part in parts_in(model):
        forces = part.golden_forces(model, arrays, step, forces, state)
    return forces


def applied_forces(model: AcceleratorModel, arrays: RolloutArrays) -> Array:
    """Return the forces (N, K, nv) that rollouts apply: the rows plus the samples of the seeds, limited."""
    rollouts = prepare_checked(model, arrays, 0)
    forces = np.zeros((rollouts.tasks, rollouts.steps, model.robot.nv))
    for k in range(rollouts.steps):
        words = step_words(model, rollouts, k)
        for word in force_words(model.interface.step):
            forces[:, k, WordName.parse(word.name).index[0]] = word.format.real(words[word.name])
    return forces


def flagged(
    arrays: RolloutArrays, results: Mapping[str, NDArray[np.generic]]
) -> dict[str, NDArray[np.generic]]:
    """Return an engine's results, flagged from where on a first state or a reference was limited."""
    numbers = {name: array for name, array in results.items() if name not in ("first_flagged", "status")}
    status = arrays.first.flagged(np.asarray(results["status"], np.int64), numbers)
    none = np.iinfo(np.int64).max
    begins = (np.asarray(results["first_flagged"], np.int64), 1 * (arrays.first.status != 0), arrays.late)
    first = np.min(np.broadcast_arrays(*(np.where(begin, begin, none) for begin in begins)), axis=0)
    status |= np.where((arrays.late > 0) & (status != NOT_FINITE), OUTSIDE, 0)
    return numbers | {"first_flagged": np.where(first == none, 0, first), "status": status}
