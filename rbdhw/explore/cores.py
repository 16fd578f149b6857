"""The two cores that may compute a build, the pipeline and the array, and the choice between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rbdhw.array.build import build_array
from rbdhw.array.model import Array
from rbdhw.config import CORES, BuildOptions
from rbdhw.errors import InputError
from rbdhw.estimate.model import NAMES, CoreCost, core_cost, load, shares
from rbdhw.estimate.resources import Resources
from rbdhw.fixed.program import Program
from rbdhw.graph.twins import Group
from rbdhw.schedule.binding import bind
from rbdhw.schedule.list_scheduler import schedule
from rbdhw.schedule.model import Bound
from rbdhw.schedule.problem import problem
from rbdhw.schedule.twins import shareable
from rbdhw.schedule.verify import verify
from rbdhw.target import Target


@dataclass(frozen=True)
class CoreChoice:
    """The core that a build takes.

    Parameters
    ----------
    core
        One of :data:`rbdhw.config.CORES`.
    why
        Why it is that one.
    estimates
        What a whole accelerator takes with each core that was compared.
    """

    core: str
    why: str
    estimates: Mapping[str, Resources]

    def json(self) -> dict[str, Any]:
        """What the manifest tells."""
        return {"why": self.why, "estimates": {core: own.json() for core, own in self.estimates.items()}}


def choose_core(estimates: Mapping[str, Resources], refused: Mapping[str, str], device: Target) -> CoreChoice:
    """The core whose largest share of the device's resources is least; the pipeline where both are the same.

    So one that fits the device, or any share of it, comes before one that does not.

    Parameters
    ----------
    estimates
        What a whole accelerator takes, by core.
    refused
        Why others cannot be built.

    Raises
    ------
    InputError
        Where none can be built: why the first cannot.
    """
    if not estimates:
        raise InputError(next(refused[core] for core in CORES if core in refused))
    largest = {core: _largest(estimates[core], device) for core in CORES if core in estimates}
    core = min(largest, key=lambda core: largest[core][0])
    reasons = [_share_text(own, *largest[own]) for own in sorted(largest, key=lambda own: own != core)]
    reasons += [f"no {other} ({why})" for other, why in refused.items()]
    return CoreChoice(core, ", ".join(reasons), estimates)


def _largest(found: Resources, device: Target) -> tuple[float, str]:
    """The largest share of a device's resources that a design takes, and of which resource."""
    share, resource = max((share, resource) for resource, share in shares(found, device).items())
    return share, resource


def _share_text(core: str, share: float, resource: str) -> str:
    return f"the {core} takes {share:.1%} of the {NAMES[resource]}"


def realise(
    program: Program, device: Target, options: BuildOptions, twins: Sequence[Group]
) -> tuple[Bound | Array, dict[str, CoreCost]]:
    """The program scheduled for the core that was asked for, and what limbs cost that share hardware or not.

    Raises
    ------
    InputError
        Where the clock is too fast, or the interval too short.
    """
    if options.core == "array":
        return build_array(program, device, options.clock_mhz, options.least_ii, options.fit or 1.0), {}
    return cheapest(program, device, options, twins)


def cheapest(
    program: Program, device: Target, options: BuildOptions, twins: Sequence[Group]
) -> tuple[Bound, dict[str, CoreCost]]:
    """The program scheduled with twins sharing hardware or not, as asked for or cheaper, and both costs.

    Where the clock is too fast for what chooses among twins, they share only if that is asked for.

    Raises
    ------
    InputError
        Where the clock is too fast for what is asked for.
    """
    alone = schedule_pipeline(program, device, options)
    groups = shareable(program, twins)
    if not groups:
        return alone, {}
    try:
        shared = schedule_pipeline(program, device, options, groups)
    except InputError:
        if options.share_limbs == "on":
            raise
        return alone, {}
    costs = {"on": core_cost(program, shared, device), "off": core_cost(program, alone, device)}
    less = load(costs["on"].estimate, device) <= load(costs["off"].estimate, device)
    return shared if less or options.share_limbs == "on" else alone, costs


def schedule_pipeline(
    program: Program, device: Target, options: BuildOptions, groups: Sequence[Group] = ()
) -> Bound:
    """The program scheduled, verified and bound for one task every ``options.least_ii`` cycles.

    ``groups`` are the values that share hardware.
    """
    task = problem(program, device, options.clock_mhz, options.least_ii, groups)
    plan = schedule(task)
    verify(task, plan)
    return bind(program, task, plan, device.memory_stages)
