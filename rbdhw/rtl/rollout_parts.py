"""The hardware of all parts of rollouts: those that add to the forces first."""

from __future__ import annotations

from rbdhw.fixed.rollout import RolloutShape
from rbdhw.rtl.rollout_cost import CostHardware
from rbdhw.rtl.rollout_gains import GainsHardware
from rbdhw.rtl.rollout_part import PartHardware
from rbdhw.rtl.rollout_samples import SamplesHardware

HARDWARE: tuple[PartHardware, ...] = (SamplesHardware(), GainsHardware(), CostHardware())


def hardware_of(shape: RolloutShape) -> list[PartHardware]:
    return [part for part in HARDWARE if part.name in shape.parts]
