"""Inverse and forward dynamics, the mass matrix and its inverse, and the first derivatives of all tasks.

This derivation is independent of ``rbdhw.dynamics``, which propagates composites.

Source: Featherstone, *Rigid Body Dynamics Algorithms*, chapters 3 to 6.
"""

from __future__ import annotations

import numpy as np

from rbdhw.errors import InputError
from rbdhw.golden.articulated import is_long, solve
from rbdhw.golden.held_base import MOTION, clear_base, is_held, without_base
from rbdhw.golden.recursions import (
    derivative_backward,
    derivative_forward,
    reduce,
    rnea_backward,
    rnea_forward,
)
from rbdhw.golden.spatial import Array, transpose
from rbdhw.golden.system import System
from rbdhw.golden.tasks import Tasks
from rbdhw.robot.model import BASE

MAX_CANCELLATION = 1e12
"""A mass matrix counts as singular if its inverse amplifies rounding errors by more than this factor."""


def inverse_dynamics(model: System, tasks: Tasks, acceleration: Array) -> Array:
    rates, accelerations = (u @ model.G.T for u in (tasks["v"], acceleration))
    driven: Array = (model.armature * accelerations + model.damping * rates) @ model.G
    return driven + rnea_backward(model, rnea_forward(model, tasks, acceleration))


def inverse_dynamics_derivatives(model: System, tasks: Tasks, acceleration: Array) -> Array:
    """Return dtau/d[q, v] (N, nv, 2 nv)."""
    motion = rnea_forward(model, tasks, acceleration)
    df = derivative_forward(model, motion)
    rnea_backward(model, motion)
    dtau = derivative_backward(model, motion, df)
    dtau[:, :, dtau.shape[1] :] += reduce(model, np.diag(model.damping))
    return dtau


def mass_matrix(model: System, q: Array) -> Array:
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
    return reduce(model, M + np.diag(model.armature))


def mass_matrix_inverse(model: System, q: Array, held: Array | None = None) -> Array:
    """Return Minv (N, nv, nv); InputError if M is singular up to rounding.

    Where the base is ``held`` (N,), it is that of the joints alone.

    Each diagonal entry of ``Minv M`` is a sum to 1 of terms that do not depend on units. The sum of their
    magnitudes measures the cancellation.
    """
    M = mass_matrix(model, q)
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


def forward_dynamics(model: System, tasks: Tasks) -> Array:
    """Return the acceleration (N, nv) that solves ``M a = tau - C``; C is the torque at zero acceleration.

    A held base has its own acceleration already.
    """
    before = tasks.get(MOTION, np.zeros_like(tasks["v"]))
    free: Array = (tasks["tau"] - inverse_dynamics(model, tasks, before))[..., np.newaxis]
    if MOTION not in tasks and is_long(model):
        return solve(model, tasks["q"], free[..., 0])
    return np.asarray(before + (mass_matrix_inverse(model, tasks["q"], is_held(tasks)) @ free)[..., 0])


def acceleration_derivatives(model: System, tasks: Tasks, acceleration: Array, Minv: Array) -> Array:
    """Return da/d[q, v] (N, nv, 2 nv) of accelerations that constant forces cause: ``M da + dtau = 0``."""
    da = -Minv @ inverse_dynamics_derivatives(model, tasks, acceleration)
    nv, held = da.shape[1], is_held(tasks)
    return np.concatenate([clear_base(da[..., :nv], held), clear_base(da[..., nv:], held)], axis=-1)
