"""The scalar protocol: what the dynamics algorithms ask of the numbers they compute with.

Algorithms are written once, over any scalar with ``+ - *`` and :func:`reciprocal`. Floats and NumPy arrays
compute; the recording scalar of :mod:`rbdhw.graph.trace` leaves a dataflow graph. The constants 0.0 and 1.0
stay Python floats, so that a recording scalar can make structural zeros and ones vanish.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

Scalar = Any
"""A number, an array of numbers, or a recording scalar; ``+``, ``-`` and ``*`` mix it with floats."""


def reciprocal(x: Scalar) -> Scalar:
    """``1 / x``."""
    return x.reciprocal() if hasattr(x, "reciprocal") else 1.0 / x


@dataclass(frozen=True, slots=True, order=True)
class Region:
    """A step of an algorithm at one joint: the unit from which one hardware submodule is built.

    ``step`` names the algorithm's pass (``rnea_forward``); ``joint`` indexes ``Robot.bodies``, or is
    None where the step belongs to no single joint. ``quantity`` names what a number of the step is, for
    people who read the hardware; it makes no other region.
    """

    step: str
    joint: int | None = None
    quantity: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.step if self.joint is None else f"{self.step}_{self.joint}"


_current: ContextVar[Region] = ContextVar("region", default=Region("accelerator"))


@contextmanager
def region(step: str, joint: int | None = None) -> Iterator[None]:
    """Say that what is computed inside the ``with`` block belongs to this step at this joint."""
    token = _current.set(Region(step, joint))
    try:
        yield
    finally:
        _current.reset(token)


def current_region() -> Region:
    """The region that is being computed."""
    return _current.get()


def label(quantity: str, value: Any, axes: str = "") -> None:
    """Say what a number of the current region is, or each of a vector's or tensor's: ``alpha_z``."""
    if isinstance(value, tuple):
        for axis, part in zip("xyz", value, strict=True):
            label(quantity, part, axes + axis)
    elif hasattr(value, "label"):
        value.label(f"{quantity}_{axes}" if axes else quantity)
