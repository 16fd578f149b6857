"""Shifts by a variable number of units, with as few multiplexers as the bits that are needed allow."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal

from rbdhw.estimate.fabric import Fabric


def shift_down(m: Module, name: str, bits: Any, amount: Any, unit: int, width: int) -> Any:
    """Return the ``width`` bits from the bit ``amount * unit`` on; ``bits`` may be shorter than that.

    The largest shifts come first, since fewer bits are needed after each.
    """
    for k in reversed(range(len(amount))):
        needed = width + unit * ((1 << k) - 1)
        moved = Signal(needed, name=f"{name}_down_{k}")
        m.d.comb += moved.eq(Mux(amount[k], bits[unit << k :], bits))
        bits = moved
    return bits[:width]


def shift_up(m: Module, name: str, bits: Any, amount: Any, unit: int) -> Any:
    """Return ``bits`` followed upward by room for the largest shift, moved up by ``amount * unit`` bits.

    The smallest shifts come first, since there are fewer bits before each.
    """
    for k in range(len(amount)):
        moved = Signal(len(bits) + (unit << k), name=f"{name}_up_{k}")
        m.d.comb += moved.eq(Mux(amount[k], Cat(C(0, unit << k), bits), bits))
        bits = moved
    return bits


def shifter_luts(stages: int, unit: int, width: int, fabric: Fabric) -> float:
    """Return the look-up tables of a shift of ``width`` bits by units, in stages of two choices."""
    moved = sum(width + unit * ((1 << k) - 1) for k in range(stages))
    return moved * min(fabric.select[2], fabric.select[4] / 2.0)
