"""Control by slot: registers with the value of a slot, and memories of constants alone."""

import random

import pytest
from amaranth.hdl import Module, signed

from rbdhw.cores.array.control import Sequencer
from rbdhw.cores.array.memories import Contents, StoredWord
from rbdhw.cores.array.operand_memory import OperandMemory
from tests.support.simulation import Simulation


@pytest.mark.parametrize("ii", [8, 13, 32])
def test_a_register_holds_what_a_slot_needs(ii):
    rng = random.Random(ii)
    values = {slot: rng.randrange(-16, 16) for slot in rng.sample(range(ii), ii // 2)}
    m = Module()
    sequencer = Sequencer.counting(m, "unit", ii)
    register = sequencer.steps(m, "number", values, signed(5))
    strict = sequencer.steps(m, "strict", dict.fromkeys(values, 1), 1, other=0)

    async def bench(context):
        for cycle in range(3 * ii):
            slot = cycle % ii
            assert context.get(sequencer.slot) == slot
            if cycle >= 1:
                assert context.get(strict) == (slot in values)
                assert slot not in values or context.get(register) == values[slot]
            await context.tick()

    Simulation(m).run(bench)


def test_a_memory_of_constants_alone_is_a_table():
    """The word whose address is present in slot 3 is read in slot 4."""
    contents = Contents(turns=1, choices={}, reads={3: 0, 7: 1, 5: 0}, constants=[-9, 4])
    m = Module()
    sequencer = Sequencer.counting(m, "unit", 8)
    m.submodules.memory = memory = OperandMemory(
        width=5, ii=8, contents=contents, inputs=0, style="distributed", sequencer=sequencer
    )
    sequencer.connect(m, memory)

    async def bench(context):
        for cycle in range(24):
            expected = {4: -9, 0: 4, 6: -9}.get(cycle % 8)
            if cycle > 0 and expected is not None:
                assert context.get(memory.o) == expected
            await context.tick()

    Simulation(m).run(bench)


def test_a_direct_memory_is_read_in_the_cycle_of_the_address_even_if_that_is_written():
    word = StoredWord(2, 0)
    contents = Contents(turns=1, choices={2: 0}, reads={2: word, 5: word, 1: word, 6: 0}, constants=[-9])
    m = Module()
    sequencer = Sequencer.counting(m, "unit", 8)
    m.submodules.memory = memory = OperandMemory(
        width=5, ii=8, contents=contents, inputs=1, style="distributed", direct=True, sequencer=sequencer
    )
    sequencer.connect(m, memory)

    async def bench(context):
        word = None
        for cycle in range(40):
            given, slot = cycle * 7 % 32 - 16, cycle % 8
            context.set(memory.i0, given)
            word = given if slot == 2 else word
            expected = {2: word, 5: word, 1: word, 6: -9}.get(slot)
            if cycle >= 8 and expected is not None:
                assert context.get(memory.o) == expected
            await context.tick()

    Simulation(m).run(bench)
