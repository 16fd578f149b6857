"""The header comment of a design's Verilog: robot, options, version, and a digest of all inputs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from importlib.metadata import version

from rbdhw.domain.bounds import Domain
from rbdhw.explore.plan import AcceleratorPlan, PlannedCore
from rbdhw.options.build import BY_TASK, DEFAULT_ITERATIONS, BuildOptions
from rbdhw.robot.drives import NO_DRIVES
from rbdhw.robot.model import Robot
from rbdhw.robot.mounting import NO_LINKS, Mounting
from rbdhw.robot.serialize import robot_to_json
from rbdhw.verilog_names import DEFAULT_NAME

DIGEST = 16
"""The hexadecimal digits of the digest that are shown."""

_DEFAULTS_OF_MOUNTING = {
    "time_step": None,
    "drives": NO_DRIVES,
    "parameters": NO_LINKS,
    "contacts": Mounting.contacts,
    "contact_axes": Mounting.contact_axes,
    "spheres": Mounting.spheres,
    "loops": Mounting.loops,
    "contact_gains": Mounting.contact_gains,
}
_DEFAULTS = {
    "horizon": None,
    "rollout": (),
    "hold": 1,
    "cost_rows": 0,
    "means": False,
    "iterations": DEFAULT_ITERATIONS,
    "problems": 1,
    "blocks": 1,
    "parameters_by": BY_TASK,
    "parameter_sets": 1,
    "streams": 1,
    "stream_clock_mhz": None,
    "name": DEFAULT_NAME,
}


def heading(plan: AcceleratorPlan, options: BuildOptions) -> tuple[str, ...]:
    """Return the lines of the comment above the Verilog.

    Equal robots, domains and options give equal lines.
    """
    model, robot = plan.accelerator, plan.accelerator.robot
    asked = options if plan.only is None else replace(options, core=plan.only.core.name)
    return (
        f"rbdhw {version('rbdhw')}: rigid-body dynamics of the robot {json.dumps(robot.name)}"
        f" with {robot.nv} degrees of freedom",
        "",
        f"Target: {options.target} at {plan.clock_mhz:g} MHz",
        *(_core_line(part) for part in plan.parts),
        _streams_line(plan),
        f"Base: {options.mounting.base}; external forces: {json.dumps(options.fext)[1:-1]}",
        f"Robot, domain and options: SHA-256 {digest(robot, model.domain, asked)}...",
        "",
        "manifest.json says what the words of packets are, selftest.v how to simulate.",
    )


def _streams_line(plan: AcceleratorPlan) -> str:
    """Return the description of the streams: their number, unless there is one pair, and their width."""
    interface = plan.interface
    pairs = f"{interface.streams} pairs, " if interface.streams > 1 else ""
    return f"Streams: {pairs}TDATA of {interface.data_width} bits, {interface.number} numbers"


def _core_line(part: PlannedCore) -> str:
    """Return the description of a core: its functions, its kind, its pace and its products."""
    plan = part.plan
    first, second = plan.program.port_widths
    copies = "Core" if part.copies == 1 else f"{part.copies} cores"
    return (
        f"{copies}: {', '.join(part.functions)}; {plan.core.name}, a task every {plan.ii} cycles, "
        f"products of {first} x {second} bits"
    )


def digest(robot: Robot, domain: Domain, options: BuildOptions) -> str:
    """Return the first digits of the SHA-256 of everything that determines a design."""
    bounds = {array: rows.tolist() for array, rows in domain.bounds.items()}
    asked = asdict(options)
    # Options that came later count only where they are used: other designs keep their digests.
    for chosen, entries, defaults in (
        (options.mounting, asked["mounting"], _DEFAULTS_OF_MOUNTING),
        (options, asked, _DEFAULTS),
    ):
        for name in (name for name, default in defaults.items() if getattr(chosen, name) == default):
            del entries[name]
    if domain.any_forces:
        asked["any_forces"] = True
    inputs = [robot_to_json(robot), bounds, list(domain.wraps), asked]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:DIGEST]
