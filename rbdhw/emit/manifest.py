"""The manifest: what was built, as stable JSON for scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from importlib.metadata import version
from typing import Any

from rbdhw.array import model as array_model
from rbdhw.array.model import Array
from rbdhw.config import BuildOptions
from rbdhw.design.packet_layout import packet_entries
from rbdhw.design.traffic import Traffic, link_entry, traffic
from rbdhw.emit.accuracy import error_entry, formats_entry
from rbdhw.emit.operation_counts import program_counts
from rbdhw.emit.remarks import plan_remarks
from rbdhw.estimate.model import blocks, estimate_entry
from rbdhw.explore.candidates import Plan
from rbdhw.explore.limb_sharing import find_shared_limbs, sharing_entry
from rbdhw.fixed.program import Kind, Program
from rbdhw.graph.graph import Graph, Op
from rbdhw.passes.prune import alive
from rbdhw.passes.specialise import specialise
from rbdhw.protocol import flag_values
from rbdhw.robot.coordinates import configuration_coordinates, velocity_coordinates
from rbdhw.robot.model import Robot
from rbdhw.scalar import Region
from rbdhw.schedule.model import MULTIPLIERS, Bound, Resource
from rbdhw.target import target


def robot_entry(robot: Robot) -> dict[str, Any]:
    """The robot as the manifest and ``info`` tell it."""
    return {
        "name": robot.name,
        "dof": robot.nv,
        "nq": robot.nq,
        "nv": robot.nv,
        "joints": list(robot.joints),
        "joint_order": robot.joint_order,
        "depth": robot.depth,
        "base": "floating" if robot.floats else "given" if robot.base_given else "fixed",
    }


def manifest(plan: Plan, options: BuildOptions) -> dict[str, Any]:
    """Return the manifest of a plan that was made with these options."""
    source = plan.accelerator.robot
    packets = packet_entries(plan.interface, source)
    return {
        "robot": robot_entry(source),
        **hardware_entries(plan, options),
        "error": error_entry(plan.formats, options, packets["outputs"]),
        "formats": formats_entry(plan.formats, options),
        "budget": options.budget,
        "versions": {name: version(name) for name in ("rbdhw", "amaranth", "numpy")},
        "seed": options.seed,
        **choice_entries(plan, options),
        "coordinates": coordinates_entry(source, {word.name for word in plan.program.inputs}),
        "estimate": estimate_entry(plan.estimate, target(options.target), plan.taken.core),
        "remarks": [
            *source.remarks,
            *plan.domain.remarks,
            *plan.model.remarks,
            *plan_remarks(plan, options),
        ],
        **packets,
    }


def hardware_entries(plan: Plan, options: BuildOptions) -> dict[str, Any]:
    """Return what was built: each function's operations and timing, the schedule, the units."""
    program, bound, device = plan.program, plan.bound, target(options.target)
    return {
        "functions": {
            function: function_counts(plan.graph, function)
            | {"built": program_counts(program, function)}
            | timing_entry(plan, function, packets)
            for function, packets in traffic(plan.interface).items()
        },
        "ii": bound.ii,
        "clock_mhz": bound.clock_mhz,
        "target": device.name,
        "core": plan.taken.core,
        "width": list(program.port_widths),
        "dsp_blocks": blocks(program, bound, device),
        **(array_entry(bound) if isinstance(bound, Array) else pipeline_entry(program, bound)),
    }


def choice_entries(plan: Plan, options: BuildOptions) -> dict[str, Any]:
    """Return what was chosen and why: limbs that share, algorithms, the interval, the core."""
    chosen: dict[str, Any] = {}
    if isinstance(plan.bound, Bound):
        groups = find_shared_limbs(plan.model.robot, options.share_limbs, plan.bound.ii)
        chosen["limbs"] = sharing_entry(plan.model.robot, groups, plan.program, plan.bound, plan.costs)
    return chosen | {
        "algorithms": plan.model.choice.json() | {"rewrites": list(plan.model.rewrites)},
        "interval": interval_entry(plan, options),
        "cores": {"asked": options.asked_core} | plan.taken.json(),
    }


def interval_entry(plan: Plan, options: BuildOptions) -> dict[str, Any]:
    """Return the initiation interval, the reason for it, and the interval that the link allows."""
    bandwidth = options.pacing.bandwidth if options.pacing else None
    return {
        "ii": plan.bound.ii,
        "why": plan.interval.why,
        "fit": options.fit,
        "link": link_entry(traffic(plan.interface), plan.bound.clock_mhz, bandwidth),
    }


def timing_entry(plan: Plan, function: str, packets: Traffic) -> dict[str, Any]:
    """A function's latencies, of a packet and within the core, and how often it answers at most.

    The packet latency is that of :func:`rbdhw.rtl.shell.packet_latency`.
    """
    cycles, clock_mhz = plan.latency[function], plan.bound.clock_mhz
    return {
        "latency_cycles": cycles,
        "latency_us": round(cycles / clock_mhz, 4),
        "core_latency_cycles": plan.core_latency[function],
        "cycles_per_task": packets.cycles(plan.bound.ii),
        "tasks_per_second": round(clock_mhz * 1e6 / packets.cycles(plan.bound.ii)),
    }


def pipeline_entry(program: Program, bound: Bound) -> dict[str, Any]:
    """The units of a pipeline, and its submodules."""
    multipliers = [unit for unit in bound.units if unit.resource in MULTIPLIERS]
    return {
        "multipliers": len(multipliers),
        "multiplier_slots": {
            "used": sum(len(unit.steps) for unit in multipliers),
            "offered": len(multipliers) * bound.ii,
        },
        "wide_products": wide_products(program, bound),
        "shift_add_products": len(shift_add_products(program, bound)),
        "pipeline_registers": {kind.value: registers for kind, registers in bound.registers.items()},
        "trigonometry_units": sum(unit.resource is Resource.TRIGONOMETRY for unit in bound.units),
        "reciprocal_units": sum(unit.resource is Resource.RECIPROCAL for unit in bound.units),
        "regions": [region_entry(bound, region) for region in _regions(bound)],
    }


def array_entry(array: Array) -> dict[str, Any]:
    """The units of an array, its memories, and what moves between them."""
    count = Counter(array.units)
    multipliers = count[array_model.ArrayResource.ACCUMULATOR]
    ports = list(array.ports())
    return {
        "multipliers": multipliers,
        "multiplier_slots": {
            "used": sum(len(step.job.terms) for step in array.steps),
            "offered": multipliers * array.ii,
        },
        "wide_products": {"width": None, "multipliers": 0, "products": {}},
        "shift_add_products": 0,
        "pipeline_registers": {"accumulator": array.registers},
        "trigonometry_units": count[array_model.ArrayResource.TRIGONOMETRY],
        "reciprocal_units": count[array_model.ArrayResource.RECIPROCAL],
        "operand_memories": {
            "memories": len(ports),
            "words_written": sum(len(row) for row in array.writes.values()),
            "inputs": sum(len({w.output for w in row.values()}) for row in array.writes.values()),
        },
        "regions": [],
    }


def function_counts(graph: Graph, function: str) -> dict[str, Any]:
    """The operations on which a function's results depend."""
    return operation_counts(specialise(graph, function, flag_values(function, extended=False)))


def coordinates_entry(robot: Robot, inputs: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    """Each coordinate of ``q`` and ``v``, in order: its joint, unit and limits, and where it travels.

    ``travels`` lists the arrays whose element at this index is in packets; the results depend on no other.
    ``inputs`` are the names of a graph's or a program's inputs.
    """

    def travels(arrays: Sequence[str], index: int) -> dict[str, list[str]]:
        return {"travels": [name for name in arrays if f"{name}[{index}]" in inputs]}

    return {
        "q": [own.json() | travels(("q",), own.index) for own in configuration_coordinates(robot)],
        "v": [
            own.json() | {"effort": own.effort} | travels(("v", "a", "tau"), own.index)
            for own in velocity_coordinates(robot)
        ],
    }


def operation_counts(graph: Graph) -> dict[str, Any]:
    """The operations on which a graph's outputs depend, whatever its functions."""
    count = Counter(node.op for node, kept in zip(graph.nodes, alive(graph), strict=True) if kept)
    return {
        "multiplications": {"variable": count[Op.MULTIPLY], "constant": count[Op.SCALE]},
        "additions": count[Op.ADD],
        "reciprocals": count[Op.RECIPROCAL],
    }


def wide_products(program: Program, bound: Bound) -> dict[str, Any]:
    """Where the budget made products wider than an ordinary multiplier: units, and products by region."""
    regions = Counter(str(program.operations[i].region) for i in program.wide)
    return {
        "width": list(program.wide_port_widths) if program.wide else None,
        "multipliers": sum(unit.resource is Resource.WIDE_MULTIPLIER for unit in bound.units),
        "products": dict(sorted(regions.items())),
    }


def shift_add_products(program: Program, bound: Bound) -> list[int]:
    """The products by constants that adders compute."""
    scales = (i for i, operation in enumerate(program.operations) if operation.kind is Kind.SCALE)
    return [value for value in scales if bound.alone(value)]


def region_entry(bound: Bound, region: Region) -> dict[str, Any]:
    """One submodule: what it computes, with how many multipliers, from which cycle to which."""
    hosted = [value for value in bound.ready if bound.hosts[value] == region and value in bound.producer]
    cycles = [bound.ready[value] for value in hosted]
    units = [u for u in bound.units if u.host == region and u.resource in MULTIPLIERS]
    return {
        "name": str(region),
        "ii": bound.ii,
        "operations": len(hosted),
        "multipliers": len(units),
        "latency": max(cycles) - min(cycles) + 1 if cycles else 0,
    }


def _regions(bound: Bound) -> list[Region]:
    hosts = {bound.hosts[value] for value in bound.ready}
    return sorted(hosts, key=lambda region: (region.step, -1 if region.joint is None else region.joint))
