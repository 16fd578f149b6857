"""The golden model: rigid-body dynamics and its first derivatives in plain 6x6 NumPy.

A second derivation, independent of ``rbdhw.dynamics`` (which propagates composites): everything here is
the textbook recursion with dense spatial matrices, and derivatives are propagated column by column.

Inside, spatial vectors are ``[angular; linear]`` in body frames, column vectors of shape (N, 6, 1), and
matrices are (N, 6, k), one for each of N tasks. At the interface, arrays follow Pinocchio: a floating base
has ``q = [x y z, qx qy qz qw]`` (a unit quaternion) and ``v = [linear; angular]`` in the body frame, and
derivatives with respect to ``q`` are taken in the tangent space (right perturbation).

Source: Featherstone, *Rigid Body Dynamics Algorithms*, chapters 2 and 4 to 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rbdhw.errors import InputError
from rbdhw.robot.model import BASE, Inertia, Joint, JointKind, Placement, Robot

Array = NDArray[np.floating]
Tasks = Mapping[str, Array]
"""Arrays by name, each with the tasks along its first axis."""

CHUNK = 512
"""Tasks evaluated at once, so that memory stays bounded and the matrices stay near the processor."""

MAX_CANCELLATION = 1e12
"""Past this factor of rounding errors in its inverse, a mass matrix is taken for singular."""

_REQUIRED: dict[str, tuple[str, ...]] = {
    "id": ("q", "v", "a"),
    "fd": ("q", "v", "tau"),
    "m": ("q",),
    "minv": ("q",),
    "did": ("q", "v", "a"),
    "dfd": ("q", "v", "tau"),
    "difd": ("q", "v", "a"),
}
FUNCTIONS = tuple(_REQUIRED)
"""The seven functions of Dadu-RBD's Table I."""


def inputs_of(function: str) -> tuple[str, ...]:
    """The arrays that ``function`` requires.

    Beside them, ``fext`` is optional (no use to ``m`` and ``minv``), and so is ``Minv`` for ``difd``.

    Raises
    ------
    InputError
        If there is no such function.
    """
    if function not in _REQUIRED:
        raise InputError(f"function '{function}': unknown; expected one of {', '.join(FUNCTIONS)}")
    return _REQUIRED[function]


def evaluate(robot: Robot, function: str, arrays: Tasks) -> dict[str, NDArray[np.float64]]:
    """One of the seven functions, for N tasks, in float64.

    Parameters
    ----------
    function
        One of :data:`FUNCTIONS`.
    arrays
        By name, of what :func:`inputs_of` lists: ``q`` (N, nq), ``v``, ``a``, ``tau`` (N, nv) in rad, m and
        their rates, Nm, N; optionally ``fext`` (N, bodies, 6), the external force ``[moment; force]`` on each
        body in its own URDF link frame, and for ``difd`` the ``Minv`` (N, nv, nv) to use. Others are ignored.

    Returns
    -------
    dict
        ``id``: ``tau`` (N, nv); ``fd``: ``a`` (N, nv); ``m``: ``M``; ``minv``: ``Minv``; ``did``: ``dtau_dq``
        and ``dtau_dv``; ``dfd`` and ``difd``: ``da_dq`` and ``da_dv``, matrices of shape (N, nv, nv) with the
        results along the rows and the variables along the columns.

    Raises
    ------
    InputError
        If the function is unknown, an array missing, not of real numbers or of another shape, or the mass
        matrix singular.
    """
    tasks = _checked(robot, function, arrays)
    model = _model(robot)
    parts = [
        _compute(model, function, {name: array[k : k + CHUNK] for name, array in tasks.items()})
        for k in range(0, max(len(tasks["q"]), 1), CHUNK)
    ]
    return {name: np.concatenate([part[name] for part in parts], dtype=np.float64) for name in parts[0]}


def _checked(robot: Robot, function: str, arrays: Tasks) -> dict[str, Array]:
    """The arrays that the function uses, in float64 and of proven shapes; ``fext`` is zero by default."""
    required = inputs_of(function)
    for name in required:
        if name not in arrays:
            raise InputError(f"array '{name}': missing; {function} needs {', '.join(required)}")
    vector, matrix, wrenches = (robot.nv,), (robot.nv, robot.nv), (len(robot.bodies), 6)
    shapes = {"q": (robot.nq,), "v": vector, "a": vector, "tau": vector, "fext": wrenches, "Minv": matrix}
    names = [*required, "fext"] + (["Minv"] if function == "difd" else [])
    count = np.shape(arrays["q"])[:1] or (1,)
    tasks = {"fext": np.zeros((*count, *wrenches))}
    for name in (name for name in names if name in arrays):
        array, shape = np.asarray(arrays[name]), (*count, *shapes[name])
        if not np.can_cast(array.dtype, np.float64, "same_kind"):
            raise InputError(f"array '{name}': holds {array.dtype}; expected real numbers")
        if array.shape != shape:
            tasks_of = f"{count[0]} tasks of robot '{robot.name}'"
            raise InputError(f"array '{name}': shape {array.shape}; expected {shape} for {tasks_of}")
        tasks[name] = array.astype(np.float64)
    return tasks


# Spatial algebra


def skew(r: Array) -> Array:
    """The matrix ``r x`` (..., 3, 3) of a 3-vector (..., 3)."""
    x, y, z = np.moveaxis(r, -1, 0)
    zero = np.zeros_like(x)
    rows = ((zero, -z, y), (z, zero, -x), (-y, x, zero))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def blocks(upper_left: Array, upper_right: Array, lower_left: Array, lower_right: Array) -> Array:
    """The 6x6 matrix of four 3x3 blocks, any of which may lack the axis of the tasks."""
    shape = np.broadcast_shapes(upper_left.shape, upper_right.shape, lower_left.shape, lower_right.shape)
    matrix = np.empty((*shape[:-2], 6, 6))
    matrix[..., :3, :3], matrix[..., :3, 3:] = upper_left, upper_right
    matrix[..., 3:, :3], matrix[..., 3:, 3:] = lower_left, lower_right
    return matrix


def transform(E: Array, r: Array) -> Array:
    """The matrix X that maps motion vectors into a frame at ``r``, turned by coordinate transform ``E``.

    Its transpose maps force vectors back. (Featherstone, 2.8.)
    """
    return blocks(E, np.zeros((3, 3)), -E @ skew(r), E)


def motion_cross(m: Array) -> Array:
    """``m x`` (N, 6, 6), acting on motion vectors, of the motion vector ``m`` (N, 6, 1)."""
    omega, linear = skew(m[:, :3, 0]), skew(m[:, 3:, 0])
    return blocks(omega, np.zeros((3, 3)), linear, omega)


def force_cross(m: Array) -> Array:
    """``m x*`` (N, 6, 6), acting on force vectors, of the motion vector ``m`` (N, 6, 1)."""
    return -transposed(motion_cross(m))


def cross_force(f: Array) -> Array:
    """The matrix (N, 6, 6) that takes a motion vector ``m`` to ``m x* f``, for the force ``f`` (N, 6, 1)."""
    moment, force = skew(f[:, :3, 0]), skew(f[:, 3:, 0])
    return blocks(-moment, -force, -force, np.zeros((3, 3)))


def transposed(matrix: Array) -> Array:
    """The transpose of the last two axes."""
    return matrix.swapaxes(-1, -2)


# The robot as matrices


@dataclass(frozen=True)
class _Link:
    """One body: constants of Featherstone's system model, and where its joint's coordinates lie.

    ``X_tree`` places the joint in the parent, ``S`` (6, nv_i) is its motion subspace, constant in the body
    frame; ``X_link`` maps motion from the body's frame to its URDF link's, where ``fext`` is given.
    """

    parent: int
    joint: Joint
    X_tree: Array
    X_link: Array
    S: Array
    inertia: Array
    q: slice
    v: slice


@dataclass(frozen=True)
class _Model:
    name: str
    links: tuple[_Link, ...]
    nv: int
    gravity: Array


@lru_cache(maxsize=32)
def _model(robot: Robot) -> _Model:
    links: list[_Link] = []
    nq = nv = 0
    for body in robot.bodies:
        joint = body.joint
        q, v = slice(nq, nq + joint.kind.nq), slice(nv, nv + joint.kind.nv)
        X_tree, X_link = _placement_transform(joint.placement), _placement_transform(body.link_frame)
        S, inertia = motion_subspace(joint), _inertia(body.inertia)
        links.append(_Link(body.parent, joint, X_tree, X_link, S, inertia, q, v))
        nq, nv = q.stop, v.stop
    return _Model(robot.name, tuple(links), nv, np.array([0.0, 0.0, 0.0, *robot.gravity]).reshape(6, 1))


def _placement_transform(placement: Placement) -> Array:
    return transform(np.array(placement.rotation).T, np.array(placement.translation))


def _inertia(inertia: Inertia) -> Array:
    """The spatial inertia (6, 6) about the frame's origin (Featherstone, 2.13)."""
    xx, xy, xz, yy, yz, zz = inertia.rotational
    hx = skew(np.array(inertia.first_moment))
    return blocks(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), hx, hx.T, inertia.mass * np.eye(3))


def motion_subspace(joint: Joint) -> Array:
    """S (6, nv_i), which maps the joint's velocity coordinates to its motion, in the body frame."""
    if joint.kind is JointKind.FLOATING:
        return np.roll(np.eye(6), 3, axis=0)  # the user's [linear; angular]
    column = np.zeros((6, 1))
    column[slice(0, 3) if joint.kind.rotates else slice(3, 6), 0] = joint.axis
    return column


def joint_transform(joint: Joint, q: Array) -> Array:
    """X_J (N, 6, 6), across the joint alone, at the coordinates ``q`` (N, nq_i)."""
    if joint.kind is JointKind.FLOATING:
        return transform(_quaternion_transform(q[:, 3:]), q[:, :3])
    axis, coordinate = np.array(joint.axis), q + joint.offset
    if not joint.kind.rotates:
        return transform(np.eye(3), coordinate * axis)
    K, angle = skew(axis), coordinate[..., np.newaxis]
    return transform(np.eye(3) - np.sin(angle) * K + (1 - np.cos(angle)) * K @ K, np.zeros(3))


def _quaternion_transform(quaternion: Array) -> Array:
    """The coordinate transform E (N, 3, 3) into the frame turned by a unit quaternion ``[x y z w]``."""
    K, w = skew(quaternion[:, :3]), quaternion[:, 3, np.newaxis, np.newaxis]
    return np.eye(3) - 2 * w * K + 2 * K @ K


# Inverse dynamics and its derivatives


@dataclass(frozen=True)
class _Motion:
    """Per body: X from its parent's frame, velocity, acceleration, and force.

    ``f`` is the net force on the body alone after the forward pass; the backward pass adds the children's.
    """

    X: list[Array]
    v: list[Array]
    a: list[Array]
    f: list[Array]


def _transforms(model: _Model, q: Array) -> list[Array]:
    """X (N, 6, 6) of each body from its parent's frame."""
    return [joint_transform(link.joint, q[:, link.q]) @ link.X_tree for link in model.links]


def _rnea_forward(model: _Model, tasks: Tasks, acceleration: Array) -> _Motion:
    """Motion and net force of each body, root to leaves (Featherstone, table 5.1)."""
    motion = _Motion(_transforms(model, tasks["q"]), [], [], [])
    for i, link in enumerate(model.links):
        v_parent, a_parent = _parent_motion(model, motion, i)
        X, S, inertia = motion.X[i], link.S, link.inertia
        v_joint = S @ tasks["v"][:, link.v, np.newaxis]
        v = X @ v_parent + v_joint
        a = X @ a_parent + S @ acceleration[:, link.v, np.newaxis] + motion_cross(v) @ v_joint
        f_ext = link.X_link.T @ tasks["fext"][:, i, :, np.newaxis]
        motion.v.append(v)
        motion.a.append(a)
        motion.f.append(inertia @ a + force_cross(v) @ (inertia @ v) - f_ext)
    return motion


def _parent_motion(model: _Model, motion: _Motion, i: int) -> tuple[Array, Array]:
    """Velocity and acceleration of body i's parent; gravity enters as the base's acceleration."""
    parent = model.links[i].parent
    return (np.zeros((6, 1)), -model.gravity) if parent == BASE else (motion.v[parent], motion.a[parent])


def _rnea_backward(model: _Model, tasks: Tasks, motion: _Motion) -> Array:
    """tau (N, nv), leaves to root; leaves in ``motion.f`` the force across each joint."""
    tau = np.empty((len(tasks["q"]), model.nv))
    for i in reversed(range(len(model.links))):
        link = model.links[i]
        tau[:, link.v] = (link.S.T @ motion.f[i])[..., 0]
        if link.parent != BASE:
            motion.f[link.parent] = motion.f[link.parent] + transposed(motion.X[i]) @ motion.f[i]
    return tau


def _derivative_forward(model: _Model, tasks: Tasks, motion: _Motion) -> list[Array]:
    """df/d[q, v] (N, 6, 2 nv) of each body's net force, by columns, root to leaves.

    A perturbation of the joint's own coordinate moves whatever X brings from the parent by ``(X m) x S``.
    """
    fixed = np.zeros((len(tasks["q"]), 6, 2 * model.nv))
    dv: list[Array] = []
    da: list[Array] = []
    df: list[Array] = []
    for i, link in enumerate(model.links):
        v_parent, a_parent = _parent_motion(model, motion, i)
        X, S, inertia, v = motion.X[i], link.S, link.inertia, motion.v[i]
        own_q, own_v = link.v, slice(model.nv + link.v.start, model.nv + link.v.stop)
        dv.append(X @ (fixed if link.parent == BASE else dv[link.parent]))
        dv[i][:, :, own_q] += motion_cross(X @ v_parent) @ S
        dv[i][:, :, own_v] += S
        da.append(X @ (fixed if link.parent == BASE else da[link.parent]))
        da[i][:] -= motion_cross(S @ tasks["v"][:, link.v, np.newaxis]) @ dv[i]
        da[i][:, :, own_q] += motion_cross(X @ a_parent) @ S
        da[i][:, :, own_v] += motion_cross(v) @ S
        df.append(inertia @ da[i] + (force_cross(v) @ inertia + cross_force(inertia @ v)) @ dv[i])
    return df


def _derivative_backward(model: _Model, tasks: Tasks, motion: _Motion, df: list[Array]) -> Array:
    """dtau/d[q, v] (N, nv, 2 nv), leaves to root, from the forces across the joints."""
    dtau = np.empty((len(tasks["q"]), model.nv, 2 * model.nv))
    for i in reversed(range(len(model.links))):
        link = model.links[i]
        dtau[:, link.v] = link.S.T @ df[i]
        if link.parent != BASE:
            df[i][:, :, link.v] += cross_force(motion.f[i]) @ link.S
            df[link.parent] += transposed(motion.X[i]) @ df[i]
    return dtau


def _inverse_dynamics(model: _Model, tasks: Tasks, acceleration: Array) -> Array:
    return _rnea_backward(model, tasks, _rnea_forward(model, tasks, acceleration))


def _inverse_dynamics_derivatives(model: _Model, tasks: Tasks, acceleration: Array) -> Array:
    """dtau/d[q, v] (N, nv, 2 nv)."""
    motion = _rnea_forward(model, tasks, acceleration)
    df = _derivative_forward(model, tasks, motion)
    _rnea_backward(model, tasks, motion)
    return _derivative_backward(model, tasks, motion, df)


# Mass matrix and forward dynamics


def _mass_matrix(model: _Model, q: Array) -> Array:
    """M (N, nv, nv) by composite rigid bodies (Featherstone, table 6.2)."""
    X = _transforms(model, q)
    composite = [np.broadcast_to(link.inertia, (len(q), 6, 6)) for link in model.links]
    M = np.zeros((len(q), model.nv, model.nv))
    for i in reversed(range(len(model.links))):
        link = model.links[i]
        F, j = composite[i] @ link.S, i
        M[:, link.v, link.v] = link.S.T @ F
        while model.links[j].parent != BASE:
            F, j = transposed(X[j]) @ F, model.links[j].parent
            M[:, model.links[j].v, link.v] = model.links[j].S.T @ F
            M[:, link.v, model.links[j].v] = transposed(M[:, model.links[j].v, link.v])
        if link.parent != BASE:
            composite[link.parent] = composite[link.parent] + transposed(X[i]) @ composite[i] @ X[i]
    return M


def _mass_matrix_inverse(model: _Model, q: Array) -> Array:
    """Minv (N, nv, nv), refused where rounding leaves nothing of it.

    Each diagonal entry of ``Minv M`` is a sum to 1 of terms that depend on no unit; their magnitude says how
    much of the result is cancelled.
    """
    M = _mass_matrix(model, q)
    try:
        Minv = np.linalg.inv(M)
        singular = bool(np.any(np.sum(np.abs(Minv * M), axis=-1) > MAX_CANCELLATION))
    except np.linalg.LinAlgError:
        singular = True
    if singular:
        expected = "expected every motion of its joints to move mass or inertia"
        raise InputError(f"robot '{model.name}': singular mass matrix; {expected}")
    return Minv


def _forward_dynamics(model: _Model, tasks: Tasks) -> Array:
    """The acceleration (N, nv) that solves ``M a = tau - C``, C being the torque without acceleration."""
    bias = _inverse_dynamics(model, tasks, np.zeros_like(tasks["v"]))
    return (_mass_matrix_inverse(model, tasks["q"]) @ (tasks["tau"] - bias)[..., np.newaxis])[..., 0]


# The seven functions


def _compute(model: _Model, function: str, tasks: Tasks) -> dict[str, Array]:
    """What :func:`evaluate` returns, for one chunk of checked tasks."""
    match function:
        case "id":
            return {"tau": _inverse_dynamics(model, tasks, tasks["a"])}
        case "fd":
            return {"a": _forward_dynamics(model, tasks)}
        case "m":
            return {"M": _mass_matrix(model, tasks["q"])}
        case "minv":
            return {"Minv": _mass_matrix_inverse(model, tasks["q"])}
    acceleration = _forward_dynamics(model, tasks) if function == "dfd" else tasks["a"]
    dtau = _inverse_dynamics_derivatives(model, tasks, acceleration)
    if function == "did":
        return {"dtau_dq": dtau[..., : model.nv], "dtau_dv": dtau[..., model.nv :]}
    Minv = tasks["Minv"] if "Minv" in tasks else _mass_matrix_inverse(model, tasks["q"])
    da = -Minv @ dtau  # tau is held still: M da + dtau = 0
    return {"da_dq": da[..., : model.nv], "da_dv": da[..., model.nv :]}
