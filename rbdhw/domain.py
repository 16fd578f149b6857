"""The input domain: what a task's numbers may be, by default from the URDF's limits.

Accelerations, which a URDF does not limit, may by default reach the velocity limit within a tenth of a
second. External forces may reach the robot's weight on each axis, moments that force on a lever of 0.1 m.
A TOML file overrides any of it::

    [default]
    acceleration = 50.0          # symmetric, or [lower, upper]

    [joints.iiwa_joint_1]
    position = [-1.0, 1.0]       # rad, or m
    velocity = 5.0

    [fext]
    force = 100.0
    moment = 20.0
"""

from __future__ import annotations

import math
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from rbdhw.dynamics.joint import turns
from rbdhw.errors import InputError
from rbdhw.fixed.lower import InputRange
from rbdhw.robot.model import Joint, Robot

TIME_TO_VELOCITY_LIMIT = 0.1
"""Seconds in which the default largest acceleration reaches the velocity limit."""

LEVER = 0.1
"""Metres on which the default largest external moment has the largest force."""

EXTREMES = 24
"""One random task in so many is of each of three extreme kinds."""

Array = NDArray[np.float64]
Pair = tuple[float, float]


def _pair(value: object) -> Pair:
    """``b`` as ``(-b, b)``, ``[l, u]`` as it is."""
    match value:
        case [lower, upper]:
            pair = _number(lower), _number(upper)
        case _:
            pair = -_number(value), _number(value)
    if not pair[0] < pair[1]:
        raise ValueError(_EXPECTED)
    return pair


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
        raise ValueError(_EXPECTED)
    return float(value)


_EXPECTED = "a positive number or [lower, upper] with lower below upper was expected"

Bounds = Annotated[Pair, BeforeValidator(_pair)]


class JointBounds(BaseModel):
    """Overrides for one joint, or for all."""

    model_config = ConfigDict(extra="forbid")
    position: Bounds | None = None
    velocity: Bounds | None = None
    acceleration: Bounds | None = None
    effort: Bounds | None = None


class ForceBounds(BaseModel):
    """Bounds of each component of an external wrench (N, Nm)."""

    model_config = ConfigDict(extra="forbid")
    force: Bounds | None = None
    moment: Bounds | None = None


class Overrides(BaseModel):
    """The content of a domain file."""

    model_config = ConfigDict(extra="forbid")
    default: JointBounds = JointBounds()
    joints: dict[str, JointBounds] = {}
    fext: ForceBounds = ForceBounds()


@dataclass(frozen=True)
class Domain:
    """Bounds by array of the user's interface, in its units: ``(dimension, 2)`` each.

    ``q`` and ``v``, ``a``, ``tau`` have a row a joint; ``fext`` a row a wrench component,
    ``[moment; force]``, the same for every body; ``Minv``, where a task may bring one, a row an entry of the
    matrix, row by row. ``wraps`` marks the joints whose angle has no limits.
    """

    bounds: Mapping[str, Array]
    wraps: tuple[bool, ...]


def read_overrides(path: Path) -> Overrides:
    """The overrides in a TOML file.

    Raises
    ------
    InputError
        Where the file cannot be read or says something else than a domain.
    """
    try:
        return Overrides.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: not a readable TOML file ({error})") from error
    except ValidationError as error:
        raise InputError(f"{path}: {_complaint(error.errors()[0])}") from error


def _complaint(error: ErrorDetails) -> str:
    """Where a domain file says something else than a domain, and what was expected there."""
    where = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        tables: dict[object, type[BaseModel]] = {
            "default": JointBounds,
            "joints": JointBounds,
            "fext": ForceBounds,
        }
        table = tables[error["loc"][0]] if len(error["loc"]) > 1 else Overrides
        return f"{where}: unknown; expected {', '.join(table.model_fields)}"
    if error["type"] == "value_error":
        return f"{where}: {_EXPECTED}"
    return f"{where}: a table was expected"


def input_domain(robot: Robot, overrides: Overrides | None = None) -> Domain:
    """The domain of a robot's inputs.

    Raises
    ------
    InputError
        For an override of an unknown joint, or where neither the URDF nor an override gives a bound.
    """
    given = overrides or Overrides()
    unknown = sorted(set(given.joints) - set(robot.joints))
    if unknown:
        known = ", ".join(robot.joints)
        raise InputError(
            f"domain: joint '{unknown[0]}' is not a joint of {robot.name}; expected one of {known}"
        )
    rows: dict[str, list[Pair]] = {"q": [], "v": [], "a": [], "tau": []}
    for body in robot.bodies:
        own = given.joints.get(body.joint.name, JointBounds())
        for array, pair in _joint_bounds(body.joint, own, given.default).items():
            rows[array].append(pair)
    bounds = {array: np.array(pairs) for array, pairs in rows.items()}
    bounds["fext"] = np.array(_wrench_bounds(robot, given.fext))
    wraps = tuple(not math.isfinite(upper) for _, upper in rows["q"])
    return Domain(bounds, wraps)


def _joint_bounds(joint: Joint, own: JointBounds, default: JointBounds) -> dict[str, Pair]:
    (limits,) = joint.limits
    velocity = own.velocity or default.velocity or _limit(joint, "velocity", limits.velocity)
    largest = max(abs(bound) for bound in velocity) / TIME_TO_VELOCITY_LIMIT
    return {
        "q": own.position or default.position or (limits.lower, limits.upper),
        "v": velocity,
        "a": own.acceleration or default.acceleration or (-largest, largest),
        "tau": own.effort or default.effort or _limit(joint, "effort", limits.effort),
    }


def _limit(joint: Joint, kind: Literal["velocity", "effort"], value: float) -> Pair:
    if not 0.0 < value < math.inf:
        raise InputError(
            f"joint '{joint.name}': {kind} limit {value:g} bounds nothing; a positive limit in the URDF "
            f"or in a domain file was expected"
        )
    return (-value, value)


def _wrench_bounds(robot: Robot, given: ForceBounds) -> list[Pair]:
    mass = sum(body.inertia.mass for body in robot.bodies) + robot.base_inertia.mass
    weight = max(mass * math.hypot(*robot.gravity), 1.0)
    force = given.force or (-weight, weight)
    moment = given.moment or (LEVER * force[0], LEVER * force[1])
    return [moment] * 3 + [force] * 3


def graph_ranges(robot: Robot, domain: Domain, fext: Sequence[int]) -> dict[str, InputRange]:
    """The range of every input a graph of this robot may have, by the graph's names and units."""
    ranges: dict[str, InputRange] = {}
    for i, body in enumerate(robot.bodies):
        lower, upper = domain.bounds["q"][i]
        rotates = body.joint.kind.rotates
        if domain.wraps[i]:
            ranges[f"q[{i}]"] = InputRange(-0.5, 0.5, "turn", wraps=True)
        elif rotates:
            ranges[f"q[{i}]"] = InputRange(turns(lower), turns(upper), "turn")
        else:
            ranges[f"q[{i}]"] = InputRange(lower, upper, "m")
        for array, unit in (("v", "rad/s"), ("a", "rad/s^2"), ("tau", "Nm")):
            lower, upper = domain.bounds[array][i]
            slot = f"v[{i}]" if array == "v" else f"u[{i}]"
            unit = unit if rotates else _LINEAR[unit]
            ranges[f"{array}[{i}]"] = InputRange(lower, upper, unit, slot=slot)
    for i in fext:
        for k, (lower, upper) in enumerate(domain.bounds["fext"]):
            ranges[f"fext[{i},{k}]"] = InputRange(lower, upper, "Nm" if k < 3 else "N")
    if "Minv" in domain.bounds:
        for k, (lower, upper) in enumerate(domain.bounds["Minv"]):
            i, j = divmod(k, len(robot.bodies))
            ranges[f"Minv[{i},{j}]"] = InputRange(lower, upper, "1")
    return ranges


_LINEAR = {"rad/s": "m/s", "rad/s^2": "m/s^2", "Nm": "N"}


def sample(
    robot: Robot, domain: Domain, tasks: int, rng: np.random.Generator, fext: Sequence[int] = ()
) -> dict[str, Array]:
    """Random arrays of the user's interface over the whole domain, its extremes among them.

    Half of the tasks are uniform. In the other half each coordinate sits at one of its bounds with
    probability one half, and one task in sixteen rests (the velocities nearest to zero). Of three tasks in
    :data:`EXTREMES` one has every number at one of its bounds, one all but the positions, and one has this
    with the joints at zero, or the positions nearest to it, where an arm is stretched out.
    """
    bounds = dict(domain.bounds)
    bounds["q"] = np.where(np.array(domain.wraps)[:, None], np.array([-np.pi, np.pi]), bounds["q"])
    kind = rng.integers(EXTREMES, size=(tasks, 1))
    arrays = {name: _draw(bounds[name], tasks, rng, kind < 3) for name in ("v", "a", "tau")}
    arrays["v"][(kind[:, 0] >= 3) & (rng.random(tasks) < 1 / 16)] = np.clip(0.0, *bounds["v"].T)
    arrays["q"] = _draw(bounds["q"], tasks, rng, kind == 0)
    arrays["q"][kind[:, 0] == 2] = np.clip(0.0, *bounds["q"].T)
    arrays["fext"] = np.zeros((tasks, len(robot.bodies), 6))
    for i in sorted(fext):
        arrays["fext"][:, i] = _draw(bounds["fext"], tasks, rng, kind < 3)
    return arrays


def _draw(bounds: Array, tasks: int, rng: np.random.Generator, extreme: NDArray[np.bool_]) -> Array:
    """Numbers within the bounds, and of the ``extreme`` tasks (N, 1) all at bounds."""
    shape = (tasks, len(bounds))
    lower, upper = bounds[:, 0], bounds[:, 1]
    uniform = rng.uniform(lower, upper, shape)
    corner = np.where(rng.random(shape) < 0.5, lower, upper)
    at_corner = (rng.random((tasks, 1)) < 0.5) & (rng.random(shape) < 0.5)
    return np.where(at_corner | extreme, corner, uniform)


def graph_inputs(robot: Robot, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The graph's inputs, by name and in its units, from arrays of the user's interface."""
    inputs: dict[str, Array] = {}
    for i, body in enumerate(robot.bodies):
        position = arrays["q"][:, i]
        inputs[f"q[{i}]"] = position / (2.0 * np.pi) if body.joint.kind.rotates else position
        for name in ("v", "a", "tau"):
            if name in arrays:
                inputs[f"{name}[{i}]"] = arrays[name][:, i]
        if "Minv" in arrays:
            inputs |= {f"Minv[{i},{j}]": arrays["Minv"][:, i, j] for j in range(i + 1)}
        if "fext" in arrays:
            for k in range(6):
                inputs[f"fext[{i},{k}]"] = arrays["fext"][:, i, k]
    return inputs
