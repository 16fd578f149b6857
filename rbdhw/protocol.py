"""What travels at the accelerator's edge: the header, the functions with their arrays, and the status.

The one table that the hardware, the host and the generator read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

HEADER_BITS = 32
HEADER = {"tag": (0, 16), "function": (16, 4), "options": (20, 4), "status": (24, 8)}
"""Fields of a packet's header: lowest bit and width. A request's ``status`` is zero."""

EXTENDED = 0
"""The bit of ``options`` that says, in request and response, that the optional arrays travel too."""


class Status(IntEnum):
    """The bits of a response's status."""

    OUTSIDE = 0
    """An input word was outside its declared domain."""
    OVERFLOW = 1
    """A value inside the core did not fit its format."""
    MALFORMED = 2
    """Unknown function or option, reserved bits set, cut short or too long; all words are zero."""
    NOT_FINITE = 3
    """An input word was infinite, not a number, or subnormal (float32 edges only)."""


@dataclass(frozen=True)
class Function:
    """An entry of the registry: the arrays of a function, and how it relates to others.

    Parameters
    ----------
    inputs, outputs
        The arrays that every task brings and gets, in the order in which their words travel.
    optional_inputs, optional_outputs
        Arrays that also travel with tasks whose header has the option :data:`EXTENDED`, after the others.
    algorithms
        The steps of :data:`rbdhw.frontend.functions.ALGORITHMS` that the function takes.
    derivative_of
        The function of which it is a derivative.
    cost_like
        The function whose graph depends on the robot's frames in the same way: rewrites are judged by it.
        By default the function itself.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    optional_inputs: tuple[str, ...] = ()
    optional_outputs: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    derivative_of: str | None = None
    cost_like: str | None = None

    @property
    def extensible(self) -> bool:
        """Whether tasks of the function may set the option :data:`EXTENDED`."""
        return bool(self.optional_inputs or self.optional_outputs)

    @property
    def inverts(self) -> bool:
        """Whether the function needs the inverse of the mass matrix."""
        return "inverse" in self.algorithms

    @property
    def takes_force(self) -> bool:
        """Whether tasks bring joint forces, and not accelerations."""
        return "tau" in self.inputs


BASE = ("base_v", "base_a", "gravity")
"""What tasks bring of the base's motion and of gravity, if the build asks for it."""

_BY_ACCELERATION = ("q", "v", "a", *BASE, "fext")
_BY_FORCE = ("q", "v", "tau", *BASE, "fext")

FUNCTIONS: dict[str, Function] = {
    "id": Function(_BY_ACCELERATION, ("tau",)),
    "fd": Function(_BY_FORCE, ("a",), algorithms=("inverse", "products"), cost_like="id"),
    "m": Function(("q",), ("M",)),
    "minv": Function(("q",), ("Minv",), algorithms=("inverse",), cost_like="m"),
    "did": Function(
        _BY_ACCELERATION, ("dtau_dq", "dtau_dv"), algorithms=("derivatives",), derivative_of="id"
    ),
    "dfd": Function(
        _BY_FORCE,
        ("da_dq", "da_dv"),
        optional_outputs=("Minv", "a"),
        algorithms=("derivatives", "inverse", "products", "gradient"),
        derivative_of="fd",
        cost_like="did",
    ),
    "difd": Function(
        _BY_ACCELERATION,
        ("da_dq", "da_dv"),
        optional_inputs=("Minv",),
        algorithms=("derivatives", "inverse", "products"),
        derivative_of="fd",
        cost_like="did",
    ),
}
"""The registry of functions, in the order of their codes in the header."""

CODES = {function: code for code, function in enumerate(FUNCTIONS)}


def functions_with(condition: Callable[[Function], bool]) -> tuple[str, ...]:
    """Return the names of the functions whose entries meet a condition, in the order of their codes."""
    return tuple(name for name, own in FUNCTIONS.items() if condition(own))


def function_giving(array: str) -> str:
    """Return the function whose only result is an array of the user's interface."""
    return next(name for name, own in FUNCTIONS.items() if own.outputs == (array,))


VECTORS = ("tau", "a")
"""The arrays of results that are vectors; the others are matrices."""

SYMMETRIC = ("M", "Minv")
"""Matrices of which only the lower triangle travels (row i, columns j <= i)."""

FLAGS: dict[str, tuple[tuple[str, ...], bool]] = {
    "acceleration_given": (functions_with(lambda own: "a" in own.inputs), False),
    "inverse_given": (functions_with(lambda own: "Minv" in own.optional_inputs), True),
}
"""Bits that a core reads from the header: the functions whose tasks raise them, and whether a task must also
have the option :data:`EXTENDED`."""


@dataclass(frozen=True)
class WordName:
    """The name of a word: an element of an array of the user's interface.

    Inputs are named after the element alone, ``q[3]`` or ``fext[4,2]``, results after their function, too:
    ``did.dtau_dq[2,5]``. A flag has no index.
    """

    array: str
    index: tuple[int, ...] = ()
    function: str | None = None

    def __str__(self) -> str:
        prefix = "" if self.function is None else f"{self.function}."
        return (
            f"{prefix}{self.array}[{','.join(map(str, self.index))}]" if self.index else prefix + self.array
        )

    @staticmethod
    @lru_cache(maxsize=1 << 16)
    def parse(text: str) -> WordName:
        """Return the name that ``str`` gave."""
        element, _, index = text.rstrip("]").partition("[")
        function, dot, array = element.rpartition(".")
        numbers = tuple(int(number) for number in index.split(",")) if index else ()
        return WordName(array, numbers, function if dot else None)


def flag_values(function: str, extended: bool) -> dict[str, bool]:
    """Every flag of a task."""
    return {
        flag: function in functions and (extended or not optional)
        for flag, (functions, optional) in FLAGS.items()
    }
