"""Tasks of integers for two implementations of the bit-exact model, and their comparison."""

from collections.abc import Iterator

import numpy as np

from rbdhw.fixed.format import Integers
from rbdhw.fixed.program import Word
from rbdhw.model.accelerator import AcceleratorModel

FAR = 0.05
"""The share of words that are drawn from their whole format instead of their domain."""


def draw_words(
    model: AcceleratorModel, function: str, extended: bool, tasks: int, seed: int = 0
) -> dict[str, Integers]:
    """Return the input words (N,) of tasks, some of which leave their domain or overflow."""
    rng = np.random.default_rng(seed)
    words = {word.name: _draw(word, tasks, rng) for word in model.interface.inputs(function, extended)}
    return words or {"none": np.zeros(tasks, np.int64)}


def _draw(word: Word, tasks: int, rng: np.random.Generator) -> Integers:
    lowest = word.format.lowest if word.lowest is None else word.lowest
    highest = word.format.highest if word.highest is None else word.highest
    inside = rng.integers(lowest, highest, tasks, endpoint=True)
    anywhere = rng.integers(word.format.lowest, word.format.highest, tasks, endpoint=True)
    return np.where(rng.random(tasks) < FAR, anywhere, inside)


def modes(model: AcceleratorModel) -> Iterator[tuple[str, bool]]:
    """Yield every function of a model without and, if it can, with the option EXTENDED."""
    for function in model.interface.functions:
        yield from ((function.name, extended) for extended in (False, True)[: 1 + function.extensible])


def assert_same_bits(one, other) -> None:
    """Compare two answers: the status (N,) and the words by name."""
    assert np.array_equal(one[0], other[0])
    assert one[1].keys() == other[1].keys()
    differing = [name for name in one[1] if not np.array_equal(one[1][name], other[1][name])]
    assert differing == []
