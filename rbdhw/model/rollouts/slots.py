"""The slots of words that commands of rollouts have beside those of ``step``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape


def in_slots(words: Sequence[Word], first: int) -> tuple[Word, ...]:
    """Return words in consecutive slots."""
    return tuple(replace(word, slot=slot) for word, slot in zip(words, count(first), strict=False))


def counts(shape: RolloutShape, names: Sequence[str]) -> list[Word]:
    """Return numbers of steps, which are integers: their formats have a binary point of zero."""
    number = Format(shape.horizon.bit_length() + 1, 0)
    bounds = {"steps": (1, shape.horizon), "every": (0, shape.horizon), "row": (0, shape.horizon - 1)}
    return [Word(name, "1", -1, number, *bounds[name]) for name in names]
