"""The registers, held to their description: every register, field, kind of access and reset value."""

import random

import pytest
from amaranth.sim import SimulatorContext
from systemrdl.node import FieldNode, RegNode
from systemrdl.rdltypes import AccessType, OnWriteType

from rbdhw.registers.export import description
from rbdhw.registers.map import ADDRESS_BITS, COUNTERS, INTERRUPTS, Constants, Register, counter_address
from rbdhw.rtl.registers import COUNTED, Registers
from tests.support.axi_lite import read, read_counter, write
from tests.support.simulation import Simulation

ONES = 0xFFFFFFFF
IDENTITY = "00112233445566778899aabbccddeeff0123456789abcdef0f1e2d3c4b5a6978"
CONSTANTS = Constants(
    beat_bytes=8,
    pairs=2,
    singles=True,
    codes=(0, 5, 17, 40),
    interval=7,
    core_khz=125_000,
    stream_khz=250_000,
    identity=IDENTITY,
)
DESCRIBED = list(
    description(
        {
            "BEAT_BYTES": 8,
            "PAIRS": 2,
            "SINGLES": 1,
            "FUNCTIONS": 1 | 1 << 5 | 1 << 17,
            "FUNCTIONS_HIGH": 1 << 8,
            "INTERVAL": 7,
            "CORE_CLOCK": 125_000,
            "STREAM_CLOCK": 250_000,
            "IDENTITY": [int(IDENTITY[8 * k : 8 * k + 8], 16) for k in range(8)],
        }
    ).registers()
)
PLAIN = [register for register in DESCRIBED if register.get_property("regwidth") == 32]


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return Simulation(Registers(constants=CONSTANTS))


def reset_value(register: RegNode) -> int:
    """Return what a register reads after a reset, in a block that is idle; fields without one have zero."""
    fields = (field for field in register.fields() if field.is_sw_readable)
    return sum((field.get_property("reset") or 0) << field.low for field in fields)


def test_every_register_has_its_reset_value_and_other_addresses_read_as_zero(simulation: Simulation) -> None:
    dut = simulation.component
    expected = {register.absolute_address: reset_value(register) for register in PLAIN}
    counters = {counter_address(name) for name in COUNTERS}

    async def bench(ctx: SimulatorContext) -> None:
        for address in range(0, 1 << ADDRESS_BITS, 4):
            if address not in counters:
                assert await read(ctx, dut, address) == expected.get(address, 0), hex(address)

    simulation.run(bench)


@pytest.mark.parametrize("register", PLAIN, ids=lambda register: register.inst_name)
def test_every_field_is_written_as_it_is_described(register: RegNode, simulation: Simulation) -> None:
    """Ones are written to all bits, then zeros; what one register takes changes no other."""
    dut = simulation.component

    def after(word: int) -> int:
        return sum(_after(field, word) << field.low for field in register.fields())

    def _after(field: FieldNode, word: int) -> int:
        kept = field.get_property("reset") or 0
        if field.get_property("sw") != AccessType.rw:
            return kept if field.is_sw_readable else 0
        if field.get_property("onwrite") == OnWriteType.woclr:
            return kept & ~(word >> field.low)
        return word >> field.low & (1 << field.width) - 1

    async def bench(ctx: SimulatorContext) -> None:
        for word in (ONES, 0):
            assert await write(ctx, dut, register.absolute_address, word) == 0
            for other in PLAIN:
                expected = after(word) if other is register else reset_value(other)
                assert await read(ctx, dut, other.absolute_address) == expected, other.inst_name

    simulation.run(bench)


def test_bits_without_their_byte_are_not_written(simulation: Simulation) -> None:
    dut = simulation.component

    async def bench(ctx: SimulatorContext) -> None:
        await write(ctx, dut, Register.INTERRUPT_ENABLE, ONES, strobe=0b1110)
        assert await read(ctx, dut, Register.INTERRUPT_ENABLE) == 0

    simulation.run(bench)


@pytest.mark.parametrize("early", ["awaddr", "wdata"])
def test_a_second_address_or_word_waits_until_the_first_is_written(
    early: str, simulation: Simulation
) -> None:
    """A host may offer both addresses before it offers a word, or both words before an address."""
    dut = simulation.component
    offers = {"awaddr": [Register.INTERRUPT_ENABLE, Register.CONTROL], "wdata": [0b11, 0]}

    async def bench(ctx: SimulatorContext) -> None:
        waiting = {name: list(values) for name, values in offers.items()}
        ctx.set(dut.s_axi_wstrb, 0xF)
        ctx.set(dut.s_axi_bready, 1)
        for cycle in range(30):
            taken = []
            for name, prefix in (("awaddr", "aw"), ("wdata", "w")):
                valid = bool(waiting[name]) and (name == early or cycle > 10)
                ctx.set(getattr(dut, f"s_axi_{prefix}valid"), valid)
                if valid:
                    ctx.set(getattr(dut, f"s_axi_{name}"), waiting[name][0])
                taken += [name] * (valid and ctx.get(getattr(dut, f"s_axi_{prefix}ready")))
            await ctx.tick()
            for name in taken:
                waiting[name].pop(0)
        assert waiting == {"awaddr": [], "wdata": []}
        assert await read(ctx, dut, Register.INTERRUPT_ENABLE) == 0b11
        assert await read(ctx, dut, Register.CONTROL) == 0

    simulation.run(bench)


def test_status_shows_its_fields(simulation: Simulation) -> None:
    dut, rng = simulation.component, random.Random(2)
    status = next(register for register in PLAIN if register.inst_name == "status")

    async def bench(ctx: SimulatorContext) -> None:
        for _ in range(8):
            expected = 0
            for field in status.fields():
                value = rng.getrandbits(field.width)
                ctx.set(getattr(dut, field.inst_name), value)
                expected |= value << field.low
            assert await read(ctx, dut, Register.STATUS) == expected

    simulation.run(bench)


@pytest.mark.parametrize("bit", range(len(INTERRUPTS)), ids=INTERRUPTS)
def test_interrupt_is_raised_and_cleared(bit: int, simulation: Simulation) -> None:
    dut = simulation.component

    async def bench(ctx: SimulatorContext) -> None:
        async def happen() -> None:
            ctx.set(dut.events, 1 << bit)
            await ctx.tick()
            ctx.set(dut.events, 0)
            await ctx.tick().repeat(2)

        await happen()
        assert await read(ctx, dut, Register.INTERRUPT_STATUS) == 1 << bit
        assert not ctx.get(dut.interrupt)
        await write(ctx, dut, Register.INTERRUPT_ENABLE, 1 << bit)
        await ctx.tick()
        assert ctx.get(dut.interrupt)
        await write(ctx, dut, Register.INTERRUPT_STATUS, ONES & ~(1 << bit))
        assert await read(ctx, dut, Register.INTERRUPT_STATUS) == 1 << bit
        await write(ctx, dut, Register.INTERRUPT_STATUS, 1 << bit)
        assert await read(ctx, dut, Register.INTERRUPT_STATUS) == 0
        assert not ctx.get(dut.interrupt)

    simulation.run(bench)


def test_soft_reset_is_a_pulse_and_enable_stays(simulation: Simulation) -> None:
    dut = simulation.component
    pulses = 0

    async def bench(ctx: SimulatorContext) -> None:
        nonlocal pulses
        assert ctx.get(dut.enable)
        ctx.set(dut.s_axi_awaddr, Register.CONTROL)
        ctx.set(dut.s_axi_wdata, 0b010)
        ctx.set(dut.s_axi_wstrb, 1)
        ctx.set(dut.s_axi_awvalid, 1)
        ctx.set(dut.s_axi_wvalid, 1)
        ctx.set(dut.s_axi_bready, 1)
        for _ in range(20):
            ready = ctx.get(dut.s_axi_awready)
            await ctx.tick()
            if ready:
                ctx.set(dut.s_axi_awvalid, 0)
                ctx.set(dut.s_axi_wvalid, 0)
            pulses += ctx.get(dut.soft_reset)
        assert not ctx.get(dut.enable)

    simulation.run(bench)
    assert pulses == 1


def test_counters_count_and_are_cleared(simulation: Simulation) -> None:
    dut, rng = simulation.component, random.Random(3)

    async def bench(ctx: SimulatorContext) -> None:
        totals = dict.fromkeys(COUNTED, 0)
        for _ in range(200):
            for name in COUNTED:
                amount = rng.randint(0, CONSTANTS.pairs)
                ctx.set(getattr(dut, f"add_{name}"), amount)
                totals[name] += amount
            await ctx.tick()
        for name in COUNTED:
            ctx.set(getattr(dut, f"add_{name}"), 0)
        for name in COUNTED:
            assert await read_counter(ctx, dut, counter_address(name)) == totals[name], name
        cycles = await read_counter(ctx, dut, counter_address("cycles"))
        assert cycles > 200
        await write(ctx, dut, Register.CONTROL, 0b101)
        for name in COUNTED:
            assert await read_counter(ctx, dut, counter_address(name)) == 0, name
        assert await read_counter(ctx, dut, counter_address("cycles")) < cycles

    simulation.run(bench)


def test_high_word_is_that_of_the_low_word_before(simulation: Simulation) -> None:
    """A carry between both reads does not show."""
    dut = simulation.component

    async def bench(ctx: SimulatorContext) -> None:
        await ctx.tick().repeat(2 * len(COUNTERS))  # which clear the memory
        ctx.set(dut.counters.memory.data[COUNTERS.index("cycles")], 0x7_FFFF_FFD0)
        low = await read(ctx, dut, counter_address("cycles"))
        await ctx.tick().repeat(100)
        high = await read(ctx, dut, counter_address("cycles") + 4)
        assert low > 0xFFFF_FFD0
        assert high == 7
        assert await read_counter(ctx, dut, counter_address("cycles")) >> 32 == 8

    simulation.run(bench)
