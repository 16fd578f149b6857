"""Feedback that is added to the forces of rollouts, in hardware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.feedback import GAIN
from rbdhw.fixed.rollout import RolloutShape, rollout_feedback
from rbdhw.model.interface import FunctionWords
from rbdhw.protocol import GAINS, LOAD, LOAD_GAINS
from rbdhw.rtl.feedback import FeedbackSum, feedback_cells, feedback_latency
from rbdhw.rtl.rollout_part import Between, PartHardware
from rbdhw.rtl.rows import loaded_words


class GainsHardware(PartHardware):
    """Errors of the state times gains, added up and rounded to the steps of each force."""

    name = GAINS
    early = ("x_nominal",)

    def forces_latency(self, step: FunctionWords, shape: RolloutShape) -> int:
        """Return the cycles until the feedback is there."""
        return feedback_latency(len(rollout_feedback(step, shape)[0].terms))

    def forces(self, m: Module, between: Between, _row: Mapping[str, Any], cycles: int) -> dict[str, Any]:
        """Return what feedback adds to each force, in its steps."""
        feedback = rollout_feedback(between.step, between.shape)
        m.submodules.feedback = block = FeedbackSum(
            feedback=feedback, words=loaded_words(between.interface, LOAD)
        )
        m.d.comb += [
            block.values.eq(between.entry.state),
            block.row.eq(between.rows[LOAD]),
            between.addresses[LOAD_GAINS].eq(between.entry.done),
            block.gains.eq(between.rows[LOAD_GAINS]),
        ]
        sums, first, added = between.later("added", block.added, cycles - block.latency), 0, {}
        for each, width in zip(feedback, block.widths, strict=True):
            added[each.force.name] = sums[first : first + width].as_signed()
            first += width
        return added

    def products(self, step: FunctionWords, shape: RolloutShape) -> list[tuple[int, int]]:
        """Return those of errors and gains."""
        forces = rollout_feedback(step, shape)
        return [(term.error_bits, GAIN.width) for force in forces for term in force.terms]

    def cells(self, step: FunctionWords, shape: RolloutShape, fabric: Fabric) -> Cells:
        """Return the cells of errors, products and sums."""
        return feedback_cells(rollout_feedback(step, shape), fabric)
