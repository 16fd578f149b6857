"""The bit-exact model of an accelerator: everything that determines its answers, without its hardware."""

from __future__ import annotations

from dataclasses import dataclass

from rbdhw.domain.bounds import Domain
from rbdhw.fixed.program import Program
from rbdhw.interface import Interface
from rbdhw.robot.model import Robot


@dataclass(frozen=True)
class AcceleratorModel:
    """The bit-exact model of an accelerator.

    Parameters
    ----------
    robot
        The robot that the URDF describes, before any rewrite.
    domain
        The bounds of every input.
    program
        The bit-exact program of all functions.
    fext
        The indices of the bodies that take an external force.
    interface
        The layout of packets.
    """

    robot: Robot
    domain: Domain
    program: Program
    fext: tuple[int, ...]
    interface: Interface

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of the accelerator, in the order of their codes."""
        return tuple(function.name for function in self.interface.functions)
