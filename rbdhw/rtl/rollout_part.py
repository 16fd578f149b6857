"""What a part of rollouts is in hardware: what it does between two steps, and what that takes."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from amaranth.hdl import Module

from rbdhw.delays import Delays
from rbdhw.estimate.fabric import Cells, Fabric
from rbdhw.fixed.rollout import RolloutShape
from rbdhw.model.interface import FunctionWords, Interface


@dataclass(frozen=True)
class Between:
    """What parts read and drive between two steps."""

    interface: Interface
    entry: Any  # a rollout, with the state and the forces of the last step
    # The number of a row by the command that loads it, and the row a cycle later.
    addresses: Mapping[str, Any]
    rows: Mapping[str, Any]
    later: Callable[[str, Any, int], Any]  # returns a value, which it names, after some cycles

    @property
    def step(self) -> FunctionWords:
        return self.interface.step

    @property
    def shape(self) -> RolloutShape:
        assert self.interface.rollout is not None
        return self.interface.rollout


class PartHardware(ABC):
    """The hardware of a part. What is not overridden adds nothing."""

    name: ClassVar[str]  # one of `ROLLOUT_PARTS`
    # The arrays of a row that it reads a cycle after the state comes; forces are read later.
    early: ClassVar[tuple[str, ...]] = ()

    def fields(self, _step: FunctionWords, _shape: RolloutShape) -> dict[str, int]:
        """Return the widths of what belongs to a rollout, by name."""
        return {}

    def refusals(self, _numbers: Mapping[str, Any]) -> list[Any]:
        """Return what makes a request for a rollout malformed, from the numbers of its words."""
        return []

    def entering(self, _numbers: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of fields of a rollout that enters, from these numbers."""
        return {}

    def forces_latency(self, _step: FunctionWords, _shape: RolloutShape) -> int:
        """Return the cycles until what is added to the forces is there."""
        return 0

    def latency(self, _step: FunctionWords, _shape: RolloutShape) -> int:
        """Return the cycles that the rest takes."""
        return 0

    def forces(self, _m: Module, _between: Between, _row: Mapping[str, Any], _cycles: int) -> dict[str, Any]:
        """Return what is added to the forces after these cycles; ``row`` is there one cycle before."""
        return {}

    def results(self, _m: Module, _between: Between, _cycles: int) -> dict[str, Any]:
        """Return new values of fields after these cycles."""
        return {}

    def products(self, _step: FunctionWords, _shape: RolloutShape) -> list[tuple[int, int]]:
        """Return the operand widths of the products."""
        return []

    def period(self, _delays: Delays) -> float:
        """Return the time (ns) that operators beside products and sums need in the longest cycle."""
        return 0.0

    def cells(self, _step: FunctionWords, _shape: RolloutShape, _fabric: Fabric) -> Cells:
        """Return the cells."""
        return Cells()
