"""The scalar protocol: the operations that the dynamics algorithms need from their numbers.

Algorithms are written once, over any scalar with ``+ - *`` and :func:`reciprocal`. Floats and NumPy arrays
compute values; the recording scalar of :mod:`rbdhw.graph.trace` creates a dataflow graph. The constants 0.0
and 1.0 stay Python floats, so that a recording scalar can fold structural zeros and ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from typing import Any

Scalar = Any
"""A number, an array of numbers, or a recording scalar; all mix with floats in ``+``, ``-`` and ``*``."""


def reciprocal(x: Scalar) -> Scalar:
    """Return ``1 / x``."""
    return x.reciprocal() if hasattr(x, "reciprocal") else 1.0 / x


def is_zero(x: Scalar) -> bool:
    """Return whether a number is zero whatever the inputs."""
    return isinstance(x, float) and x == 0.0


def inner_product(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    """Return the sum of the products of two sequences, from the first on."""
    return sum((a * b for a, b in zip(x, y, strict=True)), 0.0)


@dataclass(frozen=True, slots=True)
class Region:
    """A step of an algorithm at one joint; one hardware submodule is built from each region.

    ``step`` names the pass of the algorithm (``rnea_forward``). ``joint`` indexes ``Robot.bodies``, or is
    None if the step does not belong to a single joint. ``quantity`` names a number of the step for readers of
    the hardware; it does not distinguish regions. Regions are in the order of their steps and joints; one
    without a joint is the first of its step.
    """

    step: str
    joint: int | None = None
    quantity: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.step if self.joint is None else f"{self.step}_{self.joint}"

    def __lt__(self, other: Region) -> bool:
        return self._place < other._place

    @property
    def _place(self) -> tuple[str, int]:
        return self.step, -1 if self.joint is None else self.joint


_current: ContextVar[Region] = ContextVar("region", default=Region("accelerator"))


_stage: ContextVar[str] = ContextVar("stage", default="")

STAGE = "_stage_"
"""What lies between the step of a region and the number of its stage."""


@contextmanager
def stage(number: int) -> Iterator[None]:
    """Assign the regions inside the ``with`` block to a stage of a method in several."""
    token = _stage.set(f"{STAGE}{number}")
    try:
        yield
    finally:
        _stage.reset(token)


@contextmanager
def region(step: str, joint: int | None = None) -> Iterator[None]:
    """Assign everything computed inside the ``with`` block to this step at this joint."""
    token = _current.set(Region(step + _stage.get(), joint))
    try:
        yield
    finally:
        _current.reset(token)


def in_regions(
    step: str, function: Callable[..., Any], *columns: Iterable[Any], joints: Iterable[int] | None = None
) -> list[Any]:
    """Return a function of each row of some columns, in regions of a step; the joints are 0, 1, ... ."""
    results = []
    for joint, row in zip(count() if joints is None else joints, zip(*columns, strict=True), strict=False):
        with region(step, joint):
            results.append(function(*row))
    return results


def current_region() -> Region:
    """Return the region that is being computed."""
    return _current.get()


def label(quantity: str, value: Any, axes: str = "") -> None:
    """Name a number of the current region, or each component of a vector or tensor: ``alpha_z``."""
    if isinstance(value, tuple):
        for axis, part in zip("xyz", value, strict=True):
            label(quantity, part, axes + axis)
    elif hasattr(value, "label"):
        value.label(f"{quantity}_{axes}" if axes else quantity)
