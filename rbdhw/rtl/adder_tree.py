"""Sums of many numbers, in several cycles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module

from rbdhw.rtl.delay import register

ADDENDS = 4
"""The numbers that are added in a cycle."""


def sum_latency(numbers: int) -> int:
    """Return the cycles that a sum takes; none for one number."""
    latency = 0
    while numbers > 1:
        numbers = -(-numbers // ADDENDS)
        latency += 1
    return latency


def add_up(m: Module, name: str, numbers: Sequence[Any]) -> Any:
    """Return the exact sum of numbers, :func:`sum_latency` cycles later."""
    level = 0
    while len(numbers) > 1:
        groups = [numbers[k : k + ADDENDS] for k in range(0, len(numbers), ADDENDS)]
        sums = [sum(group[1:], group[0]) for group in groups]
        numbers = [register(m, f"{name}_{level}_{k}", own, own.shape()) for k, own in enumerate(sums)]
        level += 1
    return numbers[0]
