"""What travels at the accelerator's edge: the header, the functions with their arrays, and the status.

The one table that the hardware, the host and the generator read.
"""

from __future__ import annotations

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
class FunctionArrays:
    """The arrays of one function, in the order in which their words travel.

    ``optional_inputs`` and ``optional_outputs`` travel with tasks whose header has the option
    :data:`EXTENDED`, after the others.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    optional_inputs: tuple[str, ...] = ()
    optional_outputs: tuple[str, ...] = ()

    @property
    def extensible(self) -> bool:
        """Whether the function knows the option :data:`EXTENDED`."""
        return bool(self.optional_inputs or self.optional_outputs)


BASE = ("base_v", "base_a", "gravity")
"""What tasks bring of the base's motion and of gravity, where the build asks for it."""

FUNCTIONS: dict[str, FunctionArrays] = {
    "id": FunctionArrays(("q", "v", "a", *BASE, "fext"), ("tau",)),
    "fd": FunctionArrays(("q", "v", "tau", *BASE, "fext"), ("a",)),
    "m": FunctionArrays(("q",), ("M",)),
    "minv": FunctionArrays(("q",), ("Minv",)),
    "did": FunctionArrays(("q", "v", "a", *BASE, "fext"), ("dtau_dq", "dtau_dv")),
    "dfd": FunctionArrays(
        ("q", "v", "tau", *BASE, "fext"), ("da_dq", "da_dv"), optional_outputs=("Minv", "a")
    ),
    "difd": FunctionArrays(("q", "v", "a", *BASE, "fext"), ("da_dq", "da_dv"), optional_inputs=("Minv",)),
}
"""The functions in the order of their codes in the header."""

CODES = {function: code for code, function in enumerate(FUNCTIONS)}

SYMMETRIC = ("M", "Minv")
"""Matrices of which only the lower triangle travels (row i, columns j <= i)."""

FLAGS: dict[str, tuple[tuple[str, ...], bool]] = {
    "acceleration_given": (("id", "did", "difd"), False),
    "inverse_given": (("difd",), True),
}
"""Bits that a core reads from the header: the functions whose tasks raise them, and whether only those
tasks do that have the option :data:`EXTENDED`."""


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
