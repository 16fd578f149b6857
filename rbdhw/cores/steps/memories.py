"""The memories between steps: what waits in each, how wide it is, and for how long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rbdhw.cores.steps.schedule import FIRST_WORDS, SweepSchedule
from rbdhw.fixed.program import Word
from rbdhw.fixed.step_program import UnrolledProgram
from rbdhw.graph.sweeps import Carried, Given, Kept, Shared, Sweep

TASK, OUTPUT = "task", "output"
"""The task's numbers as the writer of a store, and the results of the chain as its reader."""


@dataclass(frozen=True)
class Store:
    """A memory that is written in every window, at the window's number."""

    # The names of the sweeps that write and read, or `TASK` and `OUTPUT`.
    writer: str
    reader: str
    words: tuple[Word, ...]  # the words of the step that are read, or the one that is put out
    # The windows from the write to the read, for the first and for the last link that the reader reads.
    # Between them they change evenly.
    first: int
    last: int

    @property
    def name(self) -> str:
        return f"{self.writer}_for_{self.reader}"

    @property
    def width(self) -> int:
        """The bits that are written in a window."""
        return sum(word.format.width for word in self.words)

    @property
    def depth(self) -> int:
        """The words of the memory, a power of two."""
        return 1 << max(self.first, self.last).bit_length()


def stores(program: UnrolledProgram, schedule: SweepSchedule) -> Iterator[Store]:
    """Yield the memories in the order of the sweeps that read them."""
    steps, links = program.steps, schedule.links
    inputs = {word.name: word for word in steps.program.inputs}
    arrive = [FIRST_WORDS + link for link in range(links)]
    for sweep, time in zip(steps.sweeps.sweeps, schedule.sweeps, strict=True):
        order = sweep.order(links)
        reads = [time.enters(link, links) for link in order]
        brought = [name for name in sweep.step.inputs if isinstance(steps.sweeps.sources[name], Given)]
        if brought:
            words = tuple(inputs[name] for name in brought)
            yield _store(TASK, sweep.name, words, reads, [arrive[link] for link in order])
        for earlier, ready in zip(steps.sweeps.sweeps, schedule.sweeps, strict=True):
            words = tuple(inputs[name] for name in _kept(program, earlier, sweep))
            if words:
                yield _store(
                    earlier.name, sweep.name, words, reads, [ready.ready(link, links) for link in order]
                )
    if not steps.sweeps.each_link:
        return
    last = steps.sweeps.sweeps[-1]
    (result,) = (word for word in steps.program.outputs[last.name] if steps.taker(word) is None)
    written = [schedule.sweeps[-1].ready(link, links) for link in range(links)]
    yield _store(last.name, OUTPUT, (result,), [schedule.output + link for link in range(links)], written)


@dataclass(frozen=True)
class Lookup:
    """A memory of what links hand on to others in a sweep, written in every window at the window's number."""

    sweep: str  # the name of the sweep
    words: tuple[Word, ...]  # the words of the step that are read
    # The windows from the write to the read, for each link in the order of the sweep; 0 if none hands on to
    # it.
    ages: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.sweep}_from_{self.words[0].name.partition('[')[0]}"

    @property
    def width(self) -> int:
        return sum(word.format.width for word in self.words)

    @property
    def depth(self) -> int:
        return 1 << max(self.ages).bit_length()


def lookups(program: UnrolledProgram, schedule: SweepSchedule) -> Iterator[Lookup]:
    """Yield the memories of what links hand on where a robot branches."""
    steps, links = program.steps, schedule.links
    inputs = {word.name: word for word in steps.program.inputs}
    for sweep, time in zip(steps.sweeps.sweeps, schedule.sweeps, strict=True):
        groups: dict[tuple[int | None, ...], list[Word]] = {}
        for name in sweep.step.inputs:
            source = steps.sweeps.sources[name]
            if isinstance(source, Carried) and source.givers:
                groups.setdefault(source.givers, []).append(inputs[name])
        for givers, words in groups.items():
            ages = [
                0 if (giver := givers[link]) is None else time.enters(link, links) - time.ready(giver, links)
                for link in sweep.order(links)
            ]
            yield Lookup(sweep.name, tuple(words), tuple(ages))


@dataclass(frozen=True)
class SharedWords:
    """The memory of the numbers of tasks that every step of a sweep reads.

    It is written when a task starts, at the task's number. A step reads at the number of the task that starts
    now less the number of tasks that started since its own. That depends on the step alone.
    """

    words: tuple[Word, ...]  # the words that it holds for each task
    ages: tuple[int, ...]  # for each step, the tasks that start after its own until it reads

    @property
    def width(self) -> int:
        return sum(word.format.width for word in self.words)

    @property
    def depth(self) -> int:
        """The tasks that it holds, a power of two."""
        return max(2, 1 << max(self.ages).bit_length())


def shared_words(program: UnrolledProgram, schedule: SweepSchedule, sweep: int) -> SharedWords | None:
    """Return the memory that a sweep, by its place, reads; None if its steps read no such numbers.

    A step that enters in window ``e`` reads in the one before, and a task starts every ``links`` windows.
    """
    sweeps, inputs = program.steps.sweeps, program.steps.program.inputs
    names = sweeps.sweeps[sweep].step.inputs
    words = tuple(w for w in inputs if w.name in names and isinstance(sweeps.sources[w.name], Shared))
    if not words:
        return None
    links, time = schedule.links, schedule.sweeps[sweep]
    return SharedWords(words, tuple((time.enters(k, links) - 1) // links for k in range(links)))


def _kept(program: UnrolledProgram, writer: Sweep, reader: Sweep) -> list[str]:
    """Return the inputs of a sweep that an earlier one keeps for it."""
    sources = program.steps.sweeps.sources
    outputs = {name for name, _ in writer.step.outputs}
    return [
        name
        for name in reader.step.inputs
        if isinstance(source := sources[name], Kept) and source.output in outputs
    ]


def _store(
    writer: str, reader: str, words: tuple[Word, ...], reads: Sequence[int], written: Sequence[int]
) -> Store:
    return Store(writer, reader, words, reads[0] - written[0], reads[-1] - written[-1])
