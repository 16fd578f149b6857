"""The build plan of a board for an accelerator, and its result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amaranth.build.run import BuildPlan

from rbdhw.boards.nextpnr import Attempt
from rbdhw.boards.shell import BoardTop
from rbdhw.design.digests import top_module
from rbdhw.estimate.resources import Resources

TOP = "top"
"""The name of the top module, and the stem of its files."""


@dataclass(frozen=True)
class Implementation:
    """The result of implementing a design on a device.

    Parameters
    ----------
    tool : str
        The tools that counted its resources, or placed and routed it.
    clock_mhz : float
        The clock to reach; on a board, the clock that the board generates.
    fastest_mhz : float or None
        The clock that the slowest path permits; None if the design was not placed.
    resources : Resources or None
        The resources, including those around the accelerator; None if the design was not synthesised.
    bitstream : Path or None
        The bitstream file.
    missed : str or None
        The message about a missed clock, with the margin and the path; None if the clock is reached.
    versions : Mapping
        The versions of the programs that ran.
    tries : tuple
        The placements in order; empty without seeded placement.
    seed : int or None
        The seed of the kept placement.
    """

    tool: str
    clock_mhz: float
    fastest_mhz: float | None = None
    resources: Resources | None = None
    bitstream: Path | None = None
    missed: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    tries: tuple[Attempt, ...] = ()
    seed: int | None = None


def prepare(platform: Any, verilog: Path, *, clock: Any, divisor: int, **overrides: str) -> BuildPlan:
    """Return the build plan of the accelerator in the file ``verilog`` of a design on ``platform``.

    The design has the serial shell. ``clock`` and ``divisor`` are those of
    :class:`~rbdhw.boards.shell.BoardTop`, ``overrides`` those of the platform. The same arguments give the
    same plan.
    """
    top = BoardTop(clock=clock, divisor=divisor, name=top_module(verilog.parent))
    platform.add_file(verilog.name, verilog.read_text())
    return platform.prepare(top, TOP, emit_src=False, **overrides)


def commands(plan: BuildPlan) -> list[list[str]]:
    """Return the commands that ``plan`` runs in its folder, in order."""
    listing: dict[str, list[list[str]]] = json.loads(plan.files[f"build_{TOP}.json"])
    return listing["commands"]
