"""What rollouts may have beside loaded forces. A part is one file with all that software knows of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.format import Format, Integers
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.model.responses import Words
from rbdhw.model.rollouts.data import Answered, Array, RolloutArrays, Rollouts

# What a part keeps of the user's arrays.
Checked = TypeVar("Checked")

Results = Mapping[str, NDArray[np.generic]]


class Part(ABC, Generic[Checked]):
    """A part of rollouts. What is not overridden adds nothing.

    Members
    -------
    name
        One of :data:`rbdhw.protocol.ROLLOUT_PARTS`.
    arrays
        The user's arrays that only this part takes.
    absence
        Why other builds do not take them.
    loads
        The commands of its own that load its rows.
    """

    name: ClassVar[str]
    arrays: ClassVar[tuple[str, ...]]
    absence: ClassVar[str]
    loads: ClassVar[tuple[str, ...]] = ()

    def of(self, arrays: RolloutArrays) -> Checked:
        """Return what :meth:`check` returned."""
        return cast(Checked, arrays.parts[self.name])

    # Packets

    def request_words(self, _shape: RolloutShape) -> list[Word]:
        """Return the words that a request for rollouts has at its end."""
        return []

    def first_row_words(self, _step: FunctionWords, _shape: RolloutShape) -> list[Word]:
        """Return the words in front of the forces of a row, in slots of the words of ``step``."""
        return []

    def last_row_words(self, _step: FunctionWords, _shape: RolloutShape) -> list[Word]:
        """Return the words behind the forces of a row."""
        return []

    def commands(self, _step: FunctionWords, _shape: RolloutShape, _first: int) -> list[FunctionWords]:
        """Return the words of those of :attr:`loads` that a build has.

        Words that ``step`` has not are in slots from ``first`` on.
        """
        return []

    def stream_entries(self, _interface: Interface) -> dict[str, Any]:
        """Return what the manifest's entry on the streams has of this part."""
        return {}

    def answer_words(self, _step: FunctionWords, _shape: RolloutShape) -> list[Word]:
        """Return the words of each answer beside the state, which is then optional."""
        return []

    def packet_words(self, _model: AcceleratorModel, _command: str, rows: Words) -> Words:
        """Return the words (P,) of the packets that load rows (K,), one packet for each row by default."""
        return rows

    # The user's arrays

    @abstractmethod
    def check(self, model: AcceleratorModel, arrays: Mapping[str, Array], tasks: int, steps: int) -> Checked:
        """Return the checked arrays of N rollouts of K steps; InputError if one is not usable."""

    def reference(self, _checked: Checked) -> Array | None:
        """Return states (K, nq + nv) from which errors are taken, with quaternions of either sign."""
        return None

    def with_reference(self, checked: Checked, _states: Array) -> Checked:
        """Return the checked arrays with such states instead."""
        return checked

    # The bit-exact model

    def words(self, _arrays: RolloutArrays) -> Words:
        return {}

    @abstractmethod
    def rows(self, model: AcceleratorModel, arrays: RolloutArrays) -> Words:
        """Return the words (K,) of the rows; InputError if a number is too large."""

    def forces(
        self, _model: AcceleratorModel, _rollouts: Rollouts, _step: int, _state: Words | None
    ) -> Words:
        """Return what is added to the words (N,) of forces; the ``state`` is None where it is left out."""
        return {}

    def cost(
        self, _model: AcceleratorModel, _row: Mapping[str, int], _words: Words
    ) -> tuple[Integers | int, Integers | int]:
        """Return the cost (N,) of a step and a status, from words of forces, and of what is behind it."""
        return 0, 0

    def results(self, _model: AcceleratorModel, _arrays: RolloutArrays, _answered: Answered) -> Results:
        return {}

    # The golden model

    def golden_forces(
        self,
        _model: AcceleratorModel,
        _arrays: RolloutArrays,
        _step: int,
        forces: Array,
        _state: Array | None,
    ) -> Array:
        """Return forces (N, nv) with what is added; the ``state`` is None where it is left out."""
        return forces

    def golden_results(
        self, _model: AcceleratorModel, _arrays: RolloutArrays, _states: Array, _forces: Array
    ) -> Results:
        """Return the results of its own, from states (N, K, nq + nv) and forces (N, K, nv)."""
        return {}

    # Random rollouts

    @abstractmethod
    def draw_rows(
        self, model: AcceleratorModel, centre: Mapping[str, Array], steps: int, rng: np.random.Generator
    ) -> dict[str, Array]:
        """Return random arrays of K steps that keep a robot near the state of the task ``centre``."""

    def draw_each(self, _tasks: int, _rng: np.random.Generator) -> dict[str, Array]:
        return {}


def in_slots(words: Sequence[Word], first: int) -> tuple[Word, ...]:
    """Return words in consecutive slots."""
    return tuple(replace(word, slot=slot) for slot, word in enumerate(words, first))


def counts(shape: RolloutShape, *names: str) -> list[Word]:
    """Return words of numbers of steps, which are integers: their formats have a binary point of zero."""
    number = Format(shape.horizon.bit_length() + 1, 0)
    bounds = {"steps": (1, shape.horizon), "every": (0, shape.horizon), "row": (0, shape.horizon - 1)}
    return [Word(name, "1", -1, number, *bounds.get(name, ())) for name in names]
