"""The accelerator in Verilator: one simulator for each Verilog and harness, driven by the cocotb bench.

Only the ports are visible to the bench: access to the whole design would double the build time. Device blocks
in the Verilog are replaced by the package's models. :mod:`rbdhw.sim.bulk` has the other harness.
"""

from __future__ import annotations

import hashlib
import json
import shutil
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
from rbdhw.runtime.build_folder import make_build_folder
from rbdhw.runtime.extras import check_installed
from rbdhw.runtime.files import WRITABLE, replace_file
from rbdhw.sim.library import ARCHIVE, LINKING, bench_sources, find_library
from rbdhw.sim.packets import Beats
from rbdhw.sim.primitives import models
from rbdhw.sim.tools import failure, find_tools

SINGLE_FILE = 2_000_000
"""The most bytes of C++ for which a model is compiled as one file.

Compiling the precompiled header that several files share takes longer than compiling such a model. A larger
model is compiled by several processes at once.
"""

AS_ONE_FILE = "VM_PARALLEL_BUILDS=0"
"""The option of Verilator's makefiles to compile a model as one file."""

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
    *("--cc", "--timescale", "1ns/1ns", "--no-timing", "-O3"),
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

    Sources and headers by name, and further options of Verilator.
    """

    files: Mapping[str, bytes]
    options: tuple[str, ...] = ()
    headers: Mapping[str, bytes] = field(default_factory=dict)


def build(directory: Path, cache: Path | None = None) -> Path:
    """Build the simulator of the Verilog in a design folder for :func:`exchange`.

    :func:`make_simulator` defines where it is kept.
    """
    check_installed("cocotb")
    return make_simulator(directory, cache, _cocotb_harness(top_module(directory)))


def make_simulator(directory: Path, cache: Path | None, harness: Harness) -> Path:
    """Return the simulator of a design folder's Verilog in a harness, built unless it already exists.

    It has the name of the top module, and is kept in ``cache``, by default the design's ``build-sim``, under
    the hash of all its sources.

    Raises
    ------
    InputError
        If a tool is missing, or the folder cannot be written.
    SimulationError
        If Verilator or the compiler fails.
    """
    source, top = directory / VERILOG, top_module(directory)
    tools = find_tools()
    folder = cache or make_build_folder(directory, "sim")
    executable = folder.resolve() / _name(source, harness) / top
    if executable.exists():
        return executable
    try:
        executable.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(str(folder), f"cannot be written ({error.strerror})", WRITABLE) from error
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as name:  # make does not support paths with spaces
        work = Path(name)
        tools.run_verilator(_write_inputs(work, source, top, harness), folder / "verilator.log")
        (work / ARCHIVE).symlink_to(find_library(tools, _OPTIONS, folder).resolve())
        tools.run_make(work, ["-f", "Vtop.mk", *LINKING, *_splitting(work)], folder / "make.log")
        with replace_file(executable) as aside:
            shutil.copy2(work / top, aside)
    return executable


def _write_inputs(work: Path, source: Path, top: str, harness: Harness) -> list[str]:
    """Write the sources besides the Verilog; return the options of Verilator."""
    for name, content in {**harness.files, **harness.headers}.items():
        (work / name).write_bytes(content)
    for name, text in models().items():
        (work / name).write_text(text, encoding="utf-8")
    folders = ["--exe", "-o", top, "-Mdir", str(work), "-y", str(work)]
    named = ["--top-module", top, "--prefix", "Vtop", *folders]
    sources = [*(str(work / name) for name in harness.files), str(source.resolve())]
    return [*_OPTIONS, *named, *harness.options, *sources]


def _splitting(work: Path) -> list[str]:
    """Return make's option to compile a small model as one file; a large one is built as Verilator chose."""
    size = sum(path.stat().st_size for path in work.glob("Vtop*.cpp"))
    return [AS_ONE_FILE] if size <= SINGLE_FILE else []


def exchange(executable: Path, requests: Sequence[Beats], traffic: Disturbance) -> list[Exchange]:
    """Send packets to each pair of streams of the accelerator and receive as many from it.

    Pairs for which there are no requests stand idle.

    Raises
    ------
    SimulationError
        If the simulation does not finish.
    """
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as work:
        folder = Path(work)
        (folder / "job.json").write_text(json.dumps(asdict(traffic)))
        for k, own in enumerate(requests):
            np.savez(folder / f"requests_{k}.npz", data=own.data, last=own.last)
        _simulate(executable, folder)
        return [_read_record(folder / f"responses_{k}.npz") for k in range(len(requests))]


def _read_record(path: Path) -> Exchange:
    """Return what the bench recorded of a pair of streams."""
    with np.load(path) as results:
        beats = Beats(results["data"], results["last"])
        return Exchange(beats, results["sent"], results["taken"], int(results["violations"]))


def _cocotb_harness(top: str) -> Harness:
    """Return cocotb's own main program, and the ports of the top module that the bench accesses."""
    from cocotb_tools import config

    main = config.share_dir / "lib" / "verilator" / "verilator.cpp"
    libraries = f"-Wl,-rpath,{config.libs_dir} -L{config.libs_dir} -lcocotbvpi_verilator"
    files = {"cocotb_main.cpp": main.read_bytes(), "ports.vlt": _PORTS.format(top=top).encode()}
    return Harness(files, ("--vpi", "-LDFLAGS", libraries))


def _name(source: Path, harness: Harness) -> str:
    """Return a name that identifies all sources of a simulator."""
    texts = [version("verilator"), *_OPTIONS, *harness.options, *harness.files, *models().values()]
    bench = bench_sources().values()
    parts = [source.read_bytes(), *(text.encode() for text in texts), *harness.files.values(), *bench]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _simulate(executable: Path, folder: Path) -> None:
    """Run the bench in ``folder``, where it writes the responses of each pair of streams."""
    from cocotb_tools.runner import get_runner

    log, reason = folder / "simulation.log", "the bench did not finish"
    try:
        get_runner("verilator").test(
            test_module="rbdhw.sim.bench",
            hdl_toplevel=executable.name,
            hdl_toplevel_lang="verilog",
            build_dir=executable.parent,
            test_dir=folder,
            log_file=log,
            extra_env={"COCOTB_REWRITE_ASSERTION_FILES": ""},  # no rewriting of all that the bench imports
        )
    except ValueError as error:  # cocotb found no shared library of this Python
        raise InputError("simulation", str(error), "a Python with its shared library") from error
    except (RuntimeError, SystemExit) as error:
        reason = str(error)
    if not (folder / "responses_0.npz").exists():
        kept = executable.parent.parent / log.name
        shutil.copy2(log, kept)
        raise failure("simulation", reason, kept)
