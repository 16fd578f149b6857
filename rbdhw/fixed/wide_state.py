"""The state of joints of several degrees of freedom in the words of a solver.

The difference from a reference in the tangent space is a linear function of the elements of the
configuration, and zero at the reference. So it is a sum of coefficients times errors, and the coefficients
are the reference's alone: a goal's row has them.

Source of the differences: :func:`rbdhw.golden.solver.difference`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.fixed.cost import COEFFICIENT, WEIGHTED, ErrorSum
from rbdhw.fixed.format import Format, Integers, wrap
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import StateWord
from rbdhw.fixed.state_error import ErrorTerm
from rbdhw.graph.knots import ATTITUDE, DISPLACEMENT, QUATERNION, REFERENCE
from rbdhw.robot.wide_joints import WideJoint

Array = NDArray[np.float64]

SIGN_BITS = 9
"""The highest bits of the elements of quaternions by which the signs of two are compared."""


@dataclass(frozen=True)
class CoordinateDifference(ErrorSum):
    """The difference of coordinate ``number`` of the tangent space from a reference.

    ``terms`` are the errors of a joint's position, or of its quaternion, of which it is a ``chord``.
    """

    chord: bool

    @property
    def weight(self) -> str:
        return str(WordName("d_weight", (self.number,)))

    @property
    def exponent(self) -> int:
        """The binary logarithm of the unit, which no difference of unit quaternions or positions exceeds."""
        return max(term.exponent for term in self.terms) + 1 + self.chord

    @property
    def weight_format(self) -> Format:
        """The format of the weight; a difference of the unit times the largest weight is below one."""
        return Format(WEIGHTED.width, WEIGHTED.binary_point + self.exponent)

    def stored(self, term: ErrorTerm) -> str:
        return str(WordName("d_row", (self.number, term.element)))

    @property
    def coefficients(self) -> tuple[Word, ...]:
        """The coefficients as words of a goal's row."""
        most = COEFFICIENT.highest
        return tuple(Word(self.stored(term), "1", -1, COEFFICIENT, -most, most) for term in self.terms)

    def quantised(self, row: Array) -> dict[str, Integers]:
        """Return the words (N,) of coefficients (terms, N)."""
        words, most = {}, COEFFICIENT.highest
        for term, numbers in zip(self.terms, row, strict=True):
            word = COEFFICIENT.quantise(np.ldexp(numbers, term.exponent - self.exponent))
            words[self.stored(term)] = np.clip(word, -most, most)
        return words


class Copy(NamedTuple):
    """A word of a trajectory, before or ``behind`` a step, or of the ``goal``, that is a number of a knot.

    A velocity is taken ``by_time_step``.
    """

    number: str
    word: Word
    behind: bool = False
    of_goal: bool = False
    by_time_step: bool = False


@dataclass(frozen=True)
class WideState:
    """A joint of several degrees of freedom, with the errors of the elements of its configuration."""

    joint: WideJoint
    terms: tuple[ErrorTerm, ...]

    @property
    def differences(self) -> tuple[CoordinateDifference, ...]:
        """The differences of all coordinates."""
        moves = len(self.joint.position)
        return tuple(
            CoordinateDifference(i, self.terms[moves:] if k >= moves else self.terms[:moves], k >= moves)
            for k, i in enumerate(self.joint.coordinates)
        )

    def copies(self, rates: Sequence[StateWord]) -> Iterator[Copy]:
        """Yield the numbers of a knot that are words as they are; ``rates`` are the words of a velocity."""
        for i in self.joint.coordinates:
            yield Copy(f"{DISPLACEMENT}[{i}]", rates[i].word, behind=True, by_time_step=True)
        for c in self.joint.quaternion:
            term = self.terms[c - self.joint.span.start]
            yield Copy(f"{QUATERNION}[{c}]", term.word, behind=True)
            yield Copy(f"{REFERENCE}[{c}]", term.reference_word, of_goal=True)
            yield Copy(f"{ATTITUDE}[{c}]", term.word)

    def coefficients(self, q: Array) -> dict[str, Integers]:
        """Return the words (N,) of a goal's rows whose references are ``q`` (N, nq)."""
        words: dict[str, Integers] = {}
        for difference, row in zip(self.differences, self.rows(q), strict=True):
            words |= difference.quantised(row)
        return words

    def rows(self, q: Array) -> list[Array]:
        """Return the coefficients (terms, N) of the difference of each coordinate from ``q`` (N, nq)."""
        quaternion = q[:, list(self.joint.quaternion)]
        x, y, z, w = (quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)).T
        chord = [[w, z, -y, -x], [-z, w, x, -y], [y, -x, w, -z]]
        axes = _axes(x, y, z, w) if len(self.joint.position) else []
        return [*map(np.array, axes), *(2.0 * np.array(row) for row in chord)]

    def differences_of(self, q: Array, errors: Array) -> Array:
        """Return the differences (N, nv_i) from ``q`` (N, nq) for errors (N, nq) of its elements."""
        return np.stack(
            [
                np.sum(row.T * errors[:, [term.element for term in difference.terms]], axis=1)
                for difference, row in zip(self.differences, self.rows(q), strict=True)
            ],
            axis=1,
        )

    def gains_of(self, q: Array, gains: Array) -> Array:
        """Return gains (N, nv, nv_i) of differences from ``q`` (N, nq) for those (N, nv, nq) of errors."""
        columns = []
        for difference, row in zip(self.differences, self.rows(q), strict=True):
            of_terms = gains[..., [term.element for term in difference.terms]]
            columns.append(
                np.sum(of_terms * row.T[:, np.newaxis], axis=2) / (4.0 if difference.chord else 1.0)
            )
        return np.stack(columns, axis=-1)

    def near(self, task: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
        """Return the words of the quaternion of a task with the sign that is nearer to another state's."""
        words = self.quaternion
        product = sum(_highest(word, task) * _highest(word, other) for word in words)
        sign = -1 if product < 0 else 1
        return {word.name: int(wrap(np.array(sign * task[word.name]), word.format.width)) for word in words}

    @property
    def quaternion(self) -> list[Word]:
        """The words of the quaternion."""
        return [self.terms[c - self.joint.span.start].word for c in self.joint.quaternion]


def _highest(word: Word, words: Mapping[str, int]) -> int:
    return words[word.name] >> word.format.width - SIGN_BITS


def _axes(x: Array, y: Array, z: Array, w: Array) -> list[list[Array]]:
    """Return the axes of an orientation in the frame around it, the rows of the transposed rotation."""
    return [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
        [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)],
        [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
