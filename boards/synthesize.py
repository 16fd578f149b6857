"""Synthesis of a generated design: its cost and its clock on a target, or the bitstream of a board."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from rbdhw.boards import ulx3s, vcu118
from rbdhw.boards.build import Implementation, Progress, silent
from rbdhw.boards.nextpnr import DEVICES, SEED
from rbdhw.boards.place import place
from rbdhw.boards.shell import ACCELERATOR, TDATA
from rbdhw.boards.tools import ToolError, tool_version
from rbdhw.boards.yosys import FAMILIES, Resources, synthesize_target
from rbdhw.errors import InputError
from rbdhw.target import Target
from rbdhw.target import target as find_target

MANIFEST = "manifest.json"


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


class _Stream(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    tdata_width: int


class _Manifest(BaseModel):
    """What synthesis reads of a manifest."""

    model_config = ConfigDict(extra="ignore")

    target: str
    clock_mhz: float
    stream: _Stream


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
    by default is, the design's own; where no program is known that can, or with ``count``, count with Yosys
    what it takes. ``seed`` is that of the placement, 1 by default. What the programs write stays in ``work``,
    by default the folder ``build-`` and the board's or target's name in ``directory``. ``progress`` is told
    of each step.

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
        For an unknown target or board, both at once, a seed where nothing is placed, a folder without a
        design, or a design that was made for another target or width of stream, or does not fit.
    TimingError
        Where the design misses the clock.
    ToolError
        Where a program is missing or fails.
    """
    if board is not None:
        manifest, device, built = _for_board(directory, board, target, seed, work, progress)
    else:
        manifest, device, built = _for_target(directory, target, seed, count, work, progress)
    report = _report(board, device, built, manifest)
    if built.missed is not None:
        raise TimingError(built.missed, report)
    return report


def _for_target(
    directory: Path, target: str | None, seed: int | None, count: bool, work: Path | None, progress: Progress
) -> tuple[_Manifest, Target, Implementation]:
    manifest = _read_manifest(directory)
    name = manifest.target if target is None else target
    device = find_target(name)
    _check_target(directory, manifest, name, f"--target {name}")
    verilog, folder = _verilog(directory), work or directory / f"build-{name}"
    placed = name in DEVICES and not count
    _check_seed(seed, placed, name)
    _writable(folder)
    if placed:
        built = place(
            verilog,
            folder,
            device,
            data_width=manifest.stream.tdata_width,
            clock_mhz=manifest.clock_mhz,
            seed=SEED if seed is None else seed,
            progress=progress,
        )
        return manifest, device, built
    versions = {"yosys": tool_version("yosys")}
    progress("synthesis with Yosys")
    resources = synthesize_target((verilog,), ACCELERATOR, FAMILIES[device.family], folder)
    tool = "yosys (not placed)"
    built = Implementation(tool, manifest.clock_mhz, resources=resources, versions=versions)
    return manifest, device, built


def _for_board(
    directory: Path, board: str, target: str | None, seed: int | None, work: Path | None, progress: Progress
) -> tuple[_Manifest, Target, Implementation]:
    if board not in BOARDS:
        raise InputError(f"board: '{board}' is unknown; expected one of {', '.join(sorted(BOARDS))}")
    if target is not None:
        raise InputError(f"target: board {board} has its own; expected --target or --board, not both")
    _check_seed(seed, BOARDS[board].seeded, board)
    manifest = _read_manifest(directory)
    _check_target(directory, manifest, BOARDS[board].target, f"board {board}")
    if manifest.stream.tdata_width != TDATA:
        raise InputError(
            f"{directory / MANIFEST}: stream.tdata_width: board {board} takes {TDATA} bits, "
            f"not {manifest.stream.tdata_width}; generate with --tdata {TDATA}"
        )
    built = BOARDS[board].build(
        _verilog(directory),
        _writable(work or directory / f"build-{board}"),
        clock_mhz=manifest.clock_mhz,
        progress=progress,
        **({} if seed is None else {"seed": seed}),
    )
    return manifest, find_target(manifest.target), built


def _check_seed(seed: int | None, placed: bool, name: str) -> None:
    if seed is None:
        return
    if not placed:
        raise InputError(f"seed: nothing is placed for {name}; expected no --seed")
    if not 0 <= seed < 2**31:
        raise InputError(f"seed: {seed} is outside the placer's; expected 0 to {2**31 - 1}")


def _read_manifest(directory: Path) -> _Manifest:
    path = directory / MANIFEST
    try:
        return _Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a folder that rbdhw generate wrote") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        element = ".".join(str(part) for part in first["loc"]) or "document"
        raise InputError(f"{path}: {element}: {first['msg']}") from error


def _verilog(directory: Path) -> Path:
    path = directory / f"{ACCELERATOR}.v"
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected a folder that rbdhw generate wrote")
    return path


def _writable(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}; expected a folder that can be written") from error
    return folder


def _check_target(directory: Path, manifest: _Manifest, needed: str, by: str) -> None:
    if manifest.target != needed:
        raise InputError(
            f"{directory / MANIFEST}: target: the design is for {manifest.target}, {by} needs {needed}; "
            f"generate with --target {needed}"
        )


def _report(board: str | None, device: Target, built: Implementation, manifest: _Manifest) -> dict[str, Any]:
    counts: Resources | None = built.resources
    achieved = built.fastest_mhz
    return {
        "board": board,
        "target": device.name,
        "tool": built.tool,
        "luts": counts and counts.luts,
        "flip_flops": counts and counts.flip_flops,
        "dsp_blocks": counts and counts.dsp_blocks,
        "block_rams": counts and counts.block_rams,
        "clock_mhz_target": manifest.clock_mhz,
        "clock_mhz_achieved": achieved and round(achieved, 2),
        "bitstream": built.bitstream and str(built.bitstream),
        "versions": dict(built.versions),
        "seed": built.seed,
    }
