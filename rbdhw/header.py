"""The header of packets on the accelerator's streams, and the status of responses."""

from __future__ import annotations

from enum import IntEnum

HEADER_BITS = 32
HEADER = {"tag": (0, 16), "function": (16, 5), "options": (21, 3), "status": (24, 8)}
"""The fields of a packet's header: lowest bit and width.

The ``status`` of a request is the number of its set of loaded parameters, or zero."""

CODE_BITS = HEADER["function"][1] + 1
"""The bits of a function's code: the field ``function``, and :data:`HIGH_CODE` above it."""

EXTENDED = 0
"""The bit of ``options``, in requests and responses, that is set if the optional arrays travel, too."""

HIGH_CODE = 1
"""The bit of ``options`` that is the highest bit of the function's code. Codes below 32 leave it zero."""

LOADED = 2
"""The bit of ``options`` in responses of builds that load parameters.

An odd number of loads of the task's set came before."""


class Status(IntEnum):
    """The bits of a response's status."""

    OUTSIDE = 0
    """An input word was outside its domain."""
    OVERFLOW = 1
    """A value inside the core did not fit its format."""
    MALFORMED = 2
    """Unknown function, option or set of parameters, or wrong length of the request; all words are zero."""
    NOT_FINITE = 3
    """An input word was infinite, not a number, or subnormal (``float32`` only)."""


def header_fields(code: int, extended: bool = False) -> dict[str, int]:
    """Return the fields ``function`` and ``options`` of a header, with or without the option EXTENDED."""
    width = HEADER["function"][1]
    options = (code >> width) << HIGH_CODE | extended << EXTENDED
    return {"function": code & (1 << width) - 1, "options": options}
