"""What a bound design takes beside its DSP blocks: adders, multiplexers of operands, delay lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rbdhw.fixed.program import Kind, Program
from rbdhw.schedule.model import MULTIPLIERS, Bound, Tap

MULTIPLIER = 350.0
"""Look-up tables that do what a multiplier of 18 x 18 bits does."""


@dataclass(frozen=True)
class Cost:
    """Counts of a bound design.

    Parameters
    ----------
    multipliers, adders
        Units; an adder of several twins is one.
    multiplexed_bits
        What multiplexers choose from: for each bit of an operand the signals beyond the first.
    adder_bits, delay_bits
        Of the results of adders, and of the registers and memories in which values wait.
    """

    multipliers: int
    adders: int
    multiplexed_bits: int
    adder_bits: int
    delay_bits: int

    @property
    def total(self) -> float:
        """About how many look-up tables all this takes: of four bits one chooses in each."""
        return MULTIPLIER * self.multipliers + self.adder_bits + self.multiplexed_bits / 3.0


def cost(program: Program, bound: Bound) -> Cost:
    """The cost of a bound program."""
    sums = list(_groups(program, bound))
    return Cost(
        multipliers=sum(unit.resource in MULTIPLIERS for unit in bound.units),
        adders=len(sums),
        multiplexed_bits=_multiplexed(program, bound, sums),
        adder_bits=sum(program.operations[group[0]].format.width for group in sums),
        delay_bits=sum(
            max(stages, default=0) * program.operations[value].format.width
            for value, stages in bound.stages.items()
        ),
    )


def _groups(program: Program, bound: Bound) -> Iterator[tuple[int, ...]]:
    """The sums and choices that an adder of their own computes, with their twins."""
    for value in bound.producer:
        group = bound.group(value)
        if value == group[0] and program.operations[value].kind in (Kind.ADD, Kind.SELECT):
            yield group


def _multiplexed(program: Program, bound: Bound, sums: Sequence[tuple[int, ...]]) -> int:
    hardware = [[bound.producer[value] for value in group] for group in sums]
    hardware += [list(unit.steps.values()) for unit in bound.units]
    bits = 0
    for steps in hardware:
        rows = [_taps(program, bound, index) for index in steps]
        for column in zip(*rows, strict=False):
            widths = [program.operations[tap.value].format.width for tap in column if tap is not None]
            bits += (len(set(column) - {None}) - 1) * max(widths) if widths else 0
    words = [group for group in bound.twins if program.operations[group[0]].kind is Kind.INPUT]
    return bits + sum((len(group) - 1) * program.operations[group[0]].format.width for group in words)


def _taps(program: Program, bound: Bound, index: int) -> list[Tap | None]:
    """Where a step reads its operands, and None for constants, which tables of slots give."""
    operation = program.operations[bound.steps[index].results[0]]
    values = [operand.value for operand in operation.operands]
    taps: list[Tap | None] = [
        bound.tap(value, bound.starts[index]) if value in bound.ready else None for value in values
    ]
    return [*taps, None] if operation.kind is Kind.SCALE else taps
