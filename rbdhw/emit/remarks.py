"""Remarks about a plan: results that miss the default error budget, and a design too large for its device."""

from __future__ import annotations

from rbdhw.config import BuildOptions
from rbdhw.emit.accuracy import accuracy_remarks
from rbdhw.estimate.fit import Sharing
from rbdhw.estimate.model import short_of
from rbdhw.explore.plan import Plan
from rbdhw.fixed.program import Kind
from rbdhw.target import target


def plan_remarks(plan: Plan, options: BuildOptions) -> tuple[str, ...]:
    """Return the remarks on insufficient accuracy and on resources that exceed the device."""
    return (*accuracy_remarks(plan.formats, options), *size_remarks(plan, options))


def size_remarks(plan: Plan, options: BuildOptions) -> tuple[str, ...]:
    """Return a remark if the design exceeds its device, with the resources and an interval that would fit."""
    device = target(options.target)
    short = short_of(plan.estimate, device, 1.0)
    if not short:
        return ()
    remedy = "a longer --ii"
    blocks = plan.estimate.dsp_blocks
    if blocks > device.dsp_blocks:
        products = sum(operation.kind is Kind.MULTIPLY for operation in plan.program.operations)
        least = Sharing(plan.ii, products, plan.core.multipliers).interval_for(blocks, device.dsp_blocks)
        remedy = f"an --ii of some {least} or more"
    return (
        f"{device.name}: by estimate the design takes {' and '.join(map(str, short))}; expected {remedy}, or "
        "--ii auto, which finds the shortest that fits",
    )
