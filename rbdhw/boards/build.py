"""The build plan of a board for an accelerator, and its result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from amaranth.build.run import BuildPlan

from rbdhw.boards.nextpnr import Attempt
from rbdhw.boards.shell import BoardTop
from rbdhw.design.digests import content, top_module
from rbdhw.design.replacement import AXI_VERILOG
from rbdhw.errors import InputError, told_apart
from rbdhw.estimate.resources import Resources
from rbdhw.timing.report import TimingReport

TOP = "top"
"""The name of the top module, and the stem of its files."""


@dataclass(frozen=True)
class Implementation:
    """The result of implementing a design on a device."""

    tool: str
    """The tools that counted its resources, or placed and routed it."""
    clock_mhz: float
    """The clock to reach; on a board, the clock that the board generates."""
    fastest_mhz: float | None = None
    """The clock that the slowest path permits; None if the design was not placed."""
    resources: Resources | None = None
    """The resources, including those around the accelerator; None if the design was not synthesised."""
    bitstream: Path | None = None
    """The bitstream file."""
    missed: str | None = None
    """The message about a missed clock, with the margin and the path; None if the clock is reached."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of the programs that ran."""
    tries: tuple[Attempt, ...] = ()
    """The placements in order; empty without seeded placement."""
    seed: int | None = None
    """The seed of the kept placement."""
    timing: TimingReport | None = None
    """The timing of the netlist before placement; None on a board."""


class ClockSetting(Protocol):
    """Settings of a clock generator."""

    @property
    def clock_mhz(self) -> float:
        """The output clock."""


Setting = TypeVar("Setting", bound=ClockSetting)


def fastest_below(clock_mhz: float, settings: Sequence[Setting], generator: str) -> Setting:
    """Return the setting of the fastest clock that does not exceed ``clock_mhz``, the first of equal ones.

    Raises InputError if the ``generator``, such as the PLL of a board, cannot generate a clock this slow.
    """
    below = [setting for setting in settings if setting.clock_mhz <= clock_mhz * (1 + 1e-9)]
    if not below:
        asked, least = told_apart(clock_mhz, min(setting.clock_mhz for setting in settings))
        reason = f"{asked} MHz is too slow for {generator}"
        raise InputError("clock", reason, f"at least {least} MHz")
    return max(below, key=lambda setting: round(setting.clock_mhz, 9))


def prepare(platform: Any, verilog: Path, *, clock: Any, divisor: int, **overrides: str) -> BuildPlan:
    """Return the build plan of the accelerator in the file ``verilog`` of a design on ``platform``.

    The file with its registers stands beside it. The design has the serial shell. ``clock`` and ``divisor``
    are those of :class:`~rbdhw.boards.shell.BoardTop`, ``overrides`` those of the platform. The same
    arguments give the same plan.
    """
    for file in (verilog, verilog.with_name(AXI_VERILOG)):
        platform.add_file(file.name, content(file).decode())
    top = BoardTop(clock=clock, divisor=divisor, name=top_module(verilog.parent))
    return platform.prepare(top, TOP, emit_src=False, **overrides)


def commands(plan: BuildPlan) -> list[list[str]]:
    """Return the commands that ``plan`` runs in its folder, in order."""
    listing: dict[str, list[list[str]]] = json.loads(plan.files[f"build_{TOP}.json"])
    return listing["commands"]
