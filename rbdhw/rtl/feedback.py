"""The feedback of rollouts in hardware: the twin of :mod:`rbdhw.fixed.feedback`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.feedback import GAIN, Feedback
from rbdhw.fixed.program import Word
from rbdhw.fixed.state_error import ErrorTerm
from rbdhw.rtl.adder_tree import ADDENDS, add_up, sum_latency
from rbdhw.rtl.arithmetic import half
from rbdhw.rtl.delay import register
from rbdhw.rtl.layouts import split_words
from rbdhw.rtl.state_error import ERROR_CYCLES, error


def feedback_latency(terms: int) -> int:
    """Return the cycles from a state to the feedback: errors, products, their sum, and its rounding."""
    return ERROR_CYCLES + 1 + sum_latency(terms) + 1


class FeedbackSum(wiring.Component):
    """Computes what feedback adds to all forces, every cycle.

    Parameters
    ----------
    feedback : sequence of Feedback
        That of each force. All have the same terms.
    words : sequence of Word
        The words of a row with the references, in the order in which they are stored.
    """

    def __init__(self, *, feedback: Sequence[Feedback], words: Sequence[Word]) -> None:
        self.feedback = tuple(feedback)
        self.terms = self.feedback[0].terms
        self.words = tuple(words)
        self.latency = feedback_latency(len(self.terms))
        self.widths = [own.sum_bits - own.drop for own in self.feedback]
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
        own_gains = [self.gains[k * size : (k + 1) * size] for k in range(len(self.feedback))]
        rounded = [
            self._rounded(m, own, errors, gains) for own, gains in zip(self.feedback, own_gains, strict=True)
        ]
        m.d.comb += self.added.eq(Cat(rounded))
        return m

    def _rounded(self, m: Module, own: Feedback, errors: Mapping[ErrorTerm, Any], gains: Any) -> Any:
        """Return what is added to one force."""
        products = []
        for k, term in enumerate(self.terms):
            name, width = f"{own.coordinate}_{k}", GAIN.width
            gain = register(m, f"gain_{name}", gains[k * width : (k + 1) * width], signed(width))
            product = register(m, f"product_{name}", errors[term] * gain, signed(term.error_bits + width))
            products.append(Cat(Const(0, own.shift(term)), product).as_signed())
        total = add_up(m, f"sum_{own.coordinate}", products)
        rounded = total + half(own.drop) >> own.drop if own.drop > 0 else total << -own.drop
        return register(m, f"added_{own.coordinate}", rounded, signed(own.sum_bits - own.drop))


def feedback_cells(feedback: Sequence[Feedback], fabric: Fabric) -> Cells:
    """Return the cells of errors, of products that are added up, and of the sums' limits."""
    errors = sum(term.bits for term in feedback[0].terms)
    cells = Cells(luts=2 * errors, flip_flops=2 * errors)
    for own in feedback:
        sums = len(own.terms) - 1
        cells += Cells(
            luts=sums * own.sum_bits + 2.0 * own.force.format.width * (1.0 + fabric.compare),
            flip_flops=len(own.terms) * GAIN.width + sums / (ADDENDS - 1) * own.sum_bits,
        )
    return cells
