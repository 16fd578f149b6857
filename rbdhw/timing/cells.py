"""Delays of the cells of device families, in picoseconds, at the slow corner.

Sources. ECP5, speed grade 6: Project Trellis (``cells.json`` of its database), as nextpnr-ecp5 reads it.
UltraScale+: RapidWright's ``intrasite_delay_terms.txt``, with the delays of site pins; its speed grade is not
stated and taken as -2. Its file has no DSP block: the longest paths between registers inside are those of the
highest clocks in AMD DS923, an unregistered product takes 1,510 ps in the sources of an open router, and the
other arcs of the block are those of DSP48E1 in the same proportion. 7 series, speed grade -1: Yosys'
``cells_sim.v``, whose figures are those of Project X-Ray for Artix-7, and AMD DS181.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rbdhw.timing.netlist import Cell

Pins = tuple[str, ...]
"""Ports, or single bits of them such as ``S[2]``."""

Arc = tuple[Pins, Pins, float]
"""A delay from each of some inputs to each of some outputs."""


@dataclass(frozen=True)
class CellTiming:
    """What a cell adds to paths, in ps."""

    arcs: tuple[Arc, ...] = ()
    clocked: Mapping[Pins, float] = field(default_factory=dict)
    """From the clock to outputs."""
    setup: Mapping[Pins, float] = field(default_factory=dict)
    """From inputs to the clock."""
    period: float = 0.0
    """The longest path between registers inside."""


@dataclass(frozen=True)
class Family:
    """The cells of a device family, and the connections that need no wires of the fabric."""

    cells: Mapping[str, Callable[[Cell], CellTiming]]
    local: Mapping[tuple[str, str], tuple[frozenset[str], float]]
    """By kind and port of the reading cell: the drivers beside which it is placed, and the delay (ps)."""
    registers: Mapping[str, str]
    """Flip-flops and their data ports. A flip-flop is beside its driver if no other one reads it."""
    beside_register: Mapping[str, float]
    """The kinds that a flip-flop is placed beside, and the delay (ps) to it."""
    blocks: frozenset[str]
    """Cells in columns of their own, to which wires are longer."""
    chain: tuple[str, float, float] = ("", 0.0, 0.0)
    """A carry cell, and what it takes (ps) to enter its chain from the fabric and to leave it."""


def _bus(name: str, width: int) -> Pins:
    return tuple(f"{name}{k}" for k in range(width))


def _constant(timing: CellTiming) -> Callable[[Cell], CellTiming]:
    return lambda _: timing


def _mult18x18d(cell: Cell) -> CellTiming:
    """Inputs and output are registered or not; the register between them changes neither."""
    a, p = (*_bus("A", 18), *_bus("B", 18)), _bus("P", 36)
    entered, left = (
        cell.parameters.get(f"REG_{stage}_CLK", "NONE") != "NONE" for stage in ("INPUTA", "OUTPUT")
    )
    pipelined = cell.parameters.get("REG_PIPELINE_CLK", "NONE") != "NONE"
    if entered and left:
        return CellTiming(clocked={p: 735}, setup={a: 84}, period=2625 if pipelined else 3486)
    if entered:
        return CellTiming(clocked={p: 3864}, setup={a: 84})
    if left:
        return CellTiming(clocked={p: 735}, setup={a: 3486})
    return CellTiming(arcs=((a, p, 3927),))


def _dp16kd(cell: Cell) -> CellTiming:
    registered = {side: cell.parameters.get(f"REGMODE_{side}", "NOREG") == "OUTREG" for side in "AB"}
    return CellTiming(
        clocked={
            _bus("DOA", 18): 956 if registered["A"] else 5609,
            _bus("DOB", 18): 973 if registered["B"] else 5830,
        },
        setup={
            (*_bus("ADA", 14), *_bus("ADB", 14)): 251,
            (*_bus("DIA", 18), *_bus("DIB", 18), "CEA", "CEB", "OCEA", "OCEB"): 253,
            ("WEA", "WEB", *_bus("CSA", 3), *_bus("CSB", 3)): 139,
            ("RSTA", "RSTB"): 585,
        },
    )


def _pdpw16kd(cell: Cell) -> CellTiming:
    registered = cell.parameters.get("REGMODE", "NOREG") == "OUTREG"
    inputs = (*_bus("ADW", 9), *_bus("ADR", 14), *_bus("DI", 36), *_bus("BE", 4), "CEW", "CER", "OCER")
    return CellTiming(
        clocked={_bus("DO", 36): 973 if registered else 5830}, setup={inputs: 253, ("RST",): 585}
    )


def _ccu2c() -> CellTiming:
    first, second = (tuple(f"{pin}{half}" for pin in "ABCD") for half in (0, 1))
    return CellTiming(
        arcs=(
            (first, ("S0",), 236),
            (second, ("S1",), 236),
            (first, ("S1",), 447 + 403),
            ((*first, *second), ("COUT",), 447),
            (("CIN",), ("S0",), 443),
            (("CIN",), ("S1",), 71 + 403),
            (("CIN",), ("COUT",), 71),
        )
    )


ECP5_LOGIC = frozenset({"LUT4", "PFUMX", "L6MUX21", "CCU2C"})

ECP5 = Family(
    cells={
        "LUT4": _constant(CellTiming(arcs=((("A", "B", "C", "D"), ("Z",), 236),))),
        "PFUMX": _constant(CellTiming(arcs=((("ALUT", "BLUT"), ("Z",), 165), (("C0",), ("Z",), 256)))),
        "L6MUX21": _constant(CellTiming(arcs=((("D0", "D1"), ("Z",), 242), (("SD",), ("Z",), 256)))),
        "CCU2C": _constant(_ccu2c()),
        "TRELLIS_FF": _constant(
            CellTiming(clocked={("Q",): 525}, setup={("DI", "M", "CE"): 0, ("LSR",): 424})
        ),
        "TRELLIS_DPR16X4": _constant(
            CellTiming((((("RAD",), ("DO",), 236)),), {("DO",): 929}, {("DI", "WAD"): 0, ("WRE",): 392})
        ),
        "MULT18X18D": _mult18x18d,
        "DP16KD": _dp16kd,
        "PDPW16KD": _pdpw16kd,
    },
    local={
        ("PFUMX", "ALUT"): (frozenset({"LUT4"}), 0),
        ("PFUMX", "BLUT"): (frozenset({"LUT4"}), 0),
        ("L6MUX21", "D0"): (frozenset({"PFUMX", "L6MUX21"}), 0),
        ("L6MUX21", "D1"): (frozenset({"PFUMX", "L6MUX21"}), 0),
        ("CCU2C", "CIN"): (frozenset({"CCU2C"}), 0),
    },
    registers={"TRELLIS_FF": "DI"},
    beside_register=dict.fromkeys(ECP5_LOGIC, 130.0),
    blocks=frozenset({"MULT18X18D", "DP16KD", "PDPW16KD"}),
    chain=("CCU2C", 447, 443),
)


@dataclass(frozen=True)
class _Amd:
    """The figures of a family of AMD, in ps."""

    pins: tuple[float, ...]
    """From the pins of a look-up table, slowest first. Synthesis gives the last input the fastest pin."""
    wide_multiplexer: tuple[float, float]
    """From its data and from its selection."""
    carry: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]
    """From each pin of four bits of a carry chain to the sums and the carries that it reaches."""
    flip_flop: tuple[float, float, float, float]
    """From the clock; from data, enable and reset to the clock."""
    memory: tuple[float, float, float, float]
    """Of look-up tables as memories: from the clock; from data, write address and write enable to it."""
    shift: tuple[float, float]
    """Of shift registers: from the clock; from data to it."""
    product: float
    """The scale of the DSP block's delays."""
    periods: tuple[float, float]
    """Between the DSP block's registers: without and with a register of the product."""
    block_ram: tuple[float, float, float]
    """From the clock without and with an output register, and the scale of its set-up times."""
    beside: Mapping[str, float]
    """From cells to a flip-flop beside them."""
    into_carry: float
    """From a look-up table to the carry chain beside it."""


def _amd(figures: _Amd, dsp: str, ram: str) -> Family:
    luts = {f"LUT{n}": _lut(n, figures.pins) for n in range(1, 7)}
    cells: dict[str, Callable[[Cell], CellTiming]] = {name: _constant(lut) for name, lut in luts.items()}
    cells["INV"] = _constant(CellTiming(arcs=((("I",), ("O",), figures.pins[-1]),)))
    data, select = figures.wide_multiplexer
    for name in ("MUXF7", "MUXF8", "MUXF9"):
        cells[name] = _constant(CellTiming(arcs=((("I0", "I1"), ("O",), data), (("S",), ("O",), select))))
    cells["CARRY4"] = _constant(_carry4(figures.carry))
    clocked, d, enable, reset = figures.flip_flop
    for name in ("FDRE", "FDSE", "FDCE", "FDPE"):
        setup = {("D",): d, ("CE",): enable, ("R", "S", "CLR", "PRE"): reset}
        cells[name] = _constant(CellTiming(clocked={("Q",): clocked}, setup=setup))
    cells |= dict.fromkeys(("SRL16E", "SRLC32E"), lambda cell: _shift_register(cell, figures))
    cells |= dict.fromkeys(_MEMORIES, lambda cell: _lut_memory(cell, figures))
    cells[dsp] = lambda cell: _dsp48(cell, figures)
    cells |= dict.fromkeys((f"RAMB18{ram}", f"RAMB36{ram}"), lambda cell: _block_ram(cell, figures))
    from_luts = frozenset(luts)
    return Family(
        cells=cells,
        local={
            **{("CARRY4", f"S[{k}]"): (from_luts, figures.into_carry) for k in range(4)},
            ("CARRY4", "CI"): (frozenset({"CARRY4"}), 0),
            **{("MUXF7", pin): (from_luts, 0) for pin in ("I0", "I1")},
            **{("MUXF8", pin): (frozenset({"MUXF7"}), 0) for pin in ("I0", "I1")},
            **{("MUXF9", pin): (frozenset({"MUXF8"}), 0) for pin in ("I0", "I1")},
        },
        registers=dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), "D"),
        beside_register={**dict.fromkeys(luts, figures.beside["LUT"]), **figures.beside},
        blocks=frozenset({dsp, f"RAMB18{ram}", f"RAMB36{ram}"}),
    )


_MEMORIES = (
    *("RAM32M", "RAM64M", "RAM32M16", "RAM64M8", "RAM32X1D", "RAM64X1D", "RAM128X1D", "RAM256X1D"),
    *("RAM32X1S", "RAM64X1S", "RAM128X1S", "RAM256X1S", "RAM512X1S"),
)


def _lut(inputs: int, pins: tuple[float, ...]) -> CellTiming:
    return CellTiming(
        arcs=tuple(((f"I{k}",), ("O",), delay) for k, delay in enumerate(pins[len(pins) - inputs :]))
    )


def _carry4(figures: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]) -> CellTiming:
    """Return the arcs of four bits; a bit's own inputs reach the bits above it."""
    arcs: list[Arc] = []
    for pin, outputs in figures.items():
        for port, delays in zip(("O", "CO"), outputs, strict=True):
            first = 4 - len(delays)
            arcs += [((pin,), (f"{port}[{first + k}]",), delay) for k, delay in enumerate(delays)]
    return CellTiming(arcs=tuple(arcs))


def _shift_register(cell: Cell, figures: _Amd) -> CellTiming:
    clocked, data = figures.shift
    outputs = tuple(port for port in ("Q", "Q31") if port in cell.ports)
    address = tuple(port for port in cell.ports if port[0] == "A")
    arcs = ((address, ("Q",), figures.pins[0]),)
    return CellTiming(arcs, {outputs: clocked}, {("D",): data, ("CE",): figures.flip_flop[2]})


def _lut_memory(cell: Cell, figures: _Amd) -> CellTiming:
    """Reading is a look-up; RAM32M and its like read by one address a port, the last of which also writes."""
    clocked, data, address, enable = figures.memory
    pins = {
        kind: tuple(p for p in cell.ports if p.startswith(kind)) for kind in ("ADDR", "DPRA", "A", "DI", "DO")
    }
    if pins["ADDR"]:
        arcs: tuple[Arc, ...] = tuple(((f"ADDR{p[2]}",), (p,), figures.pins[0]) for p in pins["DO"])
        outputs, written = pins["DO"], pins["ADDR"][-1:]
    else:
        outputs, written = tuple(p for p in ("O", "SPO", "DPO") if p in cell.ports), pins["A"]
        arcs = ((pins["A"], outputs[:1], figures.pins[0]), (pins["DPRA"], outputs[1:], figures.pins[0]))
    return CellTiming(arcs, {outputs: clocked}, {(*pins["DI"], "D"): data, written: address, ("WE",): enable})


def _dsp48(cell: Cell, figures: _Amd) -> CellTiming:
    """P = A B + C; A and B enter registers, or else that of the product or of the result."""
    a, c, m, p = (int(cell.parameters.get(f"{name}REG", "1"), 2) for name in "ACMP")
    scale = figures.product
    setup: dict[Pins, float] = {}
    clocked: dict[Pins, float] = {}
    arcs: list[Arc] = []
    if a or m or p:
        setup[("A",)] = scale * (254 if a else 1416 if m else 2739)
        setup[("B",)] = scale * (324 if a else 1285 if m else 2608)
    else:
        arcs += [(("A",), ("P",), scale * 2823), (("B",), ("P",), scale * 2690)]
    if c or p:
        setup[("C",)] = scale * (168 if c else 1244)
    else:
        arcs.append((("C",), ("P",), scale * 1325))
    if a or c or m or p:
        clocked[("P",)] = scale * (329 if p else 1671 if m else 2952)
    return CellTiming(tuple(arcs), clocked, setup, figures.periods[bool(m)] if a and p else 0.0)


def _block_ram(cell: Cell, figures: _Amd) -> CellTiming:
    plain, registered, scale = figures.block_ram
    clocked = {}
    for side in "AB":
        outputs = tuple(port for port in cell.ports if port.startswith("DO") and side in port)
        clocked[outputs] = registered if int(cell.parameters.get(f"DO{side}_REG", "0"), 2) else plain
    starts = {"ADDR": 566, "WE": 532, "EN": 532, "DI": 737, "REGCE": 360, "RST": 342}
    setup = {
        tuple(port for port in cell.ports if port.startswith(start)): scale * delay
        for start, delay in starts.items()
    }
    return CellTiming(clocked=clocked, setup=setup)


SERIES_7 = _amd(
    _Amd(
        pins=(642, 631, 472, 407, 238, 127),
        wide_multiplexer=(223, 296),
        carry={
            "S[0]": ((223, 400, 523, 582), (340, 433, 512, 508)),
            "S[1]": ((205, 558, 618), (469, 548, 528)),
            "S[2]": ((226, 330), (292, 378)),
            "S[3]": ((227,), (380,)),
            "DI[0]": ((407, 556, 615), (379, 465, 540, 526)),
            "DI[1]": ((537, 596), (445, 520, 507)),
            "DI[2]": ((438,), (356, 398)),
            "DI[3]": ((), (385,)),
            "CI": ((222, 334, 239, 313), (271, 157, 228, 114)),
            "CYINIT": ((482, 598, 584, 642), (536, 494, 592, 580)),
        },
        flip_flop=(303, 0, 109, 404),
        memory=(1190, 461, 245, 654),
        shift=(1472, 173),
        product=1.0,
        periods=(2952, 2155),
        block_ram=(2454, 882, 1.0),
        beside={"LUT": 0, "MUXF7": 0, "MUXF8": 0, "CARRY4": 0},
        into_carry=0,
    ),
    "DSP48E1",
    "E1",
)

ULTRASCALE_PLUS = _amd(
    _Amd(
        pins=(150 + 74, 125 + 53, 100 + 48, 90 + 44, 50 + 44, 35 + 43),
        wide_multiplexer=(25 + 70 + 32, 65 + 77 + 32),
        # Yosys maps sums to CARRY4: the lower half of CARRY8, whose carry passes eight bits in 23 ps.
        carry={
            "S[0]": ((65 + 30, 96 + 30, 134 + 30, 139 + 30), (71, 109, 115, 186)),
            "S[1]": ((56 + 30, 117 + 30, 123 + 30), (91, 98, 184)),
            "S[2]": ((58 + 30, 86 + 30), (63, 148)),
            "S[3]": ((61 + 30,), (133,)),
            "DI[0]": ((65 + 81 + 30, 65 + 109 + 30, 65 + 115 + 30), (65 + 57, 65 + 83, 65 + 90, 65 + 182)),
            "DI[1]": ((65 + 99 + 30, 65 + 102 + 30), (65 + 73, 65 + 78, 65 + 144)),
            "DI[2]": ((65 + 94 + 30,), (65 + 69, 65 + 134)),
            "DI[3]": ((), (65 + 131,)),
            "CI": ((56 + 30, 76 + 30, 67 + 30, 82 + 30), (52, 42, 57, 12)),
            "CYINIT": ((65 + 56 + 30, 65 + 76 + 30, 65 + 67 + 30, 65 + 82 + 30), (117, 107, 122, 125)),
        },
        flip_flop=(77, 25 + 100, 25 + 5, 25 + 5),
        memory=(312, 81, 117, 180 + 65),
        shift=(312, 81),
        product=1510 / 2823,
        periods=(1e6 / 544, 1e6 / 775),
        block_ram=(1003, 229, 1003 / 2454),
        beside={"LUT": 50 - 100, "MUXF7": -100, "MUXF8": -100, "CARRY4": -100},
        into_carry=15,
    ),
    "DSP48E2",
    "E2",
)
