"""The bit-exact model, in C and in NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial

from rbdhw.engines.binding import bind
from rbdhw.engines.compiled import compute
from rbdhw.engines.engine import Answer, Array, Call, Source
from rbdhw.engines.words import Session, WordEngine
from rbdhw.model.limits import limits_of
from rbdhw.model.responses import Response, Words, respond
from rbdhw.software.exact_library import ExactLibrary, ExactMeans, ExactSolver


class ModelEngine(WordEngine):
    """The compiled program, which converts between arrays and words itself."""

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name, source)
        self._library = ExactLibrary(self.design)

    def respond(self, function: str, words: Words, extended: bool = False) -> Response:
        return self._library.respond(function, words, extended)

    @cached_property
    def session(self) -> Session:
        """The compiled solver."""
        return ExactSolver(self.design)

    @cached_property
    def means(self) -> Session:
        """The compiled means of samples."""
        return ExactMeans(self.design)

    def compute(self, function: str, tasks: Mapping[str, Array], extended: bool) -> Answer:
        return compute(self._library, self.robot, function, tasks, extended)

    def binding(self, function: str, passed: Sequence[str]) -> Call:
        limits = partial(limits_of, self.robot, self.design.domain)
        return bind(self._library, self.robot, limits, function, passed)


class NumpyEngine(WordEngine):
    """The evaluator of programs."""

    def respond(self, function: str, words: Words, extended: bool = False) -> Response:
        return respond(self.design, function, words, extended)
