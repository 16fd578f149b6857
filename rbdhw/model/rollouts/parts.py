"""The parts of rollouts, in the order of their words."""

from __future__ import annotations

from typing import Any

from rbdhw.fixed.rollout import RolloutShape
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.rollouts.cost import Cost
from rbdhw.model.rollouts.gains import Gains
from rbdhw.model.rollouts.part import Part
from rbdhw.model.rollouts.samples import Samples

PARTS: tuple[Part[Any], ...] = (Samples(), Cost(), Gains())

ARRAYS = tuple(name for part in PARTS for name in part.arrays)
"""The user's arrays that rollouts of some builds take beside those of ``step``."""


def parts_of(shape: RolloutShape | None) -> list[Part[Any]]:
    """Return the parts of a build; without rollouts there are none."""
    return [part for part in PARTS if shape is not None and part.name in shape.parts]


def parts_in(model: AcceleratorModel) -> list[Part[Any]]:
    """Return the parts of an accelerator."""
    return parts_of(model.interface.rollout)
