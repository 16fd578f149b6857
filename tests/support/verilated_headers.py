"""Verilator's headers, compiled once for all small simulators: reading them takes most of a compilation."""

import hashlib
import subprocess
from functools import partial
from importlib.metadata import version
from pathlib import Path

from rbdhw.runtime.cache import find_or_make
from rbdhw.verilator.tools import Tools, find_tools

VERILATED = ("verilated.h", "verilated_dpi.h", "verilated_vpi.h")
STANDARD = ("algorithm", "filesystem", "fstream", "iostream", "memory", "random", "string", "vector")
HEADERS = (*VERILATED, *STANDARD)
SOURCE = "".join(f"#include <{name}>\n" for name in HEADERS)
OPTIMISATION = "-O0 -fPIC"
"""The compiled form is valid for one level of optimisation, and for shared libraries or without it."""

RULE = f"%.h.gch: %.h\n\t$(CXX) $(CXXFLAGS) $(CPPFLAGS) {OPTIMISATION} -x c++-header -o $@ $<\n"


def precompiled_headers(folder: Path) -> Path:
    """Return the header whose compiled form g++ reads; this is kept in the user's cache, or in ``folder``.

    A simulator with other flags, such as one that counts toggles, reads the header itself.
    """
    tools = find_tools()
    command = [*tools.compiler, "--version"]
    compiler = subprocess.run(command, capture_output=True, check=True).stdout
    determined = repr((version("verilator"), HEADERS, RULE)).encode()
    digest = hashlib.sha256(compiler + determined).hexdigest()[:16]
    header = find_or_make(f"headers-{digest}.h.gch", partial(_compile, tools), folder).with_suffix("")
    if not header.exists():
        header.write_text(SOURCE)
    return header


def _compile(tools: Tools, work: Path) -> Path:
    """Compile the headers with the makefile of an empty model, which has the flags of every model."""
    (work / "empty.v").write_text("module empty; endmodule\n")
    (work / "headers.h").write_text(SOURCE)
    (work / "headers.mk").write_text(RULE)
    model = ("--top-module", "empty", "--prefix", "Vtop", "-Mdir", ".", "empty.v")
    tools.run_verilator(work, ["--cc", "--no-timing", *model], work / "verilator.log")
    tools.run_make(work, ["-f", "Vtop.mk", "-f", "headers.mk", "headers.h.gch"], work / "make.log")
    return work / "headers.h.gch"
