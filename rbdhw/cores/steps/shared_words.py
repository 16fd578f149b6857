"""The memory of the words of tasks, from which every step of a sweep reads those of its task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Array, C, Cat, Module, Signal
from amaranth.lib.memory import Memory

from rbdhw.rtl.arithmetic import split_sum
from rbdhw.schedule.shared_words import SharedWords


def read_shared_words(
    m: Module,
    name: str,
    own: SharedWords,
    words: Mapping[str, Any],
    *,
    starts: Any,
    reads: Any,
    ahead: Any,
) -> dict[str, Any]:
    """Return the words of the task whose step enters in this window, by name.

    Parameters
    ----------
    name
        The name of the memory.
    words
        The words of the task that may start in this cycle.
    starts
        Whether a task may start in this cycle, which is the first one of a window.
    reads
        Whether this is the last cycle of a window.
    ahead
        The place of the step that enters in the next window.
    """
    memory = Memory(shape=own.width, depth=own.depth, init=[])
    m.submodules[name] = memory
    write, read = memory.write_port(), memory.read_port(domain="sync")
    newest, number, address = (
        Signal(range(own.depth), name=f"{name}_{what}") for what in ("newest", "task", "address")
    )
    m.d.comb += [
        number.eq(newest + starts),
        address.eq(number - Array([C(age, newest.shape()) for age in own.ages])[ahead]),
        write.addr.eq(number),
        write.data.eq(Cat(words[word.name] for word in own.words)),
        write.en.eq(starts),
        read.addr.eq(address),
        read.en.eq(reads),
    ]
    m.d.sync += newest.eq(number)
    parts = split_sum(m, read.data, [word.format.width for word in own.words])
    return {word.name: part for word, part in zip(own.words, parts, strict=True)}
