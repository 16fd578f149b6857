"""The search for a build: number formats, core and schedule at any initiation interval, with a cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeVar

from rbdhw.arrays import MULTIPLIERS
from rbdhw.cores import KINDS
from rbdhw.cores.choice import CoreChoice, choose_core
from rbdhw.cores.core import Core
from rbdhw.design.traffic import Traffic, traffic
from rbdhw.domain.bounds import Domain, input_domain, with_multipliers, with_time_step
from rbdhw.domain.overrides import Overrides, ParameterBounds
from rbdhw.domain.parameter_bounds import bound_parameters
from rbdhw.errors import InputError
from rbdhw.estimate.resources import Resources
from rbdhw.explore.initiation_interval import Interval, interval
from rbdhw.explore.limb_sharing import can_share, find_shared_limbs, least_interval
from rbdhw.explore.plan import Plan, Prepared, Scheduled
from rbdhw.explore.sharing import Sharing, choose_sharing
from rbdhw.explore.stage_sharing import LEAST_STAGE_INTERVAL, can_share_stages, find_shared_stages
from rbdhw.fixed.program import Program
from rbdhw.frontend.build_graph import optimise, prepare, trace_model
from rbdhw.frontend.chain import prepare_chain, record_chain
from rbdhw.frontend.solvability import check_solvable
from rbdhw.frontend.stage_loop import record_loop
from rbdhw.graph.sweeps import unroll
from rbdhw.graph.twins import no_twins
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.options.build import (
    ASKED_FOR,
    CHAIN_CORE,
    CHEAPER_CORE,
    CORES,
    LOOP,
    LOOP_CORE,
    BuildOptions,
    reason,
)
from rbdhw.progress import Progress, silent, within
from rbdhw.protocol import any_takes
from rbdhw.quantize.chain import choose_chain_formats
from rbdhw.quantize.formats import Formats, accelerator_model, choose_formats
from rbdhw.quantize.observation import Observed, Trials, add_inverse_bounds, draw_trials, observe
from rbdhw.quantize.stage_loop import ObservedStages, choose_stage_formats, observe_stages
from rbdhw.remarks import warn
from rbdhw.robot.model import Robot
from rbdhw.robot.mounting import NO_LINKS
from rbdhw.robot.symmetry import limb_groups
from rbdhw.target import Target, target

T = TypeVar("T")

TRIALS = ("trials",)
"""The key of the tasks in which errors are measured."""


def prepare_build(
    source: Robot, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Prepared:
    """Run the stages that do not depend on number formats or the schedule.

    Raises
    ------
    InputError
        If the robot, an option or an override is not supported.
    """
    device = target(options.target)
    source = bound_parameters(source, overrides.parameters if overrides else ParameterBounds())
    domain = input_domain(source, overrides, strict=options.mounting.strict)
    warn(domain.remarks)
    if overrides is not None:
        warn(overrides.idle_remarks(_bounded_arrays(source, options)))
    check_solvable(source, options.functions)
    if options.core == CHAIN_CORE:
        return _prepare_chain(source, domain, progress)
    model = prepare(source, options.functions, options.fext, device.delays, options.algorithms, progress)
    warn(model.remarks)
    if any_takes(options.functions, "Minv"):
        domain = add_inverse_bounds(domain, source, options)
    multipliers = [name for name in MULTIPLIERS if any_takes(options.functions, name)]
    domain = with_multipliers(domain, source, overrides, multipliers)
    if any_takes(options.functions, "h"):
        domain = with_time_step(domain, source, overrides)
    progress("tracing")
    return Prepared(model, domain, optimise(trace_model(model, options.functions), device.delays))


def _bounded_arrays(source: Robot, options: BuildOptions) -> set[str]:
    """Return the arrays that tasks bring, among those for which a domain file has a part."""
    named = {"h", *MULTIPLIERS} if source.time_step is None else {*MULTIPLIERS}
    bounded = {name for name in named if any_takes(options.functions, name)}
    free = any(body.joint.kind.nv > 1 for body in source.bodies)  # its effort is bounded as a wrench
    if any_takes(options.functions, "fext") and (options.fext != NO_LINKS or free):
        bounded.add("fext")
    return bounded


def _prepare_chain(source: Robot, domain: Domain, progress: Progress) -> Prepared:
    model = prepare_chain(source)
    progress("recording the steps of the links")
    chain = record_chain(model.robot)
    return Prepared(model, domain, unroll(chain), chain)


class Cache:
    """Results of stages. The key of a result is the stage and everything on which the result depends."""

    def __init__(self) -> None:
        self._results: dict[tuple[Any, ...], Any] = {}

    def get(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Return the result stored under a key; call ``make`` and store its result if there is none."""
        if key not in self._results:
            self._results[key] = make()
        found: T = self._results[key]
        return found


@dataclass(frozen=True)
class BuildSearch:
    """A build at any initiation interval, on any core that the options allow.

    Number formats depend on the core and, through the limbs that share hardware, on the interval. Searches of
    one robot that share a cache compute each result once.
    """

    prepared: Prepared
    options: BuildOptions
    cache: Cache = field(default_factory=Cache)
    progress: Progress = silent

    def with_options(self, options: BuildOptions) -> BuildSearch:
        """Return the same build with another interval, pacing, clock, stream or core, and the same cache."""
        return replace(self, options=options)

    @property
    def device(self) -> Target:
        """The target."""
        return target(self.options.target)

    @property
    def robot(self) -> Robot:
        """The robot with frames and inertias rewritten, on which the graph is based."""
        return self.prepared.model.robot

    @property
    def least(self) -> int:
        """The shortest interval that the options allow: the given one, or the first that a core supports.

        Raises
        ------
        InputError
            If limbs or stages must share hardware but cannot; if the interval is no multiple of a chain's
            links.
        """
        if self.options.pacing is None and self.options.ii is not None:
            self._check_links(self.options.ii)
            return self.options.ii
        if self.options.pacing is None:
            return self.unit
        if self.options.share_limbs == "on":
            find_shared_limbs(self.robot, "on", least_interval(limb_groups(self.robot)))
        if self.options.share_stages == "on":
            find_shared_stages(self.prepared.graph, "on", LEAST_STAGE_INTERVAL)
        return next(ii for ii in count(self.options.least_ii) if self.serves(ii))

    @property
    def unit(self) -> int:
        """The number of which all intervals are multiples: the links that pass through a chain core, or 1."""
        return self.prepared.chain.links if self.prepared.chain else 1

    def _check_links(self, ii: int) -> None:
        """Refuse an interval in which not every link of a chain has the same number of cycles."""
        if ii % self.unit:
            near = max(1, round(ii / self.unit)) * self.unit
            reason = f"{ii} is no multiple of the robot's {self.unit} links"
            raise InputError("ii", reason, "as many cycles for each link", f"use --ii {near}")

    def interval(self) -> Interval:
        """Return the initiation interval that the options give, or the one that is chosen.

        Raises
        ------
        InputError
            If the design does not fit the device.
        """
        return interval(self.options, self.least, self.device, self, self.arrays())

    def plan(self, chosen: Interval) -> Plan:
        """Return the complete plan at an interval, on the core that is chosen for it.

        Raises
        ------
        InputError
            If it cannot be built.
        """
        choice = self.choose(chosen.ii)
        scheduled = self.schedule(choice.core, chosen.ii)
        return Plan(**vars(scheduled), prepared=self.prepared, interval=chosen, choice=choice)

    # Cores

    def serves(self, ii: int) -> bool:
        """Return whether a core supports an interval."""
        return bool(self.cores(ii))

    def cores(self, ii: int) -> tuple[str, ...]:
        """Return the cores that support an interval, among those that the options allow."""
        return tuple(core for core in self._asked if self._is_possible(KINDS[core], ii))

    @property
    def _asked(self) -> tuple[str, ...]:
        """The cores that the options allow: with a pipeline also one in which the stages of a task loop."""
        if self.options.share_stages == LOOP:
            return (LOOP_CORE,)
        asked = CORES if self.options.core == CHEAPER_CORE else (self.options.asked_core,)
        return (*asked, LOOP_CORE) if CORES[0] in asked else asked

    def _is_possible(self, kind: type[Core], ii: int) -> bool:
        """Return whether a kind of core supports an interval, and what must share hardware can."""
        if self.options.refusal(kind.name, ii) is not None or ii % self.unit:
            return False
        if not kind.shares_hardware:
            return True
        limbs = self.options.share_limbs != "on" or can_share(limb_groups(self.robot), ii)
        return limbs and (self.options.share_stages != "on" or can_share_stages(self.prepared.graph, ii))

    def choose(self, ii: int) -> CoreChoice:
        """Return the core of a build at an interval: the only one that can be built, or the cheaper one.

        Raises
        ------
        InputError
            If none can be built.
        """
        return self.cache.get(("choice", ii, self.options.core, *self._key()), lambda: self._choose(ii))

    def _choose(self, ii: int) -> CoreChoice:
        possible = self.cores(ii)
        if self.options.share_stages == LOOP:
            return CoreChoice(LOOP_CORE, ASKED_FOR, {})
        if self.options.core != CHEAPER_CORE and LOOP_CORE not in possible:
            return CoreChoice(self.options.asked_core, reason(self.options.core), {})
        asked = [core for core in self._asked if core != LOOP_CORE]
        refused = {core: own for core in asked if (own := self.options.refusal(core, ii)) is not None}
        if refused and len(possible) == 1:
            return CoreChoice(
                possible[0], ", ".join(f"no {core} ({why})" for core, why in refused.items()), {}
            )
        estimates = {}
        for core in possible:
            try:
                estimates[core] = self.schedule(core, ii).estimate
            except InputError as error:
                refused[core] = error
        return choose_core(estimates, refused, self.device)

    # Stages

    def schedule(self, core: str, ii: int) -> Scheduled:
        """Return the build on a core at an interval.

        Raises
        ------
        InputError
            If it cannot be built.
        """
        return self.cache.get(("schedule", core, ii, *self._key()), lambda: self._schedule(core, ii))

    def _schedule(self, core: str, ii: int) -> Scheduled:
        options = replace(self.options, ii=ii, core=core)
        formats, sharing = self.formats(core, ii), self.sharing(core, ii)
        self.progress(f"scheduling the {core} at an II of {ii}")
        built = KINDS[core].build(formats.program, self.device, options, formats.groups)
        accelerator = self._accelerator(formats.program)
        return Scheduled(formats, sharing, accelerator, built, built.estimate(accelerator.interface))

    def _key(self) -> tuple[Any, ...]:
        """Return the options on which a schedule depends, except for its core and interval."""
        own = self.options
        paced = own.clock_mhz, own.data_width, own.streams, own.number, own.priority, own.fit
        return *paced, own.share_limbs, own.share_stages

    def formats(self, core: str, ii: int) -> Formats:
        """Return the number formats of a build on a core at an interval.

        Raises
        ------
        InputError
            If the error budget is not met.
        """
        sharing = self.sharing(core, ii)
        return self.cache.get(
            ("formats", core, sharing.twins.groups), lambda: self._formats(core, ii, sharing)
        )

    def _formats(self, core: str, ii: int, sharing: Sharing) -> Formats:
        kind, options = KINDS[core], replace(self.options, ii=ii, core=core)
        own, stage = self.prepared, f"choosing number formats of the {core}"
        progress = within(stage, self.progress)
        if core == LOOP_CORE:
            stages = self._stages()
            self.progress(stage)
            return choose_stage_formats(stages, options, progress)
        if own.chain is not None:
            self.progress(stage)
            return choose_chain_formats(own.model, own.chain, own.domain, options, progress)
        observed = self.observed()
        self.progress(stage)
        return choose_formats(observed, options, sharing.twins, kind.fuses_sums, progress)

    def sharing(self, core: str, ii: int) -> Sharing:
        """Return the limbs or stages that may share hardware of a core at an interval.

        Raises
        ------
        InputError
            If sharing is required but impossible.
        """
        if not KINDS[core].shares_hardware:
            return Sharing(no_twins(self.prepared.graph))
        key = "sharing", ii, self.options.share_limbs, self.options.share_stages
        return self.cache.get(key, lambda: choose_sharing(self.robot, self.prepared.graph, self.options, ii))

    def observed(self) -> Observed:
        """Return the observations of the graph on random tasks."""
        return self.cache.get(("observed",), self._observe)

    def _observe(self) -> Observed:
        self.progress("observing random tasks")
        own = self.prepared
        return observe(own.model, own.graph, own.domain, self.options, None, self.trials())

    def trials(self) -> Trials:
        """Return the tasks in which errors are measured."""
        own, tasks = self.prepared, 4 * self.options.samples
        return self.cache.get(TRIALS, lambda: draw_trials(own.model, own.domain, self.options, tasks))

    def _stages(self) -> ObservedStages:
        """Return the stages of the build's function as steps, with the observations of them."""
        return self.cache.get(("stages",), self._observe_stages)

    def _observe_stages(self) -> ObservedStages:
        self.progress("observing the stages of random tasks")
        own, (function,) = self.prepared, self.options.functions
        sweeps = record_loop(own.model, function, self.device.delays)
        return observe_stages(own.model, sweeps, own.domain, self.options, self.trials())

    def _accelerator(self, program: Program) -> AcceleratorModel:
        return accelerator_model(self.prepared.model, self.prepared.domain, [program], self.options)

    # The interface `Candidates` for the choice of an interval

    def program(self, ii: int) -> Program:
        """Return the bit-exact program for the core that is chosen for an interval."""
        return self.formats(self.choose(ii).core, ii).program

    def link(self, ii: int) -> tuple[dict[str, Traffic], float]:
        """Return the packets of each function, and the clock in MHz."""
        program, kind = self.program(ii), KINDS[self.choose(ii).core]
        clock_mhz = kind.clock(program, self.device, self.options, ii)
        return traffic(self._accelerator(program).interface), clock_mhz

    def products(self, ii: int) -> int:
        """Return the products of one task that take multipliers at this interval and any longer one.

        The first possible core decides: an array has at least as many products as a pipeline, because its
        multipliers also add.
        """
        core = self.cores(ii)[0]
        return KINDS[core].products(self.formats(core, ii).program)

    def estimate(self, ii: int) -> Resources:
        """Return the resources of the build at an interval, on the core that is chosen for it."""
        return self.schedule(self.choose(ii).core, ii).estimate

    def arrays(self) -> BuildSearch | None:
        """Return the search on the array core; None if it is searched anyway or is impossible."""
        if self.options.asked_core != CORES[0] or self.options.array_needs:
            return None
        return self.with_options(replace(self.options, core="array"))
