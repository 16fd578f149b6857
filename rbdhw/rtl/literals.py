"""Constants and ranges of bits as Verilog's text."""

from __future__ import annotations

from itertools import pairwise

LONGEST_LITERAL = 64
"""The most bits of a constant in one literal."""

SHORT_LITERAL = 4
"""The most bits of a constant in binary notation."""


def bit_range(width: int) -> str:
    """Return the range of bits before a name; nothing for one bit."""
    return f"[{width - 1}:0] " if width > 1 else ""


def literal(bits: str, sign: str = "") -> str:
    if len(bits) <= SHORT_LITERAL:
        return f"{len(bits)}'{sign}b{bits}"
    return f"{len(bits)}'{sign}h{int(bits, 2):0{-(-len(bits) // 4)}x}"


def literals(bits: str) -> list[str]:
    """Return constant bits as elements of a concatenation."""
    if len(bits) <= LONGEST_LITERAL:
        return [literal(bits)]
    if len(set(bits)) == 1:
        return [f"{{{len(bits)}{{1'b{bits[0]}}}}}"]
    first = len(bits) % LONGEST_LITERAL
    starts = [0, *range(first, len(bits), LONGEST_LITERAL)] if first else range(0, len(bits), LONGEST_LITERAL)
    return [literal(bits[a:b]) for a, b in pairwise([*starts, len(bits)])]


def constant(bits: str) -> str:
    texts = literals(bits)
    return texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}"
