"""Compare a design's resources with its device, and find an interval at which the design fits."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rbdhw.estimate.resources import Resources
from rbdhw.target import Target


@dataclass(frozen=True)
class MultiplierSharing:
    """The sharing of multipliers in a design."""

    ii: int  # cycles between tasks
    # The number of products of a task, including those that adders compute at this interval but perhaps not
    # at another, and the number of units that compute the other products.
    products: int
    multipliers: int

    def interval_for(self, blocks: int, available: int) -> int:
        """Return the least interval at which a design with ``blocks`` DSP blocks now needs ``available``.

        It is larger than the present one, and assumes that every unit needs the average number of blocks.
        """
        a_product = blocks / self.multipliers if self.multipliers else 0.0
        return max(math.ceil(self.products * a_product / available), self.ii + 1)


def shortages(counts: Resources, device: Target) -> list[str]:
    """Describe each resource that a design exceeds: its number, the device's number, and the excess."""
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
