"""The layouts of packets inside the accelerator, as Amaranth's structures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat
from amaranth.lib import data

from rbdhw.fixed.program import Word
from rbdhw.header import HEADER, HIGH_CODE
from rbdhw.model.interface import Interface

REQUEST_HEADER = data.StructLayout({name: width for name, (_, width) in HEADER.items()})
RESPONSE_HEADER = REQUEST_HEADER


def code_in(header: Any) -> Any:
    """Return the function's code in a header, or in a record with the same fields."""
    return Cat(header.function, header.options[HIGH_CODE])


def beat_layout(bits: int) -> data.StructLayout:
    """Return the layout of a beat: ``data``, and ``last``, which is set on the last beat of a packet."""
    return data.StructLayout({"data": bits, "last": 1})


def request_layout(bits: int) -> data.StructLayout:
    """Return the layout of a converted request's beat; ``not_finite`` is set if it had an invalid number."""
    return data.StructLayout({"data": bits, "last": 1, "not_finite": 1})


def task_layout(interface: Interface) -> data.StructLayout:
    """Return the layout of a task after its packet was received.

    ``select`` is one-hot: one bit for each function of the build, in order, and the highest bit for unknown
    functions. ``words`` are the fields of the task's slots; they are arbitrary if the task is malformed. Of
    several sets of loaded parameters ``set`` is the task's, or the first one if there is no such set.
    """
    sets = interface.parameter_sets
    return data.StructLayout(
        {
            **{name: HEADER[name][1] for name in ("tag", "function", "options")},
            "select": len(interface.functions) + 1,
            "malformed": 1,
            "not_finite": 1,
            **({"set": (sets - 1).bit_length()} if sets > 1 else {}),
            "words": interface.places[-1],
        }
    )


def response_layout(bits: int) -> data.StructLayout:
    """Return the layout of a response before it is divided into beats.

    ``words`` are valid only if the task was well-formed and finite, and words of optional arrays only if
    ``extended`` is set.
    """
    return data.StructLayout({"header": RESPONSE_HEADER, "extended": 1, "empty": 1, "words": bits})


def task_numbers(interface: Interface, command: str, fields: Any) -> dict[str, Any]:
    """Return the whole fields of a command among those of a task by the names of its words."""
    words = interface.words(command).inputs
    slots = {word.name: interface.stored(word).slot for word in words}
    lowest, widths = interface.places, interface.fields
    return {name: fields[lowest[k] : lowest[k] + widths[k]].as_signed() for name, k in slots.items()}


def split_words(words: Sequence[Word], bits: Any) -> dict[str, Any]:
    """Return the numbers of packed words by their names; the first word is in the lowest bits."""
    numbers, start = {}, 0
    for word in words:
        numbers[word.name] = bits[start : start + word.format.width].as_signed()
        start += word.format.width
    return numbers
