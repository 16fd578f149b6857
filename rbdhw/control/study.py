"""A study: every candidate in the same closed loop, and the narrowest that is as good as double precision."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rbdhw.control.candidates import EXACT, Candidate, engine_of, format_of, plant_of
from rbdhw.control.loop import TASKS, Tracking
from rbdhw.control.table import Row, narrowest
from rbdhw.control.task import OwnLoop, Setting, Task
from rbdhw.domain.overrides import Overrides
from rbdhw.engines.engine import Engine
from rbdhw.errors import InputError, unknown
from rbdhw.frontend.read import read
from rbdhw.options.build import WIDTHS, BuildOptions
from rbdhw.progress import Progress
from rbdhw.protocol import FUNCTIONS
from rbdhw.remarks import warn
from rbdhw.robot.model import Robot
from rbdhw.runtime.executor import Store, execute

CallableOf = Callable[[Engine], Any]
"""Returns an object with the functions of an engine as methods, such as :func:`rbdhw.load` returns."""


@dataclass(frozen=True)
class Settings:
    """What the loop of a study does, the candidates, and where it is computed.

    Functions that are ``exact`` are in double precision whatever the candidate.
    """

    task: Task
    widths: Sequence[int] = ()
    formats: Sequence[str] = ()
    budgets: Sequence[float] = ()
    exact: Sequence[str] = ()
    workers: int | None = None
    cluster: str | None = None

    def check(self) -> None:
        """Refuse settings that no study can have."""
        if not (self.widths or self.formats or self.budgets):
            raise InputError("study", "no candidates", "some", "use --widths, --formats or --budgets")
        if not self.task.seconds >= self.task.least:
            raise InputError("seconds", f"{self.task.seconds:g}", f"at least {self.task.least:g}")
        if self.workers is not None and self.workers < 1:
            raise InputError("workers", str(self.workers), "a number from 1 on")
        for width in self.widths:
            if width not in WIDTHS:
                raise InputError("widths", str(width), f"{WIDTHS[0]} to {WIDTHS[-1]}")
        for budget in self.budgets:
            if not 0.0 < budget < 1.0:
                raise InputError("budgets", f"{budget:g}", "shares above 0 and below 1")

    def judged(self, functions: Sequence[str]) -> tuple[str, ...]:
        """Return the functions that candidates compute; InputError if there are none."""
        for name in self.exact:
            if name not in functions:
                raise unknown("exact", name, tuple(functions))
        rest = tuple(name for name in functions if name not in self.exact)
        if not rest:
            raise InputError("exact", "all functions", f"not all of {', '.join(functions)}")
        return rest

    def candidates(self, options: BuildOptions) -> list[Candidate]:
        """Return all candidates, double precision first."""
        functions = self.judged(options.functions)
        framed = any(FUNCTIONS[name].framed for name in functions if name in FUNCTIONS)
        mounting = options.mounting if framed else replace(options.mounting, frames=())
        build = partial(replace, options, functions=functions, mounting=mounting)
        return [
            Candidate(EXACT),
            *(Candidate(f"{width} bits", build(width=width, max_error=None)) for width in self.widths),
            *(Candidate(f"budget {most:g}", build(width=None, max_error=most)) for most in self.budgets),
            *(Candidate(text, word=format_of(text)) for text in self.formats),
        ]


@dataclass(frozen=True)
class Job:
    """A candidate with all that its loop depends on."""

    candidate: Candidate
    urdf: Path
    robot: Robot
    options: BuildOptions
    overrides: Overrides
    task: Task
    callable_of: CallableOf
    exact: Sequence[str] = ()


class Mixed:
    """Functions of a candidate, and those that are in double precision all the same."""

    def __init__(self, functions: Any, exact: Any, names: Sequence[str]) -> None:
        self._functions, self._exact, self._names = functions, exact, names

    def __getattr__(self, name: str) -> Any:
        return getattr(self._exact if name in self._names else self._functions, name)


def judge(job: Job) -> Row:
    """Return the row of a candidate: its hardware and what its loop measures, or why it cannot be built."""
    robot, options = job.robot, job.options
    exact, _ = engine_of(Candidate(EXACT), robot, options, job.overrides)
    try:
        engine, hardware = engine_of(job.candidate, robot, options, job.overrides)
    except InputError as error:
        return {"candidate": job.candidate.name, "refused": str(error)}
    with np.errstate(over="ignore", invalid="ignore"):
        in_double = job.callable_of(exact)
        functions = Mixed(job.callable_of(engine), in_double, job.exact)
        plant = partial(plant_of, robot, options)
        measured = job.task.measure(
            Setting(job.urdf, robot, functions, in_double, lambda: job.callable_of(plant()))
        )
    return {"candidate": job.candidate.name, **hardware, **measured}


def task_of(name: str, seconds: float) -> Task:
    """Return a task by its name, one of :data:`~rbdhw.control.loop.TASKS` or ``MODULE:FUNCTION``."""
    if ":" in name:
        return OwnLoop.named(name, seconds)
    if name not in TASKS:
        raise unknown("task", name, (*TASKS, "MODULE:FUNCTION"))
    return Tracking(name, seconds)


def study(
    urdf: Path,
    folder: Path,
    options: BuildOptions,
    overrides: Overrides,
    settings: Settings,
    callable_of: CallableOf,
    progress: Progress,
) -> dict[str, Any]:
    """Return the rows of all candidates, and the name of the narrowest that is as good as double precision.

    Results are stored in the folder, and those that it has are not computed again.

    Raises
    ------
    InputError
        The task is not for this robot, an option or a candidate is not supported, no candidate can be built,
        nobody answers at the cluster's address, or the folder has results of another version.
    """
    settings.check()
    robot, _ = read(urdf, options, progress)
    unit = settings.task.unit(robot)
    rest = robot, options, overrides, settings.task, callable_of, settings.exact
    jobs = {candidate.name: Job(candidate, urdf, *rest) for candidate in settings.candidates(options)}
    same = replace(options, width=None, max_error=None)
    inputs = f"{robot!r} {same!r} {overrides!r} {settings.task!r} {settings.exact!r}"
    digest = hashlib.sha256(inputs.encode()).hexdigest()[:12]
    rows = execute(
        judge,
        jobs,
        cluster=settings.cluster,
        workers=settings.workers,
        store=Store(folder / "results", f"{version('rbdhw')}-{digest}"),
        told=lambda name, _, done: progress(f"studying: {done} of {len(jobs)} candidates, last {name}"),
        warn=partial(warn),
    )
    if all("refused" in row for name, row in rows.items() if name != EXACT):
        first = next(row for name, row in rows.items() if name != EXACT)
        raise InputError("study", f"no candidate can be built: {first['refused']}", "wider ones")
    return {
        "robot": robot.name,
        "task": settings.task.name,
        "unit": unit,
        "rows": list(rows.values()),
        "narrowest": narrowest(list(rows.values())),
    }
