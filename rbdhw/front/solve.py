"""Problems of optimal control: the user's arrays, checked and completed, and their solutions."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.arrays import SOLVE_INPUTS, SOLVE_OUTPUTS
from rbdhw.engines.words import WordEngine
from rbdhw.errors import InputError
from rbdhw.front.tasks import as_batch, read_arrays, with_axes
from rbdhw.model.arrays import as_numbers
from rbdhw.model.limits import limit_tasks
from rbdhw.model.packets import NOT_FINITE, check_finite
from rbdhw.model.rollouts.arrays import limit_references
from rbdhw.model.solver_codec import Asked
from rbdhw.protocol import CONTACT, FORCE_LIMITS
from rbdhw.robot.model import JointKind, Robot
from rbdhw.robot.unit_length import MIN_LENGTH
from rbdhw.robot.wide_joints import wide_joints
from rbdhw.software.solver import inputs_of, sizes_of
from rbdhw.software.solver_library import solutions_of
from rbdhw.solving import Solved

Array = NDArray[np.float64]
Sizes = Mapping[str | int, int]

WEIGHTS = ("Q", "W", "R", "limit_weight", "position_weight", "orientation_weight", "momentum_weight", "std")
BOUNDS = ("x_min", "x_max", *FORCE_LIMITS)
FIRST = ("states", "tau", "K")
"""The arrays of a first trajectory, which an earlier solution has."""

NEEDED = {
    "C": ("W",),
    "W": ("C",),
    "y": ("C",),
    "position_weight": ("placement_ref",),
    "orientation_weight": ("placement_ref",),
    "K": ("states",),
}
"""Arrays without which others mean nothing."""

_ABSENT = {
    CONTACT: ("contacts", "--contacts LINK:point"),
    **dict.fromkeys(
        ("momentum_ref", "momentum_weight"), ("costs of momentum", "--functions solve,centroidal")
    ),
}
"""What a build lacks that does not take an array, and the option that adds it."""

MOST_LINES = 8
"""The most problems that a solution prints."""


class Solution(NamedTuple):
    """The solution of a problem, or of problems, with the axes of problems before all others.

    ``states`` (N + 1, nq + nv), ``tau`` (N, nv), the gains ``K`` (N, nv, 2 nv) of the policy
    ``tau + K d(states, x)``, the ``cost``, the ``decrease`` of it that the last sweep expected, the
    ``regularisation`` that this sweep added to the diagonal of the Hessian, the number of ``iterations``,
    ``status``, one of :class:`rbdhw.solving.Solved`, and whether the first trajectory ``followed`` an earlier
    solution: a warm one of an accelerator does not if that had no gains.
    """

    states: NDArray[Any]
    tau: NDArray[Any]
    K: NDArray[Any]
    cost: NDArray[Any]
    decrease: NDArray[Any]
    regularisation: NDArray[Any]
    iterations: NDArray[Any]
    status: NDArray[Any]
    followed: NDArray[np.bool_]

    def __repr__(self) -> str:
        steps, nv = self.tau.shape[-2:]
        numbers = self.status, self.iterations, self.cost, self.regularisation
        lines = [
            f"{Solved(status).name.lower().replace('_', ' ')} after {taken} iterations, cost {cost:.6g}"
            + (f", regularised by {added:.0e}" if added else "")
            for status, taken, cost, added in zip(*map(np.ravel, numbers), strict=True)
        ]
        shown = lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], f"... {len(lines)} problems"]
        return f"{steps} steps of {nv} forces: " + "\n  ".join(shown)


class Problems:
    """The problems of a robot with a horizon of N steps: completes the arrays of calls.

    ``momentum`` states whether it may cost something.
    """

    def __init__(self, robot: Robot, steps: int, momentum: bool = False) -> None:
        self.robot, self.steps, self._inputs = robot, steps, inputs_of(robot, momentum)
        sizes = sizes_of(robot, steps, 0)
        zeros = {name: np.zeros((1, *(sizes[axis] for axis in SOLVE_INPUTS[name]))) for name in self._inputs}
        contacts = {CONTACT: np.ones_like(zeros[CONTACT])} if CONTACT in zeros else {}
        self._defaults = zeros | contacts | _limits(robot)

    def complete(
        self, arguments: Mapping[str, Any], warm: Any, shift: int
    ) -> tuple[dict[str, Array], tuple[int, ...]]:
        """Return all arrays of the problems of a call, with one axis of problems, and the axes that it had.

        An array has the shape of :data:`rbdhw.arrays.SOLVE_INPUTS`, without its axis of knots or steps for
        the same in all of them, or with axes of problems before it. ``warm`` is an earlier solution from
        which the first trajectory is taken, ``shift`` steps later.

        Raises
        ------
        InputError
            An array is missing, of another shape, not finite, or a negative weight.
        """
        arrays = {name: array for name, array in arguments.items() if array is not None}
        if warm is not None:
            arrays = {name: getattr(warm, name) for name in FIRST if hasattr(warm, name)} | arrays
        first, lead = self._first_states({name: arrays.pop(name, None) for name in ("q", "v", "h")})
        self._check_together(arrays)
        rows = np.shape(arrays["C"])[-2] if "C" in arrays and np.ndim(arrays["C"]) > 1 else 0
        sizes = sizes_of(self.robot, self.steps, rows)
        others, leads = {}, {lead} - {()}
        for name, array in arrays.items():
            others[name], axes = expanded(name, array, SOLVE_INPUTS[name], sizes)
            leads |= {axes} if math.prod(axes) > 1 else set()
        if len(leads) > 1:
            counts = " and ".join("x".join(map(str, axes)) for axes in sorted(leads))
            raise InputError("arrays", f"{counts} problems", "as many in each")
        others |= {name: _shifted(others[name], shift) for name in FIRST if name in others}
        problems = self._with_defaults(first | others)
        check_bounds(problems)
        lead = next(iter(leads), ())
        count = math.prod(lead)
        whole = {
            name: array if len(array) == count else np.repeat(array, count, axis=0)
            for name, array in problems.items()
        }
        sided = {name: _on_one_side(self.robot, whole[name], whole["q"]) for name in ("x_ref", "states")}
        return whole | sided, lead

    def _first_states(self, arrays: Mapping[str, Any]) -> tuple[dict[str, Array], tuple[int, ...]]:
        """Return first states and steps in time of problems, and the axes of problems that they had.

        Where a number is not finite, the velocity is NaN, and so the first trajectory.
        """
        tasks, lead = as_batch(read_arrays(self.robot, "step", arrays, without=("tau",)))
        limited = limit_tasks(self.robot, (), None, tasks)
        damaged = limited.status == NOT_FINITE
        checked = {name: limited.arrays[name] for name in tasks}
        checked["v"] = np.where(damaged[:, np.newaxis], np.nan, checked["v"])
        return checked | {"q": golden.with_unit_quaternions(self.robot, checked["q"])}, lead

    def _check_together(self, names: Collection[str]) -> None:
        """Refuse arrays of what the build has not, and those that mean nothing without another."""
        for name in names:
            if name not in self._inputs:
                what, option = _ABSENT.get(name, ("frames", "--frames LINK"))
                remedy = f"generate with {option}"
                raise InputError(f"array '{name}'", f"this build has no {what}", "none", remedy)
            for other in NEEDED.get(name, ()):
                if other not in names:
                    raise InputError(f"array '{other}'", "missing", f"one beside {name}")

    def _with_defaults(self, problems: Mapping[str, Array]) -> dict[str, Array]:
        """Return problems with what they leave out: no cost, the URDF's limits, and the first state held."""
        rows = {"y": np.zeros_like(problems["W"])} if "W" in problems else {}
        first = np.hstack([problems["q"], problems["v"]])[:, np.newaxis]
        held = np.repeat(first, self.steps + 1, axis=1)
        forces = problems.get("tau_ref", self._defaults["tau_ref"])
        return self._defaults | rows | {"x_ref": held, "states": held, "tau": forces} | dict(problems)


def solve_on_chip(
    engine: WordEngine,
    horizon: Problems,
    arrays: Mapping[str, Any],
    iterations: int,
    last: Solution | None,
    warm: Solution | None,
    shift: int,
) -> Solution:
    """Return the solution of problems on an accelerator, which keeps the ``last`` one of this object.

    Raises
    ------
    InputError
        An array is not usable, or the accelerator does not take such a problem; or ``warm`` is another
        solution, or there are other problems beside it than it has, or more than are solved together.
    """
    limits = np.asarray(engine.design.domain.bounds["tau"]).T
    passed = {name: array for name, array in arrays.items() if array is not None}
    problems, lead = horizon.complete(dict(zip(FORCE_LIMITS, limits, strict=True)) | passed, None, 0)
    if "x_ref" not in passed:
        problems = holding_within(engine, problems)
    most, count = _together(engine), len(problems["q"])
    if warm is not None and (warm is not last or lead != last.status.shape or count > most):
        others = "one problem" if most == 1 else f"its problems, {most} at most"
        expected = f"the last solution of this object, and {others}"
        raise InputError("warm", "is no solution that the accelerator keeps", expected, "leave warm out")
    if warm is not None:
        states = np.reshape(warm.states, (count, horizon.steps + 1, -1))
        problems |= _near_to(horizon.robot, problems, states[:, min(shift, horizon.steps)])
    follow = None if warm is None else shift
    asked = [
        Asked({name: array[k] for name, array in problems.items()}, iterations, follow) for k in range(count)
    ]
    none = _not_finite(horizon.robot, horizon.steps)
    solutions = [
        none if solution is None else solution
        for first in range(0, count, most)
        for solution in _solve_group(engine, asked[first : first + most])
    ]
    stacked = solutions_of(horizon.robot, horizon.steps, solutions)
    stacked["followed"] = np.array([solution["followed"] for solution in solutions], bool)
    return Solution(*(with_axes(stacked[name], lead) for name in Solution._fields))


def holding_within(engine: WordEngine, problems: Mapping[str, Array]) -> dict[str, Array]:
    """Return problems whose references are first states, which are within the domain then."""
    states = problems["x_ref"]
    rows = {"x_ref": states.reshape(-1, states.shape[-1])}
    return {**problems, "x_ref": limit_references(engine.design, rows)[1]["x_ref"].reshape(states.shape)}


def _near_to(robot: Robot, problems: Mapping[str, Array], states: Array) -> dict[str, Array]:
    """Return the first configurations and the references of problems, near to states (P, nq + nv).

    Their quaternions are on one side. They get the other signs if the first ones are nearer then.
    """
    q, x_ref = problems["q"].copy(), problems["x_ref"].copy()
    for joint in wide_joints(robot):
        part = list(joint.quaternion)
        turned = np.sum(q[:, part] * states[:, part], axis=1, keepdims=True) < 0.0
        q[:, part] *= np.where(turned, -1.0, 1.0)
        x_ref[..., part] *= np.where(turned, -1.0, 1.0)[:, np.newaxis]
    return {"q": q, "x_ref": x_ref}


def _together(engine: WordEngine) -> int:
    """Return the number of problems that an accelerator solves together."""
    shape = engine.design.interface.solver
    assert shape is not None
    return shape.problems


def _solve_group(engine: WordEngine, group: Sequence[Asked]) -> list[dict[str, NDArray[Any]] | None]:
    """Return the solutions of problems, slot after slot; None for one whose first state is not finite.

    The last of these are left out. In the slot of another one is a problem of the group without iterations,
    so that the next solution of this slot holds forces.
    """
    finite = [bool(np.isfinite(each.problem["v"]).all()) for each in group]
    if not any(finite):
        return [None] * len(group)
    last = max(slot for slot, good in enumerate(finite) if good)
    instead = Asked(group[last].problem, 0)
    sent = [each if good else instead for each, good in zip(group[: last + 1], finite, strict=False)]
    solutions: list[dict[str, NDArray[Any]] | None] = [*engine.solve(sent)]
    solutions += [None] * (len(group) - len(sent))
    return [solution if good else None for solution, good in zip(solutions, finite, strict=True)]


def _not_finite(robot: Robot, steps: int) -> dict[str, NDArray[Any]]:
    """Return the solution of a problem whose first state is not finite."""
    sizes = sizes_of(robot, steps, 0)
    shapes = {name: tuple(sizes[axis] for axis in axes) for name, axes in SOLVE_OUTPUTS.items()}
    solution: dict[str, NDArray[Any]] = {name: np.full(shape, np.nan) for name, shape in shapes.items()}
    counts = {"iterations": np.array(0), "status": np.array(int(Solved.NOT_FINITE))}
    return solution | counts | {"followed": np.array(False)}


def check_bounds(problems: Mapping[str, Array]) -> None:
    """Refuse limits of which the lower one is above the upper one."""
    for low, high in (BOUNDS[:2], BOUNDS[2:]):
        if np.any(problems[low] > problems[high]):
            raise InputError(f"array '{low}'", f"above {high}", f"at most {high}")


def check_goals(problems: Mapping[str, Array]) -> None:
    """Refuse reference states (P, N + 1, nq + nv) beyond the soft limits of states (P, nq + nv)."""
    low, high = (problems[name][:, np.newaxis] for name in ("x_min", "x_max"))
    beyond = np.argwhere((problems["x_ref"] < low) | (problems["x_ref"] > high))
    if len(beyond):
        problem, knot, k = beyond[0].tolist()
        value = problems["x_ref"][problem, knot, k]
        expected = f"{low[problem, 0, k]:g} to {high[problem, 0, k]:g}"
        where = f"array 'x_ref', problem {problem}, knot {knot}, element {k}"
        raise InputError(where, f"{value:g} is a goal outside the limits", expected, "set x_min and x_max")


def expanded(name: str, array: Any, axes: Sequence[str | int], sizes: Sizes) -> tuple[Array, tuple[int, ...]]:
    """Return an array of the user with one axis of problems before all others, and the axes that it had."""
    where = f"array '{name}'"
    numbers = as_numbers(where, array)
    shape = tuple(sizes[axis] for axis in axes)
    timed, lead = axes[0] in ("knots", "steps"), numbers.shape[: -len(shape)]
    if timed and numbers.shape == shape[1:]:
        expanded = np.broadcast_to(numbers, (1, *shape))
    elif numbers.shape == (*lead, *shape) and numbers.size:
        expanded = numbers.reshape(-1, *shape)
    else:
        same = f", {shape[1:]} for all {axes[0]}" if timed else ""
        expected = f"{shape}{same}, or with axes of problems before"
        raise InputError(where, f"shape {numbers.shape}", expected)
    if name not in BOUNDS:
        check_finite(name, expanded)
    elif np.isnan(expanded).any():
        raise InputError(where, "is not a number", "bounds, which may be infinite")
    if name == CONTACT and not np.isin(expanded, (0.0, 1.0)).all():
        raise InputError(where, "neither 0 nor 1", "1 for each contact of a step, 0 for the others")
    if name in WEIGHTS and expanded.min(initial=0.0) < 0.0:
        raise InputError(where, f"{expanded.min():g} is a negative weight", "weights from 0 on")
    return expanded, lead


def one_of(name: str, array: Any, axes: Sequence[str | int], sizes: Sizes) -> Array:
    """Return an array that is the same for all problems, with all its axes."""
    numbers, lead = expanded(name, array, axes, sizes)
    if lead:
        raise InputError(f"array '{name}'", "has axes of problems", "the same for all")
    return np.asarray(numbers[0])


def _shifted(array: Array, steps: int) -> Array:
    """Return an array of a trajectory some steps later; its last element stays for the rest."""
    kept = array[:, min(steps, array.shape[1] - 1) :]
    return np.concatenate([kept, np.repeat(kept[:, -1:], array.shape[1] - kept.shape[1], axis=1)], axis=1)


def _limits(robot: Robot) -> dict[str, Array]:
    """Return the limits of states and forces in the URDF; there are none of what is not a coordinate."""
    states = np.full((2, robot.nq + robot.nv), np.inf)
    states[0] = -np.inf
    forces = np.full((1, robot.nv), np.inf)
    for body, columns, rates in zip(robot.bodies, robot.q_of, robot.v_of, strict=True):
        joint = body.joint
        if joint.mimic is not None:
            continue
        forces[0, rates] = [limits.effort for limits in joint.limits]
        states[:, robot.nq :][:, rates] = np.outer((-1.0, 1.0), [limits.velocity for limits in joint.limits])
        if joint.kind.quaternion is None and joint.kind is not JointKind.PLANAR:
            states[:, columns] = np.transpose([(limits.lower, limits.upper) for limits in joint.limits])
    return {"x_min": states[:1], "x_max": states[1:], "tau_min": -forces, "tau_max": forces}


def _on_one_side(robot: Robot, states: Array, q: Array) -> Array:
    """Return states (P, N + 1, nq + nv) with unit quaternions, each on the side of the one before it.

    An orientation has two quaternions. The first one of a row is on the side of ``q`` (P, nq).
    """
    sided = states.copy()
    for body, columns in zip(robot.bodies, robot.q_of, strict=True):
        part = body.joint.kind.quaternion
        if part is None or body.joint.mimic is not None:
            continue
        rows = sided[..., : robot.nq][..., columns][..., part]  # a view
        lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
        if lengths.min() < MIN_LENGTH:
            reason = f"a quaternion of joint '{body.joint.name}' has length {lengths.min():g}"
            raise InputError("arrays of states", reason, "unit quaternions [x y z w]")
        rows /= lengths
        before = q[:, columns][:, part]
        for k in range(rows.shape[1]):
            turned = np.sum(rows[:, k] * before, axis=-1, keepdims=True) < 0.0
            rows[:, k] *= np.where(turned, -1.0, 1.0)
            before = rows[:, k]
    return sided
