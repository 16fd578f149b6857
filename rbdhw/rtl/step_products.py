"""The products between two steps of rollouts and of a solver, which have no registers, and their time."""

from __future__ import annotations

import math

from rbdhw.fixed.solver import SolverShape
from rbdhw.model.interface import Interface
from rbdhw.rtl.arithmetic import ADDENDS
from rbdhw.rtl.mppi import mppi_period, mppi_products
from rbdhw.rtl.rollout_cost import cost_products
from rbdhw.rtl.rollout_gains import feedback_products
from rbdhw.rtl.rollout_parts import hardware_of
from rbdhw.target import Target


def preparation_products(interface: Interface) -> list[tuple[int, int]]:
    """Return the operand widths of the products between two steps, and of those of means of samples."""
    products = []
    if interface.rollout is not None:
        step, shape = interface.step, interface.rollout
        products += [widths for part in hardware_of(shape) for widths in part.products(step, shape)]
    if interface.solver is not None:
        products += solver_products(interface.solver)
    return products + (mppi_products(interface) if _takes_means(interface) else [])


def solver_products(shape: SolverShape) -> list[tuple[int, int]]:
    """Return the operand widths of the products between two steps of a solver's trials."""
    return cost_products(shape.terms, shape.differences) + feedback_products(shape.feedback)


def _takes_means(interface: Interface) -> bool:
    return interface.rollout is not None and interface.rollout.means


def preparation_period(interface: Interface, device: Target) -> float:
    """Return the time (ns) that operators need in the longest cycle between two steps of rollouts.

    Products have no registers there. Without anything between two steps there is no such cycle.
    """
    solver = interface.solver
    shapes = interface.rollout, None if solver is None else solver.rollout
    parts = [part for shape in shapes if shape is not None for part in hardware_of(shape)]
    delays = device.delays
    if not parts:
        return 0.0
    products = {device.pipelines(widths)[0].before for widths in preparation_products(interface)}
    sums = delays.add * math.ceil(math.log2(ADDENDS))
    limits = sums + delays.add + delays.check
    of_means = mppi_period(delays) if _takes_means(interface) else 0.0
    return max(limits, of_means, *(part.period(delays) for part in parts), *products)
