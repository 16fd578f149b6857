"""The engines by name: which folders each serves, and how it starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rbdhw.design import folder as design_folder
from rbdhw.design.digests import check_digest, digest_of, read_manifest
from rbdhw.design.manifest import is_software
from rbdhw.design.software_manifest import SolverEntry
from rbdhw.driver.link import NO_LINK, Link
from rbdhw.engines.driver import BoardEngine, SimulatedEngine
from rbdhw.engines.engine import ACCELERATOR, Engine, RolloutEngine, SolvingEngine, Source
from rbdhw.engines.golden import GoldenEngine
from rbdhw.engines.model import ModelEngine, NumpyEngine
from rbdhw.engines.rtl import RtlEngine
from rbdhw.engines.software import CEngine, CudaEngine
from rbdhw.errors import InputError
from rbdhw.options.build import PROCESSORS
from rbdhw.protocol import MPPI, ROLLOUT, SOLVE
from rbdhw.runtime.files import is_folder
from rbdhw.software import folder as software_folder
from rbdhw.software.folder import Software


@dataclass(frozen=True)
class Entry:
    """An engine of the registry."""

    name: str
    """What ``rbdhw.load`` and ``rbdhw run`` call it; engines of different folders may have the same name."""
    folders: tuple[str, ...]
    """The kinds of folders that it serves."""
    title: str
    """What computes."""
    start: type[Engine]

    @property
    def answers_rollouts(self) -> bool:
        """Whether it answers rollouts of an accelerator beside tasks."""
        return issubclass(self.start, RolloutEngine)

    @property
    def answers(self) -> str:
        """What it answers, as the documents say it."""
        solves = issubclass(self.start, SolvingEngine)
        rolls_out = self.answers_rollouts or solves
        return ", ".join(["tasks", *[ROLLOUT + "s"] * rolls_out, *[SOLVE, MPPI] * solves])


ENGINES = (
    Entry("model", (ACCELERATOR,), "the bit-exact model in C", ModelEngine),
    Entry("numpy", (ACCELERATOR,), "the same bits in NumPy: slower, without a compiler", NumpyEngine),
    Entry("rtl", (ACCELERATOR,), "the Verilog in Verilator", RtlEngine),
    Entry("driver", (ACCELERATOR,), "the Verilog in Verilator behind the driver in C", SimulatedEngine),
    Entry("board", (ACCELERATOR,), "a board behind the driver in C, by its transport", BoardEngine),
    Entry("float64", ("c",), "the functions in C, in double precision", CEngine),
    Entry("float32", ("c",), "the same in single precision", CEngine),
    Entry("float64", ("cuda",), "the functions on a GPU, in double precision", CudaEngine),
    Entry("float32", ("cuda",), "the same in single precision", CudaEngine),
    Entry("golden", (ACCELERATOR, *PROCESSORS), "the golden model in double precision", GoldenEngine),
)
"""All engines. The first one that serves a folder is its default."""


def engines_of(kind: str) -> dict[str, Entry]:
    """Return the engines of a kind of folders, by name."""
    return {entry.name: entry for entry in ENGINES if kind in entry.folders}


def start_engine(name: str | None, source: Source) -> Engine:
    """Return an engine of what was read from a folder; None is the folder's default."""
    known = engines_of(source.kind)
    name = name or next(iter(known))
    if name not in known:
        raise InputError(f"engine '{name}'", f"unknown for {source.folder}", f"one of {', '.join(known)}")
    if source.link != NO_LINK and not issubclass(known[name].start, BoardEngine):
        raise InputError("transport", f"engine '{name}' reaches no board", "none", "use engine board")
    return known[name].start(name, source)


def open_engine(folder: Path, name: str | None = None, link: Link | None = None) -> Engine:
    """Return an engine of a folder; None is the folder's default. ``link`` says how it reaches a board."""
    if not is_folder(folder):
        raise InputError(str(folder), "no such folder", "one that `rbdhw generate` wrote")
    digest = digest_of(folder)
    reader = software_folder.read if is_software(read_manifest(folder)) else design_folder.read
    content = reader(folder)
    check_digest(folder, digest)  # of one design, whatever was written meanwhile
    return start_engine(name, Source(folder, digest, content, link=link or NO_LINK))


def answering_rollouts(engine: Engine) -> RolloutEngine:
    """Return an engine that answers rollouts, or refuse it."""
    if isinstance(engine.source.content, Software):
        expected = "an accelerator, generated with --functions rollout"
        raise InputError(ROLLOUT, f"{engine.source.folder} is software", expected)
    if not isinstance(engine, RolloutEngine):
        others = [name for name, entry in engines_of(ACCELERATOR).items() if entry.answers_rollouts]
        raise InputError(ROLLOUT, f"engine '{engine.name}' answers none", f"one of {', '.join(others)}")
    return engine


def solving(engine: Engine) -> tuple[SolvingEngine, SolverEntry]:
    """Return an engine that solves, and the folder's solver; InputError if there is none."""
    content = engine.source.content
    if not isinstance(engine, SolvingEngine) or not isinstance(content, Software) or content.solver is None:
        remedy = "generate with --target c --functions solve"
        raise InputError(SOLVE, f"{engine.source.folder} has no solver", "software with one", remedy)
    return engine, content.solver
