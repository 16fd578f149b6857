"""Synthesis of a generated design: its resources and clock on a target, or the bitstream of a board."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from rbdhw.board import Link
from rbdhw.board import board as find_board
from rbdhw.boards.build import Implementation
from rbdhw.boards.design import DesignFiles, read_design
from rbdhw.boards.framing import DEPTH
from rbdhw.boards.nextpnr import DEVICES, LARGEST_SEED, SEED, TRIES, seeds_from
from rbdhw.boards.place import place
from rbdhw.boards.project import build_project
from rbdhw.boards.serial_link import BEAT_BYTES
from rbdhw.boards.tools import ToolError, tool_version
from rbdhw.boards.yosys import FAMILIES, speed_up, synthesize_target, time_netlist
from rbdhw.errors import InputError
from rbdhw.estimate.resources import Resources
from rbdhw.progress import Progress, silent
from rbdhw.runtime.build_folder import make_build_folder
from rbdhw.runtime.extras import check_installed
from rbdhw.runtime.files import WRITABLE
from rbdhw.target import target as find_target
from rbdhw.timing.devices import device_of


class TimingError(ToolError):
    """A design misses its clock. The message has the path and remedies; ``report`` has the result."""

    def __init__(self, text: str, report: dict[str, Any]) -> None:
        super().__init__(text)
        self.report = report


def synthesize(
    directory: Path,
    *,
    target: str | None = None,
    board: str | None = None,
    clock_mhz: float | None = None,
    speed_grade: str | None = None,
    seed: int | None = None,
    tries: int | None = None,
    count: bool = False,
    work: Path | None = None,
    cluster: str | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Synthesise the design in ``directory``, a folder that ``rbdhw generate`` wrote.

    With ``board``, build its bitstream. Without it, place and route the accelerator on ``target``, which
    defaults to the design's own and may not differ from it. For a target without a supported placement
    program, or with ``count``, only count the resources with Yosys; with ``count`` the design need not fit.
    ``clock_mhz`` replaces the design's clock as the clock to reach; the schedule in cycles is unchanged.
    ``speed_grade`` is that of the timing check, by default the target's.
    ``seed`` is the seed of the first placement, 1 by default. After a placement that misses the clock, the
    next seed is tried, up to ``tries`` placements (3 by default), and the best is kept. With the address of a
    Dask scheduler as ``cluster``, its workers try all seeds of a ``target`` at once. ``work`` keeps the
    output of the programs; by default it is the folder ``build-`` plus the board's or target's name in
    ``directory``. ``progress`` receives each step.

    Returns
    -------
    dict
        ``{board, target, tool, luts, flip_flops, dsp_blocks, block_rams, clock_mhz_target,
        clock_mhz_achieved, bitstream, versions, tries, seed, link, timing}``, for JSON; unknown or missing
        entries are None. ``tries`` has ``{seed, clock_mhz_achieved}`` of each placement, and ``seed`` is that
        of the kept one. The resources of a placed design include those around the accelerator: the serial
        shell on a board, otherwise :class:`~rbdhw.boards.place.FoldedAccelerator`. ``link`` has ``{title,
        source, tasks_per_second}`` of a board's link, with the rate of each function. ``timing`` is the
        :class:`~rbdhw.timing.report.TimingReport` of the netlist.

    Raises
    ------
    InputError
        For an unknown target, speed grade or board, conflicting options, a folder without a design, or a
        missing program or package. Also for a design that does not fit, or that was generated for another
        target or stream width.
    TimingError
        If the design misses the clock in every try.
    ToolError
        If a program fails.
    """
    run = _Run(directory, clock_mhz, speed_grade, seed, tries, work, cluster, progress)
    progress("preparing the programs")
    if board is not None:
        _check_board(board, target, speed_grade, count, cluster)
        design, built = _for_board(board, run)
    else:
        design, built = _for_target(target, count, run)
    report = _report(board, design, built)
    if built.missed is not None:
        raise TimingError(built.missed, report)
    return report


@dataclass(frozen=True)
class _Run:
    """The arguments of :func:`synthesize` that apply to boards and targets alike."""

    directory: Path
    clock_mhz: float | None
    speed_grade: str | None
    seed: int | None
    tries: int | None
    work: Path | None
    cluster: str | None
    progress: Progress

    def design(self) -> DesignFiles:
        """Return the design in the folder, with the clock to reach."""
        design = read_design(self.directory)
        if self.clock_mhz is None:
            return design
        if not 0.0 < self.clock_mhz < math.inf:
            raise InputError("clock", f"{self.clock_mhz:g} MHz is not a clock", "a positive number")
        return replace(design, clock_mhz=self.clock_mhz)

    def seeds(self, name: str, placed: bool) -> range | None:
        """Return the seeds of the placements for a device or board; None without seeded placement."""
        if not placed:
            options = {"seed": self.seed, "tries": self.tries, "cluster": self.cluster}
            for option, value in options.items():
                if value is not None:
                    raise InputError(option, f"nothing is placed for {name}", f"no --{option}")
            return None
        first = SEED if self.seed is None else self.seed
        tries = TRIES if self.tries is None else self.tries
        if not 0 <= first <= LARGEST_SEED:
            raise InputError("seed", f"{first} is out of range", f"0 to {LARGEST_SEED}")
        if tries < 1:
            raise InputError("tries", f"{tries} is out of range", "1 or more")
        return seeds_from(first, tries)

    def folder(self, name: str) -> Path:
        """Create and return the folder for the output of the programs."""
        if self.work is None:
            return make_build_folder(self.directory, name)
        try:
            self.work.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(str(self.work), f"cannot be written ({error.strerror})", WRITABLE) from error
        return self.work


def _for_target(target: str | None, count: bool, run: _Run) -> tuple[DesignFiles, Implementation]:
    if target is not None:
        find_target(target)
    design = run.design()
    device = find_target(design.target)
    if target is not None:
        design.check_target(target, f"--target {target}")
    timed_as = device_of(device.name, run.speed_grade)
    placed = device.name in DEVICES and not count
    seeds = run.seeds(device.name, placed)
    if run.clock_mhz is not None and not placed:
        raise InputError("clock", f"nothing is placed for {device.name}", "no --clock")
    if placed:
        design.check_pairs("a placement", "generate without --streams, or use --count")
    if not count:
        design.check_fit(Resources(0, 0, design.dsp_blocks, 0), device)
    folder = run.folder(device.name)
    if seeds is not None:
        return design, place(
            design,
            device,
            folder,
            seeds=seeds,
            timed_as=timed_as,
            cluster=run.cluster,
            progress=run.progress,
        )
    versions = {"yosys": tool_version("yosys")}
    family, progress = FAMILIES[device.family], run.progress
    resources = synthesize_target(
        (design.verilog,), design.name, family, folder, netlist=True, progress=progress
    )
    if not count:
        design.check_fit(resources, device)
    timing = time_netlist(folder, design.name, timed_as, progress)
    as_it_is = ", logic not optimised" if speed_up([design.verilog.read_text()]) else ""
    tool = f"yosys (not placed{as_it_is})"
    return design, Implementation(
        tool, design.clock_mhz, resources=resources, versions=versions, timing=timing
    )


def _check_board(
    board: str, target: str | None, speed_grade: str | None, count: bool, cluster: str | None
) -> None:
    find_board(board)
    if target is not None:
        raise InputError("target", f"board {board} has its own", "--target or --board, not both")
    if speed_grade is not None:
        raise InputError("speed-grade", f"board {board} has its own", "--speed-grade or --board, not both")
    if count:
        raise InputError("count", f"board {board} is built", "--count or --board, not both")
    if cluster is not None:
        raise InputError("cluster", f"board {board} is built here", "--cluster or --board, not both")


def _for_board(board: str, run: _Run) -> tuple[DesignFiles, Implementation]:
    design, described = run.design(), find_board(board)
    device = find_target(described.target)
    design.check_target(device.name, f"board {board}")
    design.check_data_width(described.data_width, f"board {board}")
    design.check_pairs(f"board {board}", "generate without --streams")
    design.check_fit(Resources(0, 0, design.dsp_blocks, 0), device)
    seeds = run.seeds(board, described.seeded)
    if described.part:
        built = build_project(
            run.directory, run.folder(board), described, clock_mhz=design.clock_mhz, progress=run.progress
        )
        return design, built
    design.check_clocks(f"board {board}")
    design.check_requests(DEPTH * BEAT_BYTES, f"board {board}")
    check_installed("amaranth_boards")
    built = import_module(f"rbdhw.boards.{described.module}").build_bitstream(
        design.verilog,
        run.folder(board),
        clock_mhz=design.clock_mhz,
        progress=run.progress,
        **({} if seeds is None else {"seeds": seeds}),
    )
    return design, built


def _report(board: str | None, design: DesignFiles, built: Implementation) -> dict[str, Any]:
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
        "tries": [
            {"seed": one.seed, "clock_mhz_achieved": round(one.achieved_mhz, 2)} for one in built.tries
        ],
        "seed": built.seed,
        "link": board and _link(find_board(board).link, design),
        "timing": built.timing and built.timing.json(),
    }


def _link(link: Link, design: DesignFiles) -> dict[str, Any]:
    """Return the tasks of each function in a second that the wires of a board's link carry."""
    rates = {name: math.floor(link.packets_per_second(size)) for name, size in design.packet_bytes.items()}
    return {"title": link.title, "source": "computed", "tasks_per_second": rates}
