"""Rollouts in the arrays of the user's interface."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.errors import InputError
from rbdhw.fixed.cost import COST_POINT
from rbdhw.fixed.normal import normal_samples
from rbdhw.fixed.rollout import force_words
from rbdhw.golden.rollout import cost as golden_cost
from rbdhw.golden.rollout import rollout as golden_rollout
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.arrays import as_numbers, check_arrays
from rbdhw.model.packets import OVERFLOW, decode, encode
from rbdhw.model.rollouts.arrays import COSTS, FEEDBACK, check_costs, check_feedback, check_samples
from rbdhw.model.rollouts.evaluate import SEED, Answered, Rollouts, sent_after, step_forces
from rbdhw.model.rollouts.rows import Given, cost_scale, repeated, rows_of
from rbdhw.model.rollouts.signs import with_near_quaternions, with_signs
from rbdhw.protocol import NEXT_STATE
from rbdhw.robot.unit_length import off_unit

Array = NDArray[np.float64]


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


def prepare_checked(model: AcceleratorModel, given: Given, every: int, states: bool = True) -> Rollouts:
    """Return the rollouts of checked arrays."""
    words = encode(model, "step", given.states | {"tau": np.zeros_like(given.states["v"])})
    own = model.interface.words("step")
    constant = {} if given.seed is None else {SEED: given.seed}
    constant |= {word.name: words[word.name] for word in own.inputs if word not in force_words(own)}
    return Rollouts(constant, rows_of(model, given), every, states)


def check(model: AcceleratorModel, arrays: Mapping[str, Array], every: int) -> Given:
    """Return the checked arrays of rollouts.

    Raises
    ------
    InputError
        As :func:`prepare`.
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
    loaded = ("tau", "std", SEED, *COSTS, *FEEDBACK)
    own = {name: array for name, array in arrays.items() if name not in loaded}
    checked = check_arrays(model.robot, model.fext, own)
    if not len(checked["q"]):
        raise InputError("array 'q'", "no row", "a first state for each rollout")
    first = repeated({"q": own["q"]}, len(tau))
    forces = check_arrays(model.robot, model.fext, first | {"tau": tau})["tau"]
    samples = check_samples(model, arrays, len(checked["q"]), len(tau))
    costs, feedback = check_costs(model, arrays, len(tau)), check_feedback(model, arrays, len(tau))
    return with_near_quaternions(model.robot, Given(checked, forces, *samples, costs, feedback))


def decode_answers(
    model: AcceleratorModel, given: Given, answered: Answered
) -> dict[str, NDArray[np.generic]]:
    """Return ``states`` (N, M, nq + nv), ``first_flagged`` (N,) and ``status`` (N,) of N rollouts.

    In a build with costs there is also the ``cost`` (N,) of all steps, and without the words of states they
    are left out. The status counts all steps. States from step ``first_flagged`` on are not to be trusted,
    and neither are costs of flagged rollouts.
    """
    found: dict[str, NDArray[np.generic]] = {}
    if answered.states:
        flat = {name: words.ravel() for name, words in answered.states.items()}
        size = model.robot.nq + model.robot.nv
        states = decode(model, "step", flat)[NEXT_STATE].reshape(*answered.status.shape, size)
        found["states"] = with_signs(states, given.signs)
    if given.costs is not None:
        found["cost"] = np.ldexp(answered.cost[:, -1] * cost_scale(model, given), -COST_POINT)
    return found | {"first_flagged": answered.first_flagged[:, -1], "status": answered.status[:, -1]}


def golden_answers(
    model: AcceleratorModel, given: Given, every: int, states: bool = True
) -> dict[str, NDArray[np.generic]]:
    """Return the same in double precision; nothing is flagged."""
    limits, wraps = np.asarray(model.domain.bounds["tau"]), np.asarray(model.domain.wraps)
    own = given.states | {"tau": golden_forces(given)}
    after, forces = golden_rollout(model.robot, own, limits, given.feedback, wraps)
    found: dict[str, NDArray[np.generic]] = {}
    if states or given.costs is None:
        found["states"] = with_signs(after[:, sent_after(len(given.tau), every) - 1], given.signs)
    if given.costs is not None:
        found["cost"] = golden_cost(after, forces, given.costs, wraps)
    none = np.zeros(len(after), np.int64)
    return found | {"first_flagged": none, "status": none}


def golden_forces(given: Given) -> Array:
    """Return the forces (K, nv) of all rollouts, or with samples (N, K, nv), before they are limited."""
    if given.seed is None:
        return given.tau
    steps, coordinates = given.tau.shape
    return given.tau + given.std * normal_samples(given.seed, np.arange(steps), coordinates)


def applied_forces(model: AcceleratorModel, given: Given) -> Array:
    """Return the forces (N, K, nv) that rollouts apply: the rows plus the samples of the seeds, limited."""
    rollouts = prepare_checked(model, given, 0)
    forces = np.zeros((rollouts.tasks, rollouts.steps, model.robot.nv))
    for k in range(rollouts.steps):
        words = step_forces(model, rollouts, k)
        for word in force_words(model.interface.words("step")):
            forces[:, k, WordName.parse(word.name).index[0]] = word.format.real(words[word.name])
    return forces


def flag_lengths(
    model: AcceleratorModel, results: Mapping[str, NDArray[np.generic]], q: Array
) -> dict[str, NDArray[np.generic]]:
    """Return results, flagged from the first step on where a unit vector of ``q`` has another length."""
    off = off_unit(model.robot, q)
    first = np.where(off, 1, results["first_flagged"])
    status = np.asarray(results["status"], np.int64) | OVERFLOW * off
    return dict(results) | {"first_flagged": first, "status": status}
