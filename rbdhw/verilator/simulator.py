"""The accelerator in Verilator: one simulator for each Verilog and harness, driven by the cocotb bench.

Only the ports are visible to the bench: access to the whole design would double the build time. Device blocks
in the Verilog are replaced by the package's models. :mod:`rbdhw.verilator.bulk` has the other harness.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rbdhw.design.digests import top_module
from rbdhw.design.replacement import VERILOG
from rbdhw.errors import InputError
from rbdhw.model.packets import Beats
from rbdhw.rtl.simulation_models import models
from rbdhw.runtime.build_folder import BUILD_PREFIX, make_build_folder
from rbdhw.runtime.cache import is_whole, keep, process_folder, user_cache
from rbdhw.runtime.extras import check_installed
from rbdhw.runtime.files import WRITABLE
from rbdhw.verilator.library import ARCHIVE, LINKING, bench_sources, find_library
from rbdhw.verilator.tools import Tools, clean_environment, failure, find_tools

SINGLE_FILE = 2_000_000
"""The most bytes of C++ for which a model is compiled as one file.

Compiling the precompiled header that several files share takes longer than compiling such a model. A larger
model is compiled by several processes at once.
"""

AS_ONE_FILE = (
    "VM_PARALLEL_BUILDS=0",
    "VM_FAST=$(VM_CLASSES_FAST) $(VM_SUPPORT_FAST) $(VM_USER_CLASSES)",
    "VK_USER_OBJS=Vtop__ALL.o",
)
"""The options of Verilator's makefiles to compile a model and its harness as one file."""

LIBRARIES = "cocotb_libraries"
"""The link to the folder of cocotb's libraries, where simulators are linked and where they run."""

_PORTS = """\
`verilator_config
public_flat_rw -module "{top}" -var "clk"
public_flat_rw -module "{top}" -var "rst"
public_flat_rd -module "{top}" -var "m_axis_*"
public_flat_rd -module "{top}" -var "s_axis_*tready"
public_flat_rw -module "{top}" -var "s_axis_*tdata"
public_flat_rw -module "{top}" -var "s_axis_*tvalid"
public_flat_rw -module "{top}" -var "s_axis_*tlast"
public_flat_rw -module "{top}" -var "m_axis_*tready"
"""
"""The ports of one pair of streams or of several."""


_OPTIONS = (
    *("--cc", "--timescale", "1ns/1ns", "--no-timing", "--no-MMD", "-O3"),
    *("--x-assign", "fast", "--x-initial", "fast", "-Wno-lint", "-Wno-style", "-Wno-fatal"),
)


@dataclass(frozen=True)
class Disturbance:
    """The random traffic of a simulation, which differs from one pair of streams to the next.

    ``bubbles`` is the probability per cycle that a beat is held back although it could be sent;
    ``back_pressure`` is the probability that the receiver is not ready. After ``patience`` cycles without any
    transfer the accelerator is considered dead. ``surplus`` are the answers beyond one for each request.
    """

    bubbles: float = 0.0
    back_pressure: float = 0.0
    seed: int = 0
    patience: int = 10_000
    surplus: int = 0


@dataclass(frozen=True)
class Exchange:
    """The beats received, and the cycles in which each beat was sent (``sent``) and received (``taken``).

    ``violations`` counts cycles in which an offered beat changed before it was accepted.
    """

    responses: Beats
    sent: NDArray[np.int64]
    taken: NDArray[np.int64]
    violations: int

    @property
    def cycles(self) -> int:
        """The cycles from the first beat sent to the last beat received."""
        return int(self.taken[-1] - self.sent[0]) + 1 if len(self.taken) and len(self.sent) else 0


@dataclass(frozen=True)
class Harness:
    """The parts of a simulator besides the Verilog.

    Sources and headers by name, further options of Verilator, and folders to link, by the links' names.
    """

    files: Mapping[str, bytes]
    options: tuple[str, ...] = ()
    headers: Mapping[str, bytes] = field(default_factory=dict)
    links: Mapping[str, Path] = field(default_factory=dict)


def build(directory: Path, cache: Path | None = None) -> Path:
    """Build the simulator of the Verilog in a design folder for :func:`exchange`.

    :func:`make_simulator` defines where it is kept.
    """
    check_installed("cocotb")
    return make_simulator(directory, cache, _cocotb_harness(top_module(directory)))


def make_simulator(directory: Path, cache: Path | None, harness: Harness) -> Path:
    """Return the simulator of a design folder's Verilog in a harness, built unless it already exists.

    It has the name of the top module, and is kept in ``cache``, by default the design's ``build-sim``, under
    the hash of all its sources. If the design's folder cannot be written, the user's cache takes it. It is
    built again if its digest is not the one that was written when it was built.

    Raises
    ------
    InputError
        If a tool is missing, or the folder cannot be written.
    SimulationError
        If Verilator or the compiler fails.
    """
    source, top = directory / VERILOG, top_module(directory)
    tools, folder = find_tools(), (cache or _folder(directory)).resolve()
    executable = folder / _name(source, harness) / top
    if is_whole(executable):
        return executable
    try:
        executable.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="rbdhw-") as name:
            keep(_compile(Path(name), source, top, harness, tools, folder), executable)
    except OSError as error:
        raise InputError(str(cache or folder), f"cannot be written ({error.strerror})", WRITABLE) from error
    return executable


def _folder(directory: Path) -> Path:
    """Return the folder of a design's simulators: in the design's own, or where that cannot be written."""
    kept = directory / f"{BUILD_PREFIX}sim"
    if os.access(kept if kept.exists() else directory, os.W_OK):
        return make_build_folder(directory, "sim")
    return (user_cache() or process_folder()) / "simulators"


def _compile(work: Path, source: Path, top: str, harness: Harness, tools: Tools, folder: Path) -> Path:
    """Return a simulator, compiled in the empty folder ``work``; logs of failures are in ``folder``."""
    tools.run_verilator(work, _write_inputs(work, source, top, harness), folder / "verilator.log")
    (work / ARCHIVE).symlink_to(find_library(tools, _OPTIONS, folder).resolve())
    tools.run_make(work, ["-f", "Vtop.mk", *LINKING, *_splitting(work)], folder / "make.log")
    return work / top


def _write_inputs(work: Path, source: Path, top: str, harness: Harness) -> list[str]:
    """Write or link all sources; return the options of Verilator."""
    (work / VERILOG).symlink_to(source.resolve())
    for name, target in harness.links.items():
        (work / name).symlink_to(target)
    for name, content in {**harness.files, **harness.headers}.items():
        (work / name).write_bytes(content)
    for name, text in models().items():
        (work / name).write_text(text, encoding="utf-8")
    folders = ["--exe", "-o", top, "-Mdir", ".", "-y", "."]
    named = ["--top-module", top, "--prefix", "Vtop", *folders]
    return [*_OPTIONS, *named, *harness.options, *harness.files, VERILOG]


def _splitting(work: Path) -> list[str]:
    """Return make's options to compile a small model as one file; a large one is built as Verilator chose."""
    size = sum(path.stat().st_size for path in work.glob("Vtop*.cpp"))
    return [*AS_ONE_FILE] if size <= SINGLE_FILE else []


def exchange(executable: Path, requests: Sequence[Beats], traffic: Disturbance) -> list[Exchange]:
    """Send packets to each pair of streams of the accelerator and receive as many from it.

    Pairs for which there are no requests stand idle.

    Raises SimulationError if the simulation does not finish.
    """
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as work:
        folder = Path(work)
        (folder / "job.json").write_text(json.dumps(asdict(traffic)))
        for k, beats in enumerate(requests):
            np.savez(folder / f"requests_{k}.npz", data=beats.data, last=beats.last)
        _simulate(executable, folder)
        return [_read_record(folder / f"responses_{k}.npz") for k in range(len(requests))]


def _read_record(path: Path) -> Exchange:
    with np.load(path) as results:
        beats = Beats(results["data"], results["last"])
        return Exchange(beats, results["sent"], results["taken"], int(results["violations"]))


def _cocotb_harness(top: str) -> Harness:
    from cocotb_tools import config

    main = config.share_dir / "lib" / "verilator" / "verilator.cpp"
    options = ("--vpi", "-LDFLAGS", f"-L{LIBRARIES} -lcocotbvpi_verilator")
    files = {"cocotb_main.cpp": main.read_bytes(), "ports.vlt": _PORTS.format(top=top).encode()}
    return Harness(files, options, links={LIBRARIES: config.libs_dir})


def _name(source: Path, harness: Harness) -> str:
    """Return a name that identifies all sources of a simulator."""
    texts = [version("verilator"), *_OPTIONS, *harness.options, *harness.files, *models().values()]
    bench = bench_sources().values()
    parts = [source.read_bytes(), *(text.encode() for text in texts), *harness.files.values(), *bench]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _simulate(executable: Path, folder: Path) -> None:
    """Run the bench in ``folder``, where it writes the responses of each pair of streams."""
    log = folder / "simulation.log"
    with log.open("wb") as output:
        done = subprocess.run(
            [str(executable)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_bench_environment(executable.name, folder),
            check=False,
        )
    if done.returncode or not (folder / "responses_0.npz").exists():
        kept = executable.parent.parent / log.name
        shutil.copy2(log, kept)
        raise failure("simulation", f"exit status {done.returncode}", kept)


def _bench_environment(top: str, folder: Path) -> dict[str, str]:
    """Return the environment in which cocotb finds its libraries, Python and our bench.

    Its lists of paths know no quotation. So they have links in ``folder``, where the simulator runs.

    Raises InputError if this Python has no shared library.
    """
    from cocotb_tools import config
    from find_libpython import find_libpython

    python = find_libpython()
    if python is None:
        raise InputError("simulation", "Python's shared library is missing", "a Python with one")
    library, function = config.pygpi_entry_point().rsplit(",", 1)
    links = {LIBRARIES: config.libs_dir, "libpython.so": Path(python), "entry.so": Path(library)}
    links |= {f"python_{k}": Path(entry).absolute() for k, entry in enumerate(sys.path)}
    for name, target in links.items():
        (folder / name).symlink_to(target)
    loaded = os.environ.get("LD_LIBRARY_PATH")
    return clean_environment(
        COCOTB_REWRITE_ASSERTION_FILES="",  # no rewriting of all that the bench imports
        COCOTB_TEST_MODULES="rbdhw.verilator.bench",
        COCOTB_TOPLEVEL=top,
        GPI_USERS=f"./libpython.so;./entry.so,{function}",
        LD_LIBRARY_PATH=os.pathsep.join([LIBRARIES, *([loaded] if loaded else [])]),
        PYGPI_PYTHON_BIN=sys.executable,
        PYTHONPATH=os.pathsep.join(f"python_{k}" for k in range(len(sys.path))),
        TOPLEVEL_LANG="verilog",
    )
