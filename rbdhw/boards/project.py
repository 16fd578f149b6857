"""Vivado's projects of boards around the block with registers: a diagram of processors, DMA and the block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rbdhw.board import Board
from rbdhw.boards.build import TOP, Implementation
from rbdhw.boards.vivado import STOP_UNLESS_TIMED, run_vivado
from rbdhw.errors import InputError
from rbdhw.packages.block import Block, read_block
from rbdhw.packages.package import LIBRARY, VENDOR, ip_version, vivado, write_files
from rbdhw.progress import Progress, silent
from rbdhw.registers.map import MAGIC
from rbdhw.runtime.templates import fill

DMA_ADDRESS, REGISTER_ADDRESS = "0xA0000000", "0xA0010000"
"""The addresses of AXI DMA and of the registers for the processors."""

ROOM = 1 << 16
"""The bytes of the buffers of PYNQ's overlay, more than any packet has."""


def build_project(
    directory: Path, work: Path, board: Board, *, clock_mhz: float, progress: Progress = silent
) -> Implementation:
    """Write the project of a design to ``work``, and run it where Vivado is.

    ``work`` gets the script ``top.tcl``, the constraints ``top.xdc``, the block as an IP in ``ip``, and for
    Kria an overlay for PYNQ and one for Linux. Raises InputError for a design whose streams have another
    clock than the board's, and as :func:`~rbdhw.boards.vivado.run_vivado`.
    """
    block, manifest = read_block(directory)
    if manifest.stream_clock_mhz != board.stream_clock_mhz and board.stream_clock_mhz is not None:
        where = f"{directory / 'manifest.json'}, stream_clock_mhz"
        expected = f"{board.stream_clock_mhz:g} MHz for {board.description}"
        remedy = f"generate with --stream-clock {board.stream_clock_mhz:g}"
        raise InputError(where, f"{manifest.stream_clock_mhz or 'none'}", expected, remedy)
    progress("project for Vivado")
    *others, core = block.clocks
    block = replace(block, clocks=(*others, replace(core, mhz=clock_mhz)))
    write_files(_project(block, board, manifest.identity or ""), work)
    return run_vivado(["-mode", "batch", "-source", f"{TOP}.tcl"], work, clock_mhz, progress)


def _project(block: Block, board: Board, identity: str) -> dict[str, str]:
    """Return the files of a project."""
    values: Mapping[str, Any] = {
        "block": block,
        "board": board,
        "vlnv": f"{VENDOR}:{LIBRARY}:{block.module}:{ip_version(block)}",
        "dma_address": DMA_ADDRESS,
        "register_address": REGISTER_ADDRESS,
        "magic": MAGIC,
        "identity": identity,
        "room": ROOM,
        "stop_unless_timed": STOP_UNLESS_TIMED.strip(),
    }
    diagram = _fill(f"{board.module}.tcl", values)
    files = {f"ip/{name}": text for name, text in vivado(block).items()}
    files["top.tcl"] = _fill("project.tcl", {**values, "diagram": diagram})
    if board.module == "kria":
        files["top.xdc"] = "# No pin of the programmable logic is used.\n"
        files["overlay.dts"] = _fill("overlay.dts", values)
        files["rbdhw_overlay.py"] = _fill("pynq_overlay.py", values)
    else:
        files["top.xdc"] = _fill(f"{board.module}.xdc", values)
    return files


def _fill(template: str, values: Mapping[str, Any]) -> str:
    return fill("rbdhw.boards", template, **values)
