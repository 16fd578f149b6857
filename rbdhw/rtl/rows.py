"""The rows of rollouts: words that are loaded for each step before rollouts start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.memory import Memory

from rbdhw.arrays import WordName
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import force_words
from rbdhw.model.interface import Interface
from rbdhw.protocol import LOAD, STEP_ROWS


@dataclass(frozen=True)
class Rows:
    """A memory of rows.

    ``data`` is the row of an address, one enabled cycle later, and ``loaded`` the number of steps that have
    rows. ``good`` states that the row at the input is neither beyond the end nor leaves a gap. ``memory`` has
    all rows. Rows that are the same for all steps are in registers, and ``data`` is all of them.
    """

    data: Any
    loaded: Any
    good: Any
    memory: Any = None


@dataclass(frozen=True)
class Write:
    """A row that replaces another: whether there is one, its number, and its bits."""

    enable: Any
    number: Any
    row: Any


def loaded_words(interface: Interface, command: str = LOAD) -> tuple[Word, ...]:
    """Return the words of a row, in the order in which it is stored."""
    return tuple(word for word in interface.words(command).inputs if word.name not in ("row", "coordinate"))


def coordinates(interface: Interface, command: str) -> list[int]:
    """Return the coordinates of forces for each of which a command loads rows; none if rows are of all."""
    of_each = any(word.name == "coordinate" for word in interface.words(command).inputs)
    forces = force_words(interface.step) if of_each else ()
    return [WordName.parse(word.name).index[0] for word in forces]


def row_bits(interface: Interface, command: str) -> int:
    """Return the bits of the rows that a command loads for a step."""
    bits = sum(word.format.width for word in loaded_words(interface, command))
    if command not in STEP_ROWS:
        assert interface.rollout is not None
        return bits * interface.rollout.cost_rows
    return bits * max(len(coordinates(interface, command)), 1)


def add_rows(
    m: Module,
    name: str,
    words: Sequence[Word],  # the words of a row, in the order in which they are stored
    # The fields of the task at the input by the names of its words; `row` is the number of its row.
    numbers: Mapping[str, Any],
    depth: int,
    *,
    loads: Any,  # whether that task is a usable row of this memory, and is admitted
    # The row to read.
    address: Any,
    enable: Any,
    replaced: Write | None = None,  # what else writes to the memory, while no row is loaded
) -> Rows:
    """Add a memory of rows; those beyond bounds are limited when they are loaded."""
    width = sum(word.format.width for word in words)
    m.submodules[name] = rows = Memory(shape=width, depth=depth, init=[])
    write, read = rows.write_port(), rows.read_port()
    loaded = Signal(range(depth + 1))
    number = numbers["row"]
    good = (number >= 0) & (number <= loaded) & (number < depth)
    m.d.comb += [
        write.en.eq(loads & good),
        write.addr.eq(number[: len(write.addr)]),
        write.data.eq(Cat(limited_word(m, word, numbers[word.name]) for word in words)),
        read.addr.eq(address[: len(read.addr)]),
        read.en.eq(enable),
    ]
    loads_row = write.en
    if replaced is not None:
        loads_row = Signal(name=f"{name}_loads")
        m.d.comb += loads_row.eq(loads & good)
        with m.If(replaced.enable):
            m.d.comb += [
                write.en.eq(1),
                write.addr.eq(replaced.number[: len(write.addr)]),
                write.data.eq(replaced.row),
            ]
    with m.If(loads_row & (number == loaded)):
        m.d.sync += loaded.eq(loaded + 1)
    return Rows(read.data, loaded, good, rows)


def hold_rows(
    m: Module,
    name: str,
    words: Sequence[Word],
    numbers: Mapping[str, Any],
    count: int,  # of rows
    steps: int,  # the most of a rollout
    *,
    loads: Any,
) -> Rows:
    """Add registers of rows that are the same for all steps; other arguments are those of :func:`add_rows`.

    No step has rows until all of them are loaded.
    """
    loaded, number = Signal(range(count + 1), name=f"{name}_loaded"), numbers["row"]
    good = (number >= 0) & (number <= loaded) & (number < count)
    row = Cat(limited_word(m, word, numbers[word.name]) for word in words)
    rows = [Signal(len(row), name=f"{name}_{k}", reset_less=True) for k in range(count)]
    for k, held in enumerate(rows):
        with m.If(loads & good & (number == k)):
            m.d.sync += held.eq(row)
    with m.If(loads & good & (number == loaded)):
        m.d.sync += loaded.eq(loaded + 1)
    return Rows(Cat(rows), Mux(loaded == count, steps, 0), good)


def limited_word(m: Module, word: Word, field: Any) -> Any:
    """Return a word of the task at the input, limited to its bounds; an angle without limits wraps."""
    if word.lowest is None or word.highest is None:
        return field[: word.format.width]
    value = Signal(word.format.width, name=f"clamped_{word.slot}")
    low, high = field < word.lowest, field > word.highest
    m.d.comb += value.eq(Mux(low, word.lowest, Mux(high, word.highest, field)))
    return value
