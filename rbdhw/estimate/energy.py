"""A coarse estimate of power and energy on UltraScale+, fitted to two published accelerators.

No open figures of the energy of a block exist. Two accelerators for the inverse dynamics' derivatives of an
iiwa state their power on a VU9P, their clock and their share of the device's DSP blocks. Their power beyond a
static one, divided by clock and blocks, is the energy of a DSP block in a cycle, with the registers, look-up
tables and wires around it. The estimate is the geometric mean of both; each is a factor of :data:`SPREAD`
away, and no third point tells whether that covers other designs.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rbdhw.fixed.program import Kind, Program
from rbdhw.target import TARGETS, Target

FAMILY = TARGETS["xcvu9p"].family
"""The family of devices for which there is an estimate."""

STATIC_WATTS = 3.0
"""The static power of a VU9P, an assumption; other devices have a share by their look-up tables."""


@dataclass(frozen=True)
class Published:
    """A published accelerator: its power, its clock and its share of the DSP blocks of a VU9P."""

    watts: float
    clock_mhz: float
    dsp_share: float

    @property
    def picojoules(self) -> float:
        """The energy of a DSP block in a cycle, and of what stands around it."""
        blocks = self.dsp_share * TARGETS["xcvu9p"].dsp_blocks
        return (self.watts - STATIC_WATTS) / (blocks * self.clock_mhz * 1e6) * 1e12


DADU_RBD = Published(31.2, 125.0, 0.62)
"""Yang et al., *Dadu-RBD*, section VI-C: the derivatives of forward dynamics with a given inverse."""

ROBOMORPHIC = Published(9.6, 55.6, 0.775)
"""Neuman et al., *Robomorphic Computing*, as quoted there."""

PICOJOULES = math.sqrt(DADU_RBD.picojoules * ROBOMORPHIC.picojoules)
SPREAD = math.sqrt(DADU_RBD.picojoules / ROBOMORPHIC.picojoules)


@dataclass(frozen=True)
class Energy:
    """Power, and energy of a task, while tasks of one function follow each other at their largest rate."""

    watts: float
    nanojoules: float
    delay_product: float
    """Energy times latency, in nJ µs."""


def energy_of(
    program: Program, function: str, rate: float, latency_us: float, device: Target, activity: float = 1.0
) -> Energy | None:
    """Return the energy of a function's tasks, as :func:`energy_of_blocks`."""
    return energy_of_blocks(block_cycles(program, (function,), device), rate, latency_us, device, activity)


def energy_of_blocks(
    uses: int, rate: float, latency_us: float, device: Target, activity: float = 1.0
) -> Energy | None:
    """Return the energy of tasks that use DSP blocks so often, or None for a device without an estimate.

    Parameters
    ----------
    uses
        Of DSP blocks in a task, as :func:`block_cycles` counts them.
    rate
        Tasks a second.
    activity
        The toggle rate relative to that of the published accelerators, which is not known; 1 assumes theirs.
    """
    if device.family != FAMILY:
        return None
    dynamic = PICOJOULES * activity * uses
    watts = STATIC_WATTS * device.luts / TARGETS["xcvu9p"].luts + 1e-12 * dynamic * rate
    nanojoules = 1e9 * watts / rate
    return Energy(watts, nanojoules, nanojoules * latency_us)


def block_cycles(program: Program, functions: Collection[str], device: Target) -> int:
    """Return the uses of DSP blocks by a task of functions: a cycle of each block of each product."""
    operations = set[int]().union(*(program.operations_of(each, optional=False) for each in functions))
    # A unit computes the sine and the cosine of an angle together.
    angles = {program.operations[i].operands[0].value for i in operations if _is_trigonometric(program, i)}
    products = [widths for i in operations for widths in _products(program, i)]
    products += len(angles) * program.trigonometry.multipliers
    return sum(map(device.blocks, products))


def _is_trigonometric(program: Program, i: int) -> bool:
    return program.operations[i].kind in (Kind.SIN, Kind.COS)


def _products(program: Program, i: int) -> Iterator[tuple[int, int]]:
    """Yield the operand widths of the products of an operation that multipliers compute."""
    operation = program.operations[i]
    match operation.kind:
        case Kind.MULTIPLY:
            first, second = (program.operations[operand.value].format.width for operand in operation.operands)
            yield first, second
        case Kind.DOT:
            for _, first, second in operation.pairs:
                yield program.operations[first].format.width, program.operations[second].format.width
        case Kind.RECIPROCAL:
            assert program.reciprocal is not None
            yield from program.reciprocal.multipliers
