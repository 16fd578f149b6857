"""The driver as a folder of sources for a program in C or C++."""

from __future__ import annotations

import os
from collections.abc import Mapping
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

_GUARD = b"RBDHW_OF_DESIGN_H"
"""What the description of a design has, and no other file of its name."""


def write(design: Design, directory: Path, *, certify: bool = False) -> list[str]:
    """Write the driver's sources and the description of a design; return the names of the files.

    With ``certify`` there are also certificates of answers (:mod:`rbdhw.software.certificate`). A driver that
    is in the folder is replaced; other files remain.

    Raises
    ------
    InputError
        The folder cannot be written, or has another file of such a name; or there are no certificates.
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
    _check_free(directory, texts)
    for name, text in texts.items():
        write_text(directory / name, text)
    return sorted(texts)


def _check_free(directory: Path, texts: Mapping[str, str]) -> None:
    """Refuse a folder without a driver in which a file would be replaced by another one."""
    description = directory / DESIGN_HEADER
    if description.is_file() and _GUARD in description.read_bytes():
        return
    for name, text in texts.items():
        path = directory / name
        if os.path.lexists(path) and not (path.is_file() and path.read_bytes() == text.encode()):
            expected = "a folder in which nothing but a driver would be replaced"
            remedy = "use another folder, or move the file away"
            raise InputError(str(path), "is no file of a driver", expected, remedy)
