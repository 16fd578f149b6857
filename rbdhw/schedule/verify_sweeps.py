"""An independent check of the schedule of sweeps: it lists what happens in each window, for some tasks."""

from __future__ import annotations

from collections.abc import Iterator

from rbdhw.fixed.step_program import ChainProgram
from rbdhw.graph.sweeps import Carried, Given, Kept
from rbdhw.schedule.sweeps import ChainSchedule


class SweepError(Exception):
    """A schedule of sweeps breaks a rule."""


def verify_sweeps(program: ChainProgram, schedule: ChainSchedule) -> None:
    """Check that links meet nobody, and that everything that they read is there.

    1. In each window at most one link enters a sweep, also with a task in every interval.
    2. A link enters after the results of the one before it in the sweep are ready.
    3. A number that waits in a memory is read two windows after it was written, or later.
    4. The results leave in the order of the links, after the last sweep wrote them.

    Raises
    ------
    SweepError
        A rule is broken.
    """
    sweeps, links = program.steps.sweeps, schedule.links
    window = schedule.step.ii
    entry: dict[tuple[str, int], int] = {}
    ready: dict[tuple[str, int], int] = {}
    for sweep, time in zip(sweeps.sweeps, schedule.sweeps, strict=True):
        cycles = schedule.step.latency[sweep.name] + 1
        place = time.start
        for link in range(links - 1, -1, -1) if sweep.inward else range(links):
            entry[sweep.name, link] = place
            ready[sweep.name, link] = -(-(place * window + cycles) // window)
            place += time.step
        taken = {own % links for (name, _), own in entry.items() if name == sweep.name}
        if len(taken) != links:
            raise SweepError(f"{sweep.name}: two links enter in one window")
    for name, link, read in _reads(program, entry):
        source = sweeps.sources[name]
        sweep = name.split("_")[0]
        if isinstance(source, Given) and source.links[link] and read < link + 3:
            raise SweepError(f"{name}: link {link} enters before its numbers arrive")
        if isinstance(source, Kept) and read < ready[source.output.split(".")[0], link] + 2:
            raise SweepError(f"{name}: link {link} reads before the number is written")
        if isinstance(source, Carried):
            before = link + 1 if _inward(program, sweep) else link - 1
            if (sweep, before) in ready and read < ready[sweep, before]:
                raise SweepError(f"{name}: link {link} enters before link {before} is ready")
    last = sweeps.result.split(".")[0]
    for link in range(links):
        if schedule.output + link < ready[last, link] + 2:
            raise SweepError(f"the result of link {link} leaves before it is written")


def _reads(program: ChainProgram, entry: dict[tuple[str, int], int]) -> Iterator[tuple[str, int, int]]:
    """Yield each input of each link with the window in which it is read."""
    for sweep in program.steps.sweeps.sweeps:
        for link in range(program.steps.sweeps.links):
            for name in sweep.step.inputs:
                yield name, link, entry[sweep.name, link]


def _inward(program: ChainProgram, name: str) -> bool:
    return next(sweep.inward for sweep in program.steps.sweeps.sweeps if sweep.name == name)
