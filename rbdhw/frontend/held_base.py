"""A floating base that a task may hold: it then moves as the task says, whatever the forces on it are.

The base is eliminated last from the mass matrix, so what the joints alone need is there before it is. Where
the base is held, the inverses of its blocks count as zero, and its acceleration is the task's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rbdhw.dynamics.factorization import Factors, Settle
from rbdhw.dynamics.floating_base import FloatingBody
from rbdhw.graph.trace import Signal
from rbdhw.scalar import Scalar, is_zero, region

BASE_DOFS = range(6)
"""The degrees of freedom of the base."""

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class HeldBase:
    """The choice of a task between a base that floats and one that is held."""

    recorder: Any
    """Records choices."""
    held: Signal
    """One if the base is held, zero if it floats."""
    acceleration: Sequence[Scalar]
    """The acceleration [linear; angular] of a held base, in its frame and without gravity."""
    floating: FloatingBody
    """The base's velocity and the gravity in its frame."""

    def proper(self) -> list[Scalar]:
        with region("floating"):
            x, y, z, *angular = self.acceleration
            return [*self.floating.proper((x, y, z)), *angular]

    def choose(self, known: Sequence[Scalar], others: Sequence[Scalar]) -> list[Scalar]:
        """Return ``others``, in which the entries of a held base are ``known`` (6,)."""
        with region("floating"):
            base = [self._select(*pair) for pair in zip(known, others, strict=False)]
        return [*base, *others[len(base) :]]

    def settle(self, known: Sequence[Scalar]) -> Settle:
        """Return the choice between the entries ``known`` (6,) of a held base and those of a floating one."""

        def settled(k: int, entry: Scalar) -> Scalar:
            return self._select(known[k], entry) if k in BASE_DOFS else entry

        return settled

    def without_base(self, factors: Factors) -> Factors:
        """Return factors in which the inverses of a held base's blocks are zero."""
        blocks = []
        for block in factors.blocks:
            if block.members[0] in BASE_DOFS:
                with region("factorization", block.members[-1]):
                    block = replace(block, factor=self._select(0.0, block.factor))
            blocks.append(block)
        return replace(factors, blocks=tuple(blocks))

    def clear_columns(self, matrix: Matrix) -> Matrix:
        """Return derivatives (nv, nv) whose columns of a held base are zero."""
        with region("floating"):
            return [
                [self._select(0.0, entry) if k in BASE_DOFS else entry for k, entry in enumerate(row)]
                for row in matrix
            ]

    def clear_pairs(self, matrix: Matrix) -> Matrix:
        """Return derivatives by two numbers (nv, nv) whose rows and columns of a held base are zero."""
        with region("floating"):
            return [
                [
                    self._select(0.0, entry) if j in BASE_DOFS or k in BASE_DOFS else entry
                    for k, entry in enumerate(row)
                ]
                for j, row in enumerate(matrix)
            ]

    def clear_tensor(self, tensor: Sequence[Matrix]) -> list[Matrix]:
        """Return derivatives (nv, nv, nv) of which those of a held base, and by its motion, are zero."""
        with region("floating"):
            base = [[[self._select(0.0, entry) for entry in row] for row in tensor[i]] for i in BASE_DOFS]
        return [*base, *map(self.clear_pairs, tensor[len(base) :])]

    def _select(self, known: Scalar, other: Scalar) -> Scalar:
        same = is_zero(known) and is_zero(other)
        return other if same else self.recorder.select(self.held, known, other)
