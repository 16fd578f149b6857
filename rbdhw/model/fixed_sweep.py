"""A sweep back in the integers of an accelerator, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.format import Format, Integers
from rbdhw.fixed.knots import MOVED, REGULARISATION
from rbdhw.fixed.program import Program, Word
from rbdhw.golden.riccati import Expansion, Policy
from rbdhw.graph.knots import Values, sweep_knots
from rbdhw.graph.sweeps import Carried, Sweeps
from rbdhw.model.knot_numbers import knot_numbers, policy_of


@dataclass(frozen=True)
class Swept:
    """The results of a sweep back, and its status."""

    words: Mapping[str, Integers]
    """The results (..., knots) by name, and what the first knot hands on (...,)."""
    overflow: NDArray[np.bool_]
    """Whether a value exceeded its format, (...,)."""
    indefinite: NDArray[np.bool_]
    """Whether a Hessian by the forces was not positive, (...,)."""


@dataclass(frozen=True)
class FixedSweep:
    """A sweep back through the bit-exact program of a knot's step.

    As a function it takes the place of :func:`rbdhw.golden.riccati.sweep_back`.
    """

    sweeps: Sweeps
    program: Program
    h: float
    forces: Sequence[int]

    def __call__(self, expansion: Expansion, regularisation: float) -> Policy | None:
        """Return the policy of an expansion; None if a value overflows, or a Hessian is not positive."""
        numbers = knot_numbers(expansion, self.h, self.forces)
        words, fits = self.quantise({**numbers, "regularisation": np.array(regularisation)})
        swept = self.sweep(words)
        if not fits or swept.overflow or swept.indefinite:
            return None
        results = {name: self.formats[name].real(word) for name, word in swept.words.items()}
        return policy_of(results, expansion, regularisation, self.h, self.forces)

    @cached_property
    def taken(self) -> tuple[Word, ...]:
        """The words that a knot does not have from the one behind it, in order."""
        sources = self.sweeps.sources
        return tuple(word for word in self.program.inputs if not isinstance(sources[word.name], Carried))

    @cached_property
    def formats(self) -> dict[str, Format]:
        """The formats of results, and of what is handed on, by name."""
        return {_name(word): word.format for words in self.program.outputs.values() for word in words}

    def quantise(self, numbers: Mapping[str, NDArray[np.float64]]) -> tuple[dict[str, Integers], bool]:
        """Return the words of numbers, and whether all numbers fit their formats."""
        known = {word.name: word for word in self.taken if word.name in numbers}
        words = {name: word.format.quantise(numbers[name]) for name, word in known.items()}
        most = {name: word.format.highest * word.format.step for name, word in known.items()}
        fits = all(np.all(np.abs(numbers[name]) <= most[name]) for name in known)
        still = np.zeros_like(next(word for name, word in words.items() if name != REGULARISATION))
        return words | {word.name: still for word in self.taken if word.array == MOVED}, fits

    def sweep(self, words: Mapping[str, Integers], values: Values | None = None) -> Swept:
        """Return the results of words (..., knots); ``regularisation`` (...,) is that of all knots.

        Blocks begin with ``values``, as in :func:`rbdhw.graph.knots.sweep_knots`.
        """
        overflows: list[NDArray[np.bool_]] = []

        def step(_knot: int, inputs: dict[str, Integers]) -> dict[str, Integers]:
            result = evaluate(self.program, inputs)
            overflows.append(result.overflow)
            outputs = (word for words in self.program.outputs.values() for word in words)
            return {_name(word): result.words[word.name] for word in outputs}

        results = sweep_knots(self.sweeps, words, step, values)
        pivots = np.stack([word for name, word in results.items() if name.startswith("pivot[")])
        return Swept(results, np.any(overflows, axis=0), np.any(pivots <= 0, axis=(0, -1)))


def _name(word: Word) -> str:
    """Return the name of a word without that of its function."""
    return word.name.partition(".")[2]
