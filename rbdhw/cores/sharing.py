"""What shares hardware in a core: symmetric limbs, or the stages of a method in time."""

from __future__ import annotations

from dataclasses import dataclass

from rbdhw.graph.stages import State
from rbdhw.graph.twins import Twins
from rbdhw.robot.symmetry import LimbGroup

StageGroup = tuple[State, ...]
"""The states of stages that share hardware, in the order of the stages."""


@dataclass(frozen=True)
class Sharing:
    """The groups of limbs, or of stages, that share hardware, and their twins in the graph."""

    twins: Twins
    limbs: tuple[LimbGroup, ...] = ()
    stages: tuple[StageGroup, ...] = ()
