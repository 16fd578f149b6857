"""The words that a solver gives to its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Const, signed
from amaranth.lib import data

from rbdhw.fixed.rollout import StepWords
from rbdhw.fixed.solver_numbers import Factor


def of_problem(numbers: data.View[data.ArrayLayout], problem: Any) -> Any:
    """Return the number of a problem among those of all, chosen by a multiplexer and not by a product."""
    return Array(numbers[k] for k in range(numbers.shape().length))[problem]


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
