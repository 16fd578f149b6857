"""The memory of the numbers of tasks that every step of a sweep reads.

It is written when a task starts, at the task's number. A step reads at the number of the task that starts now
less the number of tasks that started since its own. That depends on the step alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from rbdhw.fixed.program import Word
from rbdhw.fixed.step_program import ChainProgram
from rbdhw.graph.sweeps import Shared
from rbdhw.schedule.sweeps import ChainSchedule


@dataclass(frozen=True)
class SharedWords:
    """The memory that the steps of a sweep read.

    Parameters
    ----------
    words
        The words that it holds for each task.
    ages
        For each step, the tasks that start after its own until it reads.
    """

    words: tuple[Word, ...]
    ages: tuple[int, ...]

    @property
    def width(self) -> int:
        """The bits of a task's words."""
        return sum(word.format.width for word in self.words)

    @property
    def depth(self) -> int:
        """The tasks that it holds, a power of two."""
        return max(2, 1 << max(self.ages).bit_length())


def shared_words(program: ChainProgram, schedule: ChainSchedule, sweep: int) -> SharedWords | None:
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
