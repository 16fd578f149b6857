"""The choice between the cores that can compute a build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rbdhw.cores import KINDS
from rbdhw.cores.core import Core
from rbdhw.design.entries import CoresEntry
from rbdhw.errors import InputError
from rbdhw.estimate.model import NAMES, load, shares
from rbdhw.estimate.resources import Resources
from rbdhw.options.build import DEFAULT_CORE, LOOP, BuildOptions
from rbdhw.remarks import warn
from rbdhw.robot.model import Robot
from rbdhw.target import Target


def possible_kinds(options: BuildOptions) -> tuple[type[Core], ...]:
    """Return the kinds of cores that the options ask for, or leave open."""
    return tuple(kind for kind in KINDS.values() if kind.is_asked(options) or kind.is_compared(options))


def suggest_core(source: Robot, options: BuildOptions) -> tuple[Robot, BuildOptions]:
    """Return options with the kind of core that suits a robot, if they leave it open; the robot has a remark.

    If no kind is suggested, nothing changes.
    """
    if options.core is not None or options.several:
        return source, options
    for kind in KINDS.values():
        if remark := kind.suggestion(source, options):
            warn([remark])
            return replace(source, remarks=(*source.remarks, remark)), replace(options, core=kind.name)
    return source, options


@dataclass(frozen=True)
class CoreChoice:
    """The core that is chosen for a build."""

    core: str  # one of `KINDS`
    why: str  # the reason for the choice
    # The resources of the whole accelerator with each core that was compared.
    estimates: Mapping[str, Resources]

    def entry(self, asked: str) -> CoresEntry:
        """Return the manifest's entry on the choice, for a build that asks for ``asked``."""
        estimates = {core: resources.json() for core, resources in self.estimates.items()}
        return CoresEntry(asked=asked, why=self.why, estimates=estimates)


def choose_core(
    estimates: Mapping[str, Resources],  # the resources of the whole accelerator, by core
    refused: Mapping[str, InputError],  # the refusals of other cores, by core
    device: Target,
) -> CoreChoice:
    """Choose the core whose largest share of the device's resources is smallest; the first one at a tie.

    A core that fits the device, or any share of it, is therefore preferred to one that does not. Whether
    stages loop is decided before, as for limbs that share hardware: by the sum of all shares.

    Raises InputError if none can be built: the refusal of the first.
    """
    if not estimates:
        raise next(refused[core] for core in KINDS if core in refused)
    reasons, compared = [], dict(estimates)
    if {DEFAULT_CORE, LOOP} <= compared.keys():
        loads = {core: load(estimates[core], device) for core in (DEFAULT_CORE, LOOP)}
        cheaper, dearer = sorted(loads, key=lambda core: loads[core])
        reasons = [f"the {core} takes {loads[core]:.1%} over all resources" for core in (cheaper, dearer)]
        del compared[dearer]
    largest = {
        core: max((share, resource) for resource, share in shares(resources, device).items())
        for core, resources in compared.items()
    }
    core = min(largest, key=lambda core: largest[core][0])
    if len(largest) > 1 or not reasons:
        others = sorted(largest, key=lambda other: other != core)
        for other in others:
            share, resource = largest[other]
            reasons.append(f"the {other} takes {share:.1%} of the {NAMES[resource]}")
    reasons += [f"no {other} ({why})" for other, why in refused.items()]
    return CoreChoice(core, ", ".join(reasons), estimates)
