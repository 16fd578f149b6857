"""The products between two steps of rollouts and of a solver, which have no registers, and their time."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rbdhw.fixed.rollout import RolloutShape
from rbdhw.model.interface import FunctionWords, Interface
from rbdhw.rtl.arithmetic import ADDENDS
from rbdhw.rtl.mppi import mppi_period, mppi_products
from rbdhw.rtl.rollout_parts import hardware_of
from rbdhw.target import Target


def preparation_products(interface: Interface) -> list[tuple[int, int]]:
    """Return the operand widths of the products between two steps, and of those of means of samples."""
    products = [
        widths
        for step, shape in _between_steps(interface)
        for part in hardware_of(shape)
        for widths in part.products(step, shape)
    ]
    return products + (mppi_products(interface) if _takes_means(interface) else [])


def _between_steps(interface: Interface) -> Iterator[tuple[FunctionWords, RolloutShape]]:
    """Yield the step of rollouts and of a solver, and what they have between two steps."""
    if interface.rollout is not None:
        yield interface.step, interface.rollout
    if interface.solver is not None:
        yield interface.words("step"), interface.solver.rollout


def _takes_means(interface: Interface) -> bool:
    return interface.rollout is not None and interface.rollout.means


def preparation_period(interface: Interface, device: Target) -> float:
    """Return the time (ns) that operators need in the longest cycle between two steps of rollouts.

    Products have no registers there. Without anything between two steps there is no such cycle.
    """
    parts = [part for _, shape in _between_steps(interface) for part in hardware_of(shape)]
    delays = device.delays
    if not parts:
        return 0.0
    products = {device.pipelines(widths)[0].before for widths in preparation_products(interface)}
    sums = delays.add * math.ceil(math.log2(ADDENDS))
    limits = sums + delays.add + delays.check
    of_means = mppi_period(delays) if _takes_means(interface) else 0.0
    return max(limits, of_means, *(part.period(delays) for part in parts), *products)
