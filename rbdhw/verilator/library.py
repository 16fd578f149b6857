"""Verilator's own library and the bulk bench, compiled once and linked into the simulator of every design.

The sources of the library, of VPI and of the bench do not depend on the design, and compiling them takes
longer than compiling a small design. The archive is kept in ``$XDG_CACHE_HOME/rbdhw`` (``~/.cache/rbdhw``),
under the hash of its sources; deleting this folder is harmless.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from importlib.resources import files
from pathlib import Path

from rbdhw.runtime.cache import find_or_make
from rbdhw.verilator.tools import FLAGS, Tools

ARCHIVE = "libverilated.a"

_OBJECTS = tuple(f"verilated{part}.o" for part in ("", "_dpi", "_saif_c", "_threads", "_vpi"))
_BENCH = ("bulk.cpp", "bulk.h")
_FLAGS = ("OPT_GLOBAL", "OPT_BENCH")
_ENVIRONMENT = ("CXXFLAGS", "CPPFLAGS", "CPATH", "CPLUS_INCLUDE_PATH")
_EMPTY = "module empty; endmodule\n"

_RULES = f"""\
{ARCHIVE}: {" ".join(_OBJECTS)} bulk.o
\t$(AR) rcs $@ $^
bulk.o: {" ".join(_BENCH)}
\t$(CXX) $(OPT_BENCH) $(CXXFLAGS) $(CPPFLAGS) -c -o $@ $<
"""

LINKING = [
    f"VK_GLOBAL_OBJS=$(filter-out {' '.join(_OBJECTS)},$(addsuffix .o,$(VM_GLOBAL_FAST) $(VM_GLOBAL_SLOW)))",
    f"LIBS={ARCHIVE}",
]
"""Makefile variables that link the archive and compile only the objects that are not in it."""


def find_library(tools: Tools, options: tuple[str, ...], folder: Path) -> Path:
    """Return the archive for models that Verilator makes with ``options``, compiled unless it exists.

    If the user's cache is not writable, it is kept in ``folder``, which is. The logs of failed tools are
    written there as well.

    Raises SimulationError if Verilator or the compiler fails.
    """
    name = f"verilated-{_digest(tools, options)}.a"
    return find_or_make(name, lambda work: _compile(tools, options, work, folder), folder)


def _digest(tools: Tools, options: tuple[str, ...]) -> str:
    """Return a hash of all that determines the archive: sources, compiler and flags."""
    compiler = subprocess.run(
        [*tools.compiler, "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    flags = [f"{name}={FLAGS[name]}" for name in _FLAGS]
    flags += [f"{name}={os.environ.get(name, '')}" for name in _ENVIRONMENT]
    texts = [platform.machine(), *tools.compiler, *_OBJECTS, *options, *flags]
    digest = hashlib.sha256("\0".join(texts).encode() + compiler.stdout)
    for name, content in bench_sources().items():
        digest.update(b"\0".join([name.encode(), content, b""]))
    include = tools.root / "include"
    for source in sorted(path for path in include.rglob("*") if path.is_file()):
        digest.update(b"\0".join([str(source.relative_to(include)).encode(), source.read_bytes(), b""]))
    return digest.hexdigest()[:16]


def bench_sources() -> dict[str, bytes]:
    """Return the sources of the bulk bench that do not depend on the design."""
    return {name: files("rbdhw.verilator").joinpath(name).read_bytes() for name in _BENCH}


def _compile(tools: Tools, options: tuple[str, ...], work: Path, logs: Path) -> Path:
    """Compile the archive with the makefile of an empty model, which has the flags of every model."""
    (work / "empty.v").write_text(_EMPTY, encoding="utf-8")
    model = ["--vpi", "--top-module", "empty", "--prefix", "Vtop", "-Mdir", ".", "empty.v"]
    tools.run_verilator(work, [*options, *model], logs / "verilator.log")
    for name, content in bench_sources().items():
        (work / name).write_bytes(content)
    (work / "library.mk").write_text(_RULES, encoding="utf-8")
    tools.run_make(work, ["-f", "Vtop.mk", "-f", "library.mk", ARCHIVE], logs / "make.log")
    return work / ARCHIVE
