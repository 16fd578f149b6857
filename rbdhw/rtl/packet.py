"""The packets at the accelerator's edge.

A packet is one task, or one response. Its bits fill the beats of an AXI4-Stream from the least significant
end without gaps: a header of 32 bits, then each word in two's complement at its own width, then zeros up
to a whole number of beats.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from amaranth.lib import data, stream

from rbdhw.config import DATA_WIDTHS
from rbdhw.fixed.program import Word

HEADER_BITS = 32

REQUEST_HEADER = data.StructLayout({"tag": 16, "function": 8, "reserved": 8})
RESPONSE_HEADER = data.StructLayout({"tag": 16, "function": 8, "status": 8})


class Status(IntEnum):
    """The bits of a response's status."""

    OUTSIDE = 0
    """An input word was outside its declared domain."""
    OVERFLOW = 1
    """A value inside the core did not fit its format."""
    MALFORMED = 2
    """Unknown function, reserved bits set, cut short or too long; all words are zero."""


@dataclass(frozen=True)
class Function:
    """A function as the edge sees it: its name, its code in the header, and its input words in order."""

    name: str
    code: int
    inputs: tuple[Word, ...]

    @property
    def input_bits(self) -> int:
        """Bits of the packed input words."""
        return sum(word.format.width for word in self.inputs)


def beats(bits: int, data_width: int) -> int:
    """Beats of a packet whose words take ``bits`` bits."""
    return -(-(HEADER_BITS + bits) // data_width)


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
        Where there are none, a name or a code appears twice or a code does not fit, or one has no input.
    """
    if not functions:
        raise ValueError("functions: at least one was expected")
    for what, values in (("name", [f.name for f in functions]), ("code", [f.code for f in functions])):
        if len(set(values)) != len(values):
            raise ValueError(f"functions: a {what} appears twice")
    for function in functions:
        if not 0 <= function.code < 256:
            raise ValueError(f"function '{function.name}': code {function.code} does not fit 8 bits")
        if not function.inputs:
            raise ValueError(f"function '{function.name}': at least one input word was expected")


def beat_stream(data_width: int) -> Any:
    """The signature of a stream of beats: ``data``, and ``last`` on the last of a packet."""
    return stream.Signature(data.StructLayout({"data": data_width, "last": 1}))


def task_layout(functions: int, bits: int) -> data.StructLayout:
    """A task taken apart.

    ``select`` is one-hot: the function by its place in the build, or the highest bit if unknown. What
    ``words`` hold of a malformed task says nothing.
    """
    fields = {"tag": 16, "function": 8, "select": functions + 1, "malformed": 1, "words": bits}
    return data.StructLayout(fields)


def response_layout(bits: int) -> data.StructLayout:
    """A response before it is put into beats; ``words`` count only if the task was not malformed."""
    return data.StructLayout({"tag": 16, "function": 8, "status": 8, "words": bits})
