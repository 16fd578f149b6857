"""The input domain: the ranges of a task's numbers, by default from the limits in the URDF.

A URDF does not limit accelerations. By default they may reach the velocity limit within a tenth of a second.
External forces may reach the robot's weight on each axis, and moments that force on a lever of 0.1 m. The
wrench on a floating body holds the outstretched robot against gravity and accelerates it. Free motion (of a
base, or of a joint of several degrees of freedom without limits) is up to 2 m/s and 4 rad/s, within a metre.
If a joint of one degree of freedom has no limits, or limits that are not meaningful,
:mod:`rbdhw.domain.default_limits` substitutes others, and ``Domain.remarks`` reports it. A domain file
overrides any of these bounds (:mod:`rbdhw.domain.overrides`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import MULTIPLIERS
from rbdhw.domain.default_limits import FREE_REACH, FREE_VELOCITY, Pair, Substitutes, bearing_wrench
from rbdhw.domain.overrides import BaseBounds, ForceBounds, JointBounds, Overrides
from rbdhw.dynamics.integration import LARGEST_ANGLE
from rbdhw.errors import InputError
from rbdhw.protocol import BASE_HELD, CONTACT, HOLDING, PARAMETERS, any_takes
from rbdhw.robot.model import Joint, JointKind, Limits, Robot
from rbdhw.robot.pinocchio import UNIT_SLACK

TIME_TO_VELOCITY_LIMIT = 0.1
"""The time (s) in which the default largest acceleration reaches the velocity limit."""

LEVER = 0.1
"""The lever (m) at which the largest external force gives the default largest external moment."""

MULTIPLIER = (-1.0, 1.0)
"""The default bounds of a multiplier. Results are proportional to the multipliers of a task."""

DEFAULT_TIME_STEP = (1e-3, 0.02)
"""The default bounds of the time step (s)."""

FREE_FALL = 9.81
"""The acceleration (m/s^2) that makes a weight of a mass where there is no gravity."""

GRAVITY_SLACK = 1.05
"""The factor by which a gravity given with each task may exceed the robot's own."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Domain:
    """Bounds by array of the user's interface, in its units: ``(dimension, 2)`` each.

    ``q`` has ``nq`` rows; ``v``, ``a`` and ``tau`` have ``nv``. ``base_v``, ``base_a``, ``base_held`` (one
    row), ``contact``, ``gravity`` and the multipliers (``nv``) exist if tasks contain them, and ``h`` (one
    row) if there are steps in time. ``fext`` has a row for each component of a wrench, ``[force; moment]``,
    the same for every body. ``Minv``, if a task may contain it, has a row for each entry of the matrix, row
    by row, and so have ``parameters``.
    ``wraps`` marks the coordinates of ``q`` that are angles without limits. ``remarks`` reports joints whose
    limits were replaced, and bounds that look like degrees; the comparison of domains ignores it. With
    ``any_forces`` the domain has every force within its bounds, and otherwise those of motions
    (:mod:`rbdhw.domain.forces`).
    """

    bounds: Mapping[str, Array]
    wraps: tuple[bool, ...]
    remarks: tuple[str, ...] = field(default=(), compare=False)
    any_forces: bool = False


def input_domain(robot: Robot, overrides: Overrides | None = None, *, strict: bool = False) -> Domain:
    """Return the domain of a robot's inputs.

    Raises InputError if an override names an unknown joint or does not fit the base; or, if ``strict``, a
    limit is refused. ``strict`` states whether to refuse limits that are not meaningful, unless they are
    overridden, instead of replacing them.
    """
    overrides = overrides or Overrides()
    unknown = sorted(set(overrides.joints) - set(robot.joints))
    if unknown:
        reason = f"not a joint of {robot.name}"
        raise InputError(f"domain, joint '{unknown[0]}'", reason, f"one of {', '.join(robot.joints)}")
    _check_base(robot, overrides)
    wrench = _wrench_bounds(robot, overrides.fext)
    rows: dict[str, list[Pair]] = {"q": [], "v": [], "a": [], "tau": []}
    unwrapped, substitutes = _unwrap_joints(robot), Substitutes(robot, strict)
    for body, span in zip(robot.bodies, robot.q_of, strict=True):
        joint = body.joint
        if joint.mimic is None:
            positions = _positions(joint, overrides, substitutes, wraps=span.start not in unwrapped)
            rows["q"] += positions
            for array, pairs in _motion_bounds(robot, joint, overrides, wrench, substitutes).items():
                rows[array] += pairs
    if robot.base_given:
        rows["base_v"] = _base_velocity(overrides.base)
        rows["base_a"] = _base_acceleration(overrides.base, rows["base_v"])
    if robot.base_chosen:
        rows["base_a"] = _base_acceleration(overrides.base, _base_velocity(overrides.base))
        rows[BASE_HELD] = [(0.0, 1.0)]
    if robot.contacts.places:
        rows[CONTACT] = [(0.0, 1.0)] * len(robot.contacts.places)
    if robot.contacts.by_task:
        rows[HOLDING] = [*robot.contacts.bounds]
    if robot.gravity_given:
        largest = GRAVITY_SLACK * math.hypot(*robot.gravity)
        rows["gravity"] = [(-largest, largest)] * 3
    bounds = {array: np.array(pairs) for array, pairs in rows.items()}
    bounds["fext"] = np.array(wrench)
    if robot.loaded is not None:
        bounds[PARAMETERS] = np.array(robot.loaded.bounds)
    unlimited = tuple(not math.isfinite(upper) for _, upper in rows["q"])
    wraps = tuple(free and k not in unwrapped for k, free in enumerate(unlimited))
    bounds["q"][np.array(unlimited) & ~np.array(wraps)] = (-math.pi, math.pi)
    return Domain(bounds, wraps, substitutes.remarks, overrides.any_forces)


def with_task_bounds(
    domain: Domain, robot: Robot, overrides: Overrides | None, functions: Iterable[str]
) -> Domain:
    """Return the domain with bounds of multipliers and time step, if tasks of functions bring them.

    Raises InputError as :func:`with_time_step`.
    """
    names = tuple(functions)
    multipliers = [name for name in MULTIPLIERS if any_takes(names, name)]
    domain = with_multipliers(domain, robot, overrides, multipliers)
    return with_time_step(domain, robot, overrides) if any_takes(names, "h") else domain


def with_multipliers(
    domain: Domain, robot: Robot, overrides: Overrides | None, arrays: Iterable[str]
) -> Domain:
    """Return the domain with bounds of these arrays of multipliers."""
    overrides = overrides or Overrides()
    rows: list[Pair] = []
    for joint in robot.free_joints:
        pair = overrides.joints.get(joint.name, JointBounds()).multiplier or overrides.default.multiplier
        rows += [pair or MULTIPLIER] * joint.kind.nv
    return replace(domain, bounds={**domain.bounds, **{array: np.array(rows) for array in arrays}})


def with_time_step(domain: Domain, robot: Robot, overrides: Overrides | None) -> Domain:
    """Return the domain with bounds ``h`` of the time step, which are the robot's own step if it is fixed.

    Raises InputError if at the largest time step, the largest velocity takes a joint beyond its domain at
    once, or turns a body by more than the exponential map's series allow.
    """
    asked = (overrides or Overrides()).integration.time_step
    if robot.time_step is None:
        pair = asked or DEFAULT_TIME_STEP
    elif asked is not None:
        reason = f"the time step is fixed at {robot.time_step:g} s"
        raise InputError("domain, integration.time_step", reason, "none", "leave out --time-step")
    else:
        pair = robot.time_step, robot.time_step
    longest, name = _longest_step(robot, domain)
    if pair[1] > longest:
        where = "domain, integration.time_step" if robot.time_step is None else "time-step"
        reason = f"in {pair[1]:g} s at the largest velocity joint '{name}' leaves its domain"
        remedy = "use a smaller step or smaller velocities"
        raise InputError(where, reason, f"at most {longest:.2g} s", remedy)
    return replace(domain, bounds={**domain.bounds, "h": np.array([pair])})


def _longest_step(robot: Robot, domain: Domain) -> tuple[float, str]:
    """Return the longest time step (s) that a domain allows, and the joint that limits it."""
    longest = []
    for body, span, rates in zip(robot.bodies, robot.q_of, robot.v_of, strict=True):
        kind = body.joint.kind
        if body.joint.mimic is not None:
            continue
        fastest = np.abs(domain.bounds["v"][rates]).max(axis=1)
        if kind.quaternion is not None:
            longest.append((LARGEST_ANGLE / math.hypot(*fastest[-3:]), body.joint.name))
            continue
        ranges = np.diff(domain.bounds["q"][span], axis=1)[:, 0]
        wide = np.where(np.isfinite(ranges), ranges, math.pi)
        longest.append((float((wide / fastest).min()), body.joint.name))
    return min(longest)


def _check_base(robot: Robot, overrides: Overrides) -> None:
    """Refuse bounds of a base that does not move, and bounds of a floating joint among those of joints."""
    if overrides.base != BaseBounds() and not (robot.floats or robot.base_given):
        reason = f"the base of {robot.name} is fixed"
        raise InputError("domain, base", reason, "a base that moves", "use --base floating or --base given")
    if robot.floats and robot.bodies[0].joint.name in overrides.joints:
        where = f"domain, joint '{robot.bodies[0].joint.name}'"
        raise InputError(where, "floats", "its bounds in the table base")


def _unwrap_joints(robot: Robot) -> set[int]:
    """Return the configuration coordinates that must not wrap, because another joint depends on the turn."""
    kinds = {body.joint.name: body.joint.kind for body in robot.bodies}
    unwrapped = set()
    for body, span in zip(robot.bodies, robot.q_of, strict=True):
        joint = body.joint
        if joint.mimic is not None:
            whole = joint.kind.rotates and kinds[joint.mimic.joint].rotates
            mantissa, exponent = math.frexp(abs(joint.mimic.multiplier))
            doubled = mantissa == 0.5 and exponent > 0  # a left shift, which wraps as the angle does
            still = joint.mimic.multiplier == 0.0
            unwrapped |= set() if still or (whole and doubled) else {span.start}
        elif joint.kind is JointKind.HELICAL:
            unwrapped.add(span.start)
    return unwrapped


def _positions(joint: Joint, overrides: Overrides, substitutes: Substitutes, *, wraps: bool) -> list[Pair]:
    """Return the bounds of a joint's coordinates; those of an angle without limits are infinite."""
    if joint.kind is JointKind.FLOATING:
        return [(-FREE_REACH, FREE_REACH)] * 3 + [_QUATERNION] * 4
    if joint.kind.quaternion is not None:
        return [_QUATERNION] * joint.kind.nq
    joint_bounds = overrides.joints.get(joint.name, JointBounds())
    asked = joint_bounds.position or overrides.default.position
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
    robot: Robot, joint: Joint, overrides: Overrides, wrench: list[Pair], substitutes: Substitutes
) -> dict[str, list[Pair]]:
    """Return the bounds of a joint's velocities, accelerations and forces."""
    if joint.kind is JointKind.FLOATING:
        return _bound_floating_base(robot, overrides)
    joint_bounds = overrides.joints.get(joint.name, JointBounds())
    velocity = joint_bounds.velocity or overrides.default.velocity
    acceleration = joint_bounds.acceleration or overrides.default.acceleration
    effort = joint_bounds.effort or overrides.default.effort
    single = joint.kind.nv == 1
    if velocity is not None:
        velocities = [velocity] * joint.kind.nv
    else:
        velocities = [substitutes.velocity(joint)] if single else _free_velocities(joint)
    accelerations = [acceleration or _reachable(bounds) for bounds in velocities]
    if effort is not None:
        efforts = [effort] * joint.kind.nv
    else:
        efforts = [substitutes.effort(joint, accelerations[0])] if single else _free_efforts(joint, wrench)
    return {"v": velocities, "a": accelerations, "tau": efforts}


def _free_velocities(joint: Joint) -> list[Pair]:
    """Return the velocity limits of a joint of several degrees of freedom, or those of free motion."""
    pairs = zip(joint.limits, joint.kind.angular, strict=True)
    free = {turning: (-velocity, velocity) for turning, velocity in FREE_VELOCITY.items()}
    return [_around(limits.velocity, free[turning]) for limits, turning in pairs]


def _free_efforts(joint: Joint, wrench: list[Pair]) -> list[Pair]:
    """Return the effort limits of a joint of several degrees of freedom, or those of an external wrench."""
    pairs = zip(joint.limits, joint.kind.angular, strict=True)
    return [_around(limits.effort, wrench[3 if turning else 0]) for limits, turning in pairs]


def _around(limit: float, free: Pair) -> Pair:
    """Return ``limit`` either way, or ``free`` if ``limit`` is zero or infinite."""
    return (-limit, limit) if 0.0 < limit < math.inf else free


def _bound_floating_base(robot: Robot, overrides: Overrides) -> dict[str, list[Pair]]:
    """Return the bounds of a floating body's velocities, accelerations and wrench."""
    velocity = _base_velocity(overrides.base)
    accelerations = _base_acceleration(overrides.base, velocity)
    linear, angular = (max(map(abs, accelerations[k])) for k in (0, 3))
    force, moment = bearing_wrench(robot, linear, angular)
    forces, moments = overrides.base.force or (-force, force), overrides.base.moment or (-moment, moment)
    return {"v": velocity, "a": accelerations, "tau": [forces] * 3 + [moments] * 3}


def _base_velocity(base: BaseBounds) -> list[Pair]:
    linear, angular = ((-FREE_VELOCITY[turns], FREE_VELOCITY[turns]) for turns in (False, True))
    return [base.linear_velocity or linear] * 3 + [base.angular_velocity or angular] * 3


def _base_acceleration(base: BaseBounds, velocity: list[Pair]) -> list[Pair]:
    linear = base.linear_acceleration or _reachable(velocity[0])
    return [linear] * 3 + [base.angular_acceleration or _reachable(velocity[3])] * 3


def _reachable(velocity: Pair) -> Pair:
    """Return the accelerations that reach a velocity in :data:`TIME_TO_VELOCITY_LIMIT`."""
    largest = max(abs(bound) for bound in velocity) / TIME_TO_VELOCITY_LIMIT
    return (-largest, largest)


_QUATERNION: Pair = (-1.0 - UNIT_SLACK, 1.0 + UNIT_SLACK)


def _wrench_bounds(robot: Robot, bounds: ForceBounds) -> list[Pair]:
    mass = sum(body.inertia.mass for body in robot.bodies) + robot.base_inertia.mass
    weight = mass * (math.hypot(*robot.gravity) or FREE_FALL) or 1.0
    force = bounds.force or (-weight, weight)
    moment = bounds.moment or (LEVER * force[0], LEVER * force[1])
    return [force] * 3 + [moment] * 3
