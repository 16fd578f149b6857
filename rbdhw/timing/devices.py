"""The devices of the check, by the names of targets: cells, wires and speed grades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rbdhw.errors import unknown
from rbdhw.timing.amd import SERIES_7, ULTRASCALE_PLUS
from rbdhw.timing.cells import Family
from rbdhw.timing.ecp5 import ECP5
from rbdhw.timing.wires import Wires


@dataclass(frozen=True)
class Fabric:
    """A device family with its wires."""

    family: Family
    wires: Wires
    grades: Mapping[str, float]
    """The delays of each speed grade, relative to that of the figures."""


@dataclass(frozen=True)
class Device:
    """A device at a speed grade."""

    name: str
    fabric: Fabric
    grade: str

    @property
    def slower(self) -> float:
        """The factor of all delays."""
        return self.fabric.grades[self.grade]


# Wires. Of ECP5: fitted to designs that nextpnr placed. There a wire takes 754 ps, and 64 ps for each tile
# of its length. By these figures the wires of slow paths are 0.31 of the side long, less 6.2 tiles; each
# doubling of the readers adds 0.8 tiles, and each end at a block 10.1. Of UltraScale+ the same lengths, by
# RapidWright's ``intersite_delay_terms.txt``: 140 ps (two internal nodes and a double), 6 ps a tile (long
# wires of 12 tiles, mean of both directions), 64 ps more for what is left of the length on quads, to a block
# twice, and 16.7 ps a tile of quads for readers. Of 7 series: those of UltraScale+, in proportion to the
# delays of the pins of look-up tables. The grades of ECP5: the medians of the ratios in Project Trellis. Of
# UltraScale+: the highest clocks of DSP blocks in AMD DS923, which at 0.72 V (-2LV) are those of -1. Of
# 7 series: those in DS181.
FABRICS = {
    "ecp5": Fabric(ECP5, Wires(356.4, 20.0, 51.3, 646.5), {"6": 1.0, "7": 0.88, "8": 0.76}),
    "xcup": Fabric(
        ULTRASCALE_PLUS,
        Wires(167.0, 1.88, 13.4, 125.0),
        {"-3": 775 / 891, "-2": 1.0, "-1": 775 / 645, "-2LV": 775 / 644},
    ),
    "xc7": Fabric(SERIES_7, Wires(491.0, 5.53, 39.4, 368.0), {"-1": 1.0, "-2": 464 / 551, "-3": 464 / 628}),
}

_GRADES = {
    "ecp5-85": ("ecp5", "6"),
    "xcvu9p": ("xcup", "-2"),
    "xck26": ("xcup", "-2LV"),
    "xczu7ev": ("xcup", "-2"),
    "xczu9eg": ("xcup", "-2"),
    "xc7a100t": ("xc7", "-1"),
    "xc7a200t": ("xc7", "-2"),
    "xc7z020": ("xc7", "-1"),
    "xc7z045": ("xc7", "-2"),
}


def device_of(name: str, grade: str | None = None) -> Device:
    """Return a device, by default at its usual speed grade; InputError for an unknown name of either."""
    if name not in _GRADES:
        raise unknown("part", name, sorted(_GRADES))
    family, usual = _GRADES[name]
    if grade is not None and grade not in FABRICS[family].grades:
        raise unknown("speed-grade", grade, sorted(FABRICS[family].grades))
    return Device(name, FABRICS[family], grade or usual)
