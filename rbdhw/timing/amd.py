"""Delays of AMD's cells in picoseconds, at the slow corner.

UltraScale+: RapidWright's ``intrasite_delay_terms.txt``, with the delays of site pins; its speed grade is
not stated and taken as -2. It has no DSP block: the longest paths between registers inside are those of the
highest clocks in AMD DS923, and so is what a pre-adder takes; an unregistered product takes 1,510 ps in the
sources of an open router, and the other arcs of the block are those of DSP48E1 in the same proportion.
7 series, speed grade -1: Yosys' ``cells_sim.v``, whose figures are those of Project X-Ray for Artix-7, and
AMD DS181.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rbdhw.timing.cells import Arc, CellTiming, Family, Pins, constant
from rbdhw.timing.netlist import Cell


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
    pre_adder: float
    """What the adder in front of the multiplier adds to a path through the DSP block."""
    periods: tuple[float, float]
    """Between the DSP block's registers: without and with a register of the product."""
    block_ram: tuple[float, float, float]
    """From the clock without and with an output register, and the scale of its set-up times."""
    beside: Mapping[str, float]
    """From cells to a flip-flop beside them."""
    into_carry: float
    """From a look-up table to the carry chain beside it."""
    dsp_in_tile: float
    """DSP blocks for each eight look-up tables of the device."""


def _amd(figures: _Amd, dsp: str, ram: str) -> Family:
    luts = {f"LUT{n}": _lut(n, figures.pins) for n in range(1, 7)}
    luts["INV"] = CellTiming(arcs=((("I",), ("O",), figures.pins[-1]),))
    cells: dict[str, Callable[[Cell], CellTiming]] = {name: constant(lut) for name, lut in luts.items()}
    data, select = figures.wide_multiplexer
    for name in ("MUXF7", "MUXF8", "MUXF9"):
        cells[name] = constant(CellTiming(arcs=((("I0", "I1"), ("O",), data), (("S",), ("O",), select))))
    cells["CARRY4"] = constant(_carry4(figures.carry))
    clocked, d, enable, reset = figures.flip_flop
    for name in ("FDRE", "FDSE", "FDCE", "FDPE"):
        setup = {("D",): d, ("CE",): enable, ("R", "S", "CLR", "PRE"): reset}
        cells[name] = constant(CellTiming(clocked={("Q",): clocked}, setup=setup))
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
            (dsp, "PCIN"): (frozenset({dsp}), 0),
            **{("MUXF7", pin): (from_luts, 0) for pin in ("I0", "I1")},
            **{("MUXF8", pin): (frozenset({"MUXF7"}), 0) for pin in ("I0", "I1")},
            **{("MUXF9", pin): (frozenset({"MUXF8"}), 0) for pin in ("I0", "I1")},
        },
        paired={("CARRY4", f"DI[{k}]"): (f"S[{k}]", figures.into_carry) for k in range(4)},
        registers=dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), "D"),
        merged=True,  # UG901: -keep_equivalent_registers is off
        beside_register={**dict.fromkeys(luts, figures.beside["LUT"]), **figures.beside},
        blocks=frozenset({dsp, f"RAMB18{ram}", f"RAMB36{ram}"}),
        sites=(
            {**dict.fromkeys((*luts, "SRL16E", "SRLC32E"), 8.0), **dict.fromkeys(_MEMORIES, 2.0)},
            dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), 16.0),
            {dsp: figures.dsp_in_tile},
        ),
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
    """P = A B + C + PCIN; A and B each enter a register, or else that of the product or of the result.

    The sum goes to the block above, too, as PCOUT. Where the pre-adder is used, it adds D and A in front of
    the multiplier, without registers of its own.
    """
    a, b, c, m, p = (int(cell.parameters.get(f"{name}REG", "1"), 2) for name in "ABCMP")
    scale, (first, later) = figures.product, _pre_adder(cell, figures)
    setup: dict[Pins, float] = {}
    clocked: dict[Pins, float] = {}
    arcs: list[Arc] = []
    if a or m or p:
        setup[first] = scale * 254 if a else later + scale * (1416 if m else 2739)
    else:
        arcs += [(first, ("P",), later + scale * 2823), (first, ("PCOUT",), later + scale * 2970)]
    if b or m or p:
        setup[("B",)] = scale * (324 if b else 1285 if m else 2608)
    else:
        arcs += [(("B",), ("P",), scale * 2690), (("B",), ("PCOUT",), scale * 2838)]
    if c or p:
        setup[("C",)] = scale * (168 if c else 1244)
    else:
        arcs += [(("C",), ("P",), scale * 1325), (("C",), ("PCOUT",), scale * 1474)]
    if p:
        setup[("PCIN",)] = scale * 1025
    else:
        arcs += [(("PCIN",), ("P",), scale * 1107), (("PCIN",), ("PCOUT",), scale * 1255)]
    if a or b or c or m or p:
        clocked[("P",)] = scale * (329 if p else 1671 if m else 2952) + later * (not p and not m)
        clocked[("PCOUT",)] = scale * (435 if p else 1819 if m else 3098) + later * (not p and not m)
    return CellTiming(tuple(arcs), clocked, setup, figures.periods[bool(m)] if (a or b) and p else 0.0)


def _pre_adder(cell: Cell, figures: _Amd) -> tuple[Pins, float]:
    """Return the inputs of a DSP block in front of its first factor, and what its pre-adder takes."""
    adds = cell.parameters.get("AMULTSEL") == "AD" or cell.parameters.get("USE_DPORT") == "TRUE"
    return (("A", "D"), figures.pre_adder) if adds else (("A",), 0.0)


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
        pre_adder=3806 - 2823,
        periods=(2952, 2155),
        block_ram=(2454, 882, 1.0),
        beside={"LUT": 0, "MUXF7": 0, "MUXF8": 0, "CARRY4": 0},
        into_carry=0,
        dsp_in_tile=240 / (63_400 / 8),  # XC7A100T
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
        pre_adder=1e6 / 410 - 1e6 / 544,
        periods=(1e6 / 544, 1e6 / 775),
        block_ram=(1003, 229, 1003 / 2454),
        beside={"LUT": 50 - 100, "MUXF7": -100, "MUXF8": -100, "CARRY4": -100},
        into_carry=15,
        dsp_in_tile=6840 / (1_182_240 / 8),  # XCVU9P
    ),
    "DSP48E2",
    "E2",
)
