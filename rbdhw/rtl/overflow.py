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
    if not flags:
        return Const(0)
    first = min(flags)
    if first == last:
        return Cat(*flags[last]).any()
    # Registers that hold zero before the first flag would cost synthesis a round each.
    seen: Any = Cat(*flags[first]).any()
    for cycle in range(first + 1, last):
        earlier = Signal(name=f"{function}_overflow_before_{cycle}", reset_less=True)
        m.d.sync += earlier.eq(seen)
        seen = Cat(earlier, *flags.get(cycle, ())).any()
    return Cat(seen, *flags.get(last, ())).any()
