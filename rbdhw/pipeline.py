"""From a URDF to a design: every stage in order.

robot -> one scalar dataflow graph -> passes -> number formats -> static schedule -> Verilog + manifest.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rbdhw.boards.fit import Sharing
from rbdhw.config import BuildOptions
from rbdhw.design.accelerator import accelerator
from rbdhw.design.folder import Design
from rbdhw.design.traffic import link_entry, traffic
from rbdhw.domain.bounds import Overrides
from rbdhw.emit.accuracy import accuracy_remarks
from rbdhw.emit.companions import companions
from rbdhw.emit.heading import heading
from rbdhw.emit.manifest import coordinates_entry, manifest
from rbdhw.estimate.model import estimate_entry, short_of
from rbdhw.explore.candidates import Plan, make_plan
from rbdhw.explore.limb_sharing import find_shared_limbs, sharing_entry
from rbdhw.fixed.program import Kind
from rbdhw.frontend.read import read
from rbdhw.progress import Progress, silent
from rbdhw.quantize.formats import draft_design
from rbdhw.remarks import warn
from rbdhw.robot.model import Robot
from rbdhw.rtl.verilog import to_verilog
from rbdhw.schedule.model import Bound
from rbdhw.target import target


def generate(
    urdf: Path, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Design:
    """The design of an accelerator for the robot in a URDF file.

    Raises
    ------
    InputError
        For a robot, option or override that cannot be built.
    """
    source, trials = read(urdf, options, progress)
    design = build_design(source, options, overrides, progress)
    return replace(design, manifest=design.manifest | {"roots": [vars(trial) for trial in trials]})


def build_design(
    source: Robot, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Design:
    """The design of an accelerator for a robot, wherever it comes from.

    Raises
    ------
    InputError
        For an option or override that cannot be built for it.
    """
    plan = make_plan(source, options, overrides, progress)
    warn(plan_remarks(plan, options))
    progress("writing Verilog")
    return emit_design(plan, options)


def emit_design(plan: Plan, options: BuildOptions) -> Design:
    """The design of a plan that was made with these options."""
    asked, options = options.asked_core, replace(options, core=plan.taken.core)
    draft = draft_design(plan.model, plan.domain, plan.program, options)
    facts = manifest(draft, plan, options)
    if isinstance(plan.bound, Bound):
        groups = find_shared_limbs(plan.model.robot, options.share_limbs, plan.bound.ii)
        facts["limbs"] = sharing_entry(plan.model.robot, groups, plan.program, plan.bound, plan.costs)
    facts["algorithms"] = plan.model.choice.json() | {"rewrites": list(plan.model.rewrites)}
    facts["interval"] = interval_entry(plan, draft, options)
    facts["cores"] = {"asked": asked} | plan.taken.json()
    words = {word.name for word in plan.program.inputs}
    facts["coordinates"] = coordinates_entry(plan.model.source, words)
    facts["estimate"] = estimate_entry(plan.estimate, target(options.target), plan.taken.core)
    facts["remarks"] = [
        *plan.model.source.remarks,
        *plan.domain.remarks,
        *plan.model.remarks,
        *plan_remarks(plan, options),
    ]
    device = target(options.target)
    above = heading(draft, options, plan.bound.ii, plan.bound.clock_mhz)
    text = to_verilog(accelerator(draft, plan.bound, device), header=above)
    design = replace(draft, manifest=facts | draft.manifest, verilog=text)
    return replace(design, companions=companions(design, device, plan.bound.clock_mhz))


def plan_remarks(plan: Plan, options: BuildOptions) -> tuple[str, ...]:
    """Sentences about a plan whose results are off, or that its device does not hold."""
    return (*accuracy_remarks(plan.formats, options), *size_remarks(plan, options))


def size_remarks(plan: Plan, options: BuildOptions) -> tuple[str, ...]:
    """A sentence where the design takes more than its device has: of what, how much, and what would fit."""
    device = target(options.target)
    short = short_of(plan.estimate, device, 1.0)
    if not short:
        return ()
    remedy = "a longer --ii"
    blocks = plan.estimate.dsp_blocks
    if blocks > device.dsp_blocks:
        products = sum(operation.kind is Kind.MULTIPLY for operation in plan.program.operations)
        least = Sharing(plan.bound.ii, products, plan.multipliers).interval_for(blocks, device.dsp_blocks)
        remedy = f"an --ii of some {least} or more"
    return (
        f"{device.name}: by estimate the design takes {' and '.join(map(str, short))}; expected {remedy}, or "
        "--ii auto, which finds the shortest that fits",
    )


def interval_entry(plan: Plan, draft: Design, options: BuildOptions) -> dict[str, Any]:
    """What the manifest tells of the initiation interval: why it is what it is, and what the link allows."""
    bandwidth = options.pacing.bandwidth if options.pacing else None
    return {
        "ii": plan.bound.ii,
        "why": plan.interval.why,
        "fit": options.fit,
        "link": link_entry(traffic(draft), plan.bound.clock_mhz, bandwidth),
    }
