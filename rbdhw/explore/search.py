"""The search for a build: number formats, core and schedule at any initiation interval, with a cache."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import count
from operator import attrgetter
from typing import Any

from rbdhw.arrays import MULTIPLIERS
from rbdhw.cores import KINDS
from rbdhw.cores.choice import CoreChoice, choose_core, possible_kinds
from rbdhw.cores.core import Core
from rbdhw.cores.prepared import Prepared, PreparedBuild, Sharing
from rbdhw.domain.bounds import Domain, input_domain, with_task_bounds
from rbdhw.domain.overrides import Overrides
from rbdhw.domain.robot_overrides import override_robot
from rbdhw.errors import InputError
from rbdhw.estimate.model import short_of
from rbdhw.estimate.resources import Resources
from rbdhw.explore.initiation_interval import SMALLER, Interval, interval
from rbdhw.explore.plan import Plan, Scheduled
from rbdhw.fixed.program import Program
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.traffic import Traffic, traffic
from rbdhw.options.build import ASKED_FOR, CORES, DEFAULT_CORE, THE_DEFAULT, BuildOptions
from rbdhw.progress import Progress, silent
from rbdhw.protocol import any_takes
from rbdhw.quantize.formats import Formats, accelerator_model, check_integers, measure, meets_budget
from rbdhw.remarks import warn
from rbdhw.robot.model import Robot
from rbdhw.robot.mounting import NO_LINKS


def prepare_build(
    source: Robot, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Prepared:
    """Run the stages that do not depend on number formats or the schedule.

    InputError if the robot, an option or an override is not supported.
    """
    source = override_robot(source, overrides)
    domain = _state_domain(source, options, overrides)
    return possible_kinds(options)[0].prepare(source, domain, options, overrides, progress)


def software_domain(source: Robot, options: BuildOptions, overrides: Overrides) -> Domain:
    """Return the domain of the inputs of software; InputError if an override is not supported."""
    domain = _state_domain(source, options, overrides)
    return with_task_bounds(domain, source, overrides, options.functions)


def _state_domain(source: Robot, options: BuildOptions, overrides: Overrides | None) -> Domain:
    domain = input_domain(source, overrides, strict=options.mounting.strict)
    warn(domain.remarks)
    if overrides is not None:
        warn(overrides.idle_remarks(_bounded_arrays(source, options)))
    return domain


def _bounded_arrays(source: Robot, options: BuildOptions) -> set[str]:
    """Return the arrays that tasks bring, among those for which a domain file has a part."""
    named = {"h", *MULTIPLIERS} if source.time_step is None else {*MULTIPLIERS}
    bounded = {name for name in named if any_takes(options.functions, name)}
    free = any(body.joint.kind.nv > 1 for body in source.bodies)  # its effort is bounded as a wrench
    if any_takes(options.functions, "fext") and (options.fext != NO_LINKS or free):
        bounded.add("fext")
    return bounded


@dataclass(frozen=True)
class BuildSearch(PreparedBuild):
    """A build at any initiation interval, on any core that the options allow.

    Number formats depend on the core and, through the limbs that share hardware, on the interval.
    """

    def with_options(self, options: BuildOptions) -> BuildSearch:
        """Return the same build with another interval, pacing, clock, stream or core, and the same cache."""
        return replace(self, options=options)

    @property
    def kinds(self) -> tuple[type[Core], ...]:
        """The kinds of cores that the options allow."""
        return possible_kinds(self.options)

    @property
    def least(self) -> int:
        """The shortest interval that the options allow: the given one, or the first that a core supports.

        InputError if a core is possible at no interval, or not at the given one.
        """
        first, *_ = [kind.first_interval(self.prepared, self.options) for kind in self.kinds]
        return first if self.options.pacing is None else next(ii for ii in count(first) if self.serves(ii))

    @property
    def unit(self) -> int:
        """The number of which all intervals are multiples."""
        return self.kinds[0].unit(self.prepared)

    def interval(self) -> Interval:
        """Return the initiation interval that the options give, or the one that is chosen."""
        return interval(self.options, self.least, self.device, self, self.smaller())

    def plan(self, chosen: Interval) -> Plan:
        """Return the complete plan at an interval, on the core that is chosen for it."""
        choice = self.choose(chosen.ii)
        scheduled = self.schedule(choice.core, chosen.ii)
        return Plan(**vars(scheduled), prepared=self.prepared, interval=chosen, choice=choice)

    # Cores

    def serves(self, ii: int) -> bool:
        """Return whether a core supports an interval."""
        return bool(self.cores(ii))

    def cores(self, ii: int) -> tuple[str, ...]:
        """Return the cores that support an interval, among those that the options allow."""
        return tuple(kind.name for kind in self.kinds if kind.supports(self.prepared, self.options, ii))

    def choose(self, ii: int) -> CoreChoice:
        """Return the core of a build at an interval: the only one that can be built, or the cheaper one."""
        return self.cache.get(("choice", ii, self.options.core, *self._key()), lambda: self._choose(ii))

    def _choose(self, ii: int) -> CoreChoice:
        possible = self.cores(ii)
        asked = [kind for kind in self.kinds if kind.name in CORES] or self.kinds
        if len(asked) == 1 and not {*possible} - {asked[0].name}:
            default = self.options.core is None and asked[0].name == DEFAULT_CORE
            return CoreChoice(asked[0].name, THE_DEFAULT if default else ASKED_FOR, {})
        refusals = {kind.name: kind.refusal(self.options, ii) for kind in asked}
        refused: dict[str, InputError] = {
            core: error for core, error in refusals.items() if error is not None
        }
        if refused and len(possible) == 1:
            why = ", ".join(f"no {core} ({refusal})" for core, refusal in refused.items())
            return CoreChoice(possible[0], why, {})
        estimates = {}
        for core in possible:
            try:
                estimates[core] = self.schedule(core, ii).estimate
            except InputError as error:
                refused[core] = error
        return choose_core(estimates, refused, self.device)

    # Stages

    def schedule(self, core: str, ii: int) -> Scheduled:
        """Return the build on a core at an interval; InputError if it cannot be built."""
        return self.cache.get(("schedule", core, ii, *self._key()), lambda: self._schedule(core, ii))

    def _schedule(self, core: str, ii: int) -> Scheduled:
        options = replace(self.options, ii=ii, core=core)
        formats, sharing = self.formats(core, ii), self.sharing(core, ii)
        check_integers(formats.program, self.prepared.robot, options)
        self.progress(f"scheduling the {core} at an II of {ii}")
        built = self._fitted(
            KINDS[core].build(formats.program, self.device, options, formats.groups), options
        )
        errors = formats.errors
        if not built.as_given:
            errors = measure(self.observed(), options, built.program)
            if not meets_budget(errors, options):
                built, errors = self._fitted(built.given_bits(options), options), formats.errors
        if built.program is not formats.program:
            formats = replace(formats, program=built.program, errors=errors)
        accelerator = self._accelerator(built.program)
        return Scheduled(formats, sharing, accelerator, built, built.estimate(accelerator.interface))

    def _fitted(self, core: Core, options: BuildOptions) -> Core:
        """Return a core with products in look-up tables, if it fits the share with them and not otherwise."""
        share = options.fit
        if share is None:
            return core
        interface = self._accelerator(core.program).interface
        excess = core.estimate(interface).dsp_blocks - math.floor(share * self.device.dsp_blocks)
        smaller = core.with_fewer_blocks(options, excess) if excess > 0 else core
        return core if short_of(smaller.estimate(interface), self.device, share) else smaller

    def _key(self) -> tuple[Any, ...]:
        """Return the options on which a schedule depends, except for its core and interval."""
        paced = attrgetter("clock_mhz", "clock_goal", "data_width", "streams", "number", "priority", "fit")
        return *paced(self.options), *self.options.sharing.values()

    def formats(self, core: str, ii: int) -> Formats:
        """Return the number formats of a build on a core; InputError if the error budget is not met."""
        sharing, options = self.sharing(core, ii), replace(self.options, ii=ii, core=core)
        return self.cache.get(
            ("formats", core, sharing.twins.groups), lambda: KINDS[core].formats(self, options, sharing.twins)
        )

    def sharing(self, core: str, ii: int) -> Sharing:
        """Return the limbs that may share hardware of a core; InputError if they must and cannot."""
        key = "sharing", core, ii, *self.options.sharing.values()
        return self.cache.get(key, lambda: KINDS[core].sharing(self.prepared, self.options, ii))

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

    def tabled(self, ii: int) -> int:
        """Return the most of these products that look-up tables within the share can compute instead."""
        core, share = self.cores(ii)[0], self.options.fit or 0.0
        return KINDS[core].tabled(self.formats(core, ii).program, self.device, share * self.device.luts)

    def estimate(self, ii: int) -> Resources:
        """Return the resources of the build at an interval, on the core that is chosen for it."""
        return self.schedule(self.choose(ii).core, ii).estimate

    def smaller(self) -> BuildSearch | None:
        """Return the search on the kind of core that may fit where others do not.

        It is None if this kind is searched anyway or is impossible.
        """
        if self.options.asked_core != DEFAULT_CORE or SMALLER.needs(self.options):
            return None
        return self.with_options(replace(self.options, core=SMALLER.name))
