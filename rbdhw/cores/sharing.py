"""What shares hardware in a core: symmetric limbs."""

from __future__ import annotations

from dataclasses import dataclass

from rbdhw.graph.twins import Twins
from rbdhw.robot.symmetry import LimbGroup


@dataclass(frozen=True)
class Sharing:
    """The groups of limbs that share hardware, and their twins in the graph."""

    twins: Twins
    limbs: tuple[LimbGroup, ...] = ()
