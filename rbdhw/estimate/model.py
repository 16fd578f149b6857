"""The estimate of a bound design: its parts, weighed as Yosys' results say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rbdhw.estimate.calibration import PARTS, WEIGHED, calibration
from rbdhw.estimate.resources import RESOURCES, Resources
from rbdhw.target import Target

NAMES = {
    "luts": "LUTs",
    "flip_flops": "flip-flops",
    "dsp_blocks": "DSP blocks",
    "block_rams": "block RAMs",
}
"""Resources as a sentence names them."""


UNWEIGHED: Mapping[str, Mapping[str, float]] = {resource: dict.fromkeys(PARTS, 1.0) for resource in WEIGHED}
"""Weights where there are no results."""


def percent(share: float) -> str:
    """A share as it is given: without a digit more."""
    return f"{100.0 * share:.6g}%"


@dataclass(frozen=True)
class Short:
    """A resource of which a design takes more than it may."""

    resource: str
    needed: int
    offered: int
    share: float

    def __str__(self) -> str:
        allowed = int(self.share * self.offered)
        return (
            f"{self.needed:,} {NAMES[self.resource]}, {self.needed - allowed:,} more than "
            f"{percent(self.share)} of {self.offered:,}"
        )


def weights_of(device: Target, core: str) -> Mapping[str, Mapping[str, float]]:
    """The weights of a core's parts on a device; 1 where there are no results of such."""
    return calibration().weights.get(device.name, {}).get(core, UNWEIGHED)


def estimate_entry(found: Resources, device: Target, core: str) -> dict[str, Any]:
    """What the manifest states of an estimate: counts, shares of the device, and how far off it may be.

    ``error`` holds the errors of the core's designs in the table, each robot's by the weights of the others;
    None where the table has none on the device.
    """
    rounded = {resource: round(share, 4) for resource, share in shares(found, device).items()}
    error = calibration().errors.get(device.name, {}).get(core)
    return found.json() | {"shares": rounded, "error": error}


def shares(found: Resources, device: Target) -> dict[str, float]:
    """The part of a device that a design takes, by resource."""
    return {resource: getattr(found, resource) / getattr(device, resource) for resource in RESOURCES}


def load(found: Resources, device: Target) -> float:
    """The shares of all resources of a device together: of two designs the one with less is cheaper."""
    return sum(shares(found, device).values())


def short_of(found: Resources, device: Target, share: float) -> list[Short]:
    """The resources of which a design takes more than a share of the device."""
    return [
        Short(resource, getattr(found, resource), getattr(device, resource), share)
        for resource, taken in shares(found, device).items()
        if taken > share
    ]
