"""Target devices: what the schedule and the binding need to know of them.

Delays are those of unregistered operators between two registers. UltraScale+: DSP48E2 A-to-P through the
multiplier and a carry chain, speed grade -2 (AMD DS923); ECP5: MULT18X18D and a 24-bit carry chain, speed
grade 6, fitted to placed and routed designs of this project. ``overhead`` is what a cycle loses to
clock-to-output, setup, and uncertainty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rbdhw.errors import InputError


@dataclass(frozen=True)
class Delays:
    """Nanoseconds of each operator; ``select`` is that of one level of a 4-to-1 operand multiplexer."""

    multiply: float
    add: float
    select: float
    table: float
    check: float
    overhead: float


@dataclass(frozen=True)
class Target:
    """A device.

    Parameters
    ----------
    ports
        Operand widths of one DSP block's signed multiplier.
    memory_stages
        The shortest delay line kept in a memory instead of registers.
    family
        How Yosys knows the device.
    """

    name: str
    description: str
    family: str
    clock_mhz: float
    delays: Delays
    ports: tuple[int, int]
    memory_stages: int
    dsp_blocks: int
    luts: int
    flip_flops: int
    block_rams: int

    def product_delay(self, widths: tuple[int, int], select_levels: int = 0) -> float:
        """Nanoseconds of a product: operand multiplexers, the DSP block, and adders to join several."""
        joins = math.ceil(math.log2(self.blocks(widths)))
        return self.delays.select * select_levels + self.delays.multiply + self.delays.add * joins

    def usable_period(self, clock_mhz: float, product_delay: float) -> float:
        """Nanoseconds of a cycle left for operators.

        Raises
        ------
        InputError
            Where a multiplication does not fit in a cycle.
        """
        period = 1000.0 / clock_mhz - self.delays.overhead
        if period < product_delay + self.delays.check:
            raise InputError(
                f"clock: {clock_mhz:g} MHz is too fast for a product on {self.name}; "
                f"at most {self._fastest_clock(product_delay)} MHz was expected"
            )
        return period

    def default_clock(self, product_delay: float) -> float:
        """The target's own clock in MHz, or the fastest in whole MHz that a product allows."""
        return min(self.clock_mhz, self._fastest_clock(product_delay))

    def _fastest_clock(self, product_delay: float) -> int:
        return math.floor(1000.0 / (product_delay + self.delays.check + self.delays.overhead))

    def blocks(self, widths: tuple[int, int]) -> int:
        """DSP blocks of one multiplier with these operand widths, whichever way round is cheaper."""
        a, b = widths
        return min(math.ceil(x / self.ports[0]) * math.ceil(y / self.ports[1]) for x, y in ((a, b), (b, a)))


TARGETS = {
    target.name: target
    for target in (
        Target(
            name="xcvu9p",
            description="AMD Virtex UltraScale+ VU9P, speed grade -2 (VCU118)",
            family="xcup",
            clock_mhz=125.0,
            delays=Delays(multiply=3.8, add=1.1, select=0.5, table=1.2, check=0.5, overhead=0.8),
            ports=(27, 18),
            memory_stages=64,
            dsp_blocks=6840,
            luts=1_182_240,
            flip_flops=2_364_480,
            block_rams=2160,
        ),
        Target(
            name="ecp5-85",
            description="Lattice ECP5-85F, speed grade 6",
            family="ecp5",
            clock_mhz=50.0,
            delays=Delays(multiply=6.0, add=3.0, select=3.5, table=4.0, check=1.5, overhead=2.0),
            ports=(18, 18),
            memory_stages=4,
            dsp_blocks=156,
            luts=83_640,
            flip_flops=83_640,
            block_rams=208,
        ),
    )
}


def target(name: str) -> Target:
    """The target of that name.

    Raises
    ------
    InputError
        For an unknown one; the line lists those known.
    """
    if name not in TARGETS:
        raise InputError(f"target: '{name}' is unknown; expected one of {', '.join(sorted(TARGETS))}")
    return TARGETS[name]
