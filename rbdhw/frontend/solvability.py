"""Check that functions can be had of a robot, before they are built.

Some need the inverse of the mass matrix, others the masses of all links.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.protocol import DEFAULT_FUNCTIONS, FUNCTIONS, WHOLE_BODY
from rbdhw.remarks import subject
from rbdhw.robot.inertial import negative_moment
from rbdhw.robot.model import Body, Contact, Inertia, Robot

WITHOUT_INVERSE = tuple(name for name in DEFAULT_FUNCTIONS if not FUNCTIONS[name].inverts)
"""The default functions that do not need the inverse of the mass matrix."""

POSES = 4
"""The number of random poses in which the mass matrix is evaluated."""

REACH = 3.0
"""The largest coordinate of these poses (rad or m; quaternions are normalised)."""

SINGULAR = 1e-12
"""The ratio of the smallest to the largest eigenvalue below which a mass matrix counts as singular. The
matrix is scaled to a unit diagonal. Rounding errors make a ratio of zero about this large."""

INVOLVED = 1e-3
"""A joint takes part in a motion if its component is at least this share of the largest one."""

STILL = 1e-9
"""The largest element (m/rad or 1) of the Jacobian of a point that does not move."""

STARTS, STEPS = 32, 60
"""The random poses from which loops are closed, and the steps of Newton's method."""

CLOSED = 1e-6
"""The distance (m) of the points of a loop that is closed."""

Array = NDArray[np.float64]


def check_functions(robot: Robot, functions: Iterable[str]) -> None:
    """Refuse functions that the robot does not have.

    See :func:`check_constraints`, :func:`check_weighed` and :func:`check_solvable`.
    """
    check_constraints(robot)
    check_weighed(robot, functions)
    check_solvable(robot, functions)


def check_constraints(robot: Robot) -> None:
    """Refuse contacts and loops that no motion can hold: :func:`check_contacts` and :func:`check_loops`."""
    check_contacts(robot)
    check_loops(robot)


def check_contacts(robot: Robot) -> None:
    """Refuse a contact whose rows no joint moves: a point on the only axis that carries it."""
    for name, jacobian in golden.contact_jacobians(robot, random_poses(robot, POSES)).items():
        if np.abs(jacobian).max() < STILL:
            expected = "a frame whose origin moves, or a surface if it turns"
            raise InputError("contacts", f"the origin of link '{name}' does not move", expected)


def check_loops(robot: Robot) -> None:
    """Refuse loops that no joint moves, and those that Newton's method closes together from no pose."""
    if not robot.contacts.loops:
        return
    q = random_poses(robot, STARTS)
    for loop in robot.contacts.loops:
        if np.abs(golden.loop_gaps(robot, (loop,), q)[1]).max() < STILL:
            raise InputError(f"loops, {loop.frame.name}", "no joint moves its points", "joints between them")
    close_loops(robot, robot.contacts.loops, q)


def random_poses(robot: Robot, count: int) -> Array:
    """Return random configurations (count, nq)."""
    q = np.random.default_rng(0).uniform(-REACH, REACH, (count, robot.nq))
    return golden.with_unit_quaternions(robot, q)


def close_loops(robot: Robot, loops: Sequence[Contact], q: Array) -> Array:
    """Return the configurations that Newton's method finds from those of ``q`` and that close some loops.

    Raises InputError if there are none.
    """
    for _ in range(STEPS):
        gaps, jacobians = golden.loop_gaps(robot, loops, q)
        steps = -(np.linalg.pinv(jacobians, rcond=CLOSED) @ gaps[..., None])[..., 0]
        lengths = np.linalg.norm(steps, axis=1, keepdims=True)
        q = golden.integrate(robot, q, steps / np.maximum(1.0, lengths))
    left = np.linalg.norm(golden.loop_gaps(robot, loops, q)[0], axis=1)
    if left.min() > CLOSED:
        names = ", ".join(loop.frame.name for loop in loops)
        reason = f"cannot close: {left.min():.3g} m are left"
        raise InputError(f"loops, {names}", reason, "points that can meet")
    return np.asarray(q[left <= CLOSED])


def check_weighed(robot: Robot, functions: Iterable[str]) -> None:
    """Refuse functions of the whole body if the masses that no joint feels may vary."""
    weighed = [function for function in functions if function in WHOLE_BODY]
    if weighed and robot.loaded is not None and not robot.floats:
        reason = f"{weighed[0]} needs all masses, and parameters on a base that does not float have only"
        expected = "parameters that are constant, or a base that floats"
        raise InputError("parameters", f"{reason} those that joints feel", expected)


def check_solvable(robot: Robot, functions: Iterable[str]) -> None:
    """Refuse functions that need the inverse of the mass matrix if it is singular in every pose.

    The message names a link without inertia and the joints that can move without moving mass.
    """
    if not any(FUNCTIONS[function].inverts for function in functions):
        return
    motions: list[Array] = []
    for M in golden.evaluate(robot, "m", {"q": random_poses(robot, POSES)})["M"]:
        motion = _free_motion(M)
        if motion is None:
            return
        motions.append(motion)
    joints, body = _involved_joints(robot, motions[0])
    moving, functions = subject("joint", joints), f"use --functions {','.join(WITHOUT_INVERSE)}"
    reason = f"{_lack(body)}, and {moving} can move without moving any mass"
    state, expected, remedy = "singular", "an <inertial> there", f"add it, or {functions}"
    negative = negative_moment(body.inertia)
    if negative:
        reason = f"has a moment of inertia of {negative:.6g} kg m^2, and {moving} can move without energy"
        state, expected = "not positive definite", "positive moments"
        remedy = f"correct its <inertia>, or {functions}"
    matrix = f"the mass matrix of robot {robot.name!r} is {state}"
    raise InputError(f"link {body.name!r}", f"{reason}: {matrix}", expected, remedy)


def _free_motion(M: Array) -> Array | None:
    """Return a motion of the joints without kinetic energy, or None if there is none."""
    size = np.sqrt(np.maximum(np.diag(M), 0.0))
    if not size.all():
        return np.where(size == 0.0, 1.0, 0.0)
    # Scaled to a unit diagonal, so that small and large masses count alike.
    values, vectors = np.linalg.eigh(M / np.outer(size, size))
    motion: Array = vectors[:, 0] / size
    return motion if values[0] < SINGULAR * values[-1] else None


def _involved_joints(robot: Robot, motion: Array) -> tuple[list[str], Body]:
    """Return the joints that take part in a motion, and the first of their bodies without inertia.

    If all these bodies have inertia, the first of them is returned, or the first with a negative one.
    """
    shares = np.abs(motion) / np.abs(motion).max()
    pairs = zip(robot.bodies, robot.v_of, strict=True)
    bodies = [body for body, span in pairs if body.joint.mimic is None and shares[span].max() >= INVOLVED]
    massless = [body for body in bodies if body.inertia == Inertia()]
    negative = [body for body in bodies if negative_moment(body.inertia)]
    return [body.joint.name for body in bodies], (negative or massless or bodies)[0]


def _lack(body: Body) -> str:
    return "has no inertia" if body.inertia == Inertia() else "has no inertia in some direction"
