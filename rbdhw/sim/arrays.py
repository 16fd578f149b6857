"""The checks of the user's arrays, and their conversion from the layout of Pinocchio's model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.arrays import MULTIPLIERS, SYMMETRIC
from rbdhw.design.model import AcceleratorModel
from rbdhw.errors import InputError
from rbdhw.protocol import BASE_HELD, FUNCTIONS, PARAMETERS
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import NUMBERS, bounds_by_link, unphysical
from rbdhw.robot.pinocchio import PinocchioLayout, layout_of
from rbdhw.runtime.number_bounds import TASK_NUMBER
from rbdhw.sim.packets import check_finite

Array = NDArray[np.float64]

OUTSIDE_BY = 1e-9
"""How far a parameter may be outside of its bounds, as a share of the larger, by rounding."""

ASYMMETRY = 1e-6
"""The largest asymmetry of a symmetric input matrix, relative to its largest element."""


def check_arrays(
    robot: Robot, fext: Sequence[int], arrays: Mapping[str, NDArray[np.generic]]
) -> dict[str, Array]:
    """Return the checked arrays of N tasks, converted if ``q`` has the columns of Pinocchio's model.

    ``fext`` are the bodies that take an external force in the build.

    Raises
    ------
    InputError
        An array has the wrong shape, a number that is not finite or too large, a quaternion that is not of
        unit length, a force on a body without one in this build, a base that cannot be held or an
        acceleration of one that is not, inertial parameters that no body has or that are outside of their
        bounds, or a matrix that is not symmetric.
    """
    checked = _convert_layout(robot, arrays)
    golden.with_unit_quaternions(robot, checked["q"])
    _check_forces(robot, fext, checked.get("fext"))
    checked |= _checked_choice(robot, checked)
    if PARAMETERS in checked:
        check_parameters(robot, checked[PARAMETERS])
    for name in SYMMETRIC:
        _check_symmetric(name, checked.get(name))
    return checked


def check_optional(design: AcceleratorModel, function: str, arrays: Collection[str]) -> None:
    """Refuse the optional inputs of a function, among ``arrays``, that this build does not take.

    Raises
    ------
    InputError
        The build has no words for one of them.
    """
    for name in FUNCTIONS[function].optional_inputs:
        if name in arrays and not any(word.startswith(f"{name}[") for word in design.inputs):
            reason = "this build solves with factors of its own"
            remedy = "generate with --algorithm products=dense to give it"
            raise InputError(f"array '{name}'", reason, "none", remedy)


def _convert_layout(robot: Robot, arrays: Mapping[str, NDArray[np.generic]]) -> dict[str, Array]:
    """Return the checked arrays, converted if ``q`` has the columns of Pinocchio's model."""
    q = arrays["q"]
    if q.ndim != 2:
        remedy = "for one task use q[np.newaxis]" if q.ndim == 1 else ""
        expected = f"(N, {robot.nq}), a row for each task"
        raise InputError("array 'q'", f"shape {q.shape}", expected, remedy)
    layout = layout_of(robot, q.shape[1])
    shapes = _shapes(robot, len(q), layout)
    checked = {name: _check_array(name, array, shapes[name]) for name, array in arrays.items()}
    if layout is None:
        return checked
    return checked | {name: _convert(layout, name, checked[name]) for name in checked.keys() & _CONVERTED}


_CONVERTED = {"q", "v", "a", "tau", *MULTIPLIERS}
"""The arrays whose layout may differ in Pinocchio's model."""


def _convert(layout: PinocchioLayout, name: str, array: Array) -> Array:
    forces = {"tau": layout.force, "lambda_a": layout.force}
    convert = {"q": layout.configuration, **forces}.get(name, layout.velocity)
    try:
        return convert(array)
    except InputError as error:
        remedy = "build Pinocchio's model with mimic=True"
        raise replace(error.within(f"array '{name}'"), remedy=remedy) from None


def _shapes(robot: Robot, tasks: int, layout: PinocchioLayout | None) -> dict[str, tuple[int, ...]]:
    """Return the required shape of each array, in Pinocchio's layout or, if that is None, the robot's own."""
    nq, nv = (robot.nq, robot.nv) if layout is None else (layout.nq, layout.nv)
    vector, matrix = (tasks, nv), (tasks, robot.nv, robot.nv)
    wrenches = (tasks, len(robot.bodies), 6)
    shapes = {"q": (tasks, nq), "v": vector, "a": vector, "tau": vector, "fext": wrenches}
    shapes |= dict.fromkeys(MULTIPLIERS, vector) | dict.fromkeys(("h", BASE_HELD), (tasks,))
    shapes[PARAMETERS] = (tasks, robot.sizes["loaded"], len(NUMBERS))
    return {**shapes, "Minv": matrix, "base_v": (tasks, 6), "base_a": (tasks, 6), "gravity": (tasks, 3)}


def _check_array(name: str, array: NDArray[np.generic], shape: tuple[int, ...]) -> Array:
    if name in ("h", BASE_HELD) and array.ndim == 0:
        array = np.broadcast_to(array, shape)
    if array.shape != shape:
        raise InputError(f"array '{name}'", f"shape {array.shape}", str(shape))
    with np.errstate(over="ignore"):  # a wider number may become infinite
        numbers = array.astype(np.float64)
    check_finite(name, numbers)
    places = np.argwhere(np.abs(numbers) > TASK_NUMBER)
    if len(places):
        place = tuple(places[0].tolist())
        expected = f"magnitudes of up to {TASK_NUMBER:g}"
        raise InputError(f"array '{name}', row {place[0]}", f"{numbers[place]:g}", expected)
    return numbers


def _checked_choice(robot: Robot, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return whether the base is held in each task, and how it moves; it floats by default."""
    tasks = len(arrays["q"])
    held, motion = arrays.get(BASE_HELD, np.zeros(tasks)), arrays.get("base_a", np.zeros((tasks, 6)))
    if not robot.base_chosen:
        if held.any():
            reason = "tasks of this build do not choose whether the base is held"
            raise InputError(f"array '{BASE_HELD}'", reason, "none", "generate with --base any")
        return {}
    odd = np.flatnonzero((held != 0.0) & (held != 1.0))
    if len(odd):
        where = f"array '{BASE_HELD}', row {odd[0]}"
        raise InputError(where, f"{held[odd[0]]:g}", "1 if the base is held, 0 if it floats")
    free = np.flatnonzero((held == 0.0) & motion.any(axis=1))
    if len(free):
        where = f"array 'base_a', row {free[0]}"
        reason = "the base of this task floats, so forces accelerate it"
        raise InputError(where, reason, "zeros", f"set {BASE_HELD} to 1 to hold the base")
    return {BASE_HELD: held, "base_a": motion}


def _check_forces(robot: Robot, loaded: Sequence[int], fext: Array | None) -> None:
    """Refuse a force on a body that has no external force in this build."""
    if fext is None:
        return
    pushed = np.any(fext != 0.0, axis=2)
    pushed[:, list(loaded)] = False
    if pushed.any():
        row, body = np.argwhere(pushed)[0].tolist()
        names = [robot.bodies[i].name for i in loaded]
        reason = f"a force on link '{robot.bodies[body].name}'"
        expected = f"forces on {', '.join(names) or 'none'}"
        raise InputError(f"array 'fext', row {row}", reason, expected, "generate with this link in --fext")


def check_parameters(robot: Robot, parameters: Array) -> None:
    """Refuse inertial parameters (N, links, 10) that no body has, or that are outside of their bounds.

    Raises
    ------
    InputError
        The build has constant parameters; or the message names the row, the link and the number.
    """
    if robot.loaded is None:
        reason = f"all inertial parameters of {robot.name} are constant in this build"
        raise InputError(f"array '{PARAMETERS}'", reason, "none", "generate with --parameters LINK")
    lower, upper = np.moveaxis(bounds_by_link(robot), -1, 0)
    slack = OUTSIDE_BY * np.maximum(np.abs(lower), np.abs(upper))
    distinct, rows = np.unique(parameters, axis=0, return_index=True)
    for row, links in sorted(zip(rows.tolist(), distinct, strict=True), key=lambda pair: pair[0]):
        for link, own, low, high, room in zip(robot.loaded.links, links, lower, upper, slack, strict=True):
            where = f"array '{PARAMETERS}', row {row}, link '{link}'"
            outside = np.flatnonzero((own < low - room) | (own > high + room))
            if len(outside):
                k = outside[0]
                expected = f"{low[k]:g} to {high[k]:g}"
                remedy = "widen [parameters] in generate's --domain file"
                raise InputError(where, f"{NUMBERS[k]} is {own[k]:g}", expected, remedy)
            problem = unphysical(own)
            if problem:
                raise InputError(where, problem, "the parameters of a body")


def _check_symmetric(name: str, array: Array | None) -> None:
    """Refuse a matrix whose upper triangle differs from the lower, because only the lower is sent."""
    if array is None or not array.size:
        return
    difference = np.abs(array - array.swapaxes(1, 2))
    places = np.argwhere(difference > ASYMMETRY * np.abs(array).max(axis=(1, 2), keepdims=True))
    if len(places):
        row, i, j = places[0].tolist()
        differing = f"[{i},{j}] is {array[row, i, j]:g} and [{j},{i}] is {array[row, j, i]:g}"
        raise InputError(f"array '{name}', row {row}", differing, "symmetric matrices")
