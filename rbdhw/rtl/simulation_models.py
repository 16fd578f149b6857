"""Simulation models of the device blocks and cells that a design's Verilog instantiates."""

from __future__ import annotations

import re
from importlib.resources import files

_NONE = "// The accelerator names no block of its device, so nothing is needed here.\n"


def models() -> dict[str, str]:
    """Return the Verilog of every model by file name; the file is named after its module."""
    folder = files("rbdhw").joinpath("rtl", "primitives")
    entries = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".v")), key=lambda e: e.name)
    return {entry.name: entry.read_text(encoding="utf-8") for entry in entries}


def models_of(verilog: str) -> str:
    """Return the Verilog of the models of all blocks and cells that a design instantiates.

    Each is defined once, also where the files of several designs are read together.
    """
    words = set(re.findall(r"\b[A-Z][A-Z0-9]+\b", verilog))
    named = {name: text for file, text in models().items() if (name := file.removesuffix(".v")) in words}
    guarded = (f"`ifndef RBDHW_{name}\n`define RBDHW_{name}\n{text}`endif\n" for name, text in named.items())
    return "\n".join(guarded) or _NONE
