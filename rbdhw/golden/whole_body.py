"""Energy, centre of mass and centroidal momentum from the inertias of all links in the world.

Every link's spatial inertia and Jacobian are transformed to the world's frame, where they add up. The rate of
change of momentum is the sum of the forces that the links' motions need.

Source: Featherstone, *Rigid Body Dynamics Algorithms*, chapter 2; Orin, Goswami and Lee, "Centroidal dynamics
of a humanoid robot" (2013).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from rbdhw.golden.complex_step import by_position, by_velocity
from rbdhw.golden.spatial import Array, force_cross, motion_cross, skew, transpose
from rbdhw.golden.system import System
from rbdhw.golden.tasks import Tasks
from rbdhw.robot.model import BASE, Robot


@dataclass(frozen=True)
class _InWorld:
    """A link in the world's frame: inertia, Jacobian (N, 6, all links), velocity and acceleration (N, 6, 1).

    The acceleration is without gravity, and at zero acceleration of the joints unless tasks have ``a``.
    """

    inertia: Array
    jacobian: Array
    velocity: Array
    acceleration: Array


def energy(model: System, tasks: Tasks) -> dict[str, Array]:
    """Return the kinetic energy, that of rotors among it, and the potential one (N,)."""
    links = _links(model, tasks)
    twice = _total(transpose(link.velocity) @ link.inertia @ link.velocity for link in links)[:, 0, 0]
    rates = tasks["v"] @ model.G.T
    _, moment = _mass(links)
    potential = -np.sum(moment * tasks["gravity"], axis=1)
    return {"kinetic": 0.5 * (twice + rates**2 @ model.armature), "potential": potential}


def centre_of_mass(model: System, tasks: Tasks) -> dict[str, Array]:
    """Return the centre of mass (N, 3), its velocity, its Jacobian (N, 3, nv), and its drift (N, 3).

    The drift is its acceleration at zero acceleration of the joints.
    """
    links = _links(model, tasks)
    mass, moment = _mass(links)
    momenta = _total(link.inertia @ link.velocity for link in links)[:, 3:, 0]
    columns = _total(link.inertia @ link.jacobian for link in links)[:, 3:] @ model.G
    return {
        "com": moment / mass[:, np.newaxis],
        "com_velocity": momenta / mass[:, np.newaxis],
        "J_com": columns / mass[:, np.newaxis, np.newaxis],
        "dJ_com_v": _forces(links)[:, 3:, 0] / mass[:, np.newaxis],
    }


def centroidal(model: System, tasks: Tasks) -> dict[str, Array]:
    """Return the momentum (N, 6) ``[linear; angular]``, its matrix (N, 6, nv), and its rate of change.

    The rate is that at zero acceleration of the joints, or at ``a`` if the tasks have it.
    """
    links = _links(model, tasks)
    mass, moment = _mass(links)
    centre = moment / mass[:, np.newaxis]
    momentum = _total(link.inertia @ link.velocity for link in links)
    columns = _total(link.inertia @ link.jacobian for link in links) @ model.G
    return {
        "h_g": _about(centre, momentum)[..., 0],
        "A_g": _about(centre, columns),
        "dA_g_v": _about(centre, _forces(links))[..., 0],
    }


def centroidal_derivatives(robot: Robot, model: System, tasks: Tasks) -> dict[str, Array]:
    """Return the derivatives (N, 6, nv) of momentum and rate by the complex step, the rate and the matrix."""

    def results(states: Tasks) -> dict[str, Array]:
        return centroidal(model, states)

    values = centroidal(model, tasks)
    moved, pushed = by_position(robot, results, tasks), by_velocity(robot, results, tasks)
    return {
        "dh_dq": moved["h_g"],
        "dhdot_dq": moved["dA_g_v"],
        "dhdot_dv": pushed["dA_g_v"],
        "hdot_g": values["dA_g_v"],
        "A_g": values["A_g"],
    }


def _links(model: System, tasks: Tasks) -> list[_InWorld]:
    still = np.zeros_like(tasks["v"])
    rates, changes = ((u @ model.G.T)[..., np.newaxis] for u in (tasks["v"], tasks.get("a", still)))
    base_v, base_a = (np.roll(tasks[name], 3, axis=1)[..., np.newaxis] for name in ("base_v", "base_a"))
    n, count = rates.shape[1], len(rates)
    into: list[Array] = []
    links: list[_InWorld] = []
    for link in model.links:
        at_base = link.parent == BASE
        X = link.X(tasks["q"])
        into.append(X if at_base else X @ into[link.parent])
        axes = np.linalg.inv(into[-1]) @ link.S
        jacobian = np.zeros((count, 6, n), axes.dtype)
        velocity, acceleration = base_v, base_a
        if not at_base:
            parent = links[link.parent]
            jacobian, velocity, acceleration = parent.jacobian.copy(), parent.velocity, parent.acceleration
        jacobian[:, :, link.v] += axes
        joint = axes @ rates[:, link.v]
        velocity = velocity + joint
        inertia = transpose(into[-1]) @ link.inertia @ into[-1]
        acceleration = acceleration + motion_cross(velocity) @ joint + axes @ changes[:, link.v]
        links.append(_InWorld(inertia, jacobian, velocity, acceleration))
    return links


def _forces(links: list[_InWorld]) -> Array:
    """Return the force (N, 6, 1) that the links' motions need."""
    return _total(
        link.inertia @ link.acceleration + force_cross(link.velocity) @ link.inertia @ link.velocity
        for link in links
    )


def _total(parts: Iterable[Array]) -> Array:
    return reduce(add, parts)


def _mass(links: list[_InWorld]) -> tuple[Array, Array]:
    """Return mass (N,) and first moment (N, 3) of all links."""
    inertia = _total(link.inertia for link in links)
    return inertia[:, 3, 3], np.stack([inertia[:, 2, 4], inertia[:, 0, 5], inertia[:, 1, 3]], axis=1)


def _about(point: Array, forces: Array) -> Array:
    """Return forces (N, 6, k), ``[moment; force]`` about the origin, as ``[force; moment]`` about a point."""
    return np.concatenate([forces[:, 3:], forces[:, :3] - skew(point) @ forces[:, 3:]], axis=1)
