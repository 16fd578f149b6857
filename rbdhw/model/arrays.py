"""The checks of the user's arrays, and their conversion from the layout of Pinocchio's model."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import MULTIPLIERS, SYMMETRIC
from rbdhw.errors import InputError, unknown
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.packets import check_finite
from rbdhw.protocol import BASE_HELD, CONTACT, FUNCTIONS, HOLDING, PARAMETERS
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import NUMBERS, bounds_by_link, unphysical
from rbdhw.robot.pinocchio import PinocchioLayout, layout_of
from rbdhw.robot.unit_length import check_directions
from rbdhw.runtime.archive import check_real
from rbdhw.runtime.number_bounds import TASK_NUMBER

Array = NDArray[np.float64]

OUTSIDE_BY = 1e-9
"""How far a parameter may be outside of its bounds, as a share of the larger, by rounding."""

ASYMMETRY = 1e-6
"""The largest asymmetry of a symmetric input matrix, relative to its largest element."""


def as_numbers(where: str, array: object) -> Array:
    """Return an array of the user, described by ``where``, as one of float64.

    Raises
    ------
    InputError
        It holds something else than real numbers, or its elements are masked.
    """
    if np.ma.is_masked(array):
        raise InputError(where, "has masked elements", "real numbers")
    try:
        numbers = np.asarray(array)
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise InputError(where, f"is no array ({error})", "real numbers") from None
    check_real(where, numbers.dtype)
    with np.errstate(over="ignore"):  # a wider number may become infinite
        return numbers.astype(np.float64, copy=False)


def as_whole(where: str, number: object) -> int:
    """Return a whole number of the user; InputError if it is none."""
    try:
        return operator.index(number)  # type: ignore[arg-type] # this is the check
    except TypeError:
        raise InputError(where, repr(number), "a whole number") from None


def check_arrays(robot: Robot, fext: Sequence[int], arrays: Mapping[str, object]) -> dict[str, Array]:
    """Return the checked arrays of N tasks, converted if ``q`` has the columns of Pinocchio's model.

    ``fext`` are the bodies that take an external force in the build.

    Raises
    ------
    InputError
        The build does not take an array. Or an array holds no real numbers, has the wrong shape, a number
        that is not finite or too large, a quaternion, or a cosine and a sine, of no length, a force on a body
        without one in this build, a base that cannot be held or an acceleration of one that is not, inertial
        parameters that no body has or that are outside of their bounds, or a matrix that is not symmetric.
    """
    check_taken(robot, arrays)
    numbers = {name: as_numbers(f"array '{name}'", array) for name, array in arrays.items()}
    checked = _convert_layout(robot, numbers)
    _check_forces(robot, fext, checked.get("fext"))
    checked |= _checked_choice(robot, checked) | _checked_contacts(robot, checked)
    if PARAMETERS in checked:
        check_parameters(robot, checked[PARAMETERS])
    for name in SYMMETRIC:
        _check_symmetric(name, checked.get(name))
    return checked


def check_taken(robot: Robot, names: Collection[str], function: str | None = None) -> None:
    """Refuse arrays that tasks of this build, or those of one function of it, do not bring."""
    motion = robot.base_given or (robot.base_chosen and function is None)
    if function is not None:
        motion |= robot.base_chosen and "base_a" in FUNCTIONS[function].base_choice
    mode, choice = (
        f"tasks of this build do not {what}"
        for what in ("say how the base moves", "choose whether the base is held")
    )
    touching = bool(robot.contacts.places)
    fixed = "damping and gains are constant in this build"
    step = f"this build has a time step of {robot.time_step or 0.0:g} s"
    for name, accepted, reason, remedy in (
        ("gravity", robot.gravity_given, "gravity is constant in this build", "generate with --gravity task"),
        ("base_v", robot.base_given, mode, "generate with --base given"),
        ("base_a", motion, mode, "generate with --base given"),
        (BASE_HELD, robot.base_chosen, choice, "generate with --base any"),
        (HOLDING, robot.contacts.by_task, fixed, "generate with --contact-gains task"),
        (CONTACT, touching, "no contacts are built", "generate with --contacts LINK:point"),
        ("h", robot.time_step is None, step, ""),
    ):
        if name in names and not accepted:
            raise InputError(f"array '{name}'", reason, "none", remedy)


def check_optional(design: AcceleratorModel, function: str, arrays: Collection[str]) -> None:
    """Refuse the optional inputs of a function, among ``arrays``, for which this build has no words."""
    for name in FUNCTIONS[function].optional_inputs:
        if name in arrays and not any(word.startswith(f"{name}[") for word in design.inputs):
            reason = "this build solves with factors of its own"
            remedy = "generate with --algorithm products=dense to give it"
            raise InputError(f"array '{name}'", reason, "none", remedy)


def _convert_layout(robot: Robot, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the checked arrays, converted if ``q`` has the columns of Pinocchio's model."""
    q = arrays["q"]
    if q.ndim != 2:
        remedy = "for one task use q[np.newaxis]" if q.ndim == 1 else ""
        expected = f"(N, {robot.nq}), a row for each task"
        raise InputError("array 'q'", f"shape {q.shape}", expected, remedy)
    layout = layout_of(robot, q.shape[1])
    shapes = task_shapes(robot, q.shape[1])
    for name in arrays.keys() - shapes.keys():
        raise unknown("array", name, tuple(shapes))
    checked = {name: _check_array(name, array, (len(q), *shapes[name])) for name, array in arrays.items()}
    check_directions(robot, checked["q"])
    if layout is None:
        return checked
    return checked | {name: _convert(layout, name, checked[name]) for name in checked.keys() & _CONVERTED}


_CONVERTED = {"q", "v", "a", "tau", *MULTIPLIERS}
"""The arrays whose layout may differ in Pinocchio's model."""


def _convert(layout: PinocchioLayout, name: str, array: Array) -> Array:
    conversions: dict[str, Callable[[Array], Array]] = {
        "q": partial(layout.configuration, slack=math.inf),  # tasks of other lengths are flagged
        **dict.fromkeys(("tau", "lambda_a"), layout.force),
    }
    try:
        return conversions.get(name, layout.velocity)(array)
    except InputError as error:
        remedy = "build Pinocchio's model with mimic=True"
        raise replace(error.within(f"array '{name}'"), remedy=remedy) from None


def task_shapes(robot: Robot, columns: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array for one task, in the layout in which ``q`` has these columns."""
    layout = layout_of(robot, columns)
    nq, nv = (robot.nq, robot.nv) if layout is None else (layout.nq, layout.nv)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("v", "a", "tau", *MULTIPLIERS), (nv,))
    shapes |= dict.fromkeys(("h", BASE_HELD, "seed"), ())
    shapes |= {"q": (nq,), "fext": (len(robot.bodies), 6), "Minv": (robot.nv, robot.nv)}
    shapes |= {CONTACT: (robot.sizes["contacts"],)} if robot.contacts.places else {}
    shapes |= {"base_v": (6,), "base_a": (6,), "gravity": (3,), HOLDING: (3,)}
    return shapes | {PARAMETERS: (robot.sizes["loaded"], len(NUMBERS))}


def _check_array(name: str, numbers: Array, shape: tuple[int, ...]) -> Array:
    if len(shape) == 1 and numbers.ndim == 0:
        numbers = np.broadcast_to(numbers, shape)
    if numbers.shape != shape:
        raise InputError(f"array '{name}'", f"shape {numbers.shape}", str(shape))
    if np.abs(numbers).max(initial=0.0) <= TASK_NUMBER:
        return numbers
    check_finite(name, numbers)
    index = tuple(np.argwhere(np.abs(numbers) > TASK_NUMBER)[0].tolist())
    expected = f"magnitudes of up to {TASK_NUMBER:g}"
    raise InputError(f"array '{name}', row {index[0]}", f"{numbers[index]:g}", expected)


def _checked_choice(robot: Robot, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return whether the base is held in each task, and how it moves; it floats by default."""
    tasks = len(arrays["q"])
    held, motion = arrays.get(BASE_HELD, np.zeros(tasks)), arrays.get("base_a", np.zeros((tasks, 6)))
    if not robot.base_chosen:
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


def _checked_contacts(robot: Robot, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return which of the build's contacts each task has, which are all by default."""
    if not robot.contacts.places:
        return {}
    contact = arrays.get(CONTACT, np.ones((len(arrays["q"]), robot.sizes["contacts"])))
    odd = np.argwhere((contact != 0.0) & (contact != 1.0))
    if len(odd):
        row, k = odd[0].tolist()
        where = f"array '{CONTACT}', row {row}, contact '{robot.contacts.places[k].frame.name}'"
        raise InputError(where, f"{contact[row, k]:g}", "1 for a contact, 0 for none")
    return {CONTACT: contact}


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
    """Refuse inertial parameters (N, links, 10) that no body has, or that are outside of their bounds."""
    if robot.loaded is None:
        reason = f"all inertial parameters of {robot.name} are constant in this build"
        raise InputError(f"array '{PARAMETERS}'", reason, "none", "generate with --parameters LINK")
    lower, upper = np.moveaxis(bounds_by_link(robot), -1, 0)
    slack = OUTSIDE_BY * np.maximum(np.abs(lower), np.abs(upper))
    distinct, rows = np.unique(parameters, axis=0, return_index=True)
    for row, links in sorted(zip(rows.tolist(), distinct, strict=True), key=lambda pair: pair[0]):
        for link, numbers, low, high, room in zip(
            robot.loaded.links, links, lower, upper, slack, strict=True
        ):
            where = f"array '{PARAMETERS}', row {row}, link '{link}'"
            outside = np.flatnonzero((numbers < low - room) | (numbers > high + room))
            if len(outside):
                k = outside[0]
                expected = f"{low[k]:g} to {high[k]:g}"
                remedy = "widen [parameters] in generate's --domain file"
                raise InputError(where, f"{NUMBERS[k]} is {numbers[k]:g}", expected, remedy)
            if problem := unphysical(numbers):
                raise InputError(where, problem, "the parameters of a body")


def _check_symmetric(name: str, array: Array | None) -> None:
    """Refuse a matrix whose upper triangle differs from the lower, because only the lower is sent."""
    if array is None or not array.size:
        return
    difference = np.abs(array - array.swapaxes(1, 2))
    indices = np.argwhere(difference > ASYMMETRY * np.abs(array).max(axis=(1, 2), keepdims=True))
    if len(indices):
        row, i, j = indices[0].tolist()
        differing = f"[{i},{j}] is {array[row, i, j]:g} and [{j},{i}] is {array[row, j, i]:g}"
        raise InputError(f"array '{name}', row {row}", differing, "symmetric matrices")
