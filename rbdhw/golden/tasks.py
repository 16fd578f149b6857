"""The tasks of the golden model: which arrays a function takes, and their check."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdhw.arrays import kind_of
from rbdhw.errors import InputError
from rbdhw.golden.spatial import Array
from rbdhw.protocol import BASE_HELD, CONTACT, FUNCTIONS, HOLDING, PARAMETERS
from rbdhw.robot.model import Robot

Tasks = Mapping[str, Array]
"""Arrays by name; the first axis of each is the task."""

MIN_QUATERNION = 1e-6
"""A quaternion shorter than this is refused; longer ones are normalized."""

_DEFAULTED = ("fext", "base_v", "base_a", BASE_HELD)
"""The arrays that are zero by default."""


def inputs_of(robot: Robot, function: str) -> tuple[str, ...]:
    """Return the names of the arrays that ``function`` requires, including given base motion and gravity.

    ``fext`` is optional (``m`` and ``minv`` do not use it), and so are ``Minv`` for ``difd`` and
    ``parameters``, which are those of the URDF otherwise. Raises InputError if there is no such function.
    """
    if function not in FUNCTIONS:
        raise InputError(f"function '{function}'", "unknown", f"one of {', '.join(FUNCTIONS)}")
    required = {"base_v": robot.base_given, "base_a": robot.base_given, "gravity": robot.gravity_given}
    required[HOLDING] = robot.contacts.by_task
    required |= {"h": robot.time_step is None, PARAMETERS: False, BASE_HELD: False, CONTACT: False}
    return tuple(name for name in FUNCTIONS[function].inputs if name != "fext" and required.get(name, True))


def check_inputs(robot: Robot, function: str, arrays: Tasks) -> dict[str, Array]:
    """Return the arrays that the function uses, as float64 of checked shapes, with defaults for the rest."""
    required = inputs_of(robot, function)
    for name in required:
        if name not in arrays:
            raise InputError(f"array '{name}'", "missing", f"{', '.join(required)} for {function}")
    names = [*required, "fext", *([PARAMETERS] if robot.loaded else []), *FUNCTIONS[function].optional_inputs]
    names += FUNCTIONS[function].base_choice if robot.base_chosen else ()
    names += (CONTACT,) if FUNCTIONS[function].touches else ()
    shapes = {name: kind_of(name).shape(robot.sizes) for name in (*names, *_DEFAULTED, CONTACT)}
    count = np.shape(arrays["q"])[:1] or (1,)
    tasks = {name: np.zeros((*count, *shapes[name])) for name in _DEFAULTED}
    tasks["gravity"] = np.tile(robot.gravity, (*count, 1))
    tasks[CONTACT] = np.ones((*count, *shapes[CONTACT]))
    contacts = robot.contacts
    numbers = contacts.damping, contacts.velocity_gain, contacts.position_gain
    tasks[HOLDING] = np.tile(numbers, (*count, 1))
    if robot.time_step is not None:
        tasks["h"] = np.full(count, robot.time_step)
    for name in (name for name in names if name in arrays):
        array, shape = np.asarray(arrays[name]), (*count, *shapes[name])
        if not np.can_cast(array.dtype, np.float64, "same_kind"):
            raise InputError(f"array '{name}'", f"holds {array.dtype}", "real numbers")
        if array.shape != shape:
            tasks_of = f"{count[0]} tasks of robot '{robot.name}'"
            raise InputError(f"array '{name}'", f"shape {array.shape}", f"{shape} for {tasks_of}")
        tasks[name] = array.astype(np.float64)
    return tasks | {"q": with_unit_quaternions(robot, tasks["q"])}


def with_unit_quaternions(robot: Robot, q: Array) -> Array:
    """Return ``q`` (N, nq) with normalized quaternions; InputError if one is (nearly) zero."""
    q = q.copy()
    for body, columns in zip(robot.bodies, robot.q_of, strict=True):
        if (part := body.joint.kind.quaternion) is None:
            continue
        quaternion = q[:, columns][:, part]  # a view
        length = np.linalg.norm(quaternion, axis=1, keepdims=True)
        if np.any(length < MIN_QUATERNION):
            row = int(np.argmax(length[:, 0] < MIN_QUATERNION))
            reason = f"the quaternion of joint '{body.joint.name}' has length {length[row, 0]:g}"
            raise InputError(f"array 'q', row {row}", reason, "a unit quaternion [x y z w]")
        quaternion /= length
    return q
