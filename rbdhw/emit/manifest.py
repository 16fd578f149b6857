"""The manifest: the description of a design for scripts, with stable keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Literal

from rbdhw.arrays import is_optional
from rbdhw.cores.solver.core import SolverCore
from rbdhw.design.entries import (
    AlgorithmEntry,
    AlgorithmTryEntry,
    ContactsEntry,
    CoordinateEntry,
    Coordinates,
    EnergyEntry,
    EstimateEntry,
    FunctionEntry,
    IntervalEntry,
    MeansHardware,
    Multiplications,
    Operations,
    ParametersEntry,
    RobotEntry,
    Root,
    Slots,
    SolverHardware,
    VelocityEntry,
)
from rbdhw.design.error_entries import ConfidenceEntry, ProofEntry
from rbdhw.design.manifest import FORMAT, Manifest, PartEntry
from rbdhw.design.packet_layout import link_entry, packet_entries
from rbdhw.emit.accuracy import error_entries, formats_entry, proof_entries
from rbdhw.emit.operation_counts import program_counts
from rbdhw.emit.remarks import plan_remarks
from rbdhw.estimate.calibration import calibration
from rbdhw.estimate.energy import Energy, energy_of
from rbdhw.estimate.model import shares, synthesised_for
from rbdhw.estimate.resources import Resources
from rbdhw.explore.plan import AcceleratorPlan, PlannedCore
from rbdhw.fixed.backward import BackwardErrors
from rbdhw.frontend.algorithms import AlgorithmChoice
from rbdhw.graph.graph import Graph, Op
from rbdhw.model.traffic import Traffic, traffic
from rbdhw.options.build import MIXED, BuildOptions
from rbdhw.passes.prune import alive
from rbdhw.passes.specialise import specialise
from rbdhw.protocol import flag_values
from rbdhw.robot.coordinates import configuration_coordinates, velocity_coordinates
from rbdhw.robot.model import Contacts, LoadedInertias, Robot
from rbdhw.robot.reroot import RootTrial
from rbdhw.target import Target


def robot_entry(robot: Robot) -> RobotEntry:
    """Return the entry on the robot in the manifest and in the output of ``info``."""
    joints = [body.joint for body in robot.bodies]
    return RobotEntry(
        name=robot.name,
        dof=robot.nv,
        nq=robot.nq,
        nv=robot.nv,
        joints=list(robot.joints),
        joint_order=robot.joint_order,
        depth=robot.depth,
        base=_base(robot),
        frames=[frame.name for frame in robot.frames] or None,
        frame_axes=robot.frame_axes if robot.frames else None,
        spheres={sphere.frame.name: sphere.radius for sphere in robot.spheres} or None,
        contacts=_contacts_entry(robot.contacts) if robot.contacts.places else None,
        time_step=robot.time_step,
        armature={joint.name: list(joint.armature) for joint in joints if joint.armature} or None,
        damping={joint.name: list(joint.damping) for joint in joints if joint.damping} or None,
        parameters=None if robot.loaded is None else _parameters_entry(robot.loaded),
    )


def _base(robot: Robot) -> Literal["fixed", "floating", "given", "any"]:
    if robot.base_chosen:
        return "any"
    return "floating" if robot.floats else "given" if robot.base_given else "fixed"


def _contacts_entry(contacts: Contacts) -> ContactsEntry:
    """Return the links that may touch the world, and how their contacts are held."""
    return ContactsEntry(
        links={contact.frame.name: contact.kind for contact in contacts.places if not contact.closes},
        axes=contacts.axes,
        damping=contacts.damping,
        velocity_gain=contacts.velocity_gain,
        restitution=contacts.restitution,
        by_task=contacts.by_task or None,
        loops=[contact.frame.name for contact in contacts.loops] or None,
        position_gain=contacts.position_gain if contacts.loops else None,
    )


def _parameters_entry(loaded: LoadedInertias) -> ParametersEntry:
    """Return the links whose parameters are given at run time, and the map to what the hardware holds."""
    return ParametersEntry(
        links=list(loaded.links),
        bounds=[list(pair) for pair in loaded.bounds],
        held=list(loaded.names),
        units=list(loaded.units),
        matrix=[list(row) for row in loaded.matrix],
        constants=list(loaded.constants),
    )


def manifest(plan: AcceleratorPlan, options: BuildOptions, roots: Sequence[RootTrial] = ()) -> Manifest:
    """Return the manifest of a plan that was made with these options; ``roots`` were compared for it.

    Numbers of units are sums over all cores. The interval and the widths are the largest.
    """
    source, packets = plan.accelerator.robot, packet_entries(plan.interface, plan.accelerator.robot)
    parts = [_part_entry(part, options) for part in plan.parts]
    kinds = {part.core for part in parts}
    results = {function: packets.results(function) for function in packets.outputs}
    errors = {name: plan.part_of(name).plan.formats.errors[name] for name in plan.accelerator.functions}
    proofs: dict[str, dict[str, ProofEntry]] = {}
    backward: dict[str, BackwardErrors] = {}
    for part in (planned.plan for planned in plan.parts):
        proofs |= proof_entries(part.prepared.robot, part.prepared.graph, part.formats)
        backward |= part.formats.backward
    return Manifest(
        format=FORMAT,
        name=options.name,
        robot=robot_entry(source),
        functions={name: _function_entry(plan, name, each) for name, each in traffic(plan.interface).items()},
        clock_mhz=plan.clock_mhz,
        stream_clock_mhz=options.stream_clock_mhz,
        target=plan.device.name,
        core=kinds.pop() if len(kinds) == 1 else MIXED,
        ii=max(part.ii for part in parts),
        width=max(parts, key=lambda part: sum(part.width)).width,
        **_units(parts),
        parts=parts,
        regions=[region for k, part in enumerate(plan.parts) for region in part.plan.core.regions(k)],
        interval=_interval_entry(plan, options),
        error=error_entries(source, errors, options, results, proofs, backward),
        budget=options.budget,
        budgets=options.budgets or None,
        versions={name: version(name) for name in ("rbdhw", "amaranth", "numpy")},
        seed=options.seed,
        algorithms={
            **algorithm_entries(plan.prepared.model.choice),
            "rewrites": list(plan.prepared.model.rewrites),
        },
        mix=plan.mix,
        solver=None if plan.solver is None else _solver_entry(plan, plan.solver),
        means=_means_entry(plan),
        coordinates=coordinates_entry(source, plan.accelerator.inputs),
        estimate=estimate_entry(plan.estimate, plan.device, plan.parts[0].plan.core.estimated_as),
        remarks=[
            *source.remarks,
            *plan.prepared.domain.remarks,
            *plan.prepared.model.remarks,
            *plan_remarks(plan, options),
        ],
        **dict(packets),
        roots=root_entries(roots),
    )


def _solver_entry(plan: AcceleratorPlan, solver: SolverCore) -> SolverHardware:
    """Return the entry on a solver's sweep, its cycles, and its energy."""
    sweep = plan.accelerator.sweep
    assert sweep is not None
    return SolverHardware(
        width=min(sweep.program.port_widths),
        time_step=sweep.h,
        interval=solver.sweep.schedule.ii,
        problems=solver.sweep.between,
        dsp_blocks=solver.sweep.dsp_blocks,
        first_cycles=solver.timing.solution(0),
        iteration_cycles=solver.timing.iteration,
        energy=_energy_entry(solver.energy(plan.clock_mhz)),
    )


def _means_entry(plan: AcceleratorPlan) -> MeansHardware | None:
    """Return the entry on means of samples, and their cycles."""
    interface, shape = plan.interface, plan.interface.rollout
    if shape is None or not shape.means:
        return None
    rollouts, of_round, others = plan.part_of(shape.function).plan.core.cycles_of_means(interface)
    return MeansHardware(rollouts=rollouts, round_cycles=of_round, other_cycles=others)


def with_confidence(described: Manifest, confidence: Mapping[str, ConfidenceEntry]) -> Manifest:
    """Return the manifest with the entry of each function on the share of tasks beyond its limits."""
    error = {
        name: entry.model_copy(update={"confidence": confidence[name]})
        for name, entry in described.error.items()
    }
    return described.model_copy(update={"error": error})


def root_entries(roots: Sequence[RootTrial]) -> list[Root]:
    """Return the entries on the links that were compared as the robot's root."""
    return [Root(link=trial.link, depth=trial.depth, cost=trial.cost) for trial in roots]


def _units(parts: Sequence[PartEntry]) -> dict[str, Any]:
    units = ("dsp_blocks", "multipliers", "shift_add_products", "trigonometry_units", "reciprocal_units")
    counts = {name: sum(part.copies * getattr(part, name) for part in parts) for name in units}
    slots = {
        name: sum(part.copies * getattr(part.multiplier_slots, name) for part in parts)
        for name in ("used", "offered")
    }
    return {**counts, "multiplier_slots": Slots(**slots)}


def _function_entry(plan: AcceleratorPlan, function: str, packets: Traffic) -> FunctionEntry:
    """Return a function's operations, its latencies, of a packet and within the core, and its largest rate.

    The packet latency is that of :func:`rbdhw.rtl.shell.packet_latency`.
    """
    cycles, clock_mhz, part = plan.latency(function), plan.clock_mhz, plan.part_of(function)
    pace = max(part.plan.ii / part.copies, packets.beats / packets.streams)
    rate, latency_us = round(clock_mhz * 1e6 / pace), round(cycles / clock_mhz, 4)
    return FunctionEntry(
        **dict(function_counts(part.plan.prepared.graph, function)),
        built=program_counts(part.plan.program, function),
        latency_cycles=cycles,
        latency_us=latency_us,
        core_latency_cycles=part.plan.core.latency[function],
        cycles_per_task=int(pace) if pace.is_integer() else round(pace, 4),
        tasks_per_second=rate,
        energy=_energy_entry(energy_of(part.plan.program, function, rate, latency_us, plan.device)),
    )


def _energy_entry(estimate: Energy | None) -> EnergyEntry | None:
    if estimate is None:
        return None
    return EnergyEntry(**{name: float(f"{value:.3g}") for name, value in vars(estimate).items()})


def _part_entry(part: PlannedCore, options: BuildOptions) -> PartEntry:
    plan = part.plan
    choice = plan.prepared.model.choice
    return PartEntry(
        functions=list(part.functions),
        copies=part.copies,
        ii=plan.ii,
        core=plan.core.name,
        width=list(plan.program.port_widths),
        dsp_blocks=plan.core.dsp_blocks,
        **plan.core.entries(),
        multipliers_by_slot=plan.core.multipliers_by_slot(),
        timeline=plan.core.timeline(),
        formats=formats_entry(plan.formats, options),
        **plan.core.sharing_entries(plan.prepared.robot, plan.sharing),
        cores=plan.choice.entry(part.asked),
        algorithms={step: getattr(choice.algorithms, step) for step in choice.costs},
        tried=[AlgorithmTryEntry.model_validate(trial) for trial in choice.tried],
    )


def algorithm_entries(choice: AlgorithmChoice) -> dict[str, AlgorithmEntry]:
    """Return the entry on each step for which algorithms were compared."""
    return {step: AlgorithmEntry(**entry) for step, entry in choice.json().items()}


def estimate_entry(resources: Resources, device: Target, core: str) -> EstimateEntry:
    """Return the entry on an estimate: counts, shares of the device, and expected errors.

    ``error`` holds the errors of designs with this core in the table, each estimated with weights fitted
    without its robot; it is None if the table has none on a device of the family.
    """
    rounded = {resource: round(share, 4) for resource, share in shares(resources, device).items()}
    error = calibration().errors.get(synthesised_for(device), {}).get(core)
    return EstimateEntry(**resources.json(), shares=rounded, error=error)


def _interval_entry(plan: AcceleratorPlan, options: BuildOptions) -> IntervalEntry:
    """Return the initiation interval, the reason for it, and the interval that the link allows.

    With several cores, the interval is the longest.
    """
    bandwidth = options.pacing.bandwidth if options.pacing else None
    slowest = max(plan.parts, key=lambda part: part.plan.ii).plan
    return IntervalEntry(
        ii=slowest.ii,
        why=slowest.interval.why,
        fit=options.fit,
        link=link_entry(traffic(plan.interface), plan.clock_mhz, bandwidth),
    )


def function_counts(graph: Graph, function: str) -> Operations:
    """Return the operations on which a function's results depend in a task without options."""
    regular = replace(graph, outputs=tuple(pair for pair in graph.outputs if not is_optional(pair[0])))
    return operation_counts(specialise(regular, function, flag_values(function, extended=False)))


def coordinates_entry(robot: Robot, inputs: Collection[str]) -> Coordinates:
    """Return the entry on each coordinate of ``q`` and ``v``, in order: its joint, unit, limits and arrays.

    ``travels`` lists the arrays whose element at this index is in packets; the results do not depend on the
    others. ``inputs`` are the names of a graph's or a program's inputs.
    """

    def travels(arrays: Sequence[str], index: int) -> list[str]:
        return [name for name in arrays if f"{name}[{index}]" in inputs]

    return Coordinates(
        q=[
            CoordinateEntry(**coordinate.json(), travels=travels(("q",), coordinate.index))
            for coordinate in configuration_coordinates(robot)
        ],
        v=[
            VelocityEntry(
                **coordinate.json(),
                effort=coordinate.effort,
                travels=travels(("v", "a", "tau"), coordinate.index),
            )
            for coordinate in velocity_coordinates(robot)
        ],
    )


def operation_counts(graph: Graph) -> Operations:
    """Return the operations on which a graph's outputs depend, for all its functions together."""
    count = Counter(node.op for node, kept in zip(graph.nodes, alive(graph), strict=True) if kept)
    return Operations(
        multiplications=Multiplications(variable=count[Op.MULTIPLY], constant=count[Op.SCALE]),
        additions=count[Op.ADD],
        reciprocals=count[Op.RECIPROCAL],
    )
