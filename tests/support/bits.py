"""Signed numbers side by side in the bits of one integer, the first one lowest."""

from collections.abc import Iterable
from typing import Any

from rbdhw.fixed.format import Format


def pack(formats: Iterable[Format], numbers: Iterable[Any]) -> int:
    """Return numbers in these formats side by side."""
    bits, first = 0, 0
    for format_, number in zip(formats, numbers, strict=True):
        bits |= (int(number) & ((1 << format_.width) - 1)) << first
        first += format_.width
    return bits


def unpack(formats: Iterable[Format], bits: int) -> list[int]:
    """Return the numbers of these formats that stand side by side."""
    numbers = []
    for format_ in formats:
        part, bits = bits & ((1 << format_.width) - 1), bits >> format_.width
        numbers.append(part - ((part >> (format_.width - 1)) << format_.width))
    return numbers
