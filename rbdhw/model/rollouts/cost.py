"""Costs of rollouts: squares of weighted errors, forces and residuals, added up."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdhw.arrays import WordName
from rbdhw.errors import InputError
from rbdhw.fixed.cost import (
    COEFFICIENT,
    COST_POINT,
    RESIDUAL,
    WEIGHTED,
    CostTerm,
    Residual,
    stage_cost,
    weighted_residuals,
)
from rbdhw.fixed.format import Format, Integers
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape, rollout_cost, rollout_residuals, rollout_terms
from rbdhw.fixed.state_error import ErrorTerm
from rbdhw.golden.rollout import Costs, Residuals, position_cost
from rbdhw.golden.rollout import cost as golden_cost
from rbdhw.golden.solver import simple_elements
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.arrays import as_numbers
from rbdhw.model.interface import FunctionWords
from rbdhw.model.packets import OVERFLOW, check_finite
from rbdhw.model.responses import Words
from rbdhw.model.rollouts.arrays import check_reference, check_rows
from rbdhw.model.rollouts.data import Answered, Array, RolloutArrays
from rbdhw.model.rollouts.part import Part, Results, counts, in_slots
from rbdhw.model.rollouts.positions import (
    LARGEST_WEIGHT,
    OF_POSITIONS,
    check_positions,
    draw_positions,
    position_words,
)
from rbdhw.model.rollouts.random_states import of_unit_length, random_states
from rbdhw.model.rollouts.rows import fitting, nearest, reference_words, unit_of
from rbdhw.protocol import COST, LOAD_COST, LOAD_RESIDUAL, ROLLOUT
from rbdhw.robot.model import Robot

OF_RESIDUALS = ("C", "y", "W")
"""The arrays of residuals."""


class Cost(Part[Costs]):
    """The sum over all steps, by references ``x_ref``, weights ``Q`` of the state and ``R`` of the forces.

    Residuals ``C`` d - ``y`` of the difference d of the state have the weights ``W``, and positions of frames
    less those of ``placement_ref`` have ``position_weight``.
    """

    name = COST
    arrays = ("x_ref", "Q", "R", *OF_RESIDUALS, *OF_POSITIONS)
    absence = "this build computes no costs"
    loads = (LOAD_COST, LOAD_RESIDUAL)

    def commands(self, step: FunctionWords, shape: RolloutShape, first: int) -> list[FunctionWords]:
        # A reference has the slot and the format of the word of the state; a coefficient has its slot.
        terms, residuals = rollout_terms(step, shape), rollout_residuals(step, shape)
        references = [term.reference_word for term in terms if term.weight_of == "x_weight"]
        positions = [term.reference_word for term in terms if term.weight_of == "p_weight"]
        weights = [
            Word(term.weight, f"1/{term.word.unit}", -1, term.weight_format, 0, term.weight_format.highest)
            for term in terms
        ]
        limit = RESIDUAL.highest
        constants = [Word(each.constant, "1", -1, RESIDUAL, -limit, limit) for each in residuals]
        weights += constants + [
            Word(each.weight, "1", -1, WEIGHTED, 0, WEIGHTED.highest) for each in residuals
        ]
        inputs = (*references, *in_slots([*counts(shape, "row"), *positions, *weights], first))
        commands = [FunctionWords(LOAD_COST, inputs, ())]
        return commands + ([_load_of_residuals(residuals, first)] if residuals else [])

    def answer_words(self, step: FunctionWords, shape: RolloutShape) -> list[Word]:
        return [Word(f"{ROLLOUT}.cost", "1", -1, rollout_cost(step, shape))]

    def packet_words(self, model: AcceleratorModel, command: str, rows: Words) -> Words:
        """Return the words of packets; those that load residuals have the coefficients of one each."""
        if command != LOAD_RESIDUAL:
            return rows
        residuals = _residuals(model)
        words = {
            residuals[0].coefficient(term): np.array([rows[each.stored(term)][0] for each in residuals])
            for term in residuals[0].terms
        }
        return words | {"row": np.arange(len(residuals))}

    def check(self, model: AcceleratorModel, arrays: Mapping[str, Array], _tasks: int, steps: int) -> Costs:
        for name in ("Q", "C"):
            if name in arrays and "x_ref" not in arrays:
                raise InputError(
                    "array 'x_ref'", "missing", "the state that is wanted, of each step or of all"
                )
        reference = check_reference(model, "x_ref", arrays.get("x_ref"), steps)
        zeros = np.zeros(model.robot.nq + model.robot.nv), np.zeros(model.robot.nv)
        weights = [
            check_rows(name, arrays.get(name, zero), steps, zero, zero + LARGEST_WEIGHT)
            for name, zero in zip(("Q", "R"), zeros, strict=True)
        ]
        residuals, positions = _check_residuals(model, arrays, steps), check_positions(model, arrays, steps)
        return Costs(reference, weights[0], weights[1], residuals, positions)

    def reference(self, checked: Costs) -> Array:
        return checked.reference

    def with_reference(self, checked: Costs, states: Array) -> Costs:
        return checked._replace(reference=states)

    def rows(self, model: AcceleratorModel, arrays: RolloutArrays) -> Words:
        # A weight is the root of the user's, in a unit in which none is larger than its word.
        costs = self.of(arrays)
        words = {word.name: word for word in model.interface.inputs(LOAD_COST)}
        scale, weights = cost_unit(model, costs), _weights(model, costs)
        errors = [term for term, _, _ in weights if term.weight_of == "x_weight"]
        rows = dict(reference_words(model, arrays, errors, costs.reference))
        if costs.positions is not None:
            rows |= position_words(model, costs.positions)
        for term, values, unit in weights:
            rows[term.weight] = nearest(model, words[term.weight], np.sqrt(values / scale) * unit)
        if costs.residuals is not None:
            rows |= _residual_rows(model, costs.residuals, scale)
        return rows

    def cost(
        self, model: AcceleratorModel, row: Mapping[str, int], words: Words
    ) -> tuple[Integers, Integers | int]:
        assert model.interface.rollout is not None
        terms, residuals = rollout_terms(model.interface.step, model.interface.rollout), _residuals(model)
        values = fitting(words, terms)
        if not residuals:
            return stage_cost(terms, values, row), 0
        weighted, exceeds = weighted_residuals(residuals, values, row)
        return stage_cost(terms, values, row, weighted), OVERFLOW * exceeds.astype(np.int64)

    def results(self, model: AcceleratorModel, arrays: RolloutArrays, answered: Answered) -> Results:
        scale = cost_unit(model, self.of(arrays))
        return {"cost": np.ldexp(answered.cost[:, -1] * scale, -COST_POINT)}

    def golden_results(
        self, model: AcceleratorModel, arrays: RolloutArrays, states: Array, forces: Array
    ) -> Results:
        costs = self.of(arrays)
        total = golden_cost(states, forces, costs, np.asarray(model.domain.wraps))
        if costs.positions is not None:
            total = total + position_cost(model.robot, states, costs.positions)
        return {"cost": total}

    def draw_rows(
        self, model: AcceleratorModel, _centre: Mapping[str, Array], steps: int, rng: np.random.Generator
    ) -> dict[str, Array]:
        reference = of_unit_length(model, random_states(model, steps, rng))
        weights = rng.uniform(0.0, 1.0, reference.shape)
        rows = {"x_ref": reference, "Q": weights, "R": rng.uniform(0.0, 1e-3, (steps, model.robot.nv))}
        if model.robot.tracks:
            rows |= draw_positions(model, steps, rng)
        count = len(_residuals(model))
        if count:
            C, elements = np.zeros((count, 2 * model.robot.nv)), simple_elements(model.robot)[:, 0]
            C[:, elements] = rng.normal(size=(count, len(elements)))
            numbers = rng.uniform(0.0, 1.0, (2, steps, count))
            rows |= {"C": C, "y": 2.0 * numbers[0] - 1.0, "W": numbers[1]}
        return rows


def coefficients_of_steps(loaded: Words, steps: int) -> dict[str, Integers]:
    """Return the words (K,) of the coefficients of all residuals, from those (rows,) of their loads."""
    words = {}
    for name, values in loaded.items():
        for number, value in enumerate(values):
            words[str(WordName("C", (number, *WordName.parse(name).index)))] = np.full(steps, value)
    return words


def cost_unit(model: AcceleratorModel, costs: Costs) -> float:
    """Return the cost that the accelerator counts as one: that of the largest error of the largest weight."""
    largest = [
        float(np.max(weights)) * unit**2 * 4.0**term.exponent
        for term, weights, unit in _weights(model, costs)
    ]
    if costs.residuals is not None:
        limits = largest_residuals(model, costs.residuals)
        largest += [float(np.max(W)) * limit**2 for W, limit in zip(costs.residuals.W.T, limits, strict=True)]
    return max(largest) or 1.0


def largest_residuals(model: AcceleratorModel, residuals: Residuals) -> list[float]:
    """Return what each residual counts as one: more than it is for any words of a state."""
    limits = []
    for residual, y in zip(_residuals(model), residuals.y.T, strict=True):
        C, total = residuals.C[residual.number], 0.0
        for term in residual.terms:
            total += abs(float(C[term.element])) * largest_error(term)
        total += float(np.max(np.abs(y)))
        limits.append(total * room_for_rounding(residual) or 1.0)
    return limits


def room_for_rounding(residual: Residual) -> float:
    """Return a factor by which a residual's limit is raised, as its coefficients and constant are rounded."""
    return 1.0 + (len(residual.terms) + 1) * COEFFICIENT.step


def largest_error(term: ErrorTerm) -> float:
    """Return the largest error of a word, in the unit of the user's array."""
    return unit_of(term) * 2.0**term.exponent


def tangent_rows(robot: Robot, C: Array) -> Array:
    """Return rows (rows, nq + nv) for errors of elements of a state, from those of the tangent space.

    Raises InputError if a row takes a coordinate of an orientation, or of a planar joint, whose difference is
    not that of an element.
    """
    rows, pairs = np.zeros((len(C), robot.nq + robot.nv)), simple_elements(robot)
    others = np.setdiff1d(np.arange(2 * robot.nv), pairs[:, 0])
    used = others[np.any(C[:, others] != 0.0, axis=0)]
    if len(used):
        reason = "takes a coordinate of an orientation or of a planar joint"
        raise InputError(f"array 'C', column {used[0]}", reason, "0, on an accelerator")
    rows[:, pairs[:, 1]] = C[:, pairs[:, 0]]
    return rows


def _check_residuals(model: AcceleratorModel, arrays: Mapping[str, Array], steps: int) -> Residuals | None:
    """Return the residuals of a build, of which those that are not used have no weight."""
    assert model.interface.rollout is not None
    count, nv = model.interface.rollout.cost_rows, model.robot.nv
    given = [name for name in OF_RESIDUALS if name in arrays]
    rows = as_numbers("array 'C'", arrays.get("C", np.zeros((0, 2 * nv))))
    if given and "C" not in given:
        raise InputError("array 'C'", "missing", f"one beside {given[0]}")
    if given and "W" not in given:
        raise InputError("array 'W'", "missing", "one beside C")
    if rows.ndim != 2 or rows.shape[1] != 2 * nv:
        raise InputError("array 'C'", f"shape {rows.shape}", f"(rows, {2 * nv})")
    if len(rows) > count:
        reason = f"has {len(rows)} rows, and the costs of this build {count or 'none'}"
        raise InputError("array 'C'", reason, remedy=f"generate with --cost-rows {len(rows)}")
    if not count:
        return None
    check_finite("C", rows)
    if np.max(np.abs(rows), initial=0.0) > LARGEST_WEIGHT:
        raise InputError(
            "array 'C'", f"a magnitude of {np.max(np.abs(rows)):g}", f"at most {LARGEST_WEIGHT:g}"
        )
    zeros = np.zeros(len(rows))
    limits = zeros + LARGEST_WEIGHT
    y = check_rows("y", arrays.get("y", zeros), steps, -limits, limits)
    W = check_rows("W", arrays.get("W", zeros), steps, zeros, limits)
    unused = ((0, 0), (0, count - len(rows)))
    C = np.pad(tangent_rows(model.robot, rows), unused[::-1])
    return Residuals(C, np.pad(y, unused), np.pad(W, unused))


def _residual_rows(model: AcceleratorModel, residuals: Residuals, scale: float) -> dict[str, Integers]:
    """Return the words (K,) of residuals, whose cost is ``scale`` where an accelerator counts one."""
    interface, rows = model.interface, {}
    words = {word.name: word for word in (*interface.inputs(LOAD_COST), *interface.inputs(LOAD_RESIDUAL))}
    limits = largest_residuals(model, residuals)
    for residual, C, y, W, limit in zip(
        _residuals(model), residuals.C, residuals.y.T, residuals.W.T, limits, strict=True
    ):
        rows[residual.constant] = nearest(model, words[residual.constant], y / limit)
        rows[residual.weight] = nearest(model, words[residual.weight], np.sqrt(W / scale) * limit)
        for term in residual.terms:
            share = np.full(len(y), C[term.element] * largest_error(term) / limit)
            rows[residual.stored(term)] = nearest(model, words[residual.coefficient(term)], share)
    return rows


def _load_of_residuals(residuals: tuple[Residual, ...], first: int) -> FunctionWords:
    """Return the words of the coefficients of one residual."""
    limit, count = COEFFICIENT.highest, len(residuals)
    coefficients = [
        Word(residuals[0].coefficient(term), "1", -1, COEFFICIENT, -limit, limit, term.word.slot)
        for term in residuals[0].terms
    ]
    row = Word("row", "1", -1, Format(count.bit_length() + 1, 0), 0, count - 1)
    return FunctionWords(LOAD_RESIDUAL, (*coefficients, *in_slots([row], first)), ())


def _residuals(model: AcceleratorModel) -> tuple[Residual, ...]:
    assert model.interface.rollout is not None
    return rollout_residuals(model.interface.step, model.interface.rollout)


def _weights(model: AcceleratorModel, costs: Costs) -> list[tuple[CostTerm, Array, float]]:
    """Return each term, its weights (K,), and the unit of its word in that of the user's array."""
    assert model.interface.rollout is not None
    weights = {"x_weight": costs.state_weights, "tau_weight": costs.force_weights}
    if costs.positions is not None:
        weights["p_weight"] = costs.positions.weights
    terms = []
    for term in rollout_terms(model.interface.step, model.interface.rollout):
        index = WordName.parse(term.weight).index
        terms.append((term, np.moveaxis(weights[term.weight_of], 0, -1)[index], unit_of(term)))
    return terms
