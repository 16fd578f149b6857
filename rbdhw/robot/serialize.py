"""Convert a ``Robot`` to plain JSON data and back; every float is preserved exactly."""

from __future__ import annotations

from dataclasses import asdict
from math import isinf
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rbdhw.errors import InputError
from rbdhw.robot.check import check_robot
from rbdhw.robot.model import JointKind, Robot

_ADAPTER = TypeAdapter(Robot)


def robot_to_json(robot: Robot) -> dict[str, Any]:
    """Convert ``robot`` to dictionaries, lists, strings and numbers that any JSON writer accepts.

    The fields are those of the dataclasses in ``model.py``. Floats are exact if the writer gives their
    shortest exact decimal, as Python's does. Infinite limits are the strings ``"inf"`` and ``"-inf"``. The
    poses of fixed links are left out, and so are the frames, contacts and spheres of a robot without
    any, a time step that each task has, parameters that are not given at run time, and the armature and
    damping of joints without them. A body's inertia before a regrouping and its ``parent_link`` are left out,
    too, and so is ``unfelt``; and what only loops have, without any.
    """
    left_out = {"fixed_placements", "unfelt"} | (set() if robot.frames else {"frames", "frame_axes"})
    left_out |= set() if robot.tracks else {"tracks"}
    left_out |= set() if robot.contacts.places else {"contacts"}
    left_out |= set() if robot.spheres else {"spheres"}
    left_out |= {"time_step"} if robot.time_step is None else set()
    left_out |= {"loaded"} if robot.loaded is None else set()
    data = asdict(robot)
    for body in data["bodies"]:
        del body["whole"], body["parent_link"]
        joint = body["joint"]
        for drive in [name for name in ("armature", "damping") if not joint[name]]:
            del joint[drive]
    if not robot.contacts.by_task:
        del data["contacts"]["by_task"]
    if not robot.contacts.loops:
        del data["contacts"]["position_gain"]
    for contact in data["contacts"]["places"]:
        if contact["closes"] is None:
            del contact["closes"]
    return {field: _plain(value) for field, value in data.items() if field not in left_out}


def robot_from_json(data: dict[str, Any]) -> Robot:
    """Return the robot that :func:`robot_to_json` converted to ``data``.

    Raises InputError if a field is missing or of the wrong type, or the robot breaks a rule of
    :func:`check_robot`.
    """
    try:
        robot = _ADAPTER.validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "robot"
        raise InputError(f"robot data, {where}", first["msg"], "what robot_to_json writes") from None
    check_robot(robot)
    return robot


def _plain(value: object) -> object:
    """Return ``value`` without tuples, enumerations and infinite floats."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, JointKind):
        return value.value
    if isinstance(value, float) and isinf(value):
        return str(value)
    return value
