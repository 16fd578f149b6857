"""From a URDF to a design: every stage in order.

robot -> one scalar dataflow graph -> passes -> number formats -> static schedule -> Verilog + manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rbdhw.artifact import Design
from rbdhw.config import BuildOptions, Mounting
from rbdhw.domain import Domain, Overrides, input_domain
from rbdhw.fixed.program import Program
from rbdhw.fixed.search import Measured
from rbdhw.formats import draft_design, fix, with_inverse
from rbdhw.graph.graph import Graph
from rbdhw.graph.twins import Group, Twins, no_twins
from rbdhw.limbs import hardware, least_interval, limb_inputs, limb_names, shared_limbs, sharing_entry
from rbdhw.manifest import function_counts, manifest, robot_entry
from rbdhw.mounting import load_mounted
from rbdhw.passes.factor import factor
from rbdhw.passes.twins import find_twins
from rbdhw.preparation import Model, optimised, prepare, rooted, traced
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.model import BASE, Robot
from rbdhw.robot.symmetry import limb_groups
from rbdhw.rtl.core import Core
from rbdhw.rtl.packet import Function
from rbdhw.rtl.shell import Accelerator, to_verilog
from rbdhw.schedule.binding import bind
from rbdhw.schedule.cost import Cost, cost
from rbdhw.schedule.list_scheduler import schedule
from rbdhw.schedule.model import Bound
from rbdhw.schedule.problem import problem
from rbdhw.schedule.twins import shareable
from rbdhw.schedule.verify import verify
from rbdhw.target import Primitive, Target, target

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
    bound: Bound
    costs: dict[str, Cost]


def generate(
    urdf: Path, options: BuildOptions, overrides: Overrides | None = None, progress: Progress = silent
) -> Design:
    """The design of an accelerator for the robot in a URDF file.

    Raises
    ------
    InputError
        For a robot, option or override that cannot be built.
    """
    options.check(tuple(FUNCTIONS))
    target(options.target)
    progress("reading the robot")
    source = load_mounted(urdf, options.mounting)
    progress("choosing the root")
    delays = target(options.target).delays
    source, trials = rooted(source, options.mounting.root, options.functions, options.fext, delays)
    design = design_of(source, options, overrides, progress)
    return replace(design, manifest=design.manifest | {"roots": [vars(trial) for trial in trials]})


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
    draft = draft_design(plan.model, plan.domain, plan.program, options)
    facts = manifest(
        source, plan.graph, plan.program, plan.bound, target(options.target), options, plan.errors
    )
    groups = shared_limbs(plan.model.robot, options.share_limbs, options.ii)
    facts["limbs"] = sharing_entry(plan.model.robot, groups, plan.program, plan.bound, plan.costs)
    facts["algorithms"] = plan.model.choice.json() | {"rewrites": list(plan.model.rewrites)}
    text = to_verilog(accelerator(draft, plan.bound, target(options.target).primitive))
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
    device = target(options.target)
    domain = input_domain(source, overrides)
    progress("rewriting frames and inertias")
    model = prepare(source, options.functions, options.fext, device.delays, options.algorithms)
    if "difd" in options.functions:
        domain = with_inverse(domain, source, options)
    progress("tracing")
    graph = optimised(traced(model, options.functions), device.delays)
    twins = limb_twins(model, graph, options)
    progress("choosing number formats")
    program, errors = fix(model, graph, domain, options, twins)
    progress("scheduling")
    return Plan(model, domain, graph, program, errors, *cheapest(program, device, options, twins))


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
    groups = shared_limbs(model.robot, options.share_limbs, options.ii)
    return find_twins(graph, limb_inputs(model.robot, groups)) if groups else no_twins(graph)


def accelerator(design: Design, bound: Bound, primitive: Primitive | None = None) -> Accelerator:
    """The hardware of a design, portable without a device's multiplier."""
    functions = []
    for name in design.functions:
        inputs, outputs = design.inputs(name), design.outputs(name)
        optional_inputs = design.inputs(name, extended=True)[len(inputs) :]
        optional_outputs = design.outputs(name, extended=True)[len(outputs) :]
        functions.append(Function(name, inputs, outputs, optional_inputs, optional_outputs))
    core = Core(program=design.program, bound=bound, primitive=primitive)
    stream = design.stream
    return Accelerator(
        core=core, functions=tuple(functions), data_width=stream.data_width, number=stream.number
    )


def cheapest(
    program: Program, device: Target, options: BuildOptions, twins: Twins
) -> tuple[Bound, dict[str, Cost]]:
    """The program scheduled with twins sharing hardware or not, as asked for or cheaper, and both costs."""
    alone = scheduled(program, device, options)
    groups = shareable(program, twins.groups)
    if not groups:
        return alone, {}
    shared = scheduled(program, device, options, groups)
    costs = {"on": cost(program, shared), "off": cost(program, alone)}
    cheaper = costs["on"].total <= costs["off"].total
    return shared if cheaper or options.share_limbs == "on" else alone, costs


def scheduled(program: Program, device: Target, options: BuildOptions, groups: Sequence[Group] = ()) -> Bound:
    """The program scheduled, verified and bound for one task every ``options.ii`` cycles.

    ``groups`` are the values that share hardware.
    """
    task = problem(program, device, options.clock_mhz, options.ii, groups)
    plan = schedule(task)
    verify(task, plan)
    return bind(program, task, plan, device.memory_stages)
