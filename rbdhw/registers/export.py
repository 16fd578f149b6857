"""The descriptions that PeakRDL makes of the registers: C, Python, HTML, Markdown and IP-XACT.

``python -m rbdhw.registers.export FOLDER`` writes the C header into the package, and the others to a folder.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peakrdl_cheader.exporter import CHeaderExporter
from peakrdl_html import HTMLExporter
from peakrdl_ipxact import IPXACTExporter, Standard
from peakrdl_markdown import MarkdownExporter
from peakrdl_python.exporter import PythonExporter
from systemrdl.compiler import RDLCompiler
from systemrdl.node import AddrmapNode

SOURCE = Path(__file__).with_name("registers.rdl")
HEADER = Path(__file__).with_name("registers.h")
"""The C header, which is the same for all designs and part of the package."""


def description(parameters: Mapping[str, Any] | None = None) -> AddrmapNode:
    """Return the description of the registers for these parameters of ``registers.rdl``."""
    compiler = RDLCompiler()
    compiler.compile_file(str(SOURCE))
    return compiler.elaborate(parameters=dict(parameters or {})).top


def write_header(path: Path) -> None:
    """Write the C header, without the constants of a design."""
    CHeaderExporter().export(description(), str(path))


def export(registers: AddrmapNode, folder: Path) -> None:
    """Write all descriptions but the C header to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    ipxact = IPXACTExporter(standard=Standard.IEEE_1685_2014, vendor="rbdhw", library="rbdhw")
    ipxact.export(registers, str(folder / "registers.xml"))
    MarkdownExporter().export(registers, str(folder / "registers.md"))
    HTMLExporter().export(registers, str(folder / "html"))
    PythonExporter().export(  # type: ignore[no-untyped-call]
        registers, str(folder / "python"), skip_test_case_generation=True
    )


if __name__ == "__main__":
    write_header(HEADER)
    export(description(), Path(sys.argv[1]))
