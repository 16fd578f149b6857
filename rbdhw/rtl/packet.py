"""The packets at the accelerator's edge.

A packet is one task, or one response. Its bits fill the beats of an AXI4-Stream from the least significant
end without gaps: a header of 32 bits, then the numbers, then zeros up to a whole number of beats. Packed
numbers are in two's complement: those of a request as wide as their slots, those of a response each at its
own width. With ``float32`` each takes 32 bits; inside the edge it then stands in a field of its own beside
the others, wide enough for any, and the header in one like it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from amaranth.lib import data

from rbdhw.config import DATA_WIDTHS, NUMBERS
from rbdhw.fixed.program import Word
from rbdhw.fixed.single_precision import check_singles
from rbdhw.protocol import CODES, FUNCTIONS, HEADER, HEADER_BITS

SINGLE_BITS = 32
"""Bits of a number of a ``float32`` edge."""

REQUEST_HEADER = data.StructLayout({name: width for name, (_, width) in HEADER.items()})
RESPONSE_HEADER = REQUEST_HEADER


@dataclass(frozen=True)
class Function:
    """A function as the edge sees it: its name and its words in order, those of optional arrays apart."""

    name: str
    inputs: tuple[Word, ...]
    outputs: tuple[Word, ...]
    optional_inputs: tuple[Word, ...] = ()
    optional_outputs: tuple[Word, ...] = ()

    @property
    def code(self) -> int:
        """Its code in the header."""
        return CODES[self.name]

    @property
    def extensible(self) -> bool:
        """Whether its tasks may have the option EXTENDED."""
        return FUNCTIONS[self.name].extensible

    def brought(self, extended: bool) -> tuple[Word, ...]:
        """The words of a request."""
        return self.inputs + self.optional_inputs if extended else self.inputs

    def returned(self, extended: bool) -> tuple[Word, ...]:
        """The words of a response."""
        return self.outputs + self.optional_outputs if extended else self.outputs

    @property
    def result_bits(self) -> int:
        """Bits of all output words, packed."""
        return sum(word.format.width for word in self.returned(extended=True))


@dataclass(frozen=True)
class Edge:
    """How packets are laid out, at the ports and inside the edge, and which functions' responses go first.

    ``number`` is what travels: ``fixed`` or ``float32``. ``priority`` names functions, the first first.

    Raises
    ------
    ValueError
        For a width of TDATA or a number that is unknown; where there are no functions, one appears twice
        or is unknown; where priority names a function twice or one that is not there; for results that
        singles cannot be
        (:func:`rbdhw.fixed.single_precision.check_singles`).
    """

    functions: tuple[Function, ...]
    data_width: int
    number: str = "fixed"
    priority: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_data_width(self.data_width)
        check_functions(self.functions)
        check_priority(self.priority, self.functions)
        if self.number not in NUMBERS:
            raise ValueError(f"number '{self.number}': expected one of {', '.join(NUMBERS)}")
        for function in self.functions if self.converts else ():
            for word in function.returned(extended=True):
                check_singles(word.format)

    @property
    def converts(self) -> bool:
        """Whether numbers are converted at the ports."""
        return self.number == "float32"

    @property
    def lanes(self) -> int:
        """Numbers of 32 bits in a beat."""
        return self.data_width // SINGLE_BITS

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """The width of each slot: that of the widest word that travels in it."""
        words = [word for function in self.functions for word in function.brought(extended=True)]
        widths = [0] * (1 + max((word.slot for word in words), default=-1))
        for word in words:
            widths[word.slot] = max(widths[word.slot], word.format.width)
        return tuple(widths)

    @cached_property
    def request_field(self) -> int:
        """Bits of a request's header and, if numbers are converted, of each number inside the edge."""
        return max(HEADER_BITS, *self.slots, 0) if self.converts else HEADER_BITS

    @cached_property
    def response_field(self) -> int:
        """Bits of a response's header and, if numbers are converted, of each number inside the edge."""
        widths = [w.format.width for f in self.functions for w in f.returned(extended=True)]
        return max(HEADER_BITS, *widths, 0) if self.converts else HEADER_BITS

    @property
    def request_beat(self) -> int:
        """Bits of a request's beat inside the edge."""
        return self.lanes * self.request_field

    @property
    def response_beat(self) -> int:
        """Bits of a response's beat inside the edge."""
        return self.lanes * self.response_field

    @cached_property
    def fields(self) -> tuple[int, ...]:
        """The width of each slot's field inside the edge."""
        return tuple(self.request_field if self.converts else width for width in self.slots)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The first bit of each field among all; last, the bits of all."""
        return tuple(accumulate(self.fields, initial=0))

    def slots_of(self, function: Function, extended: bool) -> int:
        """How many slots a request has: all up to the last in which a word travels."""
        return max((word.slot + 1 for word in function.brought(extended)), default=0)

    def request_beats(self, function: Function, extended: bool) -> int:
        """Beats of a request."""
        bits = self.request_field + self.places[self.slots_of(function, extended)]
        return -(-bits // self.request_beat)

    def response_widths(self, function: Function, extended: bool) -> tuple[int, ...]:
        """The width of each number of a response inside the edge."""
        words = function.returned(extended)
        return tuple(self.response_field if self.converts else word.format.width for word in words)

    def response_beats(self, function: Function, extended: bool) -> int:
        """Beats of a response."""
        bits = self.response_field + sum(self.response_widths(function, extended))
        return -(-bits // self.response_beat)

    def modes(self) -> Iterator[tuple[Function, bool]]:
        """Every function without and, where it may be, with the option EXTENDED."""
        for function in self.functions:
            yield from ((function, extended) for extended in (False, True)[: 1 + function.extensible])


def check_data_width(data_width: int) -> None:
    """Accept a width of TDATA.

    Raises
    ------
    ValueError
        For any other than those of :data:`rbdhw.config.DATA_WIDTHS`.
    """
    if data_width not in DATA_WIDTHS:
        raise ValueError(f"data width {data_width}: expected one of {', '.join(map(str, DATA_WIDTHS))}")


def check_functions(functions: tuple[Function, ...]) -> None:
    """Accept the functions of an accelerator.

    Raises
    ------
    ValueError
        Where there are none, a name appears twice or is unknown.
    """
    if not functions:
        raise ValueError("functions: at least one was expected")
    names = [function.name for function in functions]
    if len(set(names)) != len(names):
        raise ValueError("functions: a name appears twice")
    for name in names:
        if name not in FUNCTIONS:
            raise ValueError(f"function '{name}': unknown; expected one of {', '.join(FUNCTIONS)}")


def check_priority(priority: tuple[str, ...], functions: tuple[Function, ...]) -> None:
    """Accept functions whose responses go first.

    Raises
    ------
    ValueError
        Where one appears twice or is not among the functions.
    """
    if len(set(priority)) != len(priority):
        raise ValueError("priority: a function appears twice")
    for name in priority:
        if name not in [function.name for function in functions]:
            raise ValueError(f"priority: function '{name}' is not among those of the edge")


def beat_layout(bits: int) -> data.StructLayout:
    """A beat: ``data``, and ``last`` on the last of a packet."""
    return data.StructLayout({"data": bits, "last": 1})


def request_layout(bits: int) -> data.StructLayout:
    """A request's beat inside the edge; ``not_finite`` says that a number in it was none."""
    return data.StructLayout({"data": bits, "last": 1, "not_finite": 1})


def task_layout(edge: Edge) -> data.StructLayout:
    """A task taken apart.

    ``select`` is one-hot: the function by its place in the build, or the highest bit if unknown. What
    ``words`` hold of a malformed task says nothing; else they are the fields of its slots.
    """
    return data.StructLayout(
        {
            "tag": 16,
            "function": HEADER["function"][1],
            "options": HEADER["options"][1],
            "select": len(edge.functions) + 1,
            "malformed": 1,
            "not_finite": 1,
            "words": edge.places[-1],
        }
    )


def response_layout(bits: int) -> data.StructLayout:
    """A response before it is put into beats.

    ``words`` count only if the task was well-formed and finite; those of optional arrays if ``extended``.
    """
    return data.StructLayout({"header": RESPONSE_HEADER, "extended": 1, "empty": 1, "words": bits})
