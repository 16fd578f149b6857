"""The golden model: rigid-body dynamics and its first derivatives in plain 6x6 NumPy.

This derivation is independent of ``rbdhw.dynamics``, which propagates composites. It uses the textbook
recursions with dense spatial matrices, and derivatives are propagated column by column.

Inside, spatial vectors are ``[angular; linear]`` in body frames, column vectors of shape (N, 6, 1), and
matrices are (N, 6, k), one for each of N tasks. The recursions treat mimics as independent joints, and
results are reduced with the constant ``G`` that maps the robot's velocities to those of all joints:
``G^T tau``, ``G^T M G``. At the interface, arrays follow Pinocchio, with the coordinates of
:class:`rbdhw.robot.model.JointKind`. Derivatives with respect to ``q`` are taken in the tangent space (right
perturbation).

Source: Featherstone, *Rigid Body Dynamics Algorithms*, chapters 3 to 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rbdhw.errors import InputError
from rbdhw.golden.articulated import is_long, solve
from rbdhw.golden.complex_step import by_position, by_velocity
from rbdhw.golden.contacts import (
    contact_inertia,
    derivatives_with_contacts,
    held_by_contacts,
    stopped_by_contacts,
)
from rbdhw.golden.held_base import (
    MOTION,
    clear_base,
    clear_base_motion,
    is_held,
    with_base_motion,
    without_base,
    without_base_changes,
)
from rbdhw.golden.integrators import derivatives, euler, runge_kutta
from rbdhw.golden.kinematics import (
    clearances,
    frame_jacobians,
    kinematics,
    placed_frame,
    placements,
    positions,
)
from rbdhw.golden.spatial import Array, cross_force, force_cross, motion_cross, transpose
from rbdhw.golden.system import System, loaded_system, system, unit_inertias
from rbdhw.golden.tasks import Tasks, check_inputs
from rbdhw.golden.whole_body import centre_of_mass, centroidal, centroidal_derivatives, energy
from rbdhw.protocol import FUNCTIONS, PARAMETERS, function_giving
from rbdhw.robot.model import BASE, Robot

CHUNK = 512
"""The number of tasks evaluated at once, which bounds the memory and keeps the matrices in the cache."""

MAX_CANCELLATION = 1e12
"""A mass matrix counts as singular if its inverse amplifies rounding errors by more than this factor."""


def evaluate(
    robot: Robot, function: str, arrays: Tasks, extended: bool = False
) -> dict[str, NDArray[np.float64]]:
    """Evaluate one of the functions for N tasks in float64.

    Raises InputError if the function is unknown; an array is missing, not of real numbers or of another
    shape; a quaternion is zero; or the mass matrix is singular.

    Parameters
    ----------
    function
        One of :data:`FUNCTIONS`.
    arrays
        The arrays that :func:`inputs_of` lists: ``q`` (N, nq), ``v``, ``a``, ``tau`` (N, nv) in rad, m and
        their rates, Nm and N, multipliers ``lambda_tau`` or ``lambda_a`` (N, nv), and the step ``h`` (N,) in
        seconds. Optional are ``fext`` (N, bodies, 6), the external force ``[force; moment]`` on each body in
        its own URDF link frame, and for ``difd`` the ``Minv`` (N, nv, nv) to use. Other arrays are ignored.
        Quaternions are normalized.
        ``parameters`` (N, links, 10) are mass, centre of mass and inertia (xx, xy, xz, yy, yz, zz) about it,
        of the links of ``robot.loaded`` in their own frames.
        ``base_v`` and ``base_a`` (N, 6) are the base link's spatial velocity and acceleration
        ``[linear; angular]`` in its own frame, without gravity. ``gravity`` (N, 3) is in the world's frame,
        or in the base link's frame if the base's motion is given. If tasks choose (``robot.base_chosen``),
        ``base_held`` (N,) is one where the base is held and moves with its velocity in ``v`` and with
        ``base_a``, which only functions with ``tau`` take; both are zero by default.
    extended
        Whether to return the function's optional results, too.

    Returns
    -------
    dict
        ``id``, ``gravity`` and ``bias``: ``tau`` (N, nv); ``fd``: ``a`` (N, nv); ``m``: ``M``; ``minv``:
        ``Minv``; ``did``: ``dtau_dq`` and ``dtau_dv``; ``dfd`` and ``difd``: ``da_dq`` and ``da_dv``.
        Matrices have shape (N, nv, nv); rows are results and columns are variables. ``sid``: ``d2tau_dqdq``,
        ``d2tau_dqdv``, ``d2tau_dvdv`` and ``dM_dq`` (N, nv, nv, nv), where the last index is that of the
        second variable; ``sfd``: the same of ``a``, and ``dMinv_dq``. ``hid``: ``H_qq``, ``H_qv``, ``H_vv``
        and ``H_qa``, the second derivatives of ``lambda_tau . tau``; ``hfd``: those of ``lambda_a . a``, with
        ``H_qtau``. By two positions of one joint the derivative by the first index is taken first. ``kin``:
        for each of the robot's frames ``placement`` (N, frames, 4, 4), ``J`` (N, frames, 6, nv) and
        ``velocity`` (N, frames, 6), all ``[linear; angular]`` (:mod:`rbdhw.golden.kinematics`). ``step`` and
        ``rk4``: ``x_next`` (N, nq + nv), the state after a step of ``h`` (:mod:`rbdhw.golden.integrators`);
        ``dstep`` and ``drk4``: also its derivatives ``A`` (N, 2 nv, 2 nv) by the state and ``B`` (N, 2 nv,
        nv) by ``tau``.
    """
    tasks = check_inputs(robot, function, arrays)
    model = system(robot)
    parts = [
        _compute(robot, model, function, {name: array[k : k + CHUNK] for name, array in tasks.items()})
        for k in range(0, max(len(tasks["q"]), 1), CHUNK)
    ]
    computed = {name: np.concatenate([part[name] for part in parts], dtype=np.float64) for name in parts[0]}
    entry = FUNCTIONS[function]
    results = {name: computed[name] for name in entry.outputs}
    for name in entry.optional_outputs if extended else ():
        other = function_giving(name, function)
        results |= {name: computed[name] if other == function else evaluate(robot, other, arrays)[name]}
    return results


# Inverse dynamics and its derivatives


@dataclass(frozen=True)
class _Motion:
    """The motion of the base and of all joints, and for each link X from its parent's frame, v, a and f.

    After the forward pass ``f`` is the net force on the link alone; the backward pass adds the children's.
    """

    base: tuple[Array, Array]
    rates: Array
    X: list[Array]
    v: list[Array]
    a: list[Array]
    f: list[Array]

    def parent(self, parent: int) -> tuple[Array, Array]:
        """Return velocity and acceleration of a link's parent, in the parent's frame."""
        return self.base if parent == BASE else (self.v[parent], self.a[parent])


def _rnea_forward(model: System, tasks: Tasks, acceleration: Array) -> _Motion:
    """Compute motion and net force of each link, root to leaves (Featherstone, table 5.1)."""
    rates, accelerations = ((u @ model.G.T)[..., np.newaxis] for u in (tasks["v"], acceleration))
    X = [link.X(tasks["q"]) for link in model.links]
    external = np.roll(tasks["fext"], 3, axis=2)[..., np.newaxis]
    motion = _Motion(_base_motion(tasks), rates, X, [], [], [])
    for i, link in enumerate(model.links):
        v_parent, a_parent = motion.parent(link.parent)
        v_joint = link.S @ rates[:, link.v]
        v = X[i] @ v_parent + v_joint
        across = motion_cross(v)
        a = X[i] @ a_parent + link.S @ accelerations[:, link.v] + across @ v_joint
        f = link.inertia @ a - transpose(across) @ (link.inertia @ v)
        if link.body is not None:
            f = f - link.X_link.T @ external[:, link.body]
        motion.v.append(v)
        motion.a.append(a)
        motion.f.append(f)
    return motion


def _base_motion(tasks: Tasks) -> tuple[Array, Array]:
    """Return velocity and acceleration (N, 6, 1) of the base; the acceleration includes minus gravity."""
    v, a = (np.roll(tasks[name], 3, axis=1)[..., np.newaxis] for name in ("base_v", "base_a"))
    a[:, 3:, 0] -= tasks["gravity"]
    return v, a


def _rnea_backward(model: System, motion: _Motion) -> Array:
    """Return tau (N, nv), leaves to root; ``motion.f`` becomes the force across each joint."""
    tau = np.empty(motion.rates.shape[:2], motion.rates.dtype)
    for i in reversed(range(len(model.links))):
        link = model.links[i]
        tau[:, link.v] = (link.S.T @ motion.f[i])[..., 0]
        if link.parent != BASE:
            motion.f[link.parent] = motion.f[link.parent] + transpose(motion.X[i]) @ motion.f[i]
    return tau @ model.G


def _derivative_forward(model: System, motion: _Motion) -> list[Array]:
    """Return df/d[q, v] (N, 6, 2 n) of each link's net force, column by column, root to leaves.

    The n columns of each half are the coordinates of all joints. Perturbing the joint's own coordinate
    changes a motion ``X m`` from the parent by ``(X m) x S``.
    """
    tasks, n = motion.rates.shape[:2]
    fixed = np.zeros((tasks, 6, 2 * n), motion.rates.dtype)
    dv: list[Array] = []
    da: list[Array] = []
    df: list[Array] = []
    for i, link in enumerate(model.links):
        v_parent, a_parent = motion.parent(link.parent)
        X, S, inertia, v = motion.X[i], link.S, link.inertia, motion.v[i]
        own_q, own_v = link.v, slice(n + link.v.start, n + link.v.stop)
        dv.append(X @ (fixed if link.parent == BASE else dv[link.parent]))
        dv[i][:, :, own_q] += motion_cross(X @ v_parent) @ S
        dv[i][:, :, own_v] += S
        da.append(X @ (fixed if link.parent == BASE else da[link.parent]))
        da[i][:] -= motion_cross(S @ motion.rates[:, link.v]) @ dv[i]
        da[i][:, :, own_q] += motion_cross(X @ a_parent) @ S
        da[i][:, :, own_v] += motion_cross(v) @ S
        df.append(inertia @ da[i] + (force_cross(v) @ inertia + cross_force(inertia @ v)) @ dv[i])
    return df


def _derivative_backward(model: System, motion: _Motion, df: list[Array]) -> Array:
    """Return dtau/d[q, v] (N, nv, 2 nv), leaves to root, from the forces across the joints."""
    tasks, n = motion.rates.shape[:2]
    dtau = np.empty((tasks, n, 2 * n), motion.rates.dtype)
    for i in reversed(range(len(model.links))):
        link = model.links[i]
        dtau[:, link.v] = link.S.T @ df[i]
        if link.parent != BASE:
            df[i][:, :, link.v] += cross_force(motion.f[i]) @ link.S
            df[link.parent] += transpose(motion.X[i]) @ df[i]
    return np.concatenate([_reduce(model, dtau[..., :n]), _reduce(model, dtau[..., n:])], axis=-1)


def _reduce(model: System, matrix: Array) -> Array:
    """Return ``G^T matrix G`` (N, nv, nv), which reduces all joints' coordinates to the robot's."""
    reduced: Array = model.G.T @ matrix @ model.G
    return reduced


def _inverse_dynamics(model: System, tasks: Tasks, acceleration: Array) -> Array:
    rates, accelerations = (u @ model.G.T for u in (tasks["v"], acceleration))
    driven: Array = (model.armature * accelerations + model.damping * rates) @ model.G
    return driven + _rnea_backward(model, _rnea_forward(model, tasks, acceleration))


def _inverse_dynamics_derivatives(model: System, tasks: Tasks, acceleration: Array) -> Array:
    """Return dtau/d[q, v] (N, nv, 2 nv)."""
    motion = _rnea_forward(model, tasks, acceleration)
    df = _derivative_forward(model, motion)
    _rnea_backward(model, motion)
    dtau = _derivative_backward(model, motion, df)
    dtau[:, :, dtau.shape[1] :] += _reduce(model, np.diag(model.damping))
    return dtau


# Mass matrix and forward dynamics


def _mass_matrix(model: System, q: Array) -> Array:
    """Return M (N, nv, nv) by composite rigid bodies (Featherstone, table 6.2)."""
    X = [link.X(q) for link in model.links]
    composite = [np.broadcast_to(link.inertia, (len(q), 6, 6)) for link in model.links]
    M = np.zeros((len(q), len(model.G), len(model.G)), q.dtype)
    for i in reversed(range(len(model.links))):
        link = model.links[i]
        F, j = composite[i] @ link.S, i
        M[:, link.v, link.v] = link.S.T @ F
        while model.links[j].parent != BASE:
            F, j = transpose(X[j]) @ F, model.links[j].parent
            M[:, model.links[j].v, link.v] = model.links[j].S.T @ F
            M[:, link.v, model.links[j].v] = transpose(M[:, model.links[j].v, link.v])
        if link.parent != BASE:
            composite[link.parent] = composite[link.parent] + transpose(X[i]) @ composite[i] @ X[i]
    return _reduce(model, M + np.diag(model.armature))


def _mass_matrix_inverse(model: System, q: Array, held: Array | None = None) -> Array:
    """Return Minv (N, nv, nv); InputError if M is singular up to rounding.

    Where the base is ``held`` (N,), it is that of the joints alone.

    Each diagonal entry of ``Minv M`` is a sum to 1 of terms that do not depend on units. The sum of their
    magnitudes measures the cancellation.
    """
    M = _mass_matrix(model, q)
    M = M if held is None else without_base(M, held)
    try:
        Minv = np.linalg.inv(M)
        singular = bool(np.any(np.sum(np.abs(Minv * M), axis=-1) > MAX_CANCELLATION))
    except np.linalg.LinAlgError:
        singular = True
    if singular:
        expected = "every motion of its joints to move mass or inertia"
        raise InputError(f"robot '{model.name}'", "singular mass matrix", expected)
    return Minv if held is None else clear_base(Minv, held)


def _forward_dynamics(model: System, tasks: Tasks) -> Array:
    """Return the acceleration (N, nv) that solves ``M a = tau - C``; C is the torque at zero acceleration.

    A held base has its own acceleration already.
    """
    before = tasks.get(MOTION, np.zeros_like(tasks["v"]))
    free: Array = (tasks["tau"] - _inverse_dynamics(model, tasks, before))[..., np.newaxis]
    if MOTION not in tasks and is_long(model):
        return solve(model, tasks["q"], free[..., 0])
    return np.asarray(before + (_mass_matrix_inverse(model, tasks["q"], is_held(tasks)) @ free)[..., 0])


def _regressor(robot: Robot, model: System, tasks: Tasks) -> Array:
    """Return the joint forces (N, nv, frames, 10) by mass, first moment and inertia of the frames' links."""
    motion, columns = _rnea_forward(model, tasks, tasks["a"]), []
    for frame in robot.frames:
        i, placed = placed_frame(robot, model, frame)
        v, a = placed @ motion.v[i], placed @ motion.a[i]
        forces = [placed.T @ (unit @ a + force_cross(v) @ unit @ v) for unit in unit_inertias()]
        wrenches, tau = np.concatenate(forces, axis=-1), np.zeros((*motion.rates.shape[:2], 10))
        while i != BASE:
            link = model.links[i]
            tau[:, link.v] = link.S.T @ wrenches
            wrenches, i = transpose(motion.X[i]) @ wrenches, link.parent
        columns.append(model.G.T @ tau)
    return np.stack(columns, axis=2)


def _contact_dynamics(robot: Robot, model: System, tasks: Tasks) -> dict[str, Array]:
    Minv = _mass_matrix_inverse(model, tasks["q"], is_held(tasks))
    return held_by_contacts(robot, model, tasks, _forward_dynamics(model, tasks), Minv)


# The functions


def _compute(robot: Robot, model: System, function: str, tasks: Tasks) -> dict[str, Array]:
    """Return the results of :func:`evaluate` for one chunk of checked tasks."""
    if PARAMETERS in tasks:
        model = loaded_system(model, robot, tasks[PARAMETERS])
    if robot.base_chosen and FUNCTIONS[function].takes_force:
        tasks = with_base_motion(tasks)
    match function:
        case "id":
            return {"tau": _inverse_dynamics(model, tasks, tasks["a"])}
        case "gravity":
            still = np.zeros((len(tasks["q"]), model.G.shape[1]))
            base = {name: np.zeros_like(tasks[name]) for name in ("base_v", "base_a", "fext")}
            return {"tau": _inverse_dynamics(model, {**tasks, **base, "v": still}, still)}
        case "bias":
            return {"tau": _inverse_dynamics(model, tasks, np.zeros_like(tasks["v"]))}
        case "energy":
            return energy(model, tasks)
        case "com":
            return centre_of_mass(model, tasks)
        case "centroidal":
            return centroidal(model, tasks)
        case "dcentroidal":
            return centroidal_derivatives(robot, model, tasks)
        case "cfd":
            return _contact_dynamics(robot, model, tasks)
        case "cinertia":
            Minv = _mass_matrix_inverse(model, tasks["q"], is_held(tasks))
            return {"contact_inertia": contact_inertia(robot, model, tasks, Minv)}
        case "dfext":
            columns = frame_jacobians(robot, model, tasks).transpose(0, 3, 1, 2)
            Minv = _mass_matrix_inverse(model, tasks["q"], is_held(tasks))
            return {"dtau_dfext": -columns, "da_dfext": np.einsum("tij,tjfk->tifk", Minv, columns)}
        case "clearance":
            return clearances(robot, tasks)
        case "impulse":
            Minv = _mass_matrix_inverse(model, tasks["q"], is_held(tasks))
            return stopped_by_contacts(robot, model, tasks, Minv)
        case "fd":
            return {"a": _forward_dynamics(model, tasks)}
        case "m":
            return {"M": _mass_matrix(model, tasks["q"])}
        case "minv":
            return {"Minv": _mass_matrix_inverse(model, tasks["q"], is_held(tasks))}
        case "did" | "dfd" | "difd":
            return _first_derivatives(model, function, tasks)
        case "sid" | "sfd":
            return _second_derivatives(robot, model, function, tasks)
        case "hid" | "hfd":
            return _contracted_derivatives(robot, model, function, tasks)
        case "dcfd":
            held = is_held(tasks)
            forces, Minv = partial(_inverse_dynamics, model), _mass_matrix_inverse(model, tasks["q"], held)
            solution = _contact_dynamics(robot, model, tasks)
            slopes = derivatives_with_contacts(robot, model, tasks, solution, Minv, forces)
            return clear_base_motion(slopes, held)
        case "step" | "dstep" | "rk4" | "drk4" | "cstep" | "dcstep":
            return _step(robot, model, function, tasks)
        case "regressor":
            return {"Y": _regressor(robot, model, tasks)}
        case "kin":
            return kinematics(robot, model, tasks)
        case "pose":
            return {"placement": placements(robot, tasks["q"])}
        case "position":
            return positions(robot, tasks["q"])
    raise ValueError(f"function {function}: has no golden twin")


def _first_derivatives(model: System, function: str, tasks: Tasks) -> dict[str, Array]:
    nv = tasks["v"].shape[1]
    acceleration = _forward_dynamics(model, tasks) if function == "dfd" else tasks["a"]
    dtau = _inverse_dynamics_derivatives(model, tasks, acceleration)
    if function == "did":
        return {"dtau_dq": dtau[..., :nv], "dtau_dv": dtau[..., nv:]}
    held = is_held(tasks)
    Minv = tasks["Minv"] if "Minv" in tasks else _mass_matrix_inverse(model, tasks["q"], held)
    da = -Minv @ dtau  # tau is constant: M da + dtau = 0
    return {"da_dq": clear_base(da[..., :nv], held), "da_dv": clear_base(da[..., nv:], held)}


def _gradients(model: System, forward: bool, states: Tasks, held: Array) -> dict[str, Array]:
    """Return the results of ``did`` and the mass matrix, or those of ``dfd`` and its inverse."""
    x, q = ("a" if forward else "tau"), states["q"]
    first = _first_derivatives(model, "dfd" if forward else "did", states)
    matrix = _mass_matrix_inverse(model, q, held) if forward else _mass_matrix(model, q)
    return {"q": first[f"d{x}_dq"], "v": first[f"d{x}_dv"], "m": matrix}


def _second_derivatives(robot: Robot, model: System, function: str, tasks: Tasks) -> dict[str, Array]:
    """Return the derivatives of ``did`` and ``M``, or of ``dfd`` and ``Minv``, by the complex step."""
    forward, held = function == "sfd", is_held(tasks)
    x, matrix = ("a", "Minv") if forward else ("tau", "M")

    def results(states: Tasks) -> dict[str, Array]:
        return _gradients(model, forward, states, held)

    moved, pushed = by_position(robot, results, tasks), by_velocity(robot, results, tasks)
    second = {
        f"d2{x}_dqdq": moved["q"],
        f"d2{x}_dqdv": pushed["q"],
        f"d2{x}_dvdv": pushed["v"],
        f"d{matrix}_dq": moved["m"],
    }
    return clear_base_motion(second, held) if forward else second


def _contracted_derivatives(robot: Robot, model: System, function: str, tasks: Tasks) -> dict[str, Array]:
    """Return the derivatives of the gradient of ``lambda . tau`` or ``lambda . a``, by the complex step."""
    forward, held = function == "hfd", is_held(tasks)
    driven, multiplier = ("tau", "lambda_a") if forward else ("a", "lambda_tau")

    def gradient(states: Tasks) -> dict[str, Array]:
        weights = states[multiplier][:, np.newaxis]
        parts = _gradients(model, forward, states, held)
        return {name: (weights @ part)[:, 0] for name, part in parts.items()}

    moved, pushed = by_position(robot, gradient, tasks), by_velocity(robot, gradient, tasks)
    second = {"qq": moved["q"], "qv": pushed["q"], "vv": pushed["v"], "m": moved["m"]}
    qq, qv, vv, matrix = (clear_base_motion(second, held) if forward else second).values()
    return {"H_qq": qq, "H_qv": qv, "H_vv": vv, f"H_q{driven}": matrix.swapaxes(1, 2)}


def _step(robot: Robot, model: System, function: str, tasks: Tasks) -> dict[str, Array]:
    """Return the state after a step and, for a function with derivatives, those of the state."""
    scheme = runge_kutta if function in ("rk4", "drk4") else euler

    def accelerations(stage: Tasks) -> Array:
        if FUNCTIONS[function].touches:
            return _contact_dynamics(robot, model, stage)["a"]
        return _forward_dynamics(model, stage)

    def step(states: Tasks) -> Array:
        return scheme(robot, accelerations, states)

    results = {"x_next": step(tasks)}
    if function not in ("dstep", "drk4", "dcstep"):
        return results
    by_state = derivatives(robot, step, tasks)
    return results | by_state | {"A": without_base_changes(by_state["A"], is_held(tasks))}
