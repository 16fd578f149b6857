"""Remarks about a plan: results that miss the default error budget, and a design too large for its device."""

from __future__ import annotations

from collections.abc import Sequence

from rbdhw.emit.accuracy import accuracy_remarks, clipped_remarks
from rbdhw.estimate.fit import Sharing
from rbdhw.estimate.model import Short, short_of
from rbdhw.explore.plan import AcceleratorPlan
from rbdhw.fixed.program import Kind
from rbdhw.options.build import BuildOptions
from rbdhw.target import Target, target


def plan_remarks(plan: AcceleratorPlan, options: BuildOptions) -> tuple[str, ...]:
    """Return the remarks on insufficient or unknown accuracy and on resources that exceed the device."""
    every = [part.plan.formats for part in plan.parts]
    accuracy = (line for formats in every for line in accuracy_remarks(formats, options))
    clipped = (line for formats in every for line in clipped_remarks(formats))
    return (*accuracy, *clipped, *size_remarks(plan, options))


def size_remarks(plan: AcceleratorPlan, options: BuildOptions) -> tuple[str, ...]:
    """Return a remark if the design exceeds its device, with the resources and an interval that would fit."""
    device = target(options.target)
    short = short_of(plan.estimate, device, 1.0)
    if not short:
        return ()
    if plan.only is None:
        return (_too_large(device, short, "longer intervals in --cores, or fewer copies"),)
    remedy = "a longer --ii"
    blocks = plan.estimate.dsp_blocks
    if blocks > device.dsp_blocks:
        products = sum(operation.kind is Kind.MULTIPLY for operation in plan.only.program.operations)
        sharing = Sharing(plan.only.ii, products, plan.only.core.multipliers)
        least = sharing.interval_for(blocks, device.dsp_blocks)
        remedy = f"an --ii of some {least} or more"
    return (_too_large(device, short, f"{remedy}, or --ii auto, which finds the shortest that fits"),)


def _too_large(device: Target, short: Sequence[Short], expected: str) -> str:
    taken = " and ".join(map(str, short))
    return f"{device.name}: by estimate the design takes {taken}; expected {expected}"
