"""Overflows of a task, gathered as its results are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal


def gather_overflows(m: Module, function: str, flags: Mapping[int, Sequence[Any]], last: int) -> Any:
    """Whether any flag of a task was raised, in the cycle in which its last result is computed.

    Parameters
    ----------
    flags
        By the cycle of the task in which they can be read.
    last
        That cycle, which is that of the last flags.
    """
    if not flags:
        return Const(0)
    first = min(flags)
    seen: Any = Cat(*flags[first]).any()
    # Registers that hold zero before the first flag would cost synthesis a round each.
    for cycle in range(first + 1, last + 1):
        earlier = Signal(name=f"{function}_overflow_before_{cycle}", reset_less=True)
        m.d.sync += earlier.eq(seen)
        seen = Cat(earlier, *flags.get(cycle, ())).any()
    return seen
