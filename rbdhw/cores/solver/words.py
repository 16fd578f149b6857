"""The words that a solver gives to its parts, and the places of rows in its memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Const, signed
from amaranth.lib import data

from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.fixed.rollout import StepWords
from rbdhw.fixed.solver_numbers import Factor


def of_problem(numbers: data.View[data.ArrayLayout], problem: Any) -> Any:
    """Return the number of a problem among those of all, chosen by a multiplexer and not by a product."""
    return Array(numbers[k] for k in range(numbers.shape().length))[problem]


def row_of(bank: Any, banks: int, rows: int, row: Any) -> Any:
    """Return the place of a row of a bank in a memory of ``banks``, each of which has ``rows``.

    A multiplexer chooses where the bank begins. A product would be in a DSP block without registers.
    """
    begins = [k * rows for k in range(banks)]
    return Array(Const(begin, range(begins[-1] + 1)) for begin in begins)[bank] + row


def trajectory_row(timing: SolverTiming, problem: Any, bank: Any, step: Any) -> Any:
    """Return the place of a step of a problem's trajectory in the memory of trajectories."""
    banks, rows = timing.shape.problems * timing.banks, timing.shape.knots + 1
    return row_of(problem * timing.banks + bank, banks, rows, step)


def core_payload(function: StepWords, words: Mapping[str, Any], slots: Sequence[int]) -> Any:
    """Return the words of a task in the slots of these widths, with zeros between them."""
    fields: list[Any] = [Const(0, width) for width in slots]
    for word in function.inputs:
        value = words[word.name].as_unsigned()
        fields[word.slot] = Cat(value, Const(0, slots[word.slot] - len(value)))
    return Cat(fields)


def factor_values(factors: Sequence[Factor], words: Mapping[str, Any]) -> Any:
    """Return the packed factors: constants, and words of these names."""
    return Cat(
        words[factor.name] if factor.constant is None else Const(factor.constant, signed(factor.format.width))
        for factor in factors
    )
