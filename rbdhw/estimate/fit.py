"""What a design takes against what its device has, and the sharing that would make it fit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rbdhw.estimate.resources import Resources
from rbdhw.target import Target


@dataclass(frozen=True)
class Sharing:
    """How a design shares its multipliers.

    Parameters
    ----------
    ii : int
        Cycles between tasks.
    products, multipliers : int
        Products of a task, those included that adders compute at this interval but may not at another, and
        the units that compute the others.
    """

    ii: int
    products: int
    multipliers: int

    def interval_for(self, blocks: int, available: int) -> int:
        """The least interval at which a design that takes ``blocks`` DSP blocks now needs only ``available``.

        Products over units, as if every unit took as many blocks as a multiplier does on average.
        """
        a_product = blocks / self.multipliers if self.multipliers else 0.0
        return max(math.ceil(self.products * a_product / available), self.ii + 1)


def shortages(counts: Resources, device: Target) -> list[str]:
    """What a device has too little of for a design: how many the design takes, of how many, and the rest."""
    needs = (
        ("DSP blocks", counts.dsp_blocks, device.dsp_blocks),
        ("LUTs", counts.luts, device.luts),
        ("flip-flops", counts.flip_flops, device.flip_flops),
        ("block RAMs", counts.block_rams, device.block_rams),
    )
    return [
        f"{used:,} {kind} of {available:,}, {used - available:,} too many"
        for kind, used, available in needs
        if used > available
    ]
