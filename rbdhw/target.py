"""Target devices: their delays, multipliers and resources, for scheduling and binding.

Delays are those of :mod:`rbdhw.delays`. For ECP5 (speed grade 6) they are fitted to placed and routed designs
of this project. For UltraScale+ and 7 series they follow from :class:`rbdhw.delays.Figures` and the size of a
design (:meth:`Target.sized`). Where the size is not known they are estimates for designs of some 60,000
look-up tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from rbdhw.delays import (
    SERIES_7,
    SERIES_7_FASTER,
    ULTRASCALE_PLUS,
    Delays,
    Figures,
    Pipeline,
    Product,
    in_picoseconds,
)
from rbdhw.errors import InputError, told_apart, unknown

ROUNDING = 1e-9
"""The tolerance (ns) for rounding in sums of delays."""

PLACEMENT = 0.15
"""The share by which delays are longer than their figures, for what placement adds to them.

It is that of the timing check.
"""

UNCERTAINTY = 0.1
"""The part (ns) of a cycle lost to the uncertainty of the clock."""

ECP5_MARGIN = 0.2
"""The margin of default clocks on ECP5.

The delays do not include the distance of operands to the columns of DSP blocks, nor the congestion of a
device. These designs for 50 MHz were placed with nextpnr-ecp5 0.11.1 at an interval of 8 and with the default
error budget: all functions of the toy reached 44.8 MHz (seed 1), inverse dynamics of a UR10 46.2 and 47.1 MHz
(seeds 1 and 2), inverse dynamics of the toy 53.9 MHz (seed 1). The margin is almost twice the largest
shortfall, 10.5 %. Larger designs were not placed and may miss the clock by more.
"""

SPARE_BLOCK_RAMS = 18
"""The number of block RAMs that an array's operand memories leave to other parts."""


SUM_BITS = 48
"""The width of the sum in a block that adds."""


@dataclass(frozen=True)
class Primitive:
    """The multiplier of a DSP block as a primitive of the vendor's tools."""

    name: str
    ports: tuple[int, int]
    """Operand widths of its signed multiplier."""
    adds: bool
    """Whether it adds a number to the product before the result's register."""
    pipelines: tuple[Pipeline, Pipeline, Pipeline]
    """The pipelines with one, two and three registers."""
    least_bits: int
    """The least number of bits of a product for which synthesis infers a block."""
    shift: int = 0
    """The bits by which a block can shift the sum of the one below it before it adds; 0 without such a
    cascade."""
    constants: bool = False
    """Whether it adds a constant, too, and subtracts what it otherwise adds."""
    cascades: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """Delays (ns) to the block above, from the operands and from their registers; and from the block below,
    to the block above and to the result."""

    def slower(self, factor: float) -> Primitive:
        """Return the multiplier with all delays longer by a factor."""
        one, two, three = (way.slower(factor) for way in self.pipelines)
        a, b, c, d = (delay * factor for delay in self.cascades)
        return replace(self, pipelines=(one, two, three), cascades=(a, b, c, d))

    def limbs(self, widths: tuple[int, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the widths of the parts of operands at the two ports, lowest first."""
        a, b = (
            limbs(width, port, self.shift or port - 1) for width, port in zip(widths, self.ports, strict=True)
        )
        return a, b

    def swaps_operands(self, widths: tuple[int, int]) -> bool:
        """Return whether operands of these widths need fewer blocks with the second on the first port."""
        a, b = widths
        return len(self._places(b, a)) < len(self._places(a, b))

    def blocks(self, widths: tuple[int, int]) -> int:
        """Return the number of blocks for a product of these widths, in the cheaper order of operands."""
        return len(self.places(widths))

    def places(self, widths: tuple[int, int]) -> tuple[int, ...]:
        """Return the lowest bit of each block's product within a product of these widths, lowest first."""
        a, b = widths
        return self._places(b, a) if self.swaps_operands(widths) else self._places(a, b)

    def adds_alone(self, widths: tuple[int, int], addend: int) -> bool:
        """Return whether one block computes a product with an addend, and synthesis would take a block."""
        bits = sum(widths)
        fits = self.blocks(widths) == 1 and max(bits, addend + 1) < SUM_BITS
        return self.adds and fits and bits >= self.least_bits

    def chains(self, widths: tuple[int, int], addend: int) -> bool:
        """Return whether several blocks compute a product with an addend by their cascade."""
        places = self.places(widths)
        return bool(self.shift) and len(places) > 1 and addend - places[-1] < SUM_BITS - 1

    def _places(self, first: int, second: int) -> tuple[int, ...]:
        a, b = (tuple(accumulate(parts[:-1], initial=0)) for parts in self.limbs((first, second)))
        return tuple(sorted(x + y for x in a for y in b))


def limbs(width: int, port: int, low: int) -> tuple[int, ...]:
    """Return the widths of the parts of a signed operand that fit a signed port, lowest first.

    All parts except the last have ``low`` bits. They are unsigned, so they do not use the port's top bit.
    """
    if width <= port:
        return (width,)
    return (low, *limbs(width - low, port, low))


@dataclass(frozen=True)
class Clock:
    """The clock of a design."""

    mhz: float
    """The clock at which the design runs, in MHz."""
    schedule_mhz: float
    """The clock for which the design is scheduled. It is faster than ``mhz`` if a margin is left."""


@dataclass(frozen=True)
class Target:
    """A device."""

    name: str
    description: str
    family: str
    """The name of the device family in Yosys."""
    clock_mhz: float
    """The clock for which a design is scheduled by default."""
    margin: float
    """The share of that clock that is left to placement and routing: a design without a given clock runs at
    ``1 - margin`` of the clock of its schedule. It is 0 if no tool of this project places designs."""
    delays: Delays
    primitive: Primitive
    memory_stages: int
    """The length from which on a delay line is kept in a memory instead of registers."""
    dsp_blocks: int
    luts: int
    flip_flops: int
    block_rams: int
    figures: Figures | None = None
    """The figures of which delays are made; None where delays are fitted to placed designs."""
    slower: float = 1.0
    """The delays of the speed grade, relative to the figures."""

    def sized(self, luts: float, blocks: float, longer: float = 0.0) -> Target:
        """Return the device with the delays of operators in a design of a size, with the margin.

        They are ``longer`` by a share more.
        """
        figures = self.figures
        if figures is None:
            return self
        wire = figures.wire + figures.by_side * figures.side(luts, blocks)
        factor = self.slower * (1.0 + PLACEMENT) * (1.0 + longer)
        delays = {key: in_picoseconds(delay * factor) for key, delay in vars(figures.delays(wire)).items()}
        delays["overhead"] = in_picoseconds(delays["overhead"] + UNCERTAINTY)
        one, two, three = (
            Pipeline(way.registers, *map(in_picoseconds, (way.before, way.between, way.after)))
            for way in (way.slower(factor) for way in figures.pipelines(wire))
        )
        a, b, c, d = (in_picoseconds(delay * factor) for delay in figures.cascades)
        primitive = replace(self.primitive, pipelines=(one, two, three), cascades=(a, b, c, d))
        return replace(self, delays=Delays(**delays), primitive=primitive)

    def operand_blocks(self, share: float = 1.0) -> int:
        """Return the block RAMs in a share of the device that operand memories may use; others need some."""
        return max(math.floor(share * self.block_rams) - SPARE_BLOCK_RAMS, 0)

    def pipelines(self, widths: tuple[int, int]) -> tuple[Pipeline, ...]:
        """Return the ways to build a multiplier of operands of these widths, by their number of registers.

        Several blocks are joined by adders in the fabric before the result's register; or, with less than
        three registers, by their cascade.
        """
        delays, blocks = self.delays, self.blocks(widths)
        alone = Pipeline(0, delays.multiply + delays.add * math.ceil(math.log2(blocks)), 0.0, 0.0)
        if blocks == 1:
            return (alone, *self.primitive.pipelines)
        one, two, _ = self.primitive.pipelines
        sums = delays.add * (2 if self.primitive.adds else 1)
        three = Pipeline(3, two.before, max(two.between, two.after + sums), 0.0)
        if self.primitive.shift:
            operands, registers, through, last = self.primitive.cascades
            rest = through * (blocks - 2) + last
            alone = Pipeline(0, delays.multiply - delays.product + operands + rest, 0.0, 0.0)
            out = registers + rest + delays.out
            registered = Pipeline(2, one.before, out + delays.leave, 0.0)
            return alone, Pipeline(1, one.before, 0.0, out), registered, three
        return (
            alone,
            Pipeline(1, one.before, 0.0, one.after + sums),
            Pipeline(2, one.before, one.after + sums, 0.0),
            three,
        )

    def pipeline(self, product: Product, clock_mhz: float) -> Pipeline:
        """Return the multiplier with the fewest registers, hence the least latency, that meets a clock.

        If none does, the one with the most registers is returned; :meth:`check_clock` refuses such a clock.
        """
        ways = self.pipelines(product.widths)
        period = self.usable_period(clock_mhz) + ROUNDING
        return next((way for way in ways if way.period(product) <= period), ways[-1])

    def usable_period(self, clock_mhz: float) -> float:
        """Return the part of a cycle left for operators (ns)."""
        return 1000.0 / clock_mhz - self.delays.overhead

    def least_period(self, products: Iterable[Product]) -> float:
        """Return the period (ns) needed by products and by a choice with addition."""
        delays = self.delays
        choice = delays.select + delays.add
        ways = ([way.period(product) for way in self.pipelines(product.widths)] for product in products)
        return max([choice, *map(min, ways)])

    def check_clock(self, clock_mhz: float, least_period: float) -> None:
        """Refuse a clock whose cycle leaves less than ``least_period`` nanoseconds for operators.

        Raises InputError if the clock is too fast; the message gives the fastest possible clock.
        """
        if self.usable_period(clock_mhz) + ROUNDING < least_period:
            asked, most = told_apart(clock_mhz, self.fastest_clock(least_period))
            raise InputError(
                "clock", f"{asked} MHz is too fast for this design on {self.name}", f"at most {most} MHz"
            )

    def clock(self, asked_mhz: float | None, least_period: float = 0.0) -> Clock:
        """Return the clock of a design whose operators need a cycle of ``least_period`` nanoseconds.

        A clock that the user gives is also that of the schedule. The default is in whole MHz: the schedule is
        made for the target's own clock, or for the fastest possible one if that is slower, and the design
        runs slower by the target's margin.
        """
        if asked_mhz is not None:
            return Clock(asked_mhz, asked_mhz)
        schedule_mhz = min(self.clock_mhz, float(self.fastest_clock(least_period)))
        return Clock(float(math.floor(schedule_mhz * (1.0 - self.margin) + ROUNDING)), schedule_mhz)

    def fastest_clock(self, least_period: float) -> int:
        """Return the fastest clock in whole MHz that leaves ``least_period`` nanoseconds for operators."""
        return math.floor(1000.0 / (least_period + self.delays.overhead))

    def blocks(self, widths: tuple[int, int]) -> int:
        """Return the DSP blocks of one multiplier, in the cheaper order of its operand widths."""
        return self.primitive.blocks(widths)


# Between registers of the block: about the period of the fastest clock, with all registers and without the
# product's. Before and after the block: additionally a hop of routing, less half of the overhead.
DSP48E2 = Primitive(
    name="DSP48E2",
    ports=(27, 18),
    adds=True,
    pipelines=(Pipeline(1, 0.4, 0.0, 2.4), Pipeline(2, 0.4, 1.8, 0.5), Pipeline(3, 0.4, 1.3, 0.5)),
    least_bits=9,
    shift=17,
    constants=True,
    cascades=(1.589, 1.657, 0.671, 0.592),
)
DSP48E1 = Primitive(
    name="DSP48E1",
    ports=(25, 18),
    adds=True,
    pipelines=(Pipeline(1, 0.7, 0.0, 4.0), Pipeline(2, 0.7, 2.8, 0.7), Pipeline(3, 0.7, 1.4, 0.7)),
    least_bits=9,
)
MULT18X18D = Primitive(
    name="MULT18X18D",
    ports=(18, 18),
    adds=False,
    pipelines=(Pipeline(1, 2.0, 0.0, 7.0), Pipeline(2, 2.0, 4.0, 4.3), Pipeline(3, 2.0, 2.5, 4.3)),
    least_bits=0,
)

SLOWER_GRADE = 1.2
"""The delays of the next slower speed grade, relative to -2.

It is the ratio of the fastest clocks of fully pipelined DSP blocks: 551 and 464 MHz in Artix-7 -2 and -1
(DS181), 775 and 644 MHz in UltraScale+ -2 at 0.85 V and -2L at 0.72 V (DS925).
"""


def _series_7(name: str, description: str, slower: float = 1.0, **resources: int) -> Target:
    """Return a device with the fabric of Artix-7; that of Kintex-7 is no slower."""
    delays = Delays(multiply=5.6, add=1.7, select=0.9, table=2.2, check=0.8, overhead=1.0)
    timing = SERIES_7, slower * SERIES_7_FASTER
    return _amd(name, description, "xc7", 100.0, delays, timing, DSP48E1, slower, resources)


def _ultrascale_plus(name: str, description: str, slower: float = 1.0, **resources: int) -> Target:
    delays = Delays(multiply=3.8, add=1.1, select=0.5, table=1.2, check=0.5, overhead=0.8)
    timing = ULTRASCALE_PLUS, slower
    return _amd(name, description, "xcup", 125.0, delays, timing, DSP48E2, slower, resources)


def _amd(
    name: str,
    description: str,
    family: str,
    clock_mhz: float,
    delays: Delays,
    timing: tuple[Figures, float],
    primitive: Primitive,
    slower: float,
    resources: Mapping[str, int],
) -> Target:
    """Return a device of AMD whose delays are those of the family's -2, times ``slower``.

    ``timing`` are the figures and the delays of the speed grade relative to them.
    """
    return Target(
        name=name,
        description=f"AMD {description}",
        family=family,
        clock_mhz=float(math.floor(clock_mhz / slower)),
        margin=0.0,
        delays=Delays(**{key: delay * slower for key, delay in vars(delays).items()}),
        primitive=primitive.slower(slower),
        memory_stages=64,
        figures=timing[0],
        slower=timing[1],
        **resources,
    )


# Resources: DS180 (7 series), DS190 (Zynq-7000), DS890 (UltraScale+), DS891 (Zynq UltraScale+), DS987 (K26),
# FPGA-DS-02012 (ECP5). They are also what published reports of Vivado and Diamond call available, but for the
# blocks of xcvu9p and xc7a200t and the DSP blocks of xc7z045, of which no report was at hand.
TARGETS = {
    target.name: target
    for target in (
        _ultrascale_plus(
            "xcvu9p",
            "Virtex UltraScale+ VU9P, speed grade -2 (VCU118)",
            dsp_blocks=6840,
            luts=1_182_240,
            flip_flops=2_364_480,
            block_rams=2160,
        ),
        _ultrascale_plus(
            "xck26",
            "Zynq UltraScale+ of the Kria K26, speed grade -2LV (KV260, KR260)",
            slower=SLOWER_GRADE,
            dsp_blocks=1248,
            luts=117_120,
            flip_flops=234_240,
            block_rams=144,
        ),
        _ultrascale_plus(
            "xczu7ev",
            "Zynq UltraScale+ ZU7EV, speed grade -2 (ZCU104)",
            dsp_blocks=1728,
            luts=230_400,
            flip_flops=460_800,
            block_rams=312,
        ),
        _ultrascale_plus(
            "xczu9eg",
            "Zynq UltraScale+ ZU9EG, speed grade -2 (ZCU102)",
            dsp_blocks=2520,
            luts=274_080,
            flip_flops=548_160,
            block_rams=912,
        ),
        _series_7(
            "xc7a100t",
            "Artix-7 A100T, speed grade -1 (Arty A7-100T)",
            slower=SLOWER_GRADE,
            dsp_blocks=240,
            luts=63_400,
            flip_flops=126_800,
            block_rams=135,
        ),
        _series_7(
            "xc7a200t",
            "Artix-7 A200T, speed grade -2",
            dsp_blocks=740,
            luts=134_600,
            flip_flops=269_200,
            block_rams=365,
        ),
        _series_7(
            "xc7z020",
            "Zynq-7000 Z-7020, speed grade -1 (PYNQ-Z2, Zybo Z7-20)",
            slower=SLOWER_GRADE,
            dsp_blocks=220,
            luts=53_200,
            flip_flops=106_400,
            block_rams=140,
        ),
        _series_7(
            "xc7z045",
            "Zynq-7000 Z-7045, speed grade -2 (ZC706)",
            dsp_blocks=900,
            luts=218_600,
            flip_flops=437_200,
            block_rams=545,
        ),
        Target(
            name="ecp5-85",
            description="Lattice ECP5-85F, speed grade 6",
            family="ecp5",
            clock_mhz=50.0,
            margin=ECP5_MARGIN,
            delays=Delays(multiply=7.6, add=3.6, select=1.6, table=5.8, check=1.5, overhead=2.2),
            primitive=MULT18X18D,
            memory_stages=4,
            dsp_blocks=156,
            luts=83_640,
            flip_flops=83_640,
            block_rams=208,
        ),
    )
}


def target(name: str, others: Sequence[str] = ()) -> Target:
    """Return the target with this name.

    Raises InputError if the name is unknown; the message lists the known ones, and ``others``, which are no
    devices.
    """
    if name not in TARGETS:
        raise unknown("target", name, (*sorted(TARGETS), *others))
    return TARGETS[name]
