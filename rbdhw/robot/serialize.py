"""A ``Robot`` as plain JSON data and back, float for float."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite, isinf
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rbdhw.errors import InputError
from rbdhw.robot.model import BASE, Body, Inertia, JointKind, Placement, Robot
from rbdhw.robot.spatial import SNAP, cross, dot, norm

_ADAPTER = TypeAdapter(Robot)
_TOLERANCE = 10.0 * SNAP


def robot_to_json(robot: Robot) -> dict[str, Any]:
    """``robot`` as dictionaries, lists, strings and numbers that any JSON writer takes.

    The fields are those of the dataclasses in ``model.py``. Floats are exact as long as the writer
    gives their shortest exact decimal, as Python's does; the infinite ranges of a continuous or floating
    joint are the strings ``"inf"`` and ``"-inf"``.
    """
    return {field: _plain(value) for field, value in asdict(robot).items()}


def robot_from_json(data: dict[str, Any]) -> Robot:
    """The robot that :func:`robot_to_json` wrote as ``data``.

    Raises
    ------
    InputError
        A field is missing or of the wrong type, or the whole is no tree of bodies: parents come before
        their children, names are unique, axes are unit vectors, rotations are rotations.
    """
    try:
        robot = _ADAPTER.validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "robot"
        raise InputError(f"robot data: {where}: {first['msg']}; expected what robot_to_json writes") from None
    _check_names(robot)
    _check_finite("robot data", (*robot.gravity, *_numbers(robot.base_inertia)))
    for i, body in enumerate(robot.bodies):
        _check_body(i, body)
    return robot


def _plain(value: object) -> object:
    """``value`` without tuples, enumerations and infinite floats."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, JointKind):
        return value.value
    if isinstance(value, float) and isinf(value):
        return str(value)
    return value


def _check_names(robot: Robot) -> None:
    links = [robot.base, *(body.name for body in robot.bodies)]
    if robot.bodies and robot.bodies[0].joint.kind is JointKind.FLOATING:
        links.remove(robot.base)
    for kind, names in (("link", links), ("joint", list(robot.joints))):
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"robot data: {kind} {name!r}: given twice; expected unique {kind} names")


def _check_body(i: int, body: Body) -> None:
    joint = body.joint
    where = f"robot data: link {body.name!r}"
    if not BASE <= body.parent < i:
        raise InputError(f"{where}: parent is {body.parent}; expected {BASE} to {i - 1}")
    if joint.kind is JointKind.FLOATING and i > 0:
        raise InputError(f"{where}: has a floating joint; expected one on the first link only")
    if abs(norm(joint.axis) - 1.0) > _TOLERANCE:
        raise InputError(f"{where}: joint axis is {joint.axis}; expected a unit vector")
    for placement in (joint.placement, body.link_frame):
        if not _is_rotation(placement):
            raise InputError(
                f"{where}: rotation is {placement.rotation}; expected an orthonormal right-handed matrix"
            )
    lengths = (*joint.placement.translation, *body.link_frame.translation, joint.offset)
    _check_finite(where, (*lengths, *_numbers(body.inertia)))
    if not all(limits.lower <= limits.upper for limits in joint.limits):
        raise InputError(f"{where}: lower limit is not below the upper; expected lower <= upper")


def _numbers(inertia: Inertia) -> tuple[float, ...]:
    return (inertia.mass, *inertia.first_moment, *inertia.rotational)


def _check_finite(where: str, numbers: tuple[float, ...]) -> None:
    if not all(isfinite(number) for number in numbers):
        raise InputError(f"{where}: a length, an inertia or gravity is not finite; expected finite numbers")


def _is_rotation(placement: Placement) -> bool:
    x, y, z = placement.rotation
    errors = (dot(x, x) - 1.0, dot(y, y) - 1.0, dot(x, y), dot(cross(x, y), z) - 1.0, dot(z, z) - 1.0)
    return all(abs(error) <= _TOLERANCE for error in errors)
