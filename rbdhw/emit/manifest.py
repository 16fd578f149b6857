"""The manifest: the description of a design for scripts, with stable keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from rbdhw.config import BuildOptions
from rbdhw.cores.pipeline import PipelineCore
from rbdhw.design.packet_layout import packet_entries
from rbdhw.design.traffic import Traffic, link_entry, traffic
from rbdhw.emit.accuracy import error_entry, formats_entry
from rbdhw.emit.operation_counts import program_counts
from rbdhw.emit.remarks import plan_remarks
from rbdhw.estimate.model import estimate_entry
from rbdhw.explore.limb_sharing import find_shared_limbs, sharing_entry
from rbdhw.explore.plan import Plan
from rbdhw.graph.graph import Graph, Op
from rbdhw.passes.prune import alive
from rbdhw.passes.specialise import specialise
from rbdhw.protocol import flag_values, is_optional
from rbdhw.robot.coordinates import configuration_coordinates, velocity_coordinates
from rbdhw.robot.model import Robot


def robot_entry(robot: Robot) -> dict[str, Any]:
    """Return the entry on the robot in the manifest and in the output of ``info``."""
    return {
        "name": robot.name,
        "dof": robot.nv,
        "nq": robot.nq,
        "nv": robot.nv,
        "joints": list(robot.joints),
        "joint_order": robot.joint_order,
        "depth": robot.depth,
        "base": "floating" if robot.floats else "given" if robot.base_given else "fixed",
    } | _frames_entry(robot)


def _frames_entry(robot: Robot) -> dict[str, Any]:
    """Return the chosen frames and the axes of their twists, if there are any."""
    if not robot.frames:
        return {}
    return {"frames": [frame.name for frame in robot.frames], "frame_axes": robot.frame_axes}


def manifest(plan: Plan, options: BuildOptions) -> dict[str, Any]:
    """Return the manifest of a plan that was made with these options."""
    source = plan.accelerator.robot
    packets = packet_entries(plan.interface, source)
    return {
        "robot": robot_entry(source),
        **hardware_entries(plan),
        "error": error_entry(plan.formats, options, packets["outputs"]),
        "formats": formats_entry(plan.formats, options),
        "budget": options.budget,
        "versions": {name: version(name) for name in ("rbdhw", "amaranth", "numpy")},
        "seed": options.seed,
        **choice_entries(plan, options),
        "coordinates": coordinates_entry(source, {word.name for word in plan.program.inputs}),
        "estimate": estimate_entry(plan.estimate, plan.core.device, plan.core.name),
        "remarks": [
            *source.remarks,
            *plan.prepared.domain.remarks,
            *plan.prepared.model.remarks,
            *plan_remarks(plan, options),
        ],
        **packets,
        "roots": [],  # filled in if roots were compared
    }


def hardware_entries(plan: Plan) -> dict[str, Any]:
    """Return the entries on the hardware: each function's operations and timing, the schedule, the units."""
    return {
        "functions": {
            function: function_counts(plan.prepared.graph, function)
            | {"built": program_counts(plan.program, function)}
            | timing_entry(plan, function, packets)
            for function, packets in traffic(plan.interface).items()
        },
        "ii": plan.ii,
        "clock_mhz": plan.clock_mhz,
        "target": plan.core.device.name,
        "core": plan.core.name,
        "width": list(plan.program.port_widths),
        "dsp_blocks": plan.core.dsp_blocks,
        **plan.core.entries(),
    }


def choice_entries(plan: Plan, options: BuildOptions) -> dict[str, Any]:
    """Return the entries on choices and their reasons: shared limbs, algorithms, interval and core."""
    chosen: dict[str, Any] = {}
    if isinstance(plan.core, PipelineCore):
        robot = plan.prepared.model.robot
        groups = find_shared_limbs(robot, options.share_limbs, plan.ii)
        chosen["limbs"] = sharing_entry(robot, groups, plan.core)
    return chosen | {
        "algorithms": plan.prepared.model.choice.json() | {"rewrites": list(plan.prepared.model.rewrites)},
        "interval": interval_entry(plan, options),
        "cores": {"asked": options.asked_core} | plan.choice.json(),
    }


def interval_entry(plan: Plan, options: BuildOptions) -> dict[str, Any]:
    """Return the initiation interval, the reason for it, and the interval that the link allows."""
    bandwidth = options.pacing.bandwidth if options.pacing else None
    return {
        "ii": plan.ii,
        "why": plan.interval.why,
        "fit": options.fit,
        "link": link_entry(traffic(plan.interface), plan.clock_mhz, bandwidth),
    }


def timing_entry(plan: Plan, function: str, packets: Traffic) -> dict[str, Any]:
    """Return a function's latencies, of a packet and within the core, and its largest rate.

    The packet latency is that of :func:`rbdhw.rtl.shell.packet_latency`.
    """
    cycles, clock_mhz = plan.latency[function], plan.clock_mhz
    return {
        "latency_cycles": cycles,
        "latency_us": round(cycles / clock_mhz, 4),
        "core_latency_cycles": plan.core.latency[function],
        "cycles_per_task": packets.cycles(plan.ii),
        "tasks_per_second": round(clock_mhz * 1e6 / packets.cycles(plan.ii)),
    }


def function_counts(graph: Graph, function: str) -> dict[str, Any]:
    """Return the operations on which a function's results depend in a task without options."""
    regular = replace(graph, outputs=tuple(pair for pair in graph.outputs if not is_optional(pair[0])))
    return operation_counts(specialise(regular, function, flag_values(function, extended=False)))


def coordinates_entry(robot: Robot, inputs: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the entry on each coordinate of ``q`` and ``v``, in order: its joint, unit, limits and arrays.

    ``travels`` lists the arrays whose element at this index is in packets; the results do not depend on the
    others. ``inputs`` are the names of a graph's or a program's inputs.
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
    """Return the operations on which a graph's outputs depend, for all its functions together."""
    count = Counter(node.op for node, kept in zip(graph.nodes, alive(graph), strict=True) if kept)
    return {
        "multiplications": {"variable": count[Op.MULTIPLY], "constant": count[Op.SCALE]},
        "additions": count[Op.ADD],
        "reciprocals": count[Op.RECIPROCAL],
    }
