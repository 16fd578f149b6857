"""What is decided of a build before its RTL is written: formats, core, interval and schedule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

from rbdhw.array.jobs import jobs
from rbdhw.array.model import Array, ArrayResource
from rbdhw.config import ASKED_FOR, CHEAPER_CORE, CORES, BuildOptions, reason
from rbdhw.design.model import AcceleratorModel
from rbdhw.design.traffic import Traffic, traffic
from rbdhw.domain.bounds import Domain, Overrides, input_domain
from rbdhw.errors import InputError
from rbdhw.estimate.model import CoreCost, estimate
from rbdhw.estimate.resources import Resources
from rbdhw.explore.cores import CoreChoice, choose_core, realise
from rbdhw.explore.initiation_interval import Candidates, Interval, interval
from rbdhw.explore.limb_sharing import find_shared_limbs, least_interval, limb_inputs
from rbdhw.fixed.program import Kind, Program
from rbdhw.frontend.build_graph import Model, optimise, prepare, trace_model
from rbdhw.frontend.solvability import check_solvable
from rbdhw.graph.graph import Graph
from rbdhw.graph.twins import Twins, no_twins
from rbdhw.interface import Interface
from rbdhw.passes.twins import find_twins
from rbdhw.progress import Progress, silent, within
from rbdhw.quantize.formats import (
    Formats,
    Observed,
    accelerator_model,
    add_inverse_bounds,
    choose_formats,
    observe,
)
from rbdhw.remarks import warn
from rbdhw.robot.model import Robot
from rbdhw.robot.symmetry import LimbGroup, limb_groups
from rbdhw.rtl.shell import packet_latency
from rbdhw.schedule.model import MULTIPLIERS, Bound
from rbdhw.schedule.problem import clock_of
from rbdhw.target import target


@dataclass(frozen=True)
class Plan:
    """All that is decided about a build before its RTL is written."""

    model: Model
    domain: Domain
    graph: Graph
    formats: Formats
    accelerator: AcceleratorModel
    bound: Bound | Array
    costs: dict[str, CoreCost]
    estimate: Resources
    interval: Interval
    taken: CoreChoice

    @property
    def program(self) -> Program:
        """The bit-exact program."""
        return self.formats.program

    @property
    def interface(self) -> Interface:
        """The layout of packets."""
        return self.accelerator.interface

    @property
    def pipeline(self) -> Bound:
        """The schedule of a build that is no array."""
        assert isinstance(self.bound, Bound)
        return self.bound

    @property
    def core_latency(self) -> dict[str, int]:
        """For each function the cycles from a task's words at the core to its results."""
        return {function: cycles + 1 for function, cycles in self.bound.latency.items()}

    @property
    def latency(self) -> dict[str, int]:
        """For each function its :func:`~rbdhw.rtl.shell.packet_latency` in cycles."""
        core = self.core_latency
        return {
            own.name: packet_latency(self.interface, own, core[own.name]) for own in self.interface.functions
        }

    @property
    def multipliers(self) -> int:
        """Multipliers of the core, those inside its units for sine and reciprocal left out."""
        if isinstance(self.bound, Array):
            return self.bound.units.count(ArrayResource.ACCUMULATOR)
        return sum(unit.resource in MULTIPLIERS for unit in self.bound.units)


def make_plan(
    source: Robot, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Plan:
    """Every stage before the RTL.

    Raises
    ------
    InputError
        For a robot, option or override that cannot be built.
    """
    build = alternatives(source, options, overrides, progress)
    return build.plan(build.interval())


def alternatives(
    source: Robot, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Alternatives:
    """Every stage that knows nothing of number formats or time.

    Raises
    ------
    InputError
        For a robot, option or override that cannot be built.
    """
    device = target(options.target)
    domain = input_domain(source, overrides, strict=options.mounting.strict)
    warn(domain.remarks)
    check_solvable(source, options.functions)
    model = prepare(source, options.functions, options.fext, device.delays, options.algorithms, progress)
    warn(model.remarks)
    if "difd" in options.functions:
        domain = add_inverse_bounds(domain, source, options)
    progress("tracing")
    graph = optimise(trace_model(model, options.functions), device.delays)
    return Alternatives(model, domain, graph, options, progress)


class Alternatives:
    """A build at any initiation interval, on either core: its formats and its schedules, each made once.

    Formats depend on the core, and on the interval only by the limbs that share hardware at it. What tasks
    tell of the graph is the same for all.
    """

    def __init__(
        self,
        model: Model,
        domain: Domain,
        graph: Graph,
        options: BuildOptions,
        progress: Progress = silent,
    ) -> None:
        self.options = options
        self.device = target(options.target)
        self._model, self._domain, self._graph, self._progress = model, domain, graph, progress
        self._formats: dict[tuple[str, tuple[LimbGroup, ...]], Formats] = {}
        self._observed: list[Observed] = []
        self._plans: dict[tuple[str, int], Plan] = {}
        self._taken: dict[int, CoreChoice] = {}

    def paced(self, options: BuildOptions) -> Alternatives:
        """The same build at another pace, clock, or edge, or on another core: its formats are made once.

        So are its plans, where the options differ only in the interval and the core.
        """
        other = Alternatives(self._model, self._domain, self._graph, options, self._progress)
        other._formats, other._observed = self._formats, self._observed
        if _without_pace(options) == _without_pace(self.options):
            other._plans = self._plans
        return other

    @property
    def robot(self) -> str:
        """The robot's name."""
        return self._model.source.name

    @cached_property
    def least(self) -> int:
        """The fewest cycles between tasks: those asked for, or the next that can be built.

        Raises
        ------
        InputError
            Where limbs must share but cannot.
        """
        if self.options.pacing is None:
            return self.options.least_ii
        if self.options.share_limbs == "on":
            find_shared_limbs(self._model.robot, "on", least_interval(limb_groups(self._model.robot)))
        return next(ii for ii in count(self.options.least_ii) if self.serves(ii))

    def interval(self) -> Interval:
        """The cycles between tasks that the options give or choose.

        Raises
        ------
        InputError
            Where the device does not hold the design.
        """
        return interval(self.options, self.least, self.device, self.candidates(), self.arrays())

    def serves(self, ii: int) -> bool:
        """Whether there is a core for an interval."""
        return bool(self.cores(ii))

    def cores(self, ii: int) -> tuple[str, ...]:
        """The cores that may be taken at an interval: a pipeline if limbs can share that must, an array if it
        is long enough.
        """
        asked = CORES if self.options.core == CHEAPER_CORE else (self.options.asked_core,)
        possible = {"pipeline": self._limbs_share(ii), "array": self.options.array_refusal(ii) is None}
        return tuple(core for core in asked if possible[core])

    def _limbs_share(self, ii: int) -> bool:
        """Whether the limbs that must share hardware can."""
        if self.options.share_limbs != "on":
            return True
        groups = limb_groups(self._model.robot)
        return all(any(ii % size == 0 for size in range(2, len(group) + 1)) for group in groups)

    def taken(self, ii: int) -> CoreChoice:
        """The core of a build at an interval: the only one that may be, or the cheaper.

        Raises
        ------
        InputError
            Where neither can be built.
        """
        if ii not in self._taken:
            self._taken[ii] = self._chosen(ii)
        return self._taken[ii]

    def _chosen(self, ii: int) -> CoreChoice:
        if self.options.core != CHEAPER_CORE:
            return CoreChoice(self.options.asked_core, reason(self.options.core), {})
        refusal = self.options.array_refusal(ii)
        if refusal is not None:
            return CoreChoice("pipeline", f"no array ({refusal})", {})
        estimates, refused = {}, {}
        for core in self.cores(ii):
            try:
                estimates[core] = self.planned(core, ii).estimate
            except InputError as error:
                refused[core] = str(error)
        return choose_core(estimates, refused, self.device)

    def program(self, ii: int) -> Program:
        """The bit-exact program for the core that is taken."""
        return self._fixed(self.taken(ii).core, ii).program

    def plan(self, chosen: Interval) -> Plan:
        """The whole plan, on the core that is taken."""
        taken = self.taken(chosen.ii)
        return replace(self.planned(taken.core, chosen.ii), interval=chosen, taken=taken)

    def planned(self, core: str, ii: int) -> Plan:
        """The whole plan on a core.

        Raises
        ------
        InputError
            Where it cannot be built.
        """
        if (core, ii) not in self._plans:
            options = replace(self.options, ii=ii, core=core)
            formats = self._fixed(core, ii)
            program = formats.program
            self._progress(f"scheduling the {core} at an II of {ii}")
            bound, costs = realise(program, self.device, options, formats.groups)
            accelerator = accelerator_model(self._model, self._domain, program, options)
            found = estimate(program, bound, accelerator.interface, self.device)
            self._plans[core, ii] = Plan(
                self._model,
                self._domain,
                self._graph,
                formats,
                accelerator,
                bound,
                costs,
                found,
                Interval(ii, ASKED_FOR),
                CoreChoice(core, ASKED_FOR, {}),
            )
        return self._plans[core, ii]

    def traffic(self, ii: int) -> tuple[dict[str, Traffic], float]:
        """The packets of each function, and the clock in MHz."""
        program = self.program(ii)
        if self.taken(ii).core == "array":
            clock = self.device.clock(self.options.clock_mhz)
        else:
            clock = clock_of(program, self.device, self.options.clock_mhz, ii)
        accelerator = accelerator_model(self._model, self._domain, program, self.options)
        return traffic(accelerator.interface), clock.mhz

    def products(self, ii: int) -> int:
        """Products of one task of all functions that take multipliers at this interval, and any longer one.

        An array takes no fewer than a pipeline: it multiplies to add, too.
        """
        core = self.cores(ii)[0]
        program = self._fixed(core, ii).program
        if core == "array":
            return sum(len(job.terms) for job in jobs(program))
        return sum(operation.kind is Kind.MULTIPLY for operation in program.operations)

    def candidates(self) -> Candidates:
        """What choosing an interval asks."""
        return Candidates(
            self.serves, self.traffic, self.products, lambda ii: self.plan(Interval(ii, "tried")).estimate
        )

    def arrays(self) -> Candidates | None:
        """The same build on the array core; None where the array is considered anyway, or not possible."""
        if self.options.asked_core != CORES[0] or self.options.array_needs:
            return None
        return self.paced(replace(self.options, core="array")).candidates()

    def _fixed(self, core: str, ii: int) -> Formats:
        options = replace(self.options, ii=ii, core=core)
        groups = () if core == "array" else find_shared_limbs(self._model.robot, options.share_limbs, ii)
        if (core, groups) not in self._formats:
            if not self._observed:
                self._progress("observing random tasks")
                self._observed.append(observe(self._model, self._graph, self._domain, options))
            stage = f"choosing number formats of the {core}"
            self._progress(stage)
            twins = limb_twins(self._model, self._graph, options)
            self._formats[core, groups] = choose_formats(
                self._observed[0], options, twins, within(stage, self._progress)
            )
        return self._formats[core, groups]


def _without_pace(options: BuildOptions) -> BuildOptions:
    """Options without the interval and the core, which plans are kept by."""
    return replace(options, ii=None, pacing=None, core=None)


def limb_twins(model: Model, graph: Graph, options: BuildOptions) -> Twins:
    """The nodes of a graph that symmetric limbs compute in turn.

    Raises
    ------
    InputError
        Where sharing is asked for but cannot be.
    """
    alone = options.core == "array"
    groups = () if alone else find_shared_limbs(model.robot, options.share_limbs, options.least_ii)
    return find_twins(graph, limb_inputs(model.robot, groups)) if groups else no_twins(graph)
