"""The estimate of a bound design: its parts, weighted by the calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rbdhw.estimate.calibration import PARTS, WEIGHED, calibration
from rbdhw.estimate.resources import RESOURCES, Resources
from rbdhw.target import TARGETS, Target

NAMES = {
    "luts": "LUTs",
    "flip_flops": "flip-flops",
    "dsp_blocks": "DSP blocks",
    "block_rams": "block RAMs",
}
"""The names of resources in sentences."""


UNWEIGHED: Mapping[str, Mapping[str, float]] = {resource: dict.fromkeys(PARTS, 1.0) for resource in WEIGHED}
"""The weights if there are no results."""


def percent(share: float) -> str:
    """Return a share as a percentage with up to six significant digits."""
    return f"{100.0 * share:.6g}%"


@dataclass(frozen=True)
class Short:
    """A resource of which a design needs more than the allowed share."""

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
    """Return the weights of a core's parts on a device; they are 1 without results for them."""
    return calibration().weights.get(synthesised_for(device), {}).get(core, UNWEIGHED)


def synthesised_for(device: Target) -> str:
    """Return the device to whose results the estimates for ``device`` are fitted: of the same family."""
    names = [name for name in calibration().weights if TARGETS[name].family == device.family]
    return names[0] if names else device.name


def shares(needs: Resources, device: Target) -> dict[str, float]:
    """Return the share of the device that a design needs, by resource."""
    return {resource: getattr(needs, resource) / getattr(device, resource) for resource in RESOURCES}


def load(needs: Resources, device: Target) -> float:
    """Return the sum of the shares of all resources; the cheaper of two designs has the smaller sum."""
    return sum(shares(needs, device).values())


def short_of(needs: Resources, device: Target, share: float) -> list[Short]:
    """Return the resources of which a design needs more than a share of the device."""
    return [
        Short(resource, getattr(needs, resource), getattr(device, resource), share)
        for resource, needed_share in shares(needs, device).items()
        if needed_share > share
    ]
