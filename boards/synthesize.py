"""Synthesis of a generated design: its cost on a target, or the bitstream of a board."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from rbdhw.boards import ulx3s, vcu118
from rbdhw.boards.build import Implementation, Progress, silent
from rbdhw.boards.shell import ACCELERATOR, TDATA
from rbdhw.boards.yosys import FAMILIES, Resources, synthesize_target
from rbdhw.errors import InputError
from rbdhw.target import target as find_target

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Board:
    """A board: the target that it carries, and what makes its bitstream."""

    target: str
    build: Callable[..., Implementation]


BOARDS = {
    "ulx3s-85f": Board("ecp5-85", ulx3s.build_bitstream),
    "vcu118": Board("xcvu9p", vcu118.build_bitstream),
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
    work: Path | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Synthesize the design in ``directory``, a folder that ``rbdhw generate`` wrote.

    With ``board``, make its bitstream; else count with Yosys what the accelerator takes on ``target``, which
    must be, and by default is, the design's own. What the programs write stays in ``work``, by default the
    folder ``build-`` and the board's or target's name in ``directory``. ``progress`` is told of each step.

    Returns
    -------
    dict
        ``{board, tool, luts, flip_flops, dsp_blocks, block_rams, clock_mhz_target, clock_mhz_achieved,
        bitstream}``, for JSON; None where it is not known, or there is none.

    Raises
    ------
    InputError
        For an unknown target or board, both at once, a folder without a design, or a design that was made
        for another target or width of stream.
    ToolError
        Where a program is missing or fails, or the design misses the board's clock.
    """
    if board is not None:
        return _for_board(directory, board, target, work, progress)
    manifest = _read_manifest(directory)
    name = manifest.target if target is None else target
    family = FAMILIES[find_target(name).family]
    _check_target(directory, manifest, name, f"--target {name}")
    progress("synthesis with Yosys")
    folder = _writable(work or directory / f"build-{name}")
    resources = synthesize_target(_verilog(directory), ACCELERATOR, family, folder)
    return _report(None, Implementation("yosys", manifest.clock_mhz, resources=resources), manifest)


def _for_board(
    directory: Path, board: str, target: str | None, work: Path | None, progress: Progress
) -> dict[str, Any]:
    if board not in BOARDS:
        raise InputError(f"board: '{board}' is unknown; expected one of {', '.join(sorted(BOARDS))}")
    if target is not None:
        raise InputError(f"target: board {board} has its own; expected --target or --board, not both")
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
    )
    return _report(board, built, manifest)


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


def _report(board: str | None, built: Implementation, manifest: _Manifest) -> dict[str, Any]:
    counts: Resources | None = built.resources
    achieved = built.fastest_mhz
    return {
        "board": board,
        "tool": built.tool,
        "luts": counts and counts.luts,
        "flip_flops": counts and counts.flip_flops,
        "dsp_blocks": counts and counts.dsp_blocks,
        "block_rams": counts and counts.block_rams,
        "clock_mhz_target": manifest.clock_mhz,
        "clock_mhz_achieved": achieved and round(achieved, 2),
        "bitstream": built.bitstream and str(built.bitstream),
    }
