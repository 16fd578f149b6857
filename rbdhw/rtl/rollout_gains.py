"""Feedback that is added to the forces of rollouts: the twin of :mod:`rbdhw.fixed.feedback`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.feedback import GAIN, Feedback
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape, rollout_feedback
from rbdhw.fixed.state_error import ErrorTerm
from rbdhw.model.interface import FunctionWords
from rbdhw.protocol import GAINS, LOAD, LOAD_GAINS
from rbdhw.rtl.arithmetic import ADDENDS, add_up, half, sum_latency
from rbdhw.rtl.delay import register
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.rollout_part import Between, PartHardware
from rbdhw.rtl.rows import loaded_words
from rbdhw.rtl.state_error import ERROR_CYCLES, error


def feedback_latency(terms: int) -> int:
    """Return the cycles from a state to the feedback: errors, products, their sum, and its rounding."""
    return ERROR_CYCLES + 1 + sum_latency(terms) + 1


class FeedbackSum(wiring.Component):
    """Computes what feedback adds to all forces, every cycle.

    The feedback to each force has the same terms. ``words`` are those of a row with the references, in the
    order in which they are stored.
    """

    def __init__(self, *, feedback: Sequence[Feedback], words: Sequence[Word]) -> None:
        self.feedback = tuple(feedback)
        self.terms = self.feedback[0].terms
        self.words = tuple(words)
        self.latency = feedback_latency(len(self.terms))
        self.widths = [each.sum_bits - each.drop for each in self.feedback]
        super().__init__(
            {
                # The words of the state, packed in the order of the terms.
                "values": In(sum(term.word.format.width for term in self.terms)),
                "row": In(sum(word.format.width for word in self.words)),  # the row, packed, one cycle later
                # The gains of each force, packed in the order of the forces and then of the terms, one cycle
                # later.
                "gains": In(len(self.feedback) * len(self.terms) * GAIN.width),
                # What is added to each force, in its steps, in `widths`, `latency` cycles after `values`.
                "added": Out(sum(self.widths)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        row = split_words(self.words, self.row)
        values = split_words([term.word for term in self.terms], self.values)
        errors = {
            term: error(m, str(k), term, values[term.word.name], row[str(term.reference)])
            for k, term in enumerate(self.terms)
        }
        size = len(self.terms) * GAIN.width
        m.d.comb += self.added.eq(
            Cat(
                self._rounded(m, feedback, errors, self.gains[k * size : (k + 1) * size])
                for k, feedback in enumerate(self.feedback)
            )
        )
        return m

    def _rounded(self, m: Module, feedback: Feedback, errors: Mapping[ErrorTerm, Any], gains: Any) -> Any:
        products = []
        for k, term in enumerate(self.terms):
            name, width = f"{feedback.coordinate}_{k}", GAIN.width
            gain = register(m, f"gain_{name}", gains[k * width : (k + 1) * width], signed(width))
            product = register(m, f"product_{name}", errors[term] * gain, signed(term.error_bits + width))
            products.append(Cat(Const(0, feedback.shift(term)), product).as_signed())
        total = add_up(m, f"sum_{feedback.coordinate}", products)
        drop = feedback.drop
        rounded = total + half(drop) >> drop if drop > 0 else total << -drop
        return register(m, f"added_{feedback.coordinate}", rounded, signed(feedback.sum_bits - drop))


class GainsHardware(PartHardware):
    """Errors of the state times gains, added up and rounded to the steps of each force."""

    name = GAINS
    early = ("x_nominal",)

    def forces_latency(self, step: FunctionWords, shape: RolloutShape) -> int:
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
        return feedback_products(rollout_feedback(step, shape))

    def cells(self, step: FunctionWords, shape: RolloutShape, fabric: Fabric) -> Cells:
        return feedback_cells(rollout_feedback(step, shape), fabric)


def feedback_products(feedback: Sequence[Feedback]) -> list[tuple[int, int]]:
    """Return the operand widths of the products of feedback."""
    return [(term.error_bits, GAIN.width) for each in feedback for term in each.terms]


def feedback_cells(feedback: Sequence[Feedback], fabric: Fabric) -> Cells:
    """Return the cells of feedback without its products."""
    errors = sum(term.bits for term in feedback[0].terms)
    cells = Cells(luts=2 * errors, flip_flops=2 * errors)
    for each in feedback:
        sums, limits = len(each.terms) - 1, 2.0 * each.force.format.width * (1.0 + fabric.compare)
        cells += Cells(
            luts=sums * each.sum_bits + limits,
            flip_flops=len(each.terms) * GAIN.width + sums / (ADDENDS - 1) * each.sum_bits,
        )
    return cells
