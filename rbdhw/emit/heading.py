"""The header comment of a design's Verilog: robot, options, version, and a digest of all inputs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from importlib.metadata import version

from rbdhw.config import BuildOptions
from rbdhw.design.model import AcceleratorModel
from rbdhw.domain.bounds import Domain
from rbdhw.robot.model import Robot
from rbdhw.robot.serialize import robot_to_json

DIGEST = 16
"""The hexadecimal digits of the digest that are shown."""


def heading(model: AcceleratorModel, options: BuildOptions, ii: int, clock_mhz: float) -> tuple[str, ...]:
    """Return the lines of the comment above the Verilog; equal robots, domains and options give equal lines.

    ``ii`` and ``clock_mhz`` are those of the schedule.
    """
    first, second = model.program.port_widths
    robot = model.robot
    return (
        f"rbdhw {version('rbdhw')}: rigid-body dynamics of the robot {json.dumps(robot.name)}"
        f" with {robot.nv} degrees of freedom",
        "",
        f"Functions: {', '.join(model.functions)}",
        f"Target: {options.target} at {clock_mhz:g} MHz, a task every {ii} cycles",
        f"Core: {options.asked_core}, products of {first} x {second} bits",
        f"Streams: TDATA of {model.interface.data_width} bits, {model.interface.number} numbers",
        f"Base: {options.mounting.base}; external forces: {json.dumps(options.fext)[1:-1]}",
        f"Robot, domain and options: SHA-256 {digest(robot, model.domain, options)}...",
        "",
        "manifest.json says what the words of packets are, selftest.v how to simulate.",
    )


def digest(robot: Robot, domain: Domain, options: BuildOptions) -> str:
    """Return the first digits of the SHA-256 of everything that determines a design."""
    bounds = {array: rows.tolist() for array, rows in domain.bounds.items()}
    inputs = [robot_to_json(robot), bounds, list(domain.wraps), asdict(options)]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:DIGEST]
