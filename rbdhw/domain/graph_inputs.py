"""The inputs of a graph: their ranges from a domain, and their values from arrays of the user's interface.

A graph has an input for each number that travels, in its own units: angles are in turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import MULTIPLIERS
from rbdhw.domain.bounds import Domain
from rbdhw.dynamics.joint import turns
from rbdhw.fixed.lower import InputRange
from rbdhw.protocol import BASE_HELD, CONTACT, HOLDING, NEXT_STATE, PARAMETERS
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import held_bounds, held_values
from rbdhw.robot.units import BASE_UNITS

Array = NDArray[np.float64]


def graph_ranges(robot: Robot, domain: Domain, fext: Sequence[int]) -> dict[str, InputRange]:
    """Return the range of every possible input of a graph of this robot, by the graph's names and units.

    The next state of a step in time has the units of the state.
    """
    ranges = _position_ranges(robot, domain)
    for k, angular in enumerate(turns_ for joint in robot.free_joints for turns_ in joint.kind.angular):
        for array, (turning, sliding) in _RATE_UNITS.items():
            slot = f"v[{k}]" if array == "v" else f"u[{k}]"
            lower, upper = domain.bounds[array][k]
            ranges[f"{array}[{k}]"] = InputRange(lower, upper, turning if angular else sliding, slot=slot)
        for array in (name for name in MULTIPLIERS if name in domain.bounds):
            lower, upper = domain.bounds[array][k]
            ranges[f"{array}[{k}]"] = InputRange(lower, upper, "1", slot=f"lambda[{k}]")
    for array, units in BASE_UNITS.items():
        for k, (lower, upper) in enumerate(domain.bounds.get(array, ())):
            ranges[f"{array}[{k}]"] = InputRange(lower, upper, units[k])
    for k, (lower, upper) in enumerate(domain.bounds.get(CONTACT, ())):
        ranges[f"{CONTACT}[{k}]"] = InputRange(lower, upper, "1")
    for name, unit in (("h", "s"), (BASE_HELD, "1")):
        for lower, upper in domain.bounds.get(name, ()):
            ranges[name] = InputRange(lower, upper, unit)
    for i in fext:
        for k, (lower, upper) in enumerate(domain.bounds["fext"]):
            ranges[f"fext[{i},{k}]"] = InputRange(lower, upper, "N" if k < 3 else "Nm")
    for k, (lower, upper) in enumerate(domain.bounds.get("Minv", ())):
        i, j = divmod(k, robot.nv)
        ranges[f"Minv[{i},{j}]"] = InputRange(lower, upper, "1")
    if PARAMETERS in domain.bounds:
        assert robot.loaded is not None
        held = zip(held_bounds(robot), robot.loaded.units, strict=True)
        for k, ((lower, upper), unit) in enumerate(held):
            ranges[f"{PARAMETERS}[{k}]"] = InputRange(lower, upper, unit)
    if "h" in domain.bounds:
        state = [f"q[{k}]" for k in range(robot.nq)] + [f"v[{k}]" for k in range(robot.nv)]
        ranges |= {f"{NEXT_STATE}[{k}]": ranges[name] for k, name in enumerate(state)}
    return ranges


def _position_ranges(robot: Robot, domain: Domain) -> dict[str, InputRange]:
    ranges: dict[str, InputRange] = {}
    for body, span in zip(robot.bodies, robot.q_of, strict=True):
        kind = body.joint.kind
        if body.joint.mimic is not None:
            continue
        for k, angle in zip(range(robot.nq)[span], kind.angles, strict=True):
            lower, upper = domain.bounds["q"][k]
            if domain.wraps[k]:
                ranges[f"q[{k}]"] = InputRange(-0.5, 0.5, "turn", wraps=True)
            elif angle:
                ranges[f"q[{k}]"] = InputRange(turns(lower), turns(upper), "turn")
            else:
                part = kind.quaternion is not None and k - span.start >= kind.quaternion.start
                ranges[f"q[{k}]"] = InputRange(lower, upper, "1" if part else "m")
    return ranges


_RATE_UNITS = {"v": ("rad/s", "m/s"), "a": ("rad/s^2", "m/s^2"), "tau": ("Nm", "N")}
"""The units of a rotation and of a translation."""


def angular_coordinates(robot: Robot) -> list[bool]:
    """Return for each of the robot's configuration coordinates whether it is an angle."""
    return [angle for joint in robot.free_joints for angle in joint.kind.angles]


def graph_inputs(robot: Robot, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Convert arrays of the user's interface to the graph's inputs, by name and in its units."""
    inputs: dict[str, Array] = {}
    for k, angle in enumerate(angular_coordinates(robot)):
        position = arrays["q"][:, k]
        inputs[f"q[{k}]"] = position / (2.0 * np.pi) if angle else position
    for name in ("v", "a", "tau", "base_v", "base_a", "gravity", CONTACT, HOLDING, *MULTIPLIERS):
        if name in arrays:
            inputs |= {f"{name}[{k}]": column for k, column in enumerate(arrays[name].T)}
    inputs |= {name: arrays[name] for name in ("h", BASE_HELD) if name in arrays}
    if PARAMETERS in arrays:
        values = held_values(robot, arrays[PARAMETERS])
        inputs |= {f"{PARAMETERS}[{k}]": column for k, column in enumerate(values.T)}
    if "Minv" in arrays:
        inputs |= {f"Minv[{i},{j}]": arrays["Minv"][:, i, j] for i in range(robot.nv) for j in range(i + 1)}
    if "fext" in arrays:
        wrenches = np.moveaxis(arrays["fext"], 0, -1)
        inputs |= {f"fext[{i},{k}]": values for i, row in enumerate(wrenches) for k, values in enumerate(row)}
    return inputs
