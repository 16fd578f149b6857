"""The bit-exact model in NumPy."""

from __future__ import annotations

from collections.abc import Mapping

from rbdhw.engines.words import WordEngine
from rbdhw.fixed.format import Integers
from rbdhw.model.responses import respond


class NumpyEngine(WordEngine):
    """The evaluator of programs."""

    def respond(
        self, function: str, words: Mapping[str, Integers], extended: bool = False
    ) -> tuple[Integers, dict[str, Integers]]:
        """Return the status and the output words of tasks."""
        return respond(self.design, function, words, extended)
