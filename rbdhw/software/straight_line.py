"""Split straight-line code into blocks that pass values through a store.

A function of several thousand operations runs faster if it is compiled as a chain of short functions, each of
which loops over many tasks: the instructions of one block stay in the processor's instruction cache, and the
compiler allocates registers for a block in a fraction of the time. Values that later blocks need are kept in
a store. A slot of the store is used again once its value is not needed any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

VECTOR_BYTES = 64
STACK_BYTES = 1 << 19
"""The memory that a function's vectors may take of the stack, unless one vector of each value takes more."""


def vectors_of(values: int, most: int) -> int:
    """Return over how many vectors of each of these values a block loops, at most ``most``."""
    return max(1, min(most, STACK_BYTES // (max(values, 1) * VECTOR_BYTES)))


@dataclass(frozen=True)
class CodeBlock:
    """Consecutive operations, each of which computes the value of its number.

    ``loads`` and ``stores`` are the values read from the store before the operations and written to it after
    them: pairs of a value and its slot. ``part`` is the number of the part of the function.
    """

    loads: tuple[tuple[int, int], ...]
    body: tuple[int, ...]
    stores: tuple[tuple[int, int], ...]
    part: int = 0


@dataclass(frozen=True)
class StraightLine:
    """The blocks of a function in order, and the number of slots in its store."""

    blocks: tuple[CodeBlock, ...]
    slots: int

    @property
    def transfers(self) -> int:
        """The number of values read from the store and written to it."""
        return sum(len(block.loads) + len(block.stores) for block in self.blocks)


def split_into_blocks(
    parts: Sequence[Sequence[int]], operands: Callable[[int], Iterable[int]], size: int
) -> StraightLine:
    """Return the operations of a function's parts as blocks of up to ``size`` operations each.

    Blocks are sections of the order given, or of one in which each operation comes shortly before its first
    use in its part, whichever has fewer transfers. Operations of a block are always in the order given, in
    which more of them do not depend on each other. Operands that are in no part are ignored.
    """
    position = {value: k for k, value in enumerate(value for part in parts for value in part)}
    late = [_postpone(part, operands) for part in parts]
    given, postponed = (
        [
            (k, part[start : start + size])
            for k, part in enumerate(order)
            for start in range(0, len(part), size)
        ]
        for order in (parts, late)
    )
    ordered = [(k, sorted(body, key=position.__getitem__)) for k, body in postponed]
    candidates = [_divide(bodies, operands) for bodies in (given, ordered)]
    return min(candidates, key=lambda code: code.transfers)


def _postpone(order: Sequence[int], operands: Callable[[int], Iterable[int]]) -> list[int]:
    """Return operations in an order in which each comes shortly before its first use."""
    needed = {i: list(dict.fromkeys(operands(i))) for i in order}
    used = {value for values in needed.values() for value in values}
    ordered: dict[int, None] = {}
    for last in order:
        # Depth first with a path of its own: a graph may be deeper than calls of Python can be.
        path = [] if last in used else [last]
        while path:
            missing = (value for value in needed[path[-1]] if value in needed and value not in ordered)
            following = next(missing, None)
            if following is None:
                ordered[path.pop()] = None
            else:
                path.append(following)
    return list(ordered)


def _divide(
    bodies: Sequence[tuple[int, Sequence[int]]], operands: Callable[[int], Iterable[int]]
) -> StraightLine:
    """Return blocks of these operations, each with the number of its part."""
    order = [i for _, body in bodies for i in body]
    position = {value: k for k, value in enumerate(order)}
    needed = {i: [value for value in dict.fromkeys(operands(i)) if value in position] for i in order}
    last_use = {value: position[i] for i in order for value in needed[i]}
    blocks: list[CodeBlock] = []
    stored: dict[int, int] = {}
    free: list[int] = []
    slots = start = 0
    for part, body in bodies:
        end = start + len(body)
        read = dict.fromkeys(value for i in body for value in needed[i] if position[value] < start)
        loads = tuple((value, stored[value]) for value in read)
        # A block loads before it stores, so a slot that it reads last may take one of its own values.
        for value in [value for value in stored if last_use[value] < end]:
            free.append(stored.pop(value))
        kept = [value for value in body if last_use.get(value, -1) >= end]
        for value in kept:
            if not free:
                free.append(slots)
                slots += 1
            stored[value] = free.pop()
        stores = tuple((value, stored[value]) for value in kept)
        blocks.append(CodeBlock(loads, tuple(body), stores, part))
        start = end
    return StraightLine(tuple(blocks), slots)
