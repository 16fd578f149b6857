"""Costs of rollouts: squares of weighted errors and forces, added up."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdhw.arrays import WordName
from rbdhw.errors import InputError
from rbdhw.fixed.cost import COST_POINT, CostTerm, cost_format, stage_cost
from rbdhw.fixed.format import Integers
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape, rollout_terms
from rbdhw.golden.rollout import cost as golden_cost
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.interface import FunctionWords
from rbdhw.model.responses import Words
from rbdhw.model.rollouts.arrays import check_reference, check_rows
from rbdhw.model.rollouts.data import Answered, Array, RolloutArrays
from rbdhw.model.rollouts.part import Part, Results, counts, in_slots
from rbdhw.model.rollouts.random_states import of_unit_length, random_states
from rbdhw.model.rollouts.rows import fitting, nearest, reference_words, unit_of
from rbdhw.protocol import COST, LOAD_COST, ROLLOUT

Costs = tuple[Array, Array, Array]
"""References (K, nq + nv), and weights of the state and of the forces (K, nv)."""

LARGEST_WEIGHT = 1e12
"""The largest weight of a cost."""


class Cost(Part[Costs]):
    """The sum over all steps, by references ``x_ref``, weights ``Q`` of the state and ``R`` of the forces."""

    name = COST
    arrays = ("x_ref", "Q", "R")
    absence = "this build computes no costs"
    loads = LOAD_COST

    def command(self, step: FunctionWords, shape: RolloutShape, first: int) -> FunctionWords:
        # A reference has the slot and the format of the word of the state.
        terms = rollout_terms(step, shape)
        references = [term.reference_word for term in terms if term.reference is not None]
        weights = [
            Word(term.weight, f"1/{term.word.unit}", -1, term.weight_format, 0, term.weight_format.highest)
            for term in terms
        ]
        inputs = (*references, *in_slots([*counts(shape, "row"), *weights], first))
        return FunctionWords(LOAD_COST, inputs, ())

    def answer_words(self, step: FunctionWords, shape: RolloutShape) -> list[Word]:
        format_ = cost_format(len(rollout_terms(step, shape)), shape.horizon)
        return [Word(f"{ROLLOUT}.cost", "1", -1, format_)]

    def check(self, model: AcceleratorModel, arrays: Mapping[str, Array], _tasks: int, steps: int) -> Costs:
        if "Q" in arrays and "x_ref" not in arrays:
            raise InputError("array 'x_ref'", "missing", "the state that is wanted, of each step or of all")
        reference = check_reference(model, "x_ref", arrays.get("x_ref"), steps)
        zeros = np.zeros(model.robot.nq + model.robot.nv), np.zeros(model.robot.nv)
        weights = [
            check_rows(name, arrays.get(name, zero), steps, zero, zero + LARGEST_WEIGHT)
            for name, zero in zip(("Q", "R"), zeros, strict=True)
        ]
        return reference, weights[0], weights[1]

    def reference(self, checked: Costs) -> Array:
        return checked[0]

    def with_reference(self, checked: Costs, states: Array) -> Costs:
        return (states, *checked[1:])

    def rows(self, model: AcceleratorModel, arrays: RolloutArrays) -> Words:
        # A weight is the root of the user's, in a unit in which none is larger than its word.
        costs = self.of(arrays)
        words = {word.name: word for word in model.interface.inputs(LOAD_COST)}
        scale, weights = cost_unit(model, costs), _weights(model, costs)
        rows = dict(reference_words(model, arrays, [term for term, _, _ in weights], costs[0]))
        for term, values, unit in weights:
            rows[term.weight] = nearest(model, words[term.weight], np.sqrt(values / scale) * unit)
        return rows

    def cost(self, model: AcceleratorModel, row: Mapping[str, int], words: Words) -> Integers:
        assert model.interface.rollout is not None
        terms = rollout_terms(model.interface.step, model.interface.rollout)
        return stage_cost(terms, fitting(words, terms), row)

    def results(self, model: AcceleratorModel, arrays: RolloutArrays, answered: Answered) -> Results:
        scale = cost_unit(model, self.of(arrays))
        return {"cost": np.ldexp(answered.cost[:, -1] * scale, -COST_POINT)}

    def golden_results(
        self, model: AcceleratorModel, arrays: RolloutArrays, states: Array, forces: Array
    ) -> Results:
        return {"cost": golden_cost(states, forces, self.of(arrays), np.asarray(model.domain.wraps))}

    def draw_rows(
        self, model: AcceleratorModel, _centre: Mapping[str, Array], steps: int, rng: np.random.Generator
    ) -> dict[str, Array]:
        reference = of_unit_length(model, random_states(model, steps, rng))
        weights = rng.uniform(0.0, 1.0, reference.shape)
        return {"x_ref": reference, "Q": weights, "R": rng.uniform(0.0, 1e-3, (steps, model.robot.nv))}


def cost_unit(model: AcceleratorModel, costs: Costs) -> float:
    """Return the cost that the accelerator counts as one: that of the largest error of the largest weight."""
    largest = [
        float(np.max(weights)) * unit**2 * 4.0**term.exponent
        for term, weights, unit in _weights(model, costs)
    ]
    return max(largest) or 1.0


def _weights(model: AcceleratorModel, costs: Costs) -> list[tuple[CostTerm, Array, float]]:
    """Return each term, its weights (K,), and the unit of its word in that of the user's array."""
    assert model.interface.rollout is not None
    terms = []
    for term in rollout_terms(model.interface.step, model.interface.rollout):
        weights = costs[2 if term.reference is None else 1]
        terms.append((term, weights[:, WordName.parse(term.weight).index[0]], unit_of(term)))
    return terms
