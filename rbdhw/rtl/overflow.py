"""Overflows of a task, gathered as its results are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal


def gathered(m: Module, function: str, flags: Mapping[int, Sequence[Any]], last: int) -> Any:
    """Whether any flag of a task was raised, in the cycle in which its last result is computed.

    Parameters
    ----------
    flags
        By cycle of the task. They stand in registers a cycle later, but for those of the last cycle.
    last
        That cycle.
    """
    seen: Any = Const(0)
    for cycle in range(last):
        earlier = Signal(name=f"{function}_overflow_before_{cycle}", reset_less=True)
        m.d.sync += earlier.eq(seen)
        seen = Cat(earlier, *flags.get(cycle, ())).any()
    return Cat(seen, *flags.get(last, ())).any()
