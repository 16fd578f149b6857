"""Feedback of rollouts: gains times the error of the state are added to the forces."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdhw import golden
from rbdhw.arrays import WordName
from rbdhw.errors import InputError, told_apart
from rbdhw.fixed.feedback import GAIN, Feedback
from rbdhw.fixed.format import Format, Integers
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape, rollout_feedback
from rbdhw.golden.integrators import motion_of
from rbdhw.golden.rollout import errors_of
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.arrays import as_numbers
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.model.packets import check_finite
from rbdhw.model.responses import Words
from rbdhw.model.rollouts.arrays import check_reference
from rbdhw.model.rollouts.data import Array, RolloutArrays, Rollouts
from rbdhw.model.rollouts.part import Part, counts, in_slots
from rbdhw.model.rollouts.random_states import NEAR, NEARER, longest_step, of_unit_length, random_states
from rbdhw.model.rollouts.rows import fitting, nearest, reference_words, unit_of
from rbdhw.protocol import GAINS, LOAD_GAINS
from rbdhw.robot.model import Robot

STIFFNESS = 0.25
"""The eigenfrequency to which random gains tune each joint, times the longest step."""


class Gains(Part[tuple[Array, Array]]):
    """Gains ``K`` of the difference between a state and the nominal one, ``x_nominal``."""

    name = GAINS
    arrays = ("x_nominal", "K")
    absence = "this build takes no gains"
    loads = (LOAD_GAINS,)

    def first_row_words(self, step: FunctionWords, shape: RolloutShape) -> list[Word]:
        return [term.reference_word for term in rollout_feedback(step, shape)[0].terms]

    def commands(self, step: FunctionWords, shape: RolloutShape, first: int) -> list[FunctionWords]:
        """Return the words of the gains of one force."""
        feedback = rollout_feedback(step, shape)
        gains = [
            Word(feedback[0].gain(term), "1", -1, GAIN, -GAIN.highest, GAIN.highest, term.word.slot)
            for term in feedback[0].terms
        ]
        most = max(each.coordinate for each in feedback)
        coordinate = Word("coordinate", "1", -1, Format(most.bit_length() + 1, 0), 0, most)
        inputs = (*gains, *in_slots([*counts(shape, "row"), coordinate], first))
        return [FunctionWords(LOAD_GAINS, inputs, ())]

    def stream_entries(self, interface: Interface) -> dict[str, list[list[float]]]:
        """Return what a gain of one stands for, for each force and each error."""
        assert interface.rollout is not None
        feedback = rollout_feedback(interface.step, interface.rollout)
        return {"largest_gains": [[each.largest(term) for term in each.terms] for each in feedback]}

    def packet_words(self, model: AcceleratorModel, _command: str, rows: Words) -> dict[str, Integers]:
        """Return the words of packets with the gains of one force each."""
        feedback = _feedback(model)
        words = {
            feedback[0].gain(term): np.stack([rows[force.stored(term)] for force in feedback], axis=1).ravel()
            for term in feedback[0].terms
        }
        steps = len(next(iter(rows.values())))
        coordinates = np.array([force.coordinate for force in feedback])
        numbers = np.repeat(np.arange(steps), len(feedback))
        return words | {"row": numbers, "coordinate": np.tile(coordinates, steps)}

    def check(
        self, model: AcceleratorModel, arrays: Mapping[str, Array], _tasks: int, steps: int
    ) -> tuple[Array, Array]:
        """Return nominal states (K, nq + nv) and the gains (K, nv, nq + nv) of their elements.

        The user's gains ``K`` are those of the tangent space, (K, nv, 2 nv) or (nv, 2 nv) for all steps. They
        are multiplied by the derivative of the difference of two states, at the nominal one.
        """
        if "K" in arrays and "x_nominal" not in arrays:
            expected = "the state without feedback, of each step or of all"
            raise InputError("array 'x_nominal'", "missing", expected)
        nominal = check_reference(model, "x_nominal", arrays.get("x_nominal"), steps)
        shape = (model.robot.nv, 2 * model.robot.nv)
        gains = as_numbers("array 'K'", arrays.get("K", np.zeros(shape)))
        if gains.shape not in (shape, (steps, *shape)):
            expected = f"({steps}, {shape[0]}, {shape[1]}), or {shape} for all steps"
            raise InputError("array 'K'", f"shape {gains.shape}", expected)
        check_finite("K", gains.reshape(-1, shape[1]))
        return nominal, np.broadcast_to(gains, (steps, *shape)) @ tangent_of(model.robot, nominal)

    def reference(self, checked: tuple[Array, Array]) -> Array:
        return checked[0]

    def with_reference(self, checked: tuple[Array, Array], states: Array) -> tuple[Array, Array]:
        return states, checked[1]

    def rows(self, model: AcceleratorModel, arrays: RolloutArrays) -> Words:
        nominal, gains = self.of(arrays)
        feedback, largest = _feedback(model), largest_gains(model)
        rows = dict(reference_words(model, arrays, list(feedback[0].terms), nominal))
        words = {word.name: word for word in model.interface.inputs(LOAD_GAINS)}
        for force in feedback:
            for term in force.terms:
                (element,) = WordName.parse(force.gain(term)).index
                values = gains[:, force.coordinate, element]
                most = float(largest[force.coordinate, element])
                _check_size(values, most, force.coordinate, element)
                rows[force.stored(term)] = nearest(model, words[force.gain(term)], values / most)
        return rows

    def forces(self, model: AcceleratorModel, rollouts: Rollouts, step: int, state: Words | None) -> Words:
        if state is None:
            return {}
        row = rollouts.row(step)
        return {
            feedback.force.name: feedback.added(fitting(state, feedback.terms), row, row)
            for feedback in _feedback(model)
        }

    def golden_forces(
        self, model: AcceleratorModel, arrays: RolloutArrays, step: int, forces: Array, state: Array | None
    ) -> Array:
        if state is None:
            return forces
        nominal, gains = self.of(arrays)
        errors = errors_of(state, nominal[step], np.asarray(model.domain.wraps))
        return np.asarray(forces + errors @ gains[step].T)

    def draw_rows(
        self, model: AcceleratorModel, centre: Mapping[str, Array], steps: int, rng: np.random.Generator
    ) -> dict[str, Array]:
        state, nv = np.hstack([centre["q"], centre["v"]]), model.robot.nv
        nominal = state + NEAR * NEARER * (random_states(model, steps, rng) - state)
        nominal = of_unit_length(model, nominal)
        frequency, mass = STIFFNESS / longest_step(model), golden.evaluate(model.robot, "m", centre)["M"][0]
        gains = -np.hstack([frequency**2 * mass, 2.0 * frequency * mass])
        gains = gains * rng.uniform(0.8, 1.2, (steps, nv, 1))
        sizes = np.abs(gains @ tangent_of(model.robot, nominal)) / largest_gains(model)
        return {"x_nominal": nominal, "K": gains / np.maximum(1.1 * sizes.max(axis=2, keepdims=True), 1.0)}


def tangent_of(robot: Robot, states: Array) -> Array:
    """Return the derivative (N, 2 nv, nq + nv) of the difference of states, at the states (N, nq + nv)."""
    columns = [
        motion_of(robot, states, np.broadcast_to(change, states.shape)) for change in np.eye(states.shape[1])
    ]
    return np.stack(columns, axis=-1)


def largest_gains(model: AcceleratorModel) -> Array:
    """Return the largest gains (nv, nq + nv) of the elements of the state, infinite where none travel."""
    largest = np.full((model.robot.nv, model.robot.nq + model.robot.nv), np.inf)
    for force in _feedback(model):
        for term in force.terms:
            (element,) = WordName.parse(force.gain(term)).index
            largest[force.coordinate, element] = force.largest(term) / unit_of(term)
    return largest


def _feedback(model: AcceleratorModel) -> tuple[Feedback, ...]:
    assert model.interface.rollout is not None
    return rollout_feedback(model.interface.step, model.interface.rollout)


def _check_size(values: Array, most: float, coordinate: int, element: int) -> None:
    """Refuse gains (K,) of a force and an element that are too large."""
    steps = np.flatnonzero(np.abs(values) > most)
    if len(steps):
        where = f"array 'K', step {steps[0]}, force {coordinate}, element {element} of the state"
        size, limit = told_apart(abs(float(values[steps[0]])), most)
        raise InputError(where, f"a magnitude of {size}", f"at most {limit}")
