"""The cells of a core: counted by hand for small programs, and their change with the interval."""

import pytest

from rbdhw.cores.pipeline.cells import REPEATED, Multiplexer, core_cells, counts, dsp_blocks
from rbdhw.estimate.fabric import ECP5, ULTRASCALE_PLUS, Cells
from rbdhw.fixed.program import Kind
from rbdhw.fixed.recoding import shift_add
from rbdhw.options.build import BEST_LATENCY
from rbdhw.schedule.model import MULTIPLIERS, Resource
from rbdhw.target import target
from tests.support.builds import bound_of, program_of
from tests.support.marks import long
from tests.support.mixed import mixed_program

INTERVALS = (1, 2, 4, 8, 16, 32)


def iiwa():
    """Return the program of the iiwa's inverse dynamics, made once."""
    return program_of("iiwa14", 18)


@pytest.mark.parametrize(
    ("choice", "lookups"),
    [
        (Multiplexer(1, 0, 8, 18), 0.0),
        (Multiplexer(0, 1, 8, 18), 0.0),
        (Multiplexer(0, 5, 8, 18), 18.0),
        (Multiplexer(4, 0, 4, 18), 18.0),
        (Multiplexer(8, 0, 8, 10), 30.0),
        (Multiplexer(4, 4, 8, 10), 17.0),
    ],
)
def test_an_operand_by_slot(choice, lookups):
    """On UltraScale+ a LUT6 selects one of four; four constants beside four signals weigh as one signal."""
    assert choice.luts(ULTRASCALE_PLUS) == pytest.approx(lookups)
    assert REPEATED == 0.25


def adders_of(value):
    """Return the adders of a product by a constant."""
    operation = iiwa().operations[value]
    width = iiwa().operations[operation.operands[0].value].format.width
    return shift_add(width, operation.constant, operation.drop).adders


@pytest.mark.parametrize("device", [target("ecp5-85"), long(target("xc7a200t")), target("xcvu9p")], ids=str)
class TestInterval:
    def test_at_one_cycle_nothing_is_chosen(self, device):
        design = bound_of(iiwa(), device.name, 1)
        assert core_cells(iiwa(), design, device)["selection"] == Cells()
        assert counts(iiwa(), design).multiplexed_bits == 0

    def test_more_cycles_take_fewer_dsp_blocks(self, device):
        blocks = [dsp_blocks(iiwa(), bound_of(iiwa(), device.name, ii), device) for ii in INTERVALS]
        assert blocks == sorted(blocks, reverse=True)
        assert blocks[0] > 10 * blocks[-1]

    def test_more_cycles_take_larger_multiplexers(self, device):
        designs = [bound_of(iiwa(), device.name, ii) for ii in INTERVALS[:5]]
        bits = [counts(iiwa(), design).multiplexed_bits for design in designs]
        assert bits == sorted(bits)
        lookups = [core_cells(iiwa(), design, device)["selection"].luts for design in designs]
        assert lookups[0] == 0.0 < min(lookups[1:])

    def test_the_counts_are_those_of_the_program(self, device):
        design = bound_of(iiwa(), device.name, 1)
        counted = counts(iiwa(), design)
        kinds = [operation.kind for operation in iiwa().operations]
        alone = [i for i, kind in enumerate(kinds) if kind is Kind.SCALE and design.alone(i)]
        assert counted.multipliers == kinds.count(Kind.MULTIPLY) + kinds.count(Kind.SCALE) - len(alone) > 0
        assert counted.adders == kinds.count(Kind.ADD) + kinds.count(Kind.SELECT) + sum(map(adders_of, alone))
        assert min(counted.delay_bits, counted.adder_bits) > 3000


def test_wider_numbers_take_more_of_everything():
    device = target("ecp5-85")
    wide = program_of("iiwa14", 27)
    narrow, wider = (
        core_cells(program, bound_of(program, "ecp5-85", 4), device) for program in (iiwa(), wide)
    )
    for part in ("arithmetic", "selection"):
        assert wider[part].luts > narrow[part].luts
    assert wider["waiting"].flip_flops > narrow["waiting"].flip_flops


def test_delay_lines_are_registers_shift_registers_or_memories():
    """On UltraScale+ three stages are a shift register; on ECP5 four are a memory."""
    ultrascale = bound_of(iiwa(), "xcvu9p", 1)
    waiting = core_cells(iiwa(), ultrascale, target("xcvu9p"))["waiting"]
    assert waiting.flip_flops < counts(iiwa(), ultrascale).delay_bits
    assert waiting.luts > 0
    assert ECP5.delay(18, 3, 4) == Cells(0, 54)


def test_every_multiplier_is_a_unit():
    design = bound_of(iiwa(), "xcvu9p", 8)
    assert counts(iiwa(), design).multipliers == sum(unit.resource in MULTIPLIERS for unit in design.units)


@pytest.mark.parametrize("ii", [1, 4])
def test_registers_that_the_soonest_answer_is_without_are_not_counted(ii):
    device, program = target("xcvu9p"), mixed_program(18)
    plain, soonest = (bound_of(program, device.name, ii, 110.0, goal) for goal in (None, BEST_LATENCY))
    units, fewer = (core_cells(program, bound, device)["units"] for bound in (plain, soonest))
    count = sum(unit.resource is Resource.RECIPROCAL for unit in plain.units)
    inverse = program.reciprocal.result_bits
    assert inverse * count < units.flip_flops - fewer.flip_flops < 2 * inverse * count
    assert (units.luts, units.block_rams) == (fewer.luts, fewer.block_rams)


def test_a_unit_of_sines_is_without_its_last_registers():
    device = target("xcvu9p")
    bounds = (bound_of(iiwa(), device.name, 1, 110.0, goal) for goal in (None, BEST_LATENCY))
    units, fewer = (core_cells(iiwa(), bound, device)["units"].flip_flops for bound in bounds)
    assert units - fewer == pytest.approx(5 * 2 * (iiwa().trigonometry.width + 2))
