"""Remarks about a plan: results that miss the default error budget, and a design too large for its device."""

from __future__ import annotations

from collections.abc import Iterator

from rbdhw.emit.accuracy import accuracy_remarks, clipped_remarks
from rbdhw.estimate.fit import MultiplierSharing
from rbdhw.estimate.model import short_of
from rbdhw.explore.plan import AcceleratorPlan
from rbdhw.fixed.program import Kind
from rbdhw.options.build import BuildOptions
from rbdhw.target import Target, target


def plan_remarks(plan: AcceleratorPlan, options: BuildOptions) -> tuple[str, ...]:
    """Return the remarks on insufficient or unknown accuracy and on resources that exceed the device."""
    every = [part.plan.formats for part in plan.parts]
    accuracy = (line for formats in every for line in accuracy_remarks(formats, options))
    clipped = (line for formats in every for line in clipped_remarks(formats))
    return (*accuracy, *clipped, *_size_remarks(plan, target(options.target)))


def _size_remarks(plan: AcceleratorPlan, device: Target) -> Iterator[str]:
    """Yield a remark if the design exceeds its device, with the resources and an interval that would fit."""
    if short := short_of(plan.estimate, device, 1.0):
        needs = " and ".join(map(str, short))
        yield f"{device.name}: by estimate the design takes {needs}; expected {_smaller(plan, device)}"


def _smaller(plan: AcceleratorPlan, device: Target) -> str:
    """Return what would make a design smaller."""
    if plan.only is None:
        return "longer intervals in --cores, or fewer copies"
    remedy, blocks = "a longer --ii", plan.estimate.dsp_blocks
    if blocks > device.dsp_blocks:
        products = sum(operation.kind is Kind.MULTIPLY for operation in plan.only.program.operations)
        sharing = MultiplierSharing(plan.only.ii, products, plan.only.core.multipliers)
        remedy = f"an --ii of some {sharing.interval_for(blocks, device.dsp_blocks)} or more"
    return f"{remedy}, or --ii auto, which finds the shortest that fits"
