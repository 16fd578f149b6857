"""Recursions over the links in plain 6x6 NumPy: motion, forces and their first derivatives.

Spatial vectors are ``[angular; linear]`` in body frames, column vectors of shape (N, 6, 1), and matrices are
(N, 6, k), one for each of N tasks. Mimics are treated as independent joints, and results are reduced with the
constant ``G`` that maps the robot's velocities to those of all joints: ``G^T tau``, ``G^T M G``. Derivatives
with respect to ``q`` are taken in the tangent space (right perturbation), column by column.

Source: Featherstone, *Rigid Body Dynamics Algorithms*, chapters 3 to 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdhw.golden.spatial import Array, cross_force, force_cross, motion_cross, transpose
from rbdhw.golden.system import System
from rbdhw.golden.tasks import Tasks
from rbdhw.robot.model import BASE


@dataclass(frozen=True)
class Motion:
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


def rnea_forward(model: System, tasks: Tasks, acceleration: Array) -> Motion:
    """Compute motion and net force of each link, root to leaves (Featherstone, table 5.1)."""
    rates, accelerations = ((u @ model.G.T)[..., np.newaxis] for u in (tasks["v"], acceleration))
    X = [link.X(tasks["q"]) for link in model.links]
    external = np.roll(tasks["fext"], 3, axis=2)[..., np.newaxis]
    motion = Motion(_base_motion(tasks), rates, X, [], [], [])
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


def rnea_backward(model: System, motion: Motion) -> Array:
    """Return tau (N, nv), leaves to root; ``motion.f`` becomes the force across each joint."""
    tau = np.empty(motion.rates.shape[:2], motion.rates.dtype)
    for i in reversed(range(len(model.links))):
        link = model.links[i]
        tau[:, link.v] = (link.S.T @ motion.f[i])[..., 0]
        if link.parent != BASE:
            motion.f[link.parent] = motion.f[link.parent] + transpose(motion.X[i]) @ motion.f[i]
    return tau @ model.G


def derivative_forward(model: System, motion: Motion) -> list[Array]:
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


def derivative_backward(model: System, motion: Motion, df: list[Array]) -> Array:
    """Return dtau/d[q, v] (N, nv, 2 nv), leaves to root, from the forces across the joints."""
    tasks, n = motion.rates.shape[:2]
    dtau = np.empty((tasks, n, 2 * n), motion.rates.dtype)
    for i in reversed(range(len(model.links))):
        link = model.links[i]
        dtau[:, link.v] = link.S.T @ df[i]
        if link.parent != BASE:
            df[i][:, :, link.v] += cross_force(motion.f[i]) @ link.S
            df[link.parent] += transpose(motion.X[i]) @ df[i]
    return np.concatenate([reduce(model, dtau[..., :n]), reduce(model, dtau[..., n:])], axis=-1)


def reduce(model: System, matrix: Array) -> Array:
    """Return ``G^T matrix G`` (N, nv, nv), which reduces all joints' coordinates to the robot's."""
    return np.asarray(model.G.T @ matrix @ model.G)
