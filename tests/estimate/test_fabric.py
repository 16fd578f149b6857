"""Cells of single elements, compared with the counts of Yosys 0.70 for each alone."""

import pytest

from rbdhw.boards.yosys import FAMILIES, synthesize_target
from rbdhw.estimate.fabric import ECP5, FABRICS, ULTRASCALE_PLUS, Cells, UnitCells
from rbdhw.target import TARGETS
from tests.support.marks import long


@pytest.mark.parametrize(
    ("fabric", "stages", "memory_stages", "expected"),
    [
        (ULTRASCALE_PLUS, 2, 64, Cells(0, 36)),
        (ULTRASCALE_PLUS, 3, 64, Cells(0, 54)),
        (ULTRASCALE_PLUS, 20, 64, Cells(18, 36)),
        (ULTRASCALE_PLUS, 40, 64, Cells(36, 36)),
        (ECP5, 3, 4, Cells(0, 54)),
        (ECP5, 5, 4, Cells(32, 20)),
        (ECP5, 9, 4, Cells(33, 21)),
    ],
)
def test_a_delay_line_of_18_bits(fabric, stages, memory_stages, expected):
    assert fabric.delay(18, stages, memory_stages) == expected


@pytest.mark.parametrize(
    ("fabric", "width", "depth", "luts", "flip_flops", "block_rams"),
    [
        (ULTRASCALE_PLUS, 37, 16, 39, 51, 0),
        (ULTRASCALE_PLUS, 600, 32, 359, 617, 0),
        (ULTRASCALE_PLUS, 600, 64, 705, 620, 0),
        (ECP5, 37, 16, 107, 51, 0),
        (ECP5, 600, 16, 947, 614, 0),
        (ECP5, 600, 32, 2456, 617, 0),
    ],
)
def test_a_queue(fabric, width, depth, luts, flip_flops, block_rams):
    cells = fabric.queue(width, depth)
    assert cells.luts == pytest.approx(luts, abs=15)
    assert cells.flip_flops == pytest.approx(flip_flops, abs=2)
    assert cells.block_rams == block_rams


def test_a_deep_and_wide_queue_of_ecp5_lies_in_block_rams():
    assert ECP5.queue(600, 64).block_rams == 17
    assert ECP5.queue(37, 64).block_rams == 0


@pytest.mark.parametrize(("fabric", "most"), [(ULTRASCALE_PLUS, 14 * 18), (ECP5, 40 * 18)])
def test_multiplexers_grow_with_their_choices(fabric, most):
    sizes = [fabric.multiplexer(choices, 18) for choices in (1, 1.5, 2, 3, 4, 5, 7, 10, 16, 20, 32)]
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (0.0, most)
    assert fabric.multiplexer(64, 18) == 2 * most


MULTIPLEXER = """\
module top(input clk, input [{last}:0] i, input [31:0] a, b, output reg [17:0] o, output reg z);
reg [{bits}:0] c = 0;
always @(posedge clk) c <= c == {most} ? 0 : c + 1;
always @* case (c)
{cases}
default: o = i[{low} +: 18];
endcase
integer k;
always @* begin z = 0; for (k = 0; k < {links}; k = k + 1) z = (z ^ a[k]) & b[k]; end
endmodule
"""


def counted_luts(folder, family, choices, links):
    """Return Yosys' count of a multiplexer behind a counter, beside a chain of logic."""
    text = MULTIPLEXER.format(
        last=18 * choices - 1,
        bits=max((choices - 1).bit_length() - 1, 0),
        most=choices - 1,
        cases="\n".join(f"{k}: o = i[{18 * k} +: 18];" for k in range(choices - 1)),
        low=18 * (choices - 1),
        links=links,
    )
    folder.mkdir()
    source = folder / "top.v"
    source.write_text(text)
    return synthesize_target((source,), "top", FAMILIES[family], folder / "work").luts


@pytest.mark.parametrize(
    ("fabric", "choices", "links"),
    [
        (ECP5, 6, 0),
        *(long(ECP5, n, 0) for n in (2, 3, 4, 8)),
        *(long(ULTRASCALE_PLUS, n, 32) for n in (2, 3, 4, 6, 8, 12)),
    ],
)
def test_a_multiplexer_of_18_bits_behind_a_counter(tmp_path, fabric, choices, links):
    """Yosys' count includes the few look-up tables of the counter.

    The longest path is mapped for depth, and on UltraScale+ wires are long: a multiplexer of eight choices
    on it takes four look-up tables a bit. In designs few are on it; there, those of eight to sixteen choices
    take 1.04 to 1.07 times what the table says (fitted to the designs of the calibration).
    """
    family = next(name for name, entry in FABRICS.items() if entry is fabric)
    beside = counted_luts(tmp_path / "chain", family, 1, links) if links else 0
    counted = counted_luts(tmp_path / "multiplexer", family, choices, links) - beside
    assert fabric.multiplexer(choices, 18) == pytest.approx(counted, abs=8)


def test_constants_by_slot_take_a_table_a_bit():
    assert ULTRASCALE_PLUS.constants(64, 18) == 18
    assert [ECP5.constants(slots, 18) for slots in (16, 17, 32)] == [18, 36, 36]


@pytest.mark.parametrize(
    ("fabric", "width", "depth", "blocks"),
    [
        (ULTRASCALE_PLUS, 36, 256, 0.5),
        (ULTRASCALE_PLUS, 69, 256, 1.0),
        (ECP5, 36, 256, 1.0),
        (ECP5, 69, 256, 2.0),
    ],
)
def test_tables_lie_in_block_rams(fabric, width, depth, blocks):
    assert fabric.table(width, depth) == Cells(0, 0, blocks)


def test_every_family_of_a_target_has_a_fabric():
    assert {device.family for device in TARGETS.values()} <= set(FABRICS)


def test_cells_of_a_polynomial_grow_with_width_and_with_powers():
    unit = UnitCells(luts=2.0, luts_a_power=3.0, flip_flops=4.0, flip_flops_a_power=5.0)
    assert unit.cells(width=10, order=1) == Cells(20.0, 40.0)
    assert unit.cells(width=10, order=3) == Cells(80.0, 140.0)
