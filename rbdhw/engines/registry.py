"""Engines of folders: the default or a named one, and those that answer rollouts or solve."""

from __future__ import annotations

from pathlib import Path

from rbdhw.design import folder as design_folder
from rbdhw.design.digests import check_digest, digest_of, read_manifest
from rbdhw.design.manifest import is_software
from rbdhw.design.software_manifest import SolverEntry
from rbdhw.driver.link import NO_LINK, Link
from rbdhw.engines.driver import BoardEngine
from rbdhw.engines.engine import Engine, RolloutEngine, SolvingEngine, Source
from rbdhw.engines.table import ACCELERATOR, engines_of
from rbdhw.errors import InputError
from rbdhw.protocol import MPPI, ROLLOUT, SOLVE
from rbdhw.runtime.files import is_folder
from rbdhw.software import folder as software_folder
from rbdhw.software.folder import Software


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


def solver_of(engine: Engine) -> SolverEntry:
    """Return the solver of an engine's folder; InputError if there is none."""
    content = engine.source.content
    if isinstance(content, Software):
        entry = content.solver
    elif (shape := content.interface.solver) is not None:
        entry = SolverEntry(knots=shape.knots, alphas=shape.alphas)
    else:
        entry = None
    if entry is None:
        remedy = "generate with --functions solve"
        raise InputError(SOLVE, f"{engine.source.folder} has no solver", "one", remedy)
    return entry


def horizon_of_means(engine: Engine) -> SolverEntry:
    """Return the horizon of the means of samples of an engine's folder; InputError if it takes none."""
    content = engine.source.content
    if isinstance(content, Software):
        return solver_of(engine)
    shape = content.interface.rollout
    if shape is None or not shape.means:
        remedy = "generate with --functions mppi"
        raise InputError(MPPI, f"{engine.source.folder} takes no means of samples", "them", remedy)
    return SolverEntry(knots=shape.horizon, alphas=1)


def sampler(engine: Engine) -> SolvingEngine:
    """Return an engine that takes means of samples as software does; InputError if it is no such one."""
    horizon_of_means(engine)
    if not isinstance(engine, SolvingEngine):
        remedy = "generate with --target c --functions mppi"
        raise InputError(MPPI, f"engine '{engine.name}' takes no means of samples", "another", remedy)
    return engine
