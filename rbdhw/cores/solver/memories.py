"""The memories of a solver beside that of its sweep, and whether a device has them in look-up tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.estimate.fabric import FABRICS, Cells
from rbdhw.fixed.feedback import GAIN
from rbdhw.fixed.program import Word
from rbdhw.target import Target

TRAJECTORIES, POLICIES = "trajectories", "policies"
GOALS, CURVATURES, LIMITS = "goals", "curvatures_of_goals", "limits_of_goals"

SPARED = 3.0
"""How many times the share of a device's look-up tables block RAMs have to be before tables replace them.

Goals have few rows, which fill a part of the block RAMs that their width takes.
"""


class SolverMemory(NamedTuple):
    """A memory with one port to write and one to read, whose word is registered."""

    width: int
    rows: int

    def in_tables(self, device: Target) -> bool:
        """Return whether it is in look-up tables although Yosys would choose block RAMs."""
        tables, blocks = self._in_tables(device).luts, self._in_blocks(device).block_rams
        return SPARED * tables / device.luts < blocks / device.block_rams

    def cells(self, device: Target) -> Cells:
        """Return the cells that it takes."""
        return self._in_tables(device) if self.in_tables(device) else self._in_blocks(device)

    def _in_tables(self, device: Target) -> Cells:
        return FABRICS[device.family].distributed(*self) + Cells(flip_flops=self.width)

    def _in_blocks(self, device: Target) -> Cells:
        return FABRICS[device.family].memory(*self)


def solver_memories(timing: SolverTiming) -> dict[str, SolverMemory]:
    """Return the memories by name, with the rows of all problems: for each knot or step, in banks."""
    shape = timing.shape
    steps, knots = shape.problems * shape.knots, shape.problems * (shape.knots + 1)
    row, changes = _width(shape.trajectory), _width(shape.taus)
    return {
        TRAJECTORIES: SolverMemory(row, timing.banks * knots),
        POLICIES: SolverMemory(len(shape.gains) * GAIN.width + changes, 2 * knots),
        GOALS: SolverMemory(_width(shape.goal), 2 * steps),
        CURVATURES: SolverMemory(_width([each.word for each in shape.curvatures]), 2 * steps),
        LIMITS: SolverMemory(_width(shape.limits), 2 * steps),
    }


def _width(words: Sequence[Word]) -> int:
    return sum(word.format.width for word in words)
