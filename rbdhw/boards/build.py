"""From an accelerator's Verilog to the build plan of a board, and what comes out of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amaranth.build.run import BuildPlan

from rbdhw.boards.nextpnr import Try
from rbdhw.boards.shell import ACCELERATOR, BoardTop
from rbdhw.estimate.resources import Resources

TOP = "top"
"""Name of the design, and the stem of its files."""


@dataclass(frozen=True)
class Implementation:
    """A design on a device.

    Parameters
    ----------
    tool : str
        What counted it, or placed and routed it.
    clock_mhz : float
        The clock that it must keep: of a board the one that it makes.
    fastest_mhz : float or None
        What its slowest path allows; None where it was not placed.
    resources : Resources or None
        What it occupies, all that stands around the accelerator included; None where it was not synthesised.
    bitstream : Path or None
        The file to load.
    missed : str or None
        Where it misses the clock, by how much and on which path.
    versions : Mapping
        Of the programs that ran.
    tries : tuple
        The placements in order; empty where nothing was placed by a seed.
    seed : int or None
        Of the placement that was kept.
    """

    tool: str
    clock_mhz: float
    fastest_mhz: float | None = None
    resources: Resources | None = None
    bitstream: Path | None = None
    missed: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    tries: tuple[Try, ...] = ()
    seed: int | None = None


def prepare(platform: Any, verilog: Path, *, clock: Any, divisor: int, **overrides: str) -> BuildPlan:
    """The build plan of the accelerator in the file ``verilog`` in the serial shell on ``platform``.

    ``clock`` and ``divisor`` are those of :class:`~rbdhw.boards.shell.BoardTop`, ``overrides`` the platform's
    own. The same arguments give the same plan.
    """
    top = BoardTop(clock=clock, divisor=divisor)
    platform.add_file(f"{ACCELERATOR}.v", verilog.read_text())
    return platform.prepare(top, TOP, emit_src=False, **overrides)


def commands(plan: BuildPlan) -> list[list[str]]:
    """The programs that ``plan`` runs in its folder, in order, each with its arguments."""
    listing: dict[str, list[list[str]]] = json.loads(plan.files[f"build_{TOP}.json"])
    return listing["commands"]
