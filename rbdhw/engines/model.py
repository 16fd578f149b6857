"""The bit-exact model in C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rbdhw.engines.binding import Call
from rbdhw.engines.compiled import bind_library, compute
from rbdhw.engines.engine import Answer, Array, Source
from rbdhw.engines.words import WordEngine
from rbdhw.fixed.format import Integers
from rbdhw.software.exact_library import ExactLibrary


class ModelEngine(WordEngine):
    """The compiled program, which converts between arrays and words itself."""

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name, source)
        self._library = ExactLibrary(self.design)

    def respond(
        self, function: str, words: Mapping[str, Integers], extended: bool = False
    ) -> tuple[Integers, dict[str, Integers]]:
        """Return the status and the output words of tasks."""
        return self._library.respond(function, words, extended)

    def compute(self, function: str, tasks: Mapping[str, Array], extended: bool) -> Answer:
        """Compute tasks."""
        return compute(self._library, self.robot, function, tasks, extended)

    def binding(self, function: str, passed: Sequence[str]) -> Call:
        """Return what computes the simple calls of a function."""
        return bind_library(self._library, self.robot, function, passed, has_status=True)
