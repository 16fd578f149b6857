"""Bounds of the inverse mass matrix that hold in every configuration: the mobility of each coordinate.

The diagonal entry ``(M^-1)_jj`` is one over the least ``u^T M u`` of all velocities u with ``u_j = 1``. Twice
the kinetic energy, ``u^T M u`` is the sum over all links, of which a joint's own link and its parent are two.
For these two the parent may as well move freely (or, on a fixed base, as its own joint permits), which only
lowers the minimum. What is left depends on no coordinate but the joint's own:

    e(q) = min over u of (S + X u)^T I (S + X u) + u^T I_parent u

So ``(M^-1)_jj <= 1 / e``. Since the inverse is positive definite, ``|(M^-1)_ij|`` is at most
``sqrt((M^-1)_ii (M^-1)_jj)``, in the units of each coordinate, for fixed and floating bases alike.

A grid over the joint's coordinate makes e(q) a bound. With ``K = (S x)``, ``I(q + d)`` is at least
``exp(-2 h |d|) I(q)`` in the order of positive definite matrices, where ``h`` is the spectral norm of
``I^(1/2) K I^(-1/2)``, which does not depend on q; and so is the minimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rbdhw.errors import InputError
from rbdhw.golden.spatial import Array, motion_cross
from rbdhw.golden.system import Link, System, system
from rbdhw.robot.model import BASE, JointKind, Robot

LOSS = 0.02
"""The share by which a grid may lower a bound."""

MOST_POINTS = 100_000
"""The most points of a grid; finer ones are refused."""

LEAST_RATIO = 1e-12
"""Inertias with a smaller ratio of their least to their largest principal value count as singular."""

ROUNDING = 1e-6
"""The share by which bounds are lowered, which exceeds all rounding of the computation."""


@dataclass(frozen=True)
class _Pair:
    """A link, the motions (6, d) of its parent, and the parent's inertia, in the link's frame at q = 0."""

    S: Array
    inertia: Array
    motions: Array
    parent: Array


def mobilities(robot: Robot, positions: Array) -> Array:
    """Return for each coordinate of ``v`` (nv,) a bound of ``sqrt((M^-1)_jj)`` over all configurations.

    Then ``|M^-1 r|_i <= s_i sum_j s_j |r_j|`` for any forces r. Mimics and rotor inertias are part of M.
    ``positions`` (nq, 2) are the bounds of ``q``, of which only those of sliding joints matter.

    Raises
    ------
    InputError
        There is no bound: tasks choose the base or bring parameters, a link has no inertia of its own, or a
        joint inside the tree has several freedoms.
    """
    if robot.base_chosen or robot.loaded is not None:
        what = "the base" if robot.base_chosen else "inertial parameters"
        raise InputError("certify", f"tasks choose {what}", "one mass matrix for each q")
    model, energies = system(robot), np.zeros(robot.nv)
    for link in model.links:
        moved = _least_energies(robot, model, link, positions)
        coordinates = slice(link.driver.start, link.driver.stop)
        energies[coordinates] = np.maximum(energies[coordinates], link.ratio**2 * moved)
    energies += np.square(model.G.T) @ model.armature
    return np.asarray(1.0 / np.sqrt((1.0 - ROUNDING) * energies))


def _least_energies(robot: Robot, model: System, link: Link, positions: Array) -> Array:
    """Return for each freedom (d,) of a link's joint the least of twice the energy at a velocity of one."""
    _check_inertia(robot, link)
    if link.parent == BASE:
        return np.asarray(1.0 / np.diag(np.linalg.inv(link.S.T @ link.inertia @ link.S)))
    parent = model.links[link.parent]
    _check_inertia(robot, parent)
    X = link.X_tree
    motions = X @ (parent.S if parent.parent == BASE else np.eye(6))
    inverse = np.linalg.inv(X)
    pair = _Pair(link.S, link.inertia, motions, inverse.T @ parent.inertia @ inverse)
    lowest, highest = _span(robot, link, positions)
    K = motion_cross(link.S[np.newaxis])[0]
    change = min(_change(pair.inertia, K), _change(pair.parent, K))
    points = max(1, math.ceil((highest - lowest) * change / LOSS))
    if points > MOST_POINTS:
        raise _refusal(robot, link, "changes too much with its angle to be bounded")
    q = lowest + (np.arange(points) + 0.5) * (highest - lowest) / points
    return np.array([math.exp(-LOSS) * float(_energies(pair, K, q).min())])


def _energies(pair: _Pair, K: Array, q: Array) -> Array:
    """Return the least of twice the energy (N,) at positions ``q`` (N,) of the joint."""
    turned = _exponentials(K, q)
    inertia = turned.swapaxes(1, 2) @ pair.inertia @ turned
    coupling = pair.motions.T @ inertia @ pair.S
    free = pair.motions.T @ (inertia + pair.parent) @ pair.motions
    alone = pair.S.T @ inertia @ pair.S
    return np.asarray((alone - coupling.swapaxes(1, 2) @ np.linalg.solve(free, coupling))[:, 0, 0])


def _exponentials(K: Array, q: Array) -> Array:
    """Return ``exp(-K q)`` (N, 6, 6), the transforms across a joint with the motion cross product ``K``."""
    step = -K * q[:, np.newaxis, np.newaxis]
    halvings = max(0, math.ceil(math.log2(max(float(np.abs(step).sum(axis=2).max()), 1e-9))) + 4)
    small = step / 2.0**halvings
    term = total = np.broadcast_to(np.eye(6), step.shape)
    for k in range(1, 13):
        term = term @ small / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return np.asarray(total)


def _change(inertia: Array, K: Array) -> float:
    """Return the largest relative change of an inertia by a unit of the joint's position."""
    root = np.linalg.cholesky(inertia).T
    return 2.0 * float(np.linalg.norm(root @ K @ np.linalg.inv(root), 2))


def _span(robot: Robot, link: Link, positions: Array) -> tuple[float, float]:
    """Return the positions of a joint of one freedom; all angles of a revolute one."""
    if link.joint.kind in (JointKind.REVOLUTE, JointKind.CONTINUOUS):
        return 0.0, 2.0 * math.pi
    if link.S.shape[1] > 1:
        raise _refusal(robot, link, "has several freedoms")
    ends = link.ratio * positions[link.q.start] + link.offset
    return float(ends.min()), float(ends.max())


def _check_inertia(robot: Robot, link: Link) -> None:
    values = np.linalg.eigvalsh(link.inertia)
    if values[0] <= LEAST_RATIO * values[-1]:
        raise _refusal(robot, link, "moves a link without inertia of its own")


def _refusal(robot: Robot, link: Link, reason: str) -> InputError:
    where = f"certify, robot '{robot.name}', joint '{link.joint.name}'"
    return InputError(where, reason, "a robot whose inverse mass matrix has a bound")
