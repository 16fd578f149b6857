"""The manifest: the description of a design for scripts, with stable keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from rbdhw.arrays import is_optional
from rbdhw.design.packet_layout import packet_entries
from rbdhw.design.traffic import Traffic, link_entry, traffic
from rbdhw.emit.accuracy import error_entry, formats_entry
from rbdhw.emit.operation_counts import program_counts
from rbdhw.emit.remarks import plan_remarks
from rbdhw.estimate.model import estimate_entry
from rbdhw.explore.plan import AcceleratorPlan, PlannedCore
from rbdhw.fixed.figures import FunctionErrors
from rbdhw.graph.graph import Graph, Op
from rbdhw.options.build import MIXED, BuildOptions
from rbdhw.passes.prune import alive
from rbdhw.passes.specialise import specialise
from rbdhw.protocol import flag_values
from rbdhw.robot.coordinates import configuration_coordinates, velocity_coordinates
from rbdhw.robot.model import LoadedInertias, Robot
from rbdhw.robot.reroot import RootTrial


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
        "base": _base(robot),
        **_frames_entry(robot),
        **({} if robot.time_step is None else {"time_step": robot.time_step}),
        **_drives_entry(robot),
        **({} if robot.loaded is None else {"parameters": _parameters_entry(robot.loaded)}),
    }


def _base(robot: Robot) -> str:
    """Return the motion of the base, as the option names it."""
    if robot.base_chosen:
        return "any"
    return "floating" if robot.floats else "given" if robot.base_given else "fixed"


def _frames_entry(robot: Robot) -> dict[str, Any]:
    """Return the chosen frames and the axes of their twists, if there are any."""
    if not robot.frames:
        return {}
    return {"frames": [frame.name for frame in robot.frames], "frame_axes": robot.frame_axes}


def _drives_entry(robot: Robot) -> dict[str, Any]:
    """Return the rotor inertia and the viscous friction of the joints that have them, if any."""
    joints = [body.joint for body in robot.bodies]
    armature = {joint.name: list(joint.armature) for joint in joints if joint.armature}
    damping = {joint.name: list(joint.damping) for joint in joints if joint.damping}
    return {name: own for name, own in (("armature", armature), ("damping", damping)) if own}


def _parameters_entry(loaded: LoadedInertias) -> dict[str, Any]:
    """Return the links whose parameters are given at run time, and the map to what the hardware holds."""
    return {
        "links": list(loaded.links),
        "bounds": [list(pair) for pair in loaded.bounds],
        "held": list(loaded.names),
        "units": list(loaded.units),
        "matrix": [list(row) for row in loaded.matrix],
        "constants": list(loaded.constants),
    }


def manifest(plan: AcceleratorPlan, options: BuildOptions, roots: Sequence[RootTrial] = ()) -> dict[str, Any]:
    """Return the manifest of a plan that was made with these options; ``roots`` were compared for it."""
    source = plan.accelerator.robot
    packets = packet_entries(plan.interface, source)
    parts = [part_entry(part, options) for part in plan.parts]
    return {
        "name": options.name,
        "robot": robot_entry(source),
        "functions": function_entries(plan),
        "clock_mhz": plan.clock_mhz,
        "target": plan.device.name,
        **(core_entries(plan.parts[0], options) if plan.only else whole_entries(parts)),
        "interval": interval_entry(plan, options),
        "error": error_entry(source, errors_of(plan), options, result_words(packets)),
        "budget": options.budget,
        "versions": {name: version(name) for name in ("rbdhw", "amaranth", "numpy")},
        "seed": options.seed,
        "algorithms": algorithms_entry(plan),
        "coordinates": coordinates_entry(source, plan.accelerator.inputs),
        "estimate": estimate_entry(plan.estimate, plan.device, plan.parts[0].plan.core.estimated_as),
        "remarks": [
            *source.remarks,
            *plan.prepared.domain.remarks,
            *plan.prepared.model.remarks,
            *plan_remarks(plan, options),
        ],
        **packets,
        **({} if plan.only else {"parts": parts}),
        **({"mix": dict(plan.mix)} if plan.mix else {}),
        "roots": [vars(trial) for trial in roots],
    }


def result_words(packets: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the entries on the words of each function's results, the optional ones after the others."""
    optional = packets["optional_outputs"]
    return {name: [*words, *optional.get(name, ())] for name, words in packets["outputs"].items()}


def function_entries(plan: AcceleratorPlan) -> dict[str, Any]:
    """Return the entries on each function: its operations and its timing."""
    found = {}
    for function, packets in traffic(plan.interface).items():
        own = plan.part_of(function).plan
        found[function] = (
            function_counts(own.prepared.graph, function)
            | {"built": program_counts(own.program, function)}
            | timing_entry(plan, function, packets)
        )
    return found


def core_entries(part: PlannedCore, options: BuildOptions) -> dict[str, Any]:
    """Return the entries on one core: its pace, its units, its formats, and the reasons for them."""
    plan = part.plan
    return {
        "ii": plan.ii,
        "core": plan.core.name,
        "width": list(plan.program.port_widths),
        "dsp_blocks": plan.core.dsp_blocks,
        **plan.core.entries(),
        "formats": formats_entry(plan.formats, options),
        **plan.core.sharing_entries(plan.prepared.robot, plan.sharing),
        "cores": {"asked": part.asked} | plan.choice.json(),
    }


def part_entry(part: PlannedCore, options: BuildOptions) -> dict[str, Any]:
    """Return the entry on one of several cores, with its functions and its copies."""
    functions = {"functions": list(part.functions), "copies": part.copies}
    choice = part.plan.prepared.model.choice
    algorithms = {step: getattr(choice.algorithms, step) for step in choice.costs}
    return functions | core_entries(part, options) | {"algorithms": algorithms, "tried": list(choice.tried)}


SUMS = ("dsp_blocks", "multipliers", "shift_add_products", "trigonometry_units", "reciprocal_units")
"""The entries on cores that are numbers of blocks or units."""


def whole_entries(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the entries on several cores together.

    Numbers of units are sums over all copies, and slots of multipliers as well. The interval and the widths
    are the largest. What else differs from core to core is in ``parts``.
    """
    widest = max(parts, key=lambda part: sum(part["width"]))
    kinds = {part["core"] for part in parts}
    return {
        "ii": max(part["ii"] for part in parts),
        "core": kinds.pop() if len(kinds) == 1 else MIXED,
        "width": widest["width"],
        **{name: sum(part["copies"] * part[name] for part in parts) for name in SUMS},
        "multiplier_slots": {
            name: sum(part["copies"] * part["multiplier_slots"][name] for part in parts)
            for name in ("used", "offered")
        },
    }


def algorithms_entry(plan: AcceleratorPlan) -> dict[str, Any]:
    """Return the choice at each step, the combinations that were tried, and the rewrites of the robot."""
    model = plan.prepared.model
    tried = {"tried": list(model.choice.tried)} if plan.only else {}
    return model.choice.json() | tried | {"rewrites": list(model.rewrites)}


def errors_of(plan: AcceleratorPlan) -> dict[str, FunctionErrors]:
    """Return the errors of each function, in the order of the functions."""
    names = plan.accelerator.functions
    return {name: plan.part_of(name).plan.formats.errors[name] for name in names}


def interval_entry(plan: AcceleratorPlan, options: BuildOptions) -> dict[str, Any]:
    """Return the initiation interval, the reason for it, and the interval that the link allows.

    With several cores, the interval is the longest.
    """
    bandwidth = options.pacing.bandwidth if options.pacing else None
    slowest = max(plan.parts, key=lambda part: part.plan.ii).plan
    return {
        "ii": slowest.ii,
        "why": slowest.interval.why,
        "fit": options.fit,
        "link": link_entry(traffic(plan.interface), plan.clock_mhz, bandwidth),
    }


def timing_entry(plan: AcceleratorPlan, function: str, packets: Traffic) -> dict[str, Any]:
    """Return a function's latencies, of a packet and within the core, and its largest rate.

    The packet latency is that of :func:`rbdhw.rtl.shell.packet_latency`.
    """
    cycles, clock_mhz = plan.latency(function), plan.clock_mhz
    part = plan.part_of(function)
    pace = max(part.plan.ii / part.copies, packets.beats / packets.streams)
    return {
        "latency_cycles": cycles,
        "latency_us": round(cycles / clock_mhz, 4),
        "core_latency_cycles": part.plan.core.latency[function],
        "cycles_per_task": int(pace) if pace.is_integer() else round(pace, 4),
        "tasks_per_second": round(clock_mhz * 1e6 / pace),
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
