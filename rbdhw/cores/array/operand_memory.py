"""An operand memory: it stores one word per cycle and reads the words in any order, some tasks later."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdhw.cores.array.control import Sequencer, places
from rbdhw.cores.array.memories import Contents, StoredWord
from rbdhw.rtl.multiplexer import multiplex
from rbdhw.target import Primitive


class OperandMemory(wiring.Component):
    """A memory with one write and one read per cycle; a memory of constants alone becomes a table by slot.

    ``i0``, ``i1``, ... are the unit outputs. ``o`` is the word of the current slot's address, one cycle
    later; from a ``direct`` memory in the same cycle, also a word that is being written.
    """

    def __init__(
        self,
        *,
        width: int,  # bits of a word
        ii: int,  # cycles between tasks
        contents: Contents,  # the words that are written and read
        inputs: int,  # the number of unit outputs that it stores words from
        style: str,  # the implementation requested from synthesis: `block` or `distributed`
        direct: bool = False,  # whether a word is read in the cycle of its address
        # The counter of slots and tasks, with at least as many turns as `contents` keeps.
        sequencer: Sequencer,
        # The device's multiplier block, which identifies the family for the multiplexers.
        primitive: Primitive | None = None,
    ) -> None:
        self.ii = ii
        self.contents = contents
        self.style = style
        self.direct = direct
        self.sequencer = sequencer
        self.inputs = inputs
        self.primitive = primitive
        members: dict[str, Any] = {f"i{k}": In(signed(width)) for k in range(inputs)}
        super().__init__({**sequencer.members, **members, "o": Out(signed(width))})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        contents = self.contents
        sequencer = self.sequencer.inside(self)
        if not self.inputs:
            m.d.comb += self.o.eq(sequencer.steps(m, "constant", self._constants(), self.o.shape()))
            return m
        turn_bits = contents.turns.bit_length() - 1
        bits = contents.slot_bits(self.ii)
        attributes = {"ram_style": self.style, "no_rw_check": 1}
        m.submodules.memory = memory = Memory(
            shape=self.o.shape(), depth=contents.depth(self.ii), init=self._initial(bits), attrs=attributes
        )
        read = memory.read_port(domain="comb" if self.direct else "sync")
        m.d.comb += [read.addr.eq(self._address(m, sequencer, bits)), self.o.eq(read.data)]
        write = memory.write_port()
        slot = sequencer.slot
        choice = sequencer.steps(m, "choice", contents.choices, places(self.inputs))
        inputs = [getattr(self, f"i{k}") for k in range(self.inputs)]
        m.d.comb += [
            write.en.eq(1),
            write.addr.eq(Cat(slot[:bits], Const(0, max(bits - len(slot), 0)), sequencer.turn[:turn_bits])),
            write.data.eq(multiplex(m, "input", inputs, choice, self.primitive)),
        ]
        passed = {slot: int(what == StoredWord(slot, 0)) for slot, what in contents.reads.items()}
        if self.direct and any(passed.values()):
            with m.If(sequencer.steps(m, "passes", passed, 1, other=0)):
                m.d.comb += self.o.eq(write.data)
        return m

    def _constants(self) -> dict[int, int]:
        """Return the output of a memory of constants alone, by slot."""
        words = self.contents.constants
        return {
            (slot + (not self.direct)) % self.ii: words[what]
            for slot, what in self.contents.reads.items()
            if not isinstance(what, StoredWord)
        }

    def _initial(self, bits: int) -> list[int]:
        """Return the initial words: in every turn, zeros for the slots and then the constants."""
        row = [0] * self.ii + list(self.contents.constants)
        row += [0] * ((1 << bits) - len(row))
        return row * self.contents.turns

    def _address(self, m: Module, sequencer: Sequencer, bits: int) -> Any:
        """Return the read address by slot, in a register."""
        reads = self.contents.reads
        words = {slot: what for slot, what in reads.items() if isinstance(what, StoredWord)}
        constants = {slot: what for slot, what in reads.items() if not isinstance(what, StoredWord)}
        places_of = {slot: word.slot for slot, word in words.items()}
        places_of |= {slot: self.ii + constant for slot, constant in constants.items()}
        low = sequencer.steps(m, "word", places_of, bits)
        turns = self.contents.turns
        if turns == 1:
            return low
        # Every turn holds a copy of each constant.
        age = sequencer.ahead(m, "age", {slot: word.turns for slot, word in words.items()}, range(turns))
        turn = Signal(range(turns), name="read_turn", reset_less=True)
        m.d.sync += turn.eq(sequencer.next_turn - age)
        return Cat(low, turn)
