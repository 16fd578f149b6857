"""The bit-exact model of an accelerator: everything that determines its answers, without its hardware."""

from __future__ import annotations

from dataclasses import dataclass, field

from rbdhw.domain.bounds import Domain
from rbdhw.fixed.program import Program
from rbdhw.model.fixed_sweep import FixedSweep
from rbdhw.model.interface import Interface
from rbdhw.robot.model import Robot


@dataclass(frozen=True)
class AcceleratorModel:
    """The robot before any rewrite, the bounds of every input, and what determines the answers to packets."""

    robot: Robot
    domain: Domain
    programs: tuple[Program, ...]
    """One for each set of functions that cores compute. Each function is in one."""
    fext: tuple[int, ...]
    """The indices of the bodies that take an external force."""
    interface: Interface
    sweep: FixedSweep | None = field(default=None, kw_only=True)
    """The sweep back of an accelerator that solves."""

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of the accelerator, in the registry's order."""
        return tuple(function.name for function in self.interface.computed)

    @property
    def inputs(self) -> frozenset[str]:
        """The names of the words that tasks of any function bring."""
        return frozenset(word.name for program in self.programs for word in program.inputs)

    def program_of(self, function: str) -> Program:
        """Return the program that computes a function; StopIteration if there is none."""
        return next(program for program in self.programs if function in program.outputs)
