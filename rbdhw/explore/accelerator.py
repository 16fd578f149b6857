"""The plan of an accelerator: one core, several that the user gives, or several that serve a mix of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations

from rbdhw.cores.core import estimate_accelerator
from rbdhw.cores.prepared import Prepared
from rbdhw.errors import InputError
from rbdhw.estimate.model import shares, short_of
from rbdhw.explore.algorithm_search import settle
from rbdhw.explore.clock import best_clock
from rbdhw.explore.mix import Group, Mix, choose_cores
from rbdhw.explore.plan import AcceleratorPlan, Plan, PlannedCore
from rbdhw.explore.search import BuildSearch
from rbdhw.explore.solver import plan_solver
from rbdhw.graph.graph import Op
from rbdhw.model.traffic import traffic
from rbdhw.options.build import BuildOptions
from rbdhw.progress import Progress, silent
from rbdhw.quantize.formats import accelerator_model
from rbdhw.rtl.step_products import preparation_period
from rbdhw.target import target

ATTEMPTS = 8
"""The most sets of cores that are planned for a mix."""

WELL_FILLED = 0.93
"""The share of the allowed resources from which a set of cores is not enlarged further."""


def plan_accelerator(
    prepared: Prepared, options: BuildOptions, progress: Progress = silent
) -> AcceleratorPlan:
    """Run every stage between the graph and the RTL for an accelerator with one or several cores.

    All cores run at the clock of the slowest. They have one prepared robot, but formats of their own. Raises
    InputError if a core cannot be built, or the cores do not fit together.
    """
    planner = Planner(prepared, options, progress)
    return planner.serve_mix() if options.mix else planner.plan(options)


@dataclass(frozen=True)
class Planner:
    """Plans sets of cores of one prepared build, and computes the stages of equal functions once."""

    prepared: Prepared
    options: BuildOptions
    progress: Progress = silent
    searches: dict[tuple[str, ...], BuildSearch] = field(default_factory=dict)
    parts: dict[tuple[str, ...], Prepared] = field(default_factory=dict)

    def plan(self, options: BuildOptions) -> AcceleratorPlan:
        """Return the plan of the cores that the options give.

        Raises InputError if a core cannot be built, the cores do not fit together, or the clock is too fast
        for what rollouts compute between two steps.
        """
        plan = self.plan_cores(options)
        plan.device.check_clock(plan.clock_mhz, preparation_period(plan.interface, plan.device))
        check_fit(plan, options)
        return plan

    def plan_cores(self, options: BuildOptions) -> AcceleratorPlan:
        """Return the plan of the cores that the options give, whether they fit together or not."""
        plan = self.plan_functions(options)
        return plan_solver(plan, options, self.progress) if options.solves else plan

    def plan_functions(self, options: BuildOptions) -> AcceleratorPlan:
        """Return the plan of these cores without the solver that may be around one of them."""
        each = options.each_core()
        searches = [self._search(core_options) for core_options in each]
        plans = [search.plan(search.interval()) for search in searches]
        clock_mhz = min(plan.clock_mhz for plan in plans)
        if options.clock_goal is not None and options.clock_mhz is None:
            clock_mhz = best_clock(options.clock_goal, clock_mhz, partial(_answer, searches, plans))
        plans = _at_clock(searches, plans, clock_mhz)
        copies = [request.copies for request in options.cores] or [options.copies]
        parts = tuple(
            PlannedCore(plan, count, core_options.asked_core)
            for plan, count, core_options in zip(plans, copies, each, strict=True)
        )
        programs = [plan.program for plan in plans]
        model = accelerator_model(self.prepared.model, self.prepared.domain, programs, options)
        cores = [part.plan.core for part in parts for _ in range(part.copies)]
        estimate = estimate_accelerator(cores, model.interface)
        prepared = plans[0].prepared if len(plans) == 1 else self.prepared
        return AcceleratorPlan(prepared, parts, model, estimate)

    def serve_mix(self) -> AcceleratorPlan:
        """Return the cores that serve the most tasks of the mix within the share of the device.

        Cores are chosen by the products of their functions. The plan of these cores tells the resources and
        the packets, with which the choice is made again, until the cores fill their share of the device, or
        a choice is repeated. Of two plans with the same rate, the one with fewer DSP blocks is kept.
        """
        options, device = self.options, target(self.options.target)
        share = options.fit or 1.0
        groups = {
            names: Group(names, self._products(names))
            for names in _neighbours(options.functions, options.mix)
        }
        mix = Mix(options.mix, beats=dict.fromkeys(options.functions, 1.0))
        blocks, best, tried = share * device.dsp_blocks, None, set()
        for _ in range(ATTEMPTS):
            requests = choose_cores(groups, mix, blocks)
            if requests in tried:
                if best is not None:
                    break
                blocks *= WELL_FILLED  # slower cores, until the choice is another one
                continue
            tried.add(requests)
            plan = self.plan_cores(replace(options, cores=requests, mix={}, pacing=None, ii=None))
            mix = replace(mix, beats=_beats(plan, options))
            filled = max(shares(plan.estimate, device).values()) / share
            merit = mix.rate(requests), -plan.estimate.dsp_blocks
            if filled <= 1.0 and (best is None or merit > (mix.rate(best[0]), -best[1].estimate.dsp_blocks)):
                best = requests, plan
            if WELL_FILLED <= filled <= 1.0:
                break
            if filled > 1.0 or not mix.limited_by_link(requests):
                blocks *= 0.5 * (1.0 + WELL_FILLED) / filled
        if best is None:
            raise InputError("mix", f"no cores fit {share:.0%} of {device.name}", remedy="use a larger --fit")
        requests, plan = best
        return replace(plan, mix=mix.entry(requests, plan.clock_mhz))

    def _products(self, functions: tuple[str, ...]) -> int:
        graph = self._part(functions).graph
        return graph.count(Op.MULTIPLY) + graph.count(Op.SCALE)

    def _search(self, options: BuildOptions) -> BuildSearch:
        """Return the search for a core, with the algorithms that serve its functions best."""
        functions = options.functions
        if functions not in self.searches:
            search = BuildSearch(self._part(functions), options, progress=self.progress)
            self.searches[functions] = settle(search)
        return self.searches[functions].with_options(options)

    def _part(self, functions: tuple[str, ...]) -> Prepared:
        if functions == self.options.functions:
            return self.prepared
        if functions not in self.parts:
            delays = target(self.options.target).delays
            self.parts[functions] = self.prepared.traced(functions, delays)
        return self.parts[functions]


def _neighbours(functions: Sequence[str], mix: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Return the groups of functions that may have a core of their own: neighbours in the order of tasks.

    Functions that are not in the mix are in the group of the rarest.
    """
    by_tasks = sorted((name for name in functions if name in mix), key=lambda name: -mix[name])
    idle = [name for name in functions if name not in mix]
    groups = []
    for start, stop in combinations(range(len(by_tasks) + 1), 2):
        group = by_tasks[start:stop] + (idle if stop == len(by_tasks) else [])
        groups.append(tuple(name for name in functions if name in group))
    return groups


def _beats(plan: AcceleratorPlan, options: BuildOptions) -> dict[str, float]:
    """Return the cycles in which the link carries a task of each function."""
    bandwidth = options.pacing.bandwidth if options.pacing else None
    return {
        name: plan.clock_mhz * 1e6 / packets.tasks_per_second(plan.clock_mhz, bandwidth)
        for name, packets in traffic(plan.interface).items()
    }


def _at_clock(searches: Sequence[BuildSearch], plans: Sequence[Plan], clock_mhz: float) -> list[Plan]:
    """Return the plans of cores at a clock, with the same intervals."""
    return [
        plan
        if plan.clock_mhz == clock_mhz
        else search.with_options(replace(search.options, clock_mhz=clock_mhz)).plan(plan.interval)
        for search, plan in zip(searches, plans, strict=True)
    ]


def _answer(searches: Sequence[BuildSearch], plans: Sequence[Plan], clock_mhz: float) -> float | None:
    """Return the time (us) in which the slowest function answers at a clock; None if it is too fast."""
    try:
        plans = _at_clock(searches, plans, clock_mhz)
        for plan in plans:
            plan.core.device.check_clock(clock_mhz, preparation_period(plan.interface, plan.core.device))
    except InputError:
        return None
    return max(cycles for plan in plans for cycles in plan.latency.values()) / clock_mhz


def check_fit(plan: AcceleratorPlan, options: BuildOptions) -> None:
    """Refuse cores that together exceed the requested share of the device, with the copies that would fit."""
    if options.fit is None or not options.several:
        return
    short = short_of(plan.estimate, plan.device, options.fit)
    if not short:
        return
    reason = f"the cores take {' and '.join(map(str, short))} of {plan.device.name}"
    part = plan.parts[0]
    remedy = "use longer intervals in --cores, fewer copies, or a larger --fit"
    if not options.cores:
        fitting = _fitting_copies(part, plan, options.fit)
        remedy = f"use --copies {fitting}" if fitting else "use a longer --ii or a larger --fit"
    raise InputError("fit", reason, remedy=remedy)


def _fitting_copies(part: PlannedCore, plan: AcceleratorPlan, share: float) -> int:
    """Return the most copies of a core that fit a share of the device; 0 if none does."""

    def fits(copies: int) -> bool:
        estimate = estimate_accelerator([part.plan.core] * copies, plan.interface)
        return not short_of(estimate, plan.device, share)

    return max(filter(fits, range(1, part.copies)), default=0)
