"""Synthesis of a generated design: its cost and its clock on a target, or the bitstream of a board."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdhw.boards import ulx3s, vcu118
from rbdhw.boards.build import Implementation, Progress, silent
from rbdhw.boards.design import Design, read_design
from rbdhw.boards.nextpnr import DEVICES, SEED
from rbdhw.boards.place import place
from rbdhw.boards.shell import ACCELERATOR, TDATA
from rbdhw.boards.tools import ToolError, tool_version
from rbdhw.boards.yosys import FAMILIES, Resources, hurried, synthesize_target
from rbdhw.errors import InputError
from rbdhw.target import target as find_target

LARGEST_SEED = 2**31 - 1


class TimingError(ToolError):
    """A design misses its clock; the text says by how much and where, ``report`` is what was found."""

    def __init__(self, text: str, report: dict[str, Any]) -> None:
        super().__init__(text)
        self.report = report


@dataclass(frozen=True)
class Board:
    """A board: the target that it carries, what makes its bitstream, and whether by a seed."""

    target: str
    build: Callable[..., Implementation]
    seeded: bool


BOARDS = {
    "ulx3s-85f": Board("ecp5-85", ulx3s.build_bitstream, seeded=True),
    "vcu118": Board("xcvu9p", vcu118.build_bitstream, seeded=False),
}


def synthesize(
    directory: Path,
    *,
    target: str | None = None,
    board: str | None = None,
    seed: int | None = None,
    count: bool = False,
    work: Path | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Synthesize the design in ``directory``, a folder that ``rbdhw generate`` wrote.

    With ``board``, make its bitstream. Else place and route the accelerator on ``target``, which must be, and
    by default is, the design's own; where no program is known that can, only count with Yosys what it takes.
    With ``count`` only count, whether it fits or not. ``seed`` is that of the placement, 1 by default. What
    the programs write stays in ``work``, by default the folder ``build-`` and the board's or target's name in
    ``directory``. ``progress`` is told of each step.

    Returns
    -------
    dict
        ``{board, target, tool, luts, flip_flops, dsp_blocks, block_rams, clock_mhz_target,
        clock_mhz_achieved, bitstream, versions, seed}``, for JSON; None where it is not known, or there is
        none. Counts include what stands around the accelerator where it was placed: on a board the serial
        shell, without one :class:`~rbdhw.boards.folding.FoldedAccelerator`.

    Raises
    ------
    InputError
        For an unknown target or board, options that exclude each other, a folder without a design, or a
        design that was made for another target or width of stream, or does not fit.
    TimingError
        Where the design misses the clock.
    ToolError
        Where a program is missing or fails.
    """
    run = _Run(directory, seed, work, progress)
    if board is not None:
        _check_board(board, target, count)
        design, built = _for_board(board, run)
    else:
        design, built = _for_target(target, count, run)
    report = _report(board, design, built)
    if built.missed is not None:
        raise TimingError(built.missed, report)
    return report


@dataclass(frozen=True)
class _Run:
    """What is given to :func:`synthesize` whatever the design is for."""

    directory: Path
    seed: int | None
    work: Path | None
    progress: Progress

    def placement_seed(self, name: str, placed: bool) -> int | None:
        """The seed of the placement for a device or board, None where nothing is placed."""
        if self.seed is not None and not placed:
            raise InputError(f"seed: nothing is placed for {name}; expected no --seed")
        if self.seed is not None and not 0 <= self.seed <= LARGEST_SEED:
            raise InputError(f"seed: {self.seed} is out of range; expected 0 to {LARGEST_SEED}")
        return SEED if placed and self.seed is None else self.seed

    def folder(self, name: str) -> Path:
        """The folder for what the programs write, made."""
        folder = self.work or self.directory / f"build-{name}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            expected = "expected a folder that can be written"
            raise InputError(f"{folder}: {error.strerror}; {expected}") from error
        return folder


def _for_target(target: str | None, count: bool, run: _Run) -> tuple[Design, Implementation]:
    if target is not None:
        find_target(target)
    design = read_design(run.directory)
    device = find_target(design.target)
    if target is not None:
        design.check_target(target, f"--target {target}")
    seed = run.placement_seed(device.name, device.name in DEVICES and not count)
    if not count:
        design.check_fit(Resources(0, 0, design.dsp_blocks, 0), device)
    folder = run.folder(device.name)
    if seed is not None:
        return design, place(design, device, folder, seed=seed, progress=run.progress)
    versions = {"yosys": tool_version("yosys")}
    run.progress("synthesis with Yosys")
    resources = synthesize_target((design.verilog,), ACCELERATOR, FAMILIES[device.family], folder)
    if not count:
        design.check_fit(resources, device)
    as_it_is = ", logic not optimised" if hurried([design.verilog.read_text()]) else ""
    tool = f"yosys (not placed{as_it_is})"
    return design, Implementation(tool, design.clock_mhz, resources=resources, versions=versions)


def _check_board(board: str, target: str | None, count: bool) -> None:
    if board not in BOARDS:
        raise InputError(f"board: '{board}' is unknown; expected one of {', '.join(sorted(BOARDS))}")
    if target is not None:
        raise InputError(f"target: board {board} has its own; expected --target or --board, not both")
    if count:
        raise InputError(f"count: board {board} is built; expected --count or --board, not both")


def _for_board(board: str, run: _Run) -> tuple[Design, Implementation]:
    design = read_design(run.directory)
    device = find_target(BOARDS[board].target)
    design.check_target(device.name, f"board {board}")
    design.check_data_width(TDATA, f"board {board}")
    design.check_fit(Resources(0, 0, design.dsp_blocks, 0), device)
    seed = run.placement_seed(board, BOARDS[board].seeded)
    built = BOARDS[board].build(
        design.verilog,
        run.folder(board),
        clock_mhz=design.clock_mhz,
        progress=run.progress,
        **({} if seed is None else {"seed": seed}),
    )
    return design, built


def _report(board: str | None, design: Design, built: Implementation) -> dict[str, Any]:
    counts: Resources | None = built.resources
    achieved = built.fastest_mhz
    return {
        "board": board,
        "target": design.target,
        "tool": built.tool,
        "luts": counts and counts.luts,
        "flip_flops": counts and counts.flip_flops,
        "dsp_blocks": counts and counts.dsp_blocks,
        "block_rams": counts and counts.block_rams,
        "clock_mhz_target": design.clock_mhz,
        "clock_mhz_achieved": achieved and round(achieved, 2),
        "bitstream": built.bitstream and str(built.bitstream),
        "versions": dict(built.versions),
        "seed": built.seed,
    }
