"""The layouts of packets inside the accelerator, as Amaranth's structures."""

from __future__ import annotations

from amaranth.lib import data

from rbdhw.interface import Interface
from rbdhw.protocol import HEADER

REQUEST_HEADER = data.StructLayout({name: width for name, (_, width) in HEADER.items()})
RESPONSE_HEADER = REQUEST_HEADER


def beat_layout(bits: int) -> data.StructLayout:
    """A beat: ``data``, and ``last`` on the last of a packet."""
    return data.StructLayout({"data": bits, "last": 1})


def request_layout(bits: int) -> data.StructLayout:
    """A request's beat inside the edge; ``not_finite`` says that a number in it was none."""
    return data.StructLayout({"data": bits, "last": 1, "not_finite": 1})


def task_layout(interface: Interface) -> data.StructLayout:
    """A task taken apart.

    ``select`` is one-hot: the function by its place in the build, or the highest bit if unknown. What
    ``words`` hold of a malformed task says nothing; else they are the fields of its slots.
    """
    return data.StructLayout(
        {
            "tag": 16,
            "function": HEADER["function"][1],
            "options": HEADER["options"][1],
            "select": len(interface.functions) + 1,
            "malformed": 1,
            "not_finite": 1,
            "words": interface.places[-1],
        }
    )


def response_layout(bits: int) -> data.StructLayout:
    """A response before it is put into beats.

    ``words`` count only if the task was well-formed and finite; those of optional arrays if ``extended``.
    """
    return data.StructLayout({"header": RESPONSE_HEADER, "extended": 1, "empty": 1, "words": bits})
