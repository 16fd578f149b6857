"""From a URDF to a design: every stage in order.

robot -> one scalar dataflow graph -> passes -> number formats -> static schedule -> Verilog + manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rbdhw.array.build import arrayed
from rbdhw.array.model import Array
from rbdhw.array.model import Resource as ArrayResource
from rbdhw.artifact import Design
from rbdhw.config import BuildOptions, Mounting
from rbdhw.domain import Domain, Overrides, input_domain
from rbdhw.errors import InputError
from rbdhw.estimate.calibration import Estimate
from rbdhw.estimate.model import CoreCost, core_cost, estimate, estimate_entry, load
from rbdhw.fixed.program import Kind, Program
from rbdhw.fixed.search import Measured
from rbdhw.formats import draft_design, fix, with_inverse
from rbdhw.graph.graph import Graph
from rbdhw.graph.twins import Group, Twins, no_twins
from rbdhw.interval import Candidates, Interval, interval
from rbdhw.limbs import hardware, least_interval, limb_inputs, limb_names, shared_limbs, sharing_entry
from rbdhw.link import Traffic, link_entry, traffic
from rbdhw.manifest import function_counts, manifest, robot_entry
from rbdhw.mounting import load_mounted
from rbdhw.passes.factor import factor
from rbdhw.passes.twins import find_twins
from rbdhw.preparation import Model, optimised, prepare, rooted, traced
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.model import BASE, Robot
from rbdhw.robot.reroot import RootTrial
from rbdhw.robot.symmetry import LimbGroup, limb_groups
from rbdhw.rtl.array import ArrayCore
from rbdhw.rtl.core import Core
from rbdhw.rtl.packet import Edge, Function
from rbdhw.rtl.shell import Accelerator, to_verilog
from rbdhw.schedule.binding import bind
from rbdhw.schedule.list_scheduler import schedule
from rbdhw.schedule.model import MULTIPLIERS, Bound
from rbdhw.schedule.problem import clock_of, problem
from rbdhw.schedule.twins import shareable
from rbdhw.schedule.verify import verify
from rbdhw.target import Target, target

Progress = Callable[[str], None]
"""Told the name of each stage as it begins."""

DEFAULT_MOUNTING = Mounting()


def silent(_stage: str) -> None:
    """A progress that tells nobody."""


@dataclass(frozen=True)
class Plan:
    """All that is decided about a build before its RTL is written."""

    model: Model
    domain: Domain
    graph: Graph
    program: Program
    errors: Measured
    bound: Bound | Array
    costs: dict[str, CoreCost]
    estimate: Estimate
    interval: Interval

    @property
    def pipeline(self) -> Bound:
        """The schedule of a build that is no array."""
        assert isinstance(self.bound, Bound)
        return self.bound

    @property
    def multipliers(self) -> int:
        """Multipliers of the core, those inside its units for sine and reciprocal left out."""
        if isinstance(self.bound, Array):
            return self.bound.units.count(ArrayResource.ACCUMULATOR)
        return sum(unit.resource in MULTIPLIERS for unit in self.bound.units)


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
    design = design_of(source, options, overrides, progress)
    return replace(design, manifest=design.manifest | {"roots": [vars(trial) for trial in trials]})


def read(urdf: Path, options: BuildOptions, progress: Progress = silent) -> tuple[Robot, list[RootTrial]]:
    """The robot in a URDF file as it is mounted, and the roots that were tried for it.

    Raises
    ------
    InputError
        For a robot or option that cannot be built.
    """
    options.check(tuple(FUNCTIONS))
    delays = target(options.target).delays
    progress("reading the robot")
    source = load_mounted(urdf, options.mounting)
    progress("choosing the root")
    return rooted(source, options.mounting.root, options.functions, options.fext, delays)


def design_of(
    source: Robot, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Design:
    """The design of an accelerator for a robot, wherever it comes from.

    Raises
    ------
    InputError
        For an option or override that cannot be built for it.
    """
    plan = planned(source, options, overrides, progress)
    progress("writing Verilog")
    return built(source, plan, options)


def built(source: Robot, plan: Plan, options: BuildOptions) -> Design:
    """The design of a plan that was made for a robot with these options."""
    draft = draft_design(plan.model, plan.domain, plan.program, options)
    facts = manifest(
        source, plan.graph, plan.program, plan.bound, target(options.target), options, plan.errors
    )
    if isinstance(plan.bound, Bound):
        groups = shared_limbs(plan.model.robot, options.share_limbs, plan.bound.ii)
        facts["limbs"] = sharing_entry(plan.model.robot, groups, plan.program, plan.bound, plan.costs)
    facts["algorithms"] = plan.model.choice.json() | {"rewrites": list(plan.model.rewrites)}
    facts["interval"] = interval_entry(plan, draft, options)
    calibrated = isinstance(plan.bound, Bound)
    facts["estimate"] = estimate_entry(plan.estimate, target(options.target), calibrated=calibrated)
    text = to_verilog(accelerator(draft, plan.bound, target(options.target)))
    return replace(draft, manifest=facts | draft.manifest, verilog=text)


def planned(
    source: Robot, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Plan:
    """Every stage before the RTL.

    Raises
    ------
    InputError
        For a robot, option or override that cannot be built.
    """
    build = alternatives(source, options, overrides, progress)
    progress("choosing number formats")
    build.program(build.least)
    progress("scheduling")
    return build.plan(interval(replace(options, ii=build.least), build.device, build.candidates()))


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
    domain = input_domain(source, overrides)
    progress("rewriting frames and inertias")
    model = prepare(source, options.functions, options.fext, device.delays, options.algorithms)
    if "difd" in options.functions:
        domain = with_inverse(domain, source, options)
    progress("tracing")
    graph = optimised(traced(model, options.functions), device.delays)
    return Alternatives(model, domain, graph, options)


class Alternatives:
    """A build at any initiation interval: its formats and its schedules, each made once.

    Formats depend on the interval only by the limbs that share hardware at it.
    """

    def __init__(self, model: Model, domain: Domain, graph: Graph, options: BuildOptions) -> None:
        self.options = options
        self.device = target(options.target)
        self._model, self._domain, self._graph = model, domain, graph
        self._programs: dict[tuple[LimbGroup, ...], tuple[Twins, Program, Measured]] = {}
        self._plans: dict[int, Plan] = {}

    def paced(self, options: BuildOptions) -> Alternatives:
        """The same build at another pace, clock, or edge: options that formats do not depend on."""
        other = Alternatives(self._model, self._domain, self._graph, options)
        other._programs = self._programs
        return other

    @property
    def robot(self) -> str:
        """The robot's name."""
        return self._model.source.name

    @cached_property
    def least(self) -> int:
        """The fewest cycles between tasks: those asked for, or the next that can serve limbs that must share.

        Raises
        ------
        InputError
            Where limbs must share but cannot.
        """
        if self.options.pacing is None:
            return self.options.ii
        if self.options.share_limbs == "on":
            shared_limbs(self._model.robot, "on", least_interval(limb_groups(self._model.robot)))
        return next(ii for ii in count(self.options.ii) if self.serves(ii))

    def serves(self, ii: int) -> bool:
        """Whether the limbs that must share hardware can."""
        if self.options.share_limbs != "on":
            return True
        groups = limb_groups(self._model.robot)
        return all(any(ii % size == 0 for size in range(2, len(group) + 1)) for group in groups)

    def program(self, ii: int) -> Program:
        """The bit-exact program."""
        return self._fixed(ii)[1]

    def plan(self, chosen: Interval) -> Plan:
        """The whole plan."""
        if chosen.ii not in self._plans:
            options = replace(self.options, ii=chosen.ii)
            twins, program, errors = self._fixed(chosen.ii)
            bound, costs = realised(program, self.device, options, twins)
            edge = edge_of(draft_design(self._model, self._domain, program, options))
            found = estimate(program, bound, edge, self.device)
            self._plans[chosen.ii] = Plan(
                self._model, self._domain, self._graph, program, errors, bound, costs, found, chosen
            )
        return replace(self._plans[chosen.ii], interval=chosen)

    def traffic(self, ii: int) -> tuple[dict[str, Traffic], float]:
        """The packets of each function, and the clock in MHz."""
        program = self.program(ii)
        clock_mhz = clock_of(program, self.device, self.options.clock_mhz, ii)
        return traffic(draft_design(self._model, self._domain, program, self.options)), clock_mhz

    def products(self, ii: int) -> int:
        """Products of one task of all functions that take multipliers at any interval."""
        return sum(operation.kind is Kind.MULTIPLY for operation in self.program(ii).operations)

    def candidates(self) -> Candidates:
        """What choosing an interval asks."""
        return Candidates(
            self.serves, self.traffic, self.products, lambda ii: self.plan(Interval(ii, "tried")).estimate
        )

    def _fixed(self, ii: int) -> tuple[Twins, Program, Measured]:
        options = replace(self.options, ii=ii)
        groups = () if options.core == "array" else shared_limbs(self._model.robot, options.share_limbs, ii)
        if groups not in self._programs:
            twins = limb_twins(self._model, self._graph, options)
            found = fix(self._model, self._graph, self._domain, options, twins)
            self._programs[groups] = twins, *found
        return self._programs[groups]


def interval_entry(plan: Plan, draft: Design, options: BuildOptions) -> dict[str, Any]:
    """What the manifest tells of the initiation interval: why it is what it is, and what the link allows."""
    bandwidth = options.pacing.bandwidth if options.pacing else None
    return {
        "ii": plan.bound.ii,
        "why": plan.interval.why,
        "fit": options.fit,
        "link": link_entry(traffic(draft), plan.bound.clock_mhz, bandwidth),
    }


def describe(
    urdf: Path,
    functions: Sequence[str],
    fext: str = "none",
    forced: Mapping[str, str] = MappingProxyType({}),
    mounting: Mounting = DEFAULT_MOUNTING,
    progress: Progress = silent,
) -> dict[str, Any]:
    """The robot, the operations of each function of the graph that would be built, and its algorithms.

    Raises
    ------
    InputError
        For a robot, function or link that cannot be built.
    """
    BuildOptions(functions=tuple(functions), mounting=mounting).check(tuple(FUNCTIONS))
    source = load_mounted(urdf, mounting)
    progress("choosing the root")
    source, trials = rooted(source, mounting.root, functions, fext)
    progress("rewriting frames and inertias")
    model = prepare(source, functions, fext, forced=forced)
    progress("tracing")
    graph = factor(traced(model, functions))
    groups = limb_groups(model.robot)
    ii = least_interval(groups)
    twins = find_twins(graph, limb_inputs(model.robot, groups))
    return {
        "robot": robot_entry(source),
        "functions": {function: function_counts(graph, function) for function in functions},
        "algorithms": model.choice.json(),
        "limbs": {
            "groups": limb_names(model.robot, groups),
            "ii": ii,
            "hardware": hardware(graph, twins, ii),
        },
        "joints": joint_rows(source),
        "roots": [vars(trial) for trial in trials],
    }


def joint_rows(robot: Robot) -> list[dict[str, str]]:
    """Each joint with its kind, the link that it moves, the parent of that, and what it mimics."""
    rows = []
    for body in robot.bodies:
        joint, mimic = body.joint, body.joint.mimic
        parent = robot.base if body.parent == BASE else robot.bodies[body.parent].name
        row = {"joint": joint.name, "kind": joint.kind.value, "link": body.name, "parent": parent}
        rows.append(row | {"mimics": mimic.joint if mimic else ""})
    return rows


def limb_twins(model: Model, graph: Graph, options: BuildOptions) -> Twins:
    """The nodes of a graph that symmetric limbs compute in turn.

    Raises
    ------
    InputError
        Where sharing is asked for but cannot be.
    """
    alone = options.core == "array"
    groups = () if alone else shared_limbs(model.robot, options.share_limbs, options.ii)
    return find_twins(graph, limb_inputs(model.robot, groups)) if groups else no_twins(graph)


def accelerator(
    design: Design, bound: Bound | Array, device: Target, *, portable: bool = False
) -> Accelerator:
    """The hardware of a design, without a device's own blocks where it is to be portable."""
    edge = edge_of(design)
    primitive = None if portable else device.primitive
    core: Core | ArrayCore
    if isinstance(bound, Array):
        core = ArrayCore(
            program=design.program,
            array=bound,
            memory_stages=device.memory_stages,
            block_rams=device.operand_blocks,
            primitive=primitive,
        )
    else:
        core = Core(program=design.program, bound=bound, primitive=primitive)
    return Accelerator(core=core, functions=edge.functions, data_width=edge.data_width, number=edge.number)


def edge_of(design: Design) -> Edge:
    """How the packets of a design are laid out."""
    functions = []
    for name in design.functions:
        inputs, outputs = design.inputs(name), design.outputs(name)
        optional_inputs = design.inputs(name, extended=True)[len(inputs) :]
        optional_outputs = design.outputs(name, extended=True)[len(outputs) :]
        functions.append(Function(name, inputs, outputs, optional_inputs, optional_outputs))
    return Edge(tuple(functions), design.stream.data_width, design.stream.number)


def realised(
    program: Program, device: Target, options: BuildOptions, twins: Twins
) -> tuple[Bound | Array, dict[str, CoreCost]]:
    """The program scheduled for the core that was asked for, and what limbs cost that share hardware or not.

    Raises
    ------
    InputError
        Where the clock is too fast, or the interval too short.
    """
    if options.core == "array":
        return arrayed(program, device, options.clock_mhz, options.ii), {}
    return cheapest(program, device, options, twins)


def cheapest(
    program: Program, device: Target, options: BuildOptions, twins: Twins
) -> tuple[Bound, dict[str, CoreCost]]:
    """The program scheduled with twins sharing hardware or not, as asked for or cheaper, and both costs.

    Where the clock is too fast for what chooses among twins, they share only if that is asked for.

    Raises
    ------
    InputError
        Where the clock is too fast for what is asked for.
    """
    alone = scheduled(program, device, options)
    groups = shareable(program, twins.groups)
    if not groups:
        return alone, {}
    try:
        shared = scheduled(program, device, options, groups)
    except InputError:
        if options.share_limbs == "on":
            raise
        return alone, {}
    costs = {"on": core_cost(program, shared, device), "off": core_cost(program, alone, device)}
    cheaper = load(costs["on"].estimate, device) <= load(costs["off"].estimate, device)
    return shared if cheaper or options.share_limbs == "on" else alone, costs


def scheduled(program: Program, device: Target, options: BuildOptions, groups: Sequence[Group] = ()) -> Bound:
    """The program scheduled, verified and bound for one task every ``options.ii`` cycles.

    ``groups`` are the values that share hardware.
    """
    task = problem(program, device, options.clock_mhz, options.ii, groups)
    plan = schedule(task)
    verify(task, plan)
    return bind(program, task, plan, device.memory_stages)
