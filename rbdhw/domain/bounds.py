"""The input domain: the ranges of a task's numbers, by default from the limits in the URDF.

A URDF does not limit accelerations. By default they may reach the velocity limit within a tenth of a second.
External forces may reach the robot's weight on each axis, and moments that force on a lever of 0.1 m; so
may the wrench on a floating body. Free motion (of a base, or of a joint of several degrees of freedom without
limits) is up to 2 m/s and 4 rad/s, within a metre. If a joint of one degree of freedom has no limits, or
limits that are not meaningful, :mod:`rbdhw.domain.default_limits` substitutes others, and ``Domain.remarks``
reports it. A TOML file overrides any of these bounds; for a joint of several degrees of freedom a bound
applies to each of them::

    [default]
    acceleration = 50.0          # symmetric, or [lower, upper]

    [joints.iiwa_joint_1]
    position = [-1.0, 1.0]       # rad, or m
    velocity = 5.0
    multiplier = 2.0             # of this joint's force or acceleration

    [base]                       # floating, or with its motion given
    linear_velocity = 3.0
    angular_velocity = 5.0
    linear_acceleration = 30.0
    angular_acceleration = 50.0
    force = 300.0
    moment = 50.0

    [fext]
    force = 100.0
    moment = 20.0

    [integration]
    time_step = [0.0005, 0.01]   # s, of tasks that bring it
"""

from __future__ import annotations

import math
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from rbdhw.domain.default_limits import FREE_REACH, FREE_VELOCITY, Pair, Substitutes
from rbdhw.dynamics.integration import LARGEST_ANGLE
from rbdhw.dynamics.joint import turns
from rbdhw.errors import InputError
from rbdhw.fixed.lower import InputRange
from rbdhw.protocol import MULTIPLIERS, NEXT_STATE
from rbdhw.robot.model import Joint, JointKind, Limits, Robot
from rbdhw.runtime.files import read
from rbdhw.runtime.number_bounds import (
    ACCELERATION,
    DOMAIN_BYTES,
    DOMAIN_LINE,
    EFFORT,
    POSITION,
    TIME_STEP,
    VELOCITY,
    Bound,
)

TIME_TO_VELOCITY_LIMIT = 0.1
"""The time (s) in which the default largest acceleration reaches the velocity limit."""

LEVER = 0.1
"""The lever (m) at which the largest external force gives the default largest external moment."""

QUATERNION_SLACK = 2.0**-11
"""The tolerance of a quaternion's length, for rounding at the sender."""

MULTIPLIER = (-1.0, 1.0)
"""The default bounds of a multiplier. Results are proportional to the multipliers of a task."""

DEFAULT_TIME_STEP = (1e-3, 0.02)
"""The default bounds of the time step (s)."""

GRAVITY_SLACK = 1.05
"""The factor by which a gravity given with each task may exceed the robot's own."""

Array = NDArray[np.float64]


def _pair(value: object, bound: Bound) -> Pair:
    """Return ``b`` as ``(-b, b)`` and ``[l, u]`` as ``(l, u)``; ValueError if it is neither or too large."""
    match value:
        case [lower, upper]:
            pair = _number(lower), _number(upper)
        case _:
            pair = -_number(value), _number(value)
    if not pair[0] < pair[1]:
        raise ValueError(_EXPECTED)
    if not bound.holds(max(pair, key=abs)):
        raise ValueError(bound.expected)
    return pair


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
        raise ValueError(_EXPECTED)
    return float(value)


def _times(value: object) -> Pair:
    """Return ``[l, u]`` as ``(l, u)``; ValueError unless both are time steps and ``l`` is the smaller."""
    match value:
        case [lower, upper]:
            pair = _number(lower), _number(upper)
            if 0.0 < pair[0] < pair[1] and TIME_STEP.holds(*pair):
                return pair
    raise ValueError(f"[lower, upper], each of {TIME_STEP.positive}, with lower below upper")


_EXPECTED = "a positive number or [lower, upper] with lower below upper"

Positions = Annotated[Pair, BeforeValidator(partial(_pair, bound=POSITION))]
Velocities = Annotated[Pair, BeforeValidator(partial(_pair, bound=VELOCITY))]
Accelerations = Annotated[Pair, BeforeValidator(partial(_pair, bound=ACCELERATION))]
Efforts = Annotated[Pair, BeforeValidator(partial(_pair, bound=EFFORT))]
Times = Annotated[Pair, BeforeValidator(_times)]


class JointBounds(BaseModel):
    """Overrides of the bounds of one joint or of all."""

    model_config = ConfigDict(extra="forbid")
    position: Positions | None = None
    velocity: Velocities | None = None
    acceleration: Accelerations | None = None
    effort: Efforts | None = None
    multiplier: Efforts | None = None


class ForceBounds(BaseModel):
    """Bounds of each component of an external wrench (N, Nm)."""

    model_config = ConfigDict(extra="forbid")
    force: Efforts | None = None
    moment: Efforts | None = None


class BaseBounds(ForceBounds):
    """Bounds of each component of a moving base's motion, and of the wrench on a floating base."""

    linear_velocity: Velocities | None = None
    angular_velocity: Velocities | None = None
    linear_acceleration: Accelerations | None = None
    angular_acceleration: Accelerations | None = None


class IntegrationBounds(BaseModel):
    """Bounds of the steps in time."""

    model_config = ConfigDict(extra="forbid")
    time_step: Times | None = None


class Overrides(BaseModel):
    """The contents of a domain file."""

    model_config = ConfigDict(extra="forbid")
    default: JointBounds = JointBounds()
    joints: dict[str, JointBounds] = {}
    base: BaseBounds = BaseBounds()
    fext: ForceBounds = ForceBounds()
    integration: IntegrationBounds = IntegrationBounds()


@dataclass(frozen=True)
class Domain:
    """Bounds by array of the user's interface, in its units: ``(dimension, 2)`` each.

    ``q`` has ``nq`` rows; ``v``, ``a`` and ``tau`` have ``nv``. ``base_v``, ``base_a``, ``gravity`` and the
    multipliers (``nv``) exist if tasks contain them, and ``h`` (one row) if there are steps in time. ``fext``
    has a row for each component of a wrench, ``[force; moment]``, the same for every body. ``Minv``, if a
    task may contain it, has a row for each entry of the matrix, row by row.
    ``wraps`` marks the coordinates of ``q`` that are angles without limits. ``remarks`` reports joints whose
    limits were replaced, and bounds that look like degrees; the comparison of domains ignores it.
    """

    bounds: Mapping[str, Array]
    wraps: tuple[bool, ...]
    remarks: tuple[str, ...] = field(default=(), compare=False)


def read_overrides(path: Path) -> Overrides:
    """Read the overrides in a TOML file.

    Raises
    ------
    InputError
        The file cannot be read or is not a valid domain file.
    """
    data = read(path, "a TOML file with bounds of the inputs", DOMAIN_BYTES)
    longest = max(map(len, data.split(b"\n")))
    if longest > DOMAIN_LINE:
        raise InputError(str(path), f"a line of {longest:,} characters", f"at most {DOMAIN_LINE:,}")
    try:
        return Overrides.model_validate(tomllib.loads(data.decode("utf-8")))
    except ValidationError as error:
        raise _refusal(path, error.errors()[0]) from error
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else error
        raise InputError(str(path), f"not a readable TOML file ({reason})") from error


def _refusal(path: Path, error: ErrorDetails) -> InputError:
    """Return the refusal of a domain file at its first error."""
    where = f"{path}, {'.'.join(str(part) for part in error['loc'])}"
    if error["type"] == "extra_forbidden":
        tables: dict[object, type[BaseModel]] = {
            "default": JointBounds,
            "joints": JointBounds,
            "base": BaseBounds,
            "fext": ForceBounds,
            "integration": IntegrationBounds,
        }
        table = tables[error["loc"][0]] if len(error["loc"]) > 1 else Overrides
        return InputError(where, "unknown", f"one of {', '.join(table.model_fields)}")
    expected = str(error["ctx"]["error"]) if error["type"] == "value_error" else "a table"
    return InputError(where, f"is {error['input']!r}", expected)


def input_domain(robot: Robot, overrides: Overrides | None = None, *, strict: bool = False) -> Domain:
    """Return the domain of a robot's inputs.

    Parameters
    ----------
    strict
        Whether to refuse limits that are not meaningful, unless they are overridden, instead of replacing
        them.

    Raises
    ------
    InputError
        An override names an unknown joint or does not fit the base; or, if ``strict``, a limit is refused.
    """
    given = overrides or Overrides()
    unknown = sorted(set(given.joints) - set(robot.joints))
    if unknown:
        reason = f"not a joint of {robot.name}"
        raise InputError(f"domain, joint '{unknown[0]}'", reason, f"one of {', '.join(robot.joints)}")
    _check_base(robot, given)
    wrench = _wrench_bounds(robot, given.fext)
    rows: dict[str, list[Pair]] = {"q": [], "v": [], "a": [], "tau": []}
    unwrapped, substitutes = _unwrap_joints(robot), Substitutes(robot, strict)
    for body, place in zip(robot.bodies, robot.q_of, strict=True):
        joint = body.joint
        if joint.mimic is None:
            positions = _positions(joint, given, substitutes, wraps=place.start not in unwrapped)
            rows["q"] += positions
            for array, pairs in _motion_bounds(joint, given, wrench, substitutes).items():
                rows[array] += pairs
    if robot.base_given:
        rows["base_v"] = _base_velocity(given.base)
        rows["base_a"] = _base_acceleration(given.base, rows["base_v"])
    if robot.gravity_given:
        largest = GRAVITY_SLACK * math.hypot(*robot.gravity)
        rows["gravity"] = [(-largest, largest)] * 3
    bounds = {array: np.array(pairs) for array, pairs in rows.items()}
    bounds["fext"] = np.array(wrench)
    unlimited = tuple(not math.isfinite(upper) for _, upper in rows["q"])
    wraps = tuple(free and k not in unwrapped for k, free in enumerate(unlimited))
    bounds["q"][np.array(unlimited) & ~np.array(wraps)] = (-math.pi, math.pi)
    return Domain(bounds, wraps, substitutes.remarks)


def with_multipliers(
    domain: Domain, robot: Robot, overrides: Overrides | None, arrays: Iterable[str]
) -> Domain:
    """Return the domain with bounds of these arrays of multipliers."""
    given = overrides or Overrides()
    rows: list[Pair] = []
    for joint in (body.joint for body in robot.bodies if body.joint.mimic is None):
        own = given.joints.get(joint.name, JointBounds()).multiplier or given.default.multiplier
        rows += [own or MULTIPLIER] * joint.kind.nv
    return replace(domain, bounds={**domain.bounds, **{array: np.array(rows) for array in arrays}})


def with_time_step(domain: Domain, robot: Robot, overrides: Overrides | None) -> Domain:
    """Return the domain with bounds ``h`` of the time step, which are the robot's own step if it is fixed.

    Raises
    ------
    InputError
        At the largest time step, the largest velocity takes a joint beyond its domain at once, or turns a
        body by more than the exponential map's series allow.
    """
    given = (overrides or Overrides()).integration.time_step
    if robot.time_step is None:
        pair = given or DEFAULT_TIME_STEP
    elif given is not None:
        reason = f"the time step is fixed at {robot.time_step:g} s"
        raise InputError("domain, integration.time_step", reason, "none", "leave out --time-step")
    else:
        pair = robot.time_step, robot.time_step
    longest, name = _longest_step(robot, domain)
    if pair[1] > longest:
        where = "domain, integration.time_step" if robot.time_step is None else "time-step"
        reason = f"in {pair[1]:g} s at the largest velocity joint '{name}' leaves its domain"
        raise InputError(
            where, reason, f"at most {longest:.2g} s", "use a smaller step or smaller velocities"
        )
    return replace(domain, bounds={**domain.bounds, "h": np.array([pair])})


def _longest_step(robot: Robot, domain: Domain) -> tuple[float, str]:
    """Return the longest time step (s) that a domain allows, and the joint that limits it."""
    longest = []
    for body, own, rates in zip(robot.bodies, robot.q_of, robot.v_of, strict=True):
        kind = body.joint.kind
        if body.joint.mimic is not None:
            continue
        fastest = np.abs(domain.bounds["v"][rates]).max(axis=1)
        if kind.quaternion is not None:
            longest.append((LARGEST_ANGLE / math.hypot(*fastest[-3:]), body.joint.name))
            continue
        ranges = np.diff(domain.bounds["q"][own], axis=1)[:, 0]
        wide = np.where(np.isfinite(ranges), ranges, math.pi)
        longest.append((float((wide / fastest).min()), body.joint.name))
    return min(longest)


def _check_base(robot: Robot, given: Overrides) -> None:
    """Refuse bounds of a base that does not move, and bounds of a floating joint among those of joints."""
    if given.base != BaseBounds() and not (robot.floats or robot.base_given):
        reason = f"the base of {robot.name} is fixed"
        raise InputError("domain, base", reason, "a base that moves", "use --base floating or --base given")
    if robot.floats and robot.bodies[0].joint.name in given.joints:
        where = f"domain, joint '{robot.bodies[0].joint.name}'"
        raise InputError(where, "floats", "its bounds in the table base")


def _unwrap_joints(robot: Robot) -> set[int]:
    """Return the configuration coordinates that must not wrap, because another joint depends on the turn."""
    kinds = {body.joint.name: body.joint.kind for body in robot.bodies}
    found = set()
    for body, place in zip(robot.bodies, robot.q_of, strict=True):
        joint = body.joint
        if joint.mimic is not None:
            whole = joint.kind.rotates and kinds[joint.mimic.joint].rotates
            mantissa, exponent = math.frexp(abs(joint.mimic.multiplier))
            doubled = mantissa == 0.5 and exponent > 0  # a left shift, which wraps as the angle does
            still = joint.mimic.multiplier == 0.0
            found |= set() if still or (whole and doubled) else {place.start}
        elif joint.kind is JointKind.HELICAL:
            found.add(place.start)
    return found


def _positions(joint: Joint, given: Overrides, substitutes: Substitutes, *, wraps: bool) -> list[Pair]:
    """Return the bounds of a joint's coordinates; those of an angle without limits are infinite."""
    if joint.kind is JointKind.FLOATING:
        return [(-FREE_REACH, FREE_REACH)] * 3 + [_QUATERNION] * 4
    if joint.kind.quaternion is not None:
        return [_QUATERNION] * joint.kind.nq
    own = given.joints.get(joint.name, JointBounds())
    asked = own.position or given.default.position
    if asked is None and joint.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC):
        pairs = [substitutes.position(joint, wraps=wraps)]
    else:
        pairs = [
            asked or _limits(limits, angle)
            for limits, angle in zip(joint.limits, joint.kind.angles, strict=True)
        ]
    for pair, angle in zip(pairs, joint.kind.angles, strict=True):
        if angle:
            substitutes.check_unit(joint, pair, "limits" if asked is None else "bounds")
    return pairs


def _limits(limits: Limits, angle: bool) -> Pair:
    """Return the limits of one coordinate; for a length without limits :data:`FREE_REACH` either way."""
    bounded = angle or math.isfinite(limits.upper)
    return (limits.lower, limits.upper) if bounded else (-FREE_REACH, FREE_REACH)


def _motion_bounds(
    joint: Joint, given: Overrides, wrench: list[Pair], substitutes: Substitutes
) -> dict[str, list[Pair]]:
    """Return the bounds of a joint's velocities, accelerations and forces."""
    if joint.kind is JointKind.FLOATING:
        return _bound_floating_base(given, wrench)
    own = given.joints.get(joint.name, JointBounds())
    asked, effort = own.velocity or given.default.velocity, own.effort or given.default.effort
    single = joint.kind.nv == 1
    if asked is not None:
        velocities = [asked] * joint.kind.nv
    else:
        velocities = [substitutes.velocity(joint)] if single else _free_velocities(joint)
    acceleration = own.acceleration or given.default.acceleration
    accelerations = [acceleration or _reachable(bounds) for bounds in velocities]
    if effort is not None:
        efforts = [effort] * joint.kind.nv
    else:
        efforts = [substitutes.effort(joint, accelerations[0])] if single else _free_efforts(joint, wrench)
    return {"v": velocities, "a": accelerations, "tau": efforts}


def _free_velocities(joint: Joint) -> list[Pair]:
    """Return the velocity limits of a joint of several degrees of freedom, or those of free motion."""
    given = zip(joint.limits, joint.kind.angular, strict=True)
    free = {turning: (-velocity, velocity) for turning, velocity in FREE_VELOCITY.items()}
    return [_around(limits.velocity, free[turning]) for limits, turning in given]


def _free_efforts(joint: Joint, wrench: list[Pair]) -> list[Pair]:
    """Return the effort limits of a joint of several degrees of freedom, or those of an external wrench."""
    given = zip(joint.limits, joint.kind.angular, strict=True)
    return [_around(limits.effort, wrench[3 if turning else 0]) for limits, turning in given]


def _around(limit: float, free: Pair) -> Pair:
    """Return ``limit`` either way, or ``free`` if ``limit`` is zero or infinite."""
    return (-limit, limit) if 0.0 < limit < math.inf else free


def _bound_floating_base(given: Overrides, wrench: list[Pair]) -> dict[str, list[Pair]]:
    """Return the bounds of a floating body's velocities, accelerations and wrench."""
    velocity = _base_velocity(given.base)
    force, moment = given.base.force or wrench[0], given.base.moment or wrench[3]
    return {
        "v": velocity,
        "a": _base_acceleration(given.base, velocity),
        "tau": [force] * 3 + [moment] * 3,
    }


def _base_velocity(given: BaseBounds) -> list[Pair]:
    linear, angular = ((-FREE_VELOCITY[turns], FREE_VELOCITY[turns]) for turns in (False, True))
    return [given.linear_velocity or linear] * 3 + [given.angular_velocity or angular] * 3


def _base_acceleration(given: BaseBounds, velocity: list[Pair]) -> list[Pair]:
    linear = given.linear_acceleration or _reachable(velocity[0])
    return [linear] * 3 + [given.angular_acceleration or _reachable(velocity[3])] * 3


def _reachable(velocity: Pair) -> Pair:
    """Return the accelerations that reach a velocity in :data:`TIME_TO_VELOCITY_LIMIT`."""
    largest = max(abs(bound) for bound in velocity) / TIME_TO_VELOCITY_LIMIT
    return (-largest, largest)


_QUATERNION: Pair = (-1.0 - QUATERNION_SLACK, 1.0 + QUATERNION_SLACK)


def _wrench_bounds(robot: Robot, given: ForceBounds) -> list[Pair]:
    mass = sum(body.inertia.mass for body in robot.bodies) + robot.base_inertia.mass
    weight = max(mass * math.hypot(*robot.gravity), 1.0)
    force = given.force or (-weight, weight)
    moment = given.moment or (LEVER * force[0], LEVER * force[1])
    return [force] * 3 + [moment] * 3


def graph_ranges(robot: Robot, domain: Domain, fext: Sequence[int]) -> dict[str, InputRange]:
    """Return the range of every possible input of a graph of this robot, by the graph's names and units.

    The next state of a step in time has the units of the state.
    """
    ranges = _position_ranges(robot, domain)
    for k, turns_ in enumerate(_angular_velocities(robot)):
        for array, unit in (("v", "rad/s"), ("a", "rad/s^2"), ("tau", "Nm")):
            slot = f"v[{k}]" if array == "v" else f"u[{k}]"
            unit = unit if turns_ else _LINEAR[unit]
            lower, upper = domain.bounds[array][k]
            ranges[f"{array}[{k}]"] = InputRange(lower, upper, unit, slot=slot)
        for array in (name for name in MULTIPLIERS if name in domain.bounds):
            lower, upper = domain.bounds[array][k]
            ranges[f"{array}[{k}]"] = InputRange(lower, upper, "1", slot=f"lambda[{k}]")
    for array, units in _BASE_UNITS.items():
        for k, (lower, upper) in enumerate(domain.bounds.get(array, ())):
            ranges[f"{array}[{k}]"] = InputRange(lower, upper, units[k])
    for lower, upper in domain.bounds.get("h", ()):
        ranges["h"] = InputRange(lower, upper, "s")
    for i in fext:
        for k, (lower, upper) in enumerate(domain.bounds["fext"]):
            ranges[f"fext[{i},{k}]"] = InputRange(lower, upper, "N" if k < 3 else "Nm")
    for k, (lower, upper) in enumerate(domain.bounds.get("Minv", ())):
        i, j = divmod(k, robot.nv)
        ranges[f"Minv[{i},{j}]"] = InputRange(lower, upper, "1")
    if "h" in domain.bounds:
        state = [f"q[{k}]" for k in range(robot.nq)] + [f"v[{k}]" for k in range(robot.nv)]
        ranges |= {f"{NEXT_STATE}[{k}]": ranges[name] for k, name in enumerate(state)}
    return ranges


def _position_ranges(robot: Robot, domain: Domain) -> dict[str, InputRange]:
    ranges: dict[str, InputRange] = {}
    for body, place in zip(robot.bodies, robot.q_of, strict=True):
        kind = body.joint.kind
        if body.joint.mimic is not None:
            continue
        for k, angle in zip(range(robot.nq)[place], kind.angles, strict=True):
            lower, upper = domain.bounds["q"][k]
            if domain.wraps[k]:
                ranges[f"q[{k}]"] = InputRange(-0.5, 0.5, "turn", wraps=True)
            elif angle:
                ranges[f"q[{k}]"] = InputRange(turns(lower), turns(upper), "turn")
            else:
                part = kind.quaternion is not None and k - place.start >= kind.quaternion.start
                ranges[f"q[{k}]"] = InputRange(lower, upper, "1" if part else "m")
    return ranges


_LINEAR = {"rad/s": "m/s", "rad/s^2": "m/s^2", "Nm": "N"}

_BASE_UNITS = {
    "base_v": ("m/s",) * 3 + ("rad/s",) * 3,
    "base_a": ("m/s^2",) * 3 + ("rad/s^2",) * 3,
    "gravity": ("m/s^2",) * 3,
}


def _angular_velocities(robot: Robot) -> list[bool]:
    """Return for each of the robot's velocities whether it is angular."""
    own = (body.joint for body in robot.bodies if body.joint.mimic is None)
    return [turns_ for joint in own for turns_ in joint.kind.angular]


def angular_coordinates(robot: Robot) -> list[bool]:
    """Return for each of the robot's configuration coordinates whether it is an angle."""
    own = (body.joint for body in robot.bodies if body.joint.mimic is None)
    return [angle for joint in own for angle in joint.kind.angles]


def graph_inputs(robot: Robot, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Convert arrays of the user's interface to the graph's inputs, by name and in its units."""
    inputs: dict[str, Array] = {}
    for k, angle in enumerate(angular_coordinates(robot)):
        position = arrays["q"][:, k]
        inputs[f"q[{k}]"] = position / (2.0 * np.pi) if angle else position
    for name in ("v", "a", "tau", "base_v", "base_a", "gravity", *MULTIPLIERS):
        if name in arrays:
            inputs |= {f"{name}[{k}]": column for k, column in enumerate(arrays[name].T)}
    if "h" in arrays:
        inputs["h"] = arrays["h"]
    if "Minv" in arrays:
        inputs |= {f"Minv[{i},{j}]": arrays["Minv"][:, i, j] for i in range(robot.nv) for j in range(i + 1)}
    if "fext" in arrays:
        wrenches = np.moveaxis(arrays["fext"], 0, -1)
        inputs |= {f"fext[{i},{k}]": values for i, row in enumerate(wrenches) for k, values in enumerate(row)}
    return inputs
