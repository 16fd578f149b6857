"""The driver as a folder of sources for a program in C or C++."""

from __future__ import annotations

from pathlib import Path

from rbdhw.design.folder import Design
from rbdhw.design.replacement import AXI_VERILOG
from rbdhw.driver import simulated
from rbdhw.driver.description import DESIGN_HEADER, design_header
from rbdhw.driver.library import sources
from rbdhw.errors import InputError
from rbdhw.protocol import CERTIFIED
from rbdhw.runtime.files import WRITABLE, write_text
from rbdhw.software.c_text import CPP_HEADER, cpp_header
from rbdhw.software.certificate import certificate_files


def write(design: Design, directory: Path, *, certify: bool = False) -> list[str]:
    """Write the driver's sources and the description of a design; return the names of the files.

    With ``certify`` there are also certificates of answers (:mod:`rbdhw.software.certificate`).

    Raises
    ------
    InputError
        The folder cannot be written, or there are no certificates.
    """
    texts = {**sources(), DESIGN_HEADER: design_header(design), CPP_HEADER: cpp_header()}
    texts |= simulated.sources(design.companions[AXI_VERILOG])
    if certify:
        certified = [function for function in design.functions if function in CERTIFIED]
        texts |= certificate_files(design.robot, design.domain, design.fext, certified)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(str(directory), f"cannot be made ({error.strerror})", WRITABLE) from None
    for name, text in texts.items():
        write_text(directory / name, text)
    return sorted(texts)
