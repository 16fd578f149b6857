"""Fused programs, their jobs and their arrays."""

from __future__ import annotations

from rbdhw.array.build import timing
from rbdhw.array.exchanging import exchanged
from rbdhw.array.jobs import jobs
from rbdhw.array.model import Array
from rbdhw.array.placing import placed
from rbdhw.array.verify import verify
from rbdhw.fixed.fusion import fused
from rbdhw.fixed.program import Program
from tests.mixed import mixed_program

MOST_TERMS = 4


def mixed(width: int = 18) -> Program:
    """The made-up accelerator with all its sums fused."""
    return fused(mixed_program(width), MOST_TERMS)


def placed_of(program: Program, ii: int, registers: int = 2) -> Array:
    """A fused program's array as it is placed."""
    width = max(program.port_widths)
    return placed(jobs(program), outputs_of(program), ii, 50.0, timing(program, registers), registers, width)


def outputs_of(program: Program) -> dict[str, tuple[int, ...]]:
    """The values that leave an array."""
    return {function: tuple(word.value for word in words) for function, words in program.outputs.items()}


def array_of(program: Program, ii: int, registers: int = 2) -> Array:
    """A fused program's array, after exchanges, verified."""
    array = exchanged(placed_of(program, ii, registers), outputs_of(program), max(program.port_widths))
    verify(array, jobs(program))
    return array
