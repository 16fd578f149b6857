"""The error of a word of the state in hardware: the twin of :mod:`rbdhw.fixed.state_error`."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, signed

from rbdhw.fixed.state_error import ErrorTerm
from rbdhw.rtl.arithmetic import half
from rbdhw.rtl.delay import register

ERROR_CYCLES = 2
"""The cycles from a word to its error."""


def error(m: Module, name: str, term: ErrorTerm, value: Any, reference: Any) -> Any:
    """Return the rounded error of a word, :data:`ERROR_CYCLES` later; the reference comes one cycle later."""
    now = register(m, f"value_{name}", value, signed(len(value)))
    exact = (now - reference)[: term.bits].as_signed()
    rounded = exact + half(term.error_drop) >> term.error_drop
    return register(m, f"error_{name}", rounded, signed(term.error_bits))
