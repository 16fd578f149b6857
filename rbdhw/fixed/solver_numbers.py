"""What numbers of a knot are made of: factors, curvatures, changes of a state, derivatives of a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.arrays import GivenElement, given_elements
from rbdhw.fixed.format import Format, Integers, exponent_above, round_half_up, wrap
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import StepWords
from rbdhw.graph.knots import POSITION_ROW
from rbdhw.protocol import TRACKED_JACOBIAN

FACTOR_BITS = 24
"""The bits of a factor that is no word of a task."""

CHANGE_BITS = 27
"""The most bits of the change of a word of a state, the wide port of a multiplier."""


@dataclass(frozen=True)
class Factor:
    """A factor of words, which is constant, the word ``h`` with its largest one, or a weight of a goal."""

    name: str
    format: Format
    constant: int | None = None
    most_word: int | None = None

    @property
    def most(self) -> float:
        """The largest factor."""
        most = self.most_word if self.constant is None else self.constant
        return (self.format.highest if most is None else most) * self.format.step

    @classmethod
    def of(cls, name: str, value: float) -> Factor:
        """Return a constant factor."""
        format_ = Format(FACTOR_BITS, FACTOR_BITS - 1 - exponent_above(value))
        return cls(name, format_, round(value / format_.step))


@dataclass(frozen=True)
class Curvature:
    """A word of a goal's row that becomes the ``number`` of a knot: of the one after its step, or before."""

    word: Word
    number: str
    of_next_knot: bool


@dataclass(frozen=True)
class Change:
    """A change of a word of a state: a difference of so many ``bits``, of which some are rounded away."""

    bits: int
    binary_point: int

    @property
    def drop(self) -> int:
        """The bits that are rounded away; one bit is kept for the rounding."""
        return max(0, self.bits + 1 - CHANGE_BITS)

    @property
    def format(self) -> Format:
        return Format(self.bits - self.drop + bool(self.drop), self.binary_point - self.drop)

    def rounded(self, difference: Integers) -> Integers:
        """Return the change for a difference of words, which wraps."""
        return round_half_up(wrap(difference, self.bits), self.drop)


def step_derivatives(dstep: StepWords, nv: int, forces: Sequence[int]) -> dict[str, GivenElement]:
    """Return the elements of a knot's ``D`` and ``P`` that words of ``dstep`` give; others are always zero.

    ``forces`` are the coordinates whose forces change.
    """
    elements = {}
    for element in given_elements((word.elements for word in dstep.outputs), nv):
        if element.name.array == TRACKED_JACOBIAN:
            frame, axis, column = element.name.index
            elements[f"{POSITION_ROW}[{3 * frame + axis},{column}]"] = element
        if element.integrated or element.name.array not in ("A", "B"):
            continue
        row, column = element.name.index[0] - nv, element.name.index[1]
        if row < 0 or (element.name.array == "B" and column not in forces):
            continue
        column = column if element.name.array == "A" else 2 * nv + forces.index(column)
        elements[f"D[{row},{column}]"] = element
    return elements
