"""Longest paths of netlists made by hand, whose delays are added up in the tests."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.errors import InputError
from rbdhw.timing.amd import SERIES_7, ULTRASCALE_PLUS
from rbdhw.timing.analysis import Graph, Path
from rbdhw.timing.cells import Family
from rbdhw.timing.ecp5 import ECP5
from rbdhw.timing.netlist import Cell, Netlist
from rbdhw.timing.wires import Wires

WIRES = Wires(base=1000.0, by_side=0.0, by_fan_out=100.0, to_block=500.0)

CLOCK_NET = 2


def cell(kind: str, parameters: dict[str, str] | None = None, /, **ports: int | tuple[int, ...]) -> Cell:
    """Return a cell that is named after one of its nets."""
    nets = {port: (net,) if isinstance(net, int) else net for port, net in ports.items()}
    return Cell(f"{kind}_{list(nets.values())[-1][0]}", kind, parameters or {}, nets)


def netlist(*cells: Cell) -> Netlist:
    return Netlist(
        cells, (), (), {net: f"n{net}" for c in cells for nets in c.ports.values() for net in nets}
    )


def longest(family: Family, *cells: Cell, wires: Wires = WIRES, slower: float = 1.0) -> Path:
    times = Graph(netlist(*cells), family).times(wires, slower)
    path = times.path_to(next(times.slowest_ends())[0])
    assert path.period == pytest.approx(times.period, rel=1e-5)
    return path


def ecp5_chain(luts: int) -> list[Cell]:
    """Return a register, look-up tables in a row, and a register beside the last."""
    row = [cell("LUT4", A=net, Z=net + 1) for net in range(3, 3 + luts)]
    return [cell("TRELLIS_FF", DI=90, Q=3), *row, cell("TRELLIS_FF", DI=3 + luts, Q=91)]


@pytest.mark.parametrize("luts", [1, 2, 5])
def test_look_up_tables_in_a_row_on_ecp5(luts: int) -> None:
    path = longest(ECP5, *ecp5_chain(luts))
    assert path.cells == 525 + luts * 236 + 130
    assert path.wires == luts * 1000
    assert path.logic == luts
    assert path.nets == tuple(range(3, 4 + luts))


def test_the_longest_paths_are_their_cells_and_wires() -> None:
    """One leads through two look-up tables, of which two cells read the first, into a block."""
    chain = [cell("TRELLIS_FF", DI=90, Q=3), cell("LUT4", A=3, Z=4), cell("LUT4", A=4, Z=5)]
    readers = [cell("MULT18X18D", A0=5, P0=6), cell("LUT4", A=4, Z=7), cell("TRELLIS_FF", M=6, Q=8)]
    graph = Graph(netlist(*chain, *readers), ECP5)
    times = graph.times(WIRES)
    (end,) = np.flatnonzero(times.at_ends == times.period)
    cells, *counts = times.shares()[end]
    assert (cells, *counts) == (525 + 2 * 236 + 3927, 4, 1, 2)
    path = times.path_to(int(graph.ends[end, 0]))
    assert (path.cells, path.wires) == (cells, 4 * 1000 + 100 + 2 * 500)


def test_a_slower_grade_is_slower_by_its_factor() -> None:
    fast, slow = (longest(ECP5, *ecp5_chain(2), slower=factor).period for factor in (1.0, 1.25))
    assert slow == pytest.approx(1.25 * fast)


@pytest.mark.parametrize("idle", [("LUT4", 8 * 400 - 4), ("TRELLIS_FF", 8 * 400 - 5), ("MULT18X18D", 6)])
def test_wires_grow_with_their_readers_and_with_the_design(idle: tuple[str, int]) -> None:
    """Four look-up tables read the first register, beside many cells, of one kind, that no path passes."""
    readers = [cell("LUT4", A=3, Z=net) for net in range(4, 8)]
    ends = [cell("TRELLIS_FF", DI=net, Q=net + 20) for net in range(4, 8)]
    kind, count = idle
    rest = [cell(kind, X=net) for net in range(100, 100 + count)]
    path = longest(
        ECP5,
        cell("TRELLIS_FF", DI=90, Q=3),
        *readers,
        *ends,
        *rest,
        wires=replace(WIRES, by_side=10.0),
    )
    assert path.wires == pytest.approx(1000 + 20 * 10 + 2 * 100, rel=1e-3)


def test_a_register_that_shares_its_driver_with_another_has_a_wire() -> None:
    pair = [cell("TRELLIS_FF", DI=4, Q=net) for net in (90, 91)]
    path = longest(ECP5, cell("TRELLIS_FF", DI=90, Q=3), cell("LUT4", A=3, Z=4), *pair)
    assert (path.cells, path.wires) == (525 + 236, 1000 + 1000 + 100)


def test_a_carry_chain_on_ecp5() -> None:
    """It is entered by a sum's operand, passes two cells, and leaves by the upper sum of the third."""
    links = [cell("CCU2C", A0=net, CIN=net + 9, COUT=net + 10, S1=net + 30) for net in (3, 13)]
    last = cell("CCU2C", CIN=23, S1=60)
    path = longest(ECP5, cell("TRELLIS_FF", DI=90, Q=3), *links, last, cell("TRELLIS_FF", DI=60, Q=91))
    # COUT of the first, which is net 13, is an operand of the second, too.
    assert path.cells == 525 + 447 + 443 + 447 + 474 + 130
    assert path.wires == pytest.approx(1000 + 1000 + 0)


@pytest.mark.parametrize(
    ("registers", "period"),
    [
        ((), 525 + 3927 + 236 + 130 + 2 * 1500),
        (("INPUTA",), 3864 + 1500 + 236 + 130),
        (("OUTPUT",), 525 + 1500 + 3486),
        (("INPUTA", "OUTPUT"), 3486),
        (("INPUTA", "PIPELINE", "OUTPUT"), 2625),
    ],
)
def test_a_multiplier_on_ecp5_by_its_registers(registers: tuple[str, ...], period: float) -> None:
    """Wires to it are longer; what is not registered is added to the paths around it."""
    block = cell("MULT18X18D", {f"REG_{stage}_CLK": "CLK0" for stage in registers}, A0=3, B5=3, P7=4)
    around = [cell("TRELLIS_FF", DI=90, Q=3), cell("LUT4", A=4, Z=5), cell("TRELLIS_FF", DI=5, Q=91)]
    assert longest(ECP5, *around, block).period == pytest.approx(period, abs=101)


def test_a_loop_through_a_memory_is_none() -> None:
    """What is read is written again: a path from a clock to the next."""
    memory = cell("TRELLIS_DPR16X4", DI=(4, -1, -1, -1), DO=(3, 5, 6, 7))
    path = longest(ECP5, memory, cell("LUT4", A=3, Z=4))
    assert (path.cells, path.wires) == (929 + 236, 2 * 1000)
    block = cell("DP16KD", ADA0=4, DOA0=3)
    path = longest(ECP5, block, cell("LUT4", A=3, Z=4))
    assert (path.cells, path.wires) == (5609 + 236 + 251, 2 * 1500)


def test_a_combinational_loop_is_refused() -> None:
    loop = [cell("LUT4", A=3, B=5, Z=4), cell("LUT4", A=4, Z=5)]
    with pytest.raises(InputError) as refusal:
        longest(ECP5, cell("TRELLIS_FF", DI=5, Q=3), *loop)
    assert (refusal.value.where, refusal.value.reason) == ("n4", "combinational logic closes a loop")


def test_a_cell_of_another_family_is_refused() -> None:
    with pytest.raises(InputError) as refusal:
        longest(ECP5, cell("LUT6", I0=3, O=4))
    assert (refusal.value.where, refusal.value.reason) == ("cell LUT6_4", "LUT6 is not of this family")


def test_an_operator_slowed_on_purpose_is_found() -> None:
    """Of two rows of the same length, that with the slow cell is the longest path, by its delay."""
    slow = replace(ECP5, cells={**ECP5.cells, "L6MUX21": lambda _: ECP5.cells["LUT4"](cell("LUT4", Z=1))})
    quick = [cell("TRELLIS_FF", DI=90, Q=50), cell("LUT4", A=50, Z=51), cell("TRELLIS_FF", DI=51, Q=92)]
    row = ecp5_chain(1)
    before = longest(slow, *row, *quick)

    def slowed(of: Cell):
        timing = ECP5.cells["LUT4"](of)
        return replace(
            timing, arcs=tuple((a, b, d + 2000 * (of.name == "LUT4_51")) for a, b, d in timing.arcs)
        )

    after = longest(replace(ECP5, cells={**ECP5.cells, "LUT4": slowed}), *row, *quick)
    assert after.period == pytest.approx(before.period + 2000)
    assert after.nets == (50, 51)


def test_ultrascale_plus_sum_behind_a_look_up_table() -> None:
    """The table is beside the chain; its carry passes one cell and leaves by the top sum of the next."""
    path = longest(
        ULTRASCALE_PLUS,
        cell("FDRE", D=90, Q=3),
        cell("LUT6", I0=80, I5=3, O=4),
        cell("CARRY4", S=(4, 81, 82, 83), O=(60, 61, 62, 63), CO=(70, 71, 72, 5)),
        cell("CARRY4", CI=5, S=(84, 85, 86, 87), O=(64, 65, 66, 6)),
        cell("FDRE", D=6, Q=91),
    )
    assert path.cells == 77 + (35 + 43) + (15 + 186) + (82 + 30) + (25 + 100 - 100)
    assert path.wires == 1000


def test_series_7_wide_multiplexer() -> None:
    path = longest(
        SERIES_7,
        cell("FDRE", D=90, Q=3),
        cell("LUT6", I0=3, O=4),
        cell("MUXF7", I0=4, O=5),
        cell("FDRE", D=5, CE=5, Q=91),
    )
    assert path.cells == 303 + 642 + 223 + 109
    assert path.wires == 1000 + 1000


@pytest.mark.parametrize(
    ("registers", "period"),
    [
        ("", 77 + 1500 + 1510 + 1500 + 125),
        ("A", 2952 * 1510 / 2823 + 1500 + 125),
        ("AP", 1e6 / 544),
        ("AMP", 329 * 1510 / 2823 + 1500 + 125),
    ],
)
def test_a_dsp_block_of_ultrascale_plus_by_its_registers(registers: str, period: float) -> None:
    parameters = {f"{name}REG": str(int(name in registers)) for name in "ABCMP"}
    block = cell("DSP48E2", parameters, A=(3, -1), B=(-1,), C=(-1,), P=(4, 5))
    path = longest(ULTRASCALE_PLUS, cell("FDRE", D=90, Q=3), block, cell("FDRE", D=4, Q=91))
    assert path.period == pytest.approx(period, rel=1e-5)


@pytest.mark.parametrize(("read", "other", "arc"), [("A", "B", 2823), ("B", "A", 2690)])
def test_each_factor_of_a_dsp_block_has_a_register_of_its_own(read: str, other: str, arc: float) -> None:
    """Synthesis moves the register of one factor into the block; the way of the other goes on."""
    ends = {read: (3,), other: (-1,), "C": (-1,), "P": (4,)}

    def of_path(register: str) -> float:
        parameters = {f"{name}REG": str(int(name == register)) for name in "ABCMP"}
        block = cell("DSP48E1", parameters, **ends)
        return longest(SERIES_7, cell("FDRE", D=90, Q=3), block, cell("FDRE", D=4, Q=91)).cells

    assert of_path(other) == 303 + arc
    assert of_path(read) == 2952  # from its register on


@pytest.mark.parametrize("kind", [("DSP48E2", {"AMULTSEL": "AD"}), ("DSP48E1", {"USE_DPORT": "TRUE"})])
@pytest.mark.parametrize(("pin", "arc", "later"), [("A", 2823, True), ("D", 2823, True), ("B", 2690, False)])
def test_a_pre_adder_is_on_the_way_of_the_first_factor_alone(
    kind: tuple[str, dict[str, str]], pin: str, arc: float, later: bool
) -> None:
    name, used = kind
    family, scale, adder, around = {
        "DSP48E2": (ULTRASCALE_PLUS, 1510 / 2823, 1e6 / 410 - 1e6 / 544, 77 + 125),
        "DSP48E1": (SERIES_7, 1.0, 3806 - 2823, 303),
    }[name]
    parameters = {f"{register}REG": "0" for register in "ABCMP"} | used
    ports = dict.fromkeys("ABCD", (-1,)) | {pin: (3,), "P": (4,)}
    path = longest(family, cell("FDRE", D=90, Q=3), cell(name, parameters, **ports), cell("FDRE", D=4, Q=91))
    assert path.cells == pytest.approx(around + scale * arc + later * adder)


def test_equal_registers_are_one_where_synthesis_merges_them() -> None:
    """One is beside the look-up table, without a wire; those of other enables or clocks have wires."""
    cells = [cell("FDRE", D=90, Q=3), cell("LUT2", I0=3, O=4)]
    equal = [cell("FDRE", D=4, CE=7, C=CLOCK_NET, Q=net) for net in (91, 92)]
    assert longest(ULTRASCALE_PLUS, *cells, *equal).wires == 1000
    others = [cell("FDRE", D=4, CE=8, C=CLOCK_NET, Q=93), cell("FDRE", D=4, CE=7, C=9, Q=93)]
    for other in (*others, replace(equal[1], parameters={"INIT": "1"})):
        assert longest(ULTRASCALE_PLUS, *cells, *equal[:1], other).wires == 1000 + 1000 + 100


def test_ports_are_registers() -> None:
    """Paths from an input and to an output count as those of registers do."""
    lut = cell("LUT4", A=3, Z=4)
    times = Graph(Netlist((lut,), (3, CLOCK_NET), (4,), {3: "i", 4: "o"}), ECP5).times(WIRES)
    assert times.period == 525 + 1000 + 236 + 1000
