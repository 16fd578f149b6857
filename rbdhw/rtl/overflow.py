"""The overflow flag of a task, accumulated while its results are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal


def gather_overflows(
    m: Module,
    function: str,
    flags: Mapping[int, Sequence[Any]],  # the flags by the cycle of the task in which they are valid
    last: int,  # the cycle of the task in which its last result, and its last flag, is computed
) -> Any:
    """Return whether any flag of a task was raised, in the cycle in which its last result is computed."""
    if not flags:
        return Const(0)
    first = min(flags)
    seen: Any = Cat(*flags[first]).any()
    # Constant registers before the first flag would each cost synthesis another optimisation round.
    for cycle in range(first + 1, last + 1):
        earlier = Signal(name=f"{function}_overflow_before_{cycle}", reset_less=True)
        m.d.sync += earlier.eq(seen)
        seen = Cat(earlier, *flags.get(cycle, ())).any()
    return seen
