"""Words that are a number times a factor, rounded to their own formats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.format import Format, Integers, round_half_up

MOST_DROP = 62
"""The most bits that are rounded away: all of any product."""


@dataclass(frozen=True)
class Scaled:
    """A word called ``name``: source number ``place`` times factor number ``by``, or the negative of it."""

    name: str
    place: int
    by: int
    source: Format
    factor: Format
    target: Format
    negative: bool = False

    @property
    def drop(self) -> int:
        """The bits by which the product is rounded; negative if zeros are appended."""
        point = self.source.binary_point + self.factor.binary_point
        return min(point - self.target.binary_point, MOST_DROP)

    def exact(self, value: Integers, factor: Integers | int) -> Integers:
        """Return the rounded product, which may exceed the format."""
        product = value * factor * (-1 if self.negative else 1)
        return round_half_up(product, self.drop) if self.drop >= 0 else product << -self.drop

    def limited(self, value: Integers, factor: Integers | int) -> tuple[Integers, NDArray[np.bool_]]:
        """Return the word, which is the nearest of its format, and whether the product exceeds it."""
        exact = self.exact(value, factor)
        word = np.clip(exact, self.target.lowest, self.target.highest)
        return word, word != exact
