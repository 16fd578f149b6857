"""Forward dynamics of long robots by articulated bodies, whose work grows with the number of links only.

Source: Featherstone, *Rigid Body Dynamics Algorithms*, table 7.1, without velocities and gravity: their
forces are already subtracted from those of the joints.
"""

from __future__ import annotations

import numpy as np

from rbdhw.errors import InputError
from rbdhw.golden.spatial import Array, transpose
from rbdhw.golden.system import System
from rbdhw.robot.model import BASE

LEAST_LINKS = 65
"""The fewest links for which articulated bodies are used; for shorter robots the mass matrix is inverted."""

LEAST_PIVOT = 1e-13
"""A joint's articulated inertia below this fraction of its link's largest is a rounding error."""


def is_long(model: System) -> bool:
    """Return whether a robot is long, and each of its joints has velocities of its own."""
    return len(model.links) >= LEAST_LINKS and model.G.shape[0] == model.G.shape[1]


def solve(model: System, q: Array, forces: Array) -> Array:
    """Return the accelerations (N, nv) that joint ``forces`` (N, nv) cause on a robot at rest.

    Raises InputError if a joint moves no inertia.
    """
    X = [link.X(q) for link in model.links]
    inertias = [np.broadcast_to(link.inertia, (len(q), 6, 6)) for link in model.links]
    wrenches = [np.zeros((len(q), 6, 1), q.dtype) for _ in model.links]
    columns: list[Array] = [np.zeros(0)] * len(X)
    inverses: list[Array] = [np.zeros(0)] * len(X)
    left: list[Array] = [np.zeros(0)] * len(X)
    link_forces = forces @ np.linalg.inv(model.G)
    for i in reversed(range(len(model.links))):
        link = model.links[i]
        U = inertias[i] @ link.S
        D = link.S.T @ U + np.diag(model.armature[link.v])
        if np.any(np.linalg.eigvalsh(D.real)[:, 0] <= LEAST_PIVOT * np.abs(inertias[i]).max(axis=(1, 2))):
            expected = "every motion of its joints to move mass or inertia"
            raise InputError(f"robot '{model.name}'", "singular mass matrix", expected)
        columns[i], inverses[i] = U, np.linalg.inv(D)
        left[i] = link_forces[:, link.v, np.newaxis] - link.S.T @ wrenches[i]
        if link.parent != BASE:
            share = U @ inverses[i]
            seen, caused = inertias[i] - share @ transpose(U), wrenches[i] + share @ left[i]
            inertias[link.parent] = inertias[link.parent] + transpose(X[i]) @ seen @ X[i]
            wrenches[link.parent] = wrenches[link.parent] + transpose(X[i]) @ caused
    accelerations = np.zeros((len(q), len(model.G)), q.dtype)
    twists: list[Array] = []
    for i, link in enumerate(model.links):
        reached = np.zeros((len(q), 6, 1), q.dtype) if link.parent == BASE else X[i] @ twists[link.parent]
        acceleration = inverses[i] @ (left[i] - transpose(columns[i]) @ reached)
        accelerations[:, link.v] = acceleration[..., 0]
        twists.append(reached + link.S @ acceleration)
    return np.asarray(accelerations @ np.linalg.inv(model.G).T)
