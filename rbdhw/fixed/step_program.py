"""Programs of sweeps: that of one step, and that of all links or stages.

All links have the same formats, because one hardware computes their steps.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Program, Word
from rbdhw.graph.sweeps import Sweeps


@dataclass(frozen=True)
class StepProgram:
    """The program of a link's step in every sweep; each sweep is a function of it.

    The words of a sweep's results are named after the inputs that take them, after a dot: ``motion.`` and
    the input's name. Results of the function are named as the outputs: ``release.a[0]``, ``rk4.x_next[0]``.
    """

    sweeps: Sweeps
    program: Program

    def taker(self, word: Word) -> str | None:
        """Return the name of the input that takes a result of a step; None for a result of the function."""
        name = word.name.partition(".")[2]
        return name if name in self.sweeps.sources else None


@dataclass(frozen=True)
class UnrolledProgram(Program):
    """The program of all steps one after the other."""

    steps: StepProgram
    """The program of a link's step."""
    origins: tuple[int | None, ...]
    """For each operation, that of ``steps`` which it repeats; None for a number of the task or a constant."""

    def origin(self, i: int) -> int | None:
        """Return the operation of the step, and so its node, that an operation repeats."""
        return self.origins[i]

    @cached_property
    def plain(self) -> Program:
        """The program as a design's folder holds it: without the step that it repeats."""
        return Program(**{field.name: getattr(self, field.name) for field in fields(Program)})


def constant_integer(chosen: Format, value: float, chooses: bool = False) -> int:
    """Return a constant of a link as the integer of its format; one that chooses is 0 or 1."""
    return int(value) if chooses else int(chosen.quantise(np.asarray(value)))
