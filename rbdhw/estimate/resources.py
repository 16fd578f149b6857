"""The resources of a design on a device: estimated, or counted by a tool."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields


@dataclass(frozen=True)
class Resources:
    """The resources that a design occupies on its device."""

    luts: int  # look-up tables, including those used as memory or shift registers
    flip_flops: int  # registers and latches in the fabric
    dsp_blocks: int  # DSP48E2 on UltraScale+, DSP48E1 on 7 series, MULT18X18D on ECP5
    block_rams: int  # 36 Kb blocks on UltraScale+ and 7 series (two halves make one), 18 Kb blocks on ECP5

    def __add__(self, other: Resources) -> Resources:
        return Resources(*(getattr(self, name) + getattr(other, name) for name in RESOURCES))

    def json(self) -> dict[str, int]:
        return asdict(self)


RESOURCES = tuple(field.name for field in fields(Resources))
"""The names of the resources."""
