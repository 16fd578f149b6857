"""Contacts with the world: accelerations and forces from the equations of motion and of the contacts.

The motions that contacts prevent, ``J a`` plus a drift, have the accelerations that Baumgarte's gain asks
for. Forces solve ``(J M^-1 J^T + damping) f = wanted - J a_free - drift``, and rows of contacts that a task
does not have are left out.

Source: Featherstone, *Rigid Body Dynamics Algorithms*, chapter 11; Carpentier, Budhiraja and Mansard,
"Proximal and sparse resolution of constrained dynamic equations" (2021).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rbdhw.golden.complex_step import by_position, by_velocity
from rbdhw.golden.kinematics import (
    frame_motion,
    level,
    linear_first,
    loop_motions,
    origin,
    still_tasks,
)
from rbdhw.golden.spatial import Array, transpose
from rbdhw.golden.system import System, system
from rbdhw.golden.tasks import Tasks
from rbdhw.protocol import CONTACT, HOLDING
from rbdhw.robot.model import Contact, Frame, Robot

Forces = Callable[[Tasks, Array], Array]
"""The joint forces (N, nv) of tasks by inverse dynamics at accelerations (N, nv)."""


@dataclass(frozen=True)
class Rows:
    """The rows of all contacts, those that a task does not have among them as zeros.

    ``jacobian`` is (N, rows, nv); ``velocity``, ``drift``, the acceleration at zero acceleration of the
    joints, and ``gap``, the distance of the points of loops, are (N, rows); ``present`` (N, rows) is one
    where the task has the contact. ``holding`` (N, 3) are the task's damping and gains.
    """

    jacobian: Array
    velocity: Array
    drift: Array
    gap: Array
    present: Array
    holding: Array

    @property
    def error(self) -> Array:
        """The accelerations (N, rows) that Baumgarte's gains counter."""
        return np.asarray(self.holding[:, 1:2] * self.velocity + self.holding[:, 2:3] * self.gap)


def held_by_contacts(robot: Robot, model: System, tasks: Tasks, free: Array, Minv: Array) -> dict[str, Array]:
    """Return the accelerations (N, nv) and the contacts' forces (N, contacts, 6) ``[force; moment]``.

    ``free`` are the accelerations (N, nv) without contacts.
    """
    rows = contact_rows(robot, model, tasks)
    wanted = -rows.error - rows.drift - (rows.jacobian @ free[..., None])[..., 0]
    forces = solve_rows(rows, Minv, wanted[..., None])
    changed = (Minv @ transpose(rows.jacobian) @ forces)[..., 0]
    return {"a": free + changed, "contact_force": by_contact(robot, forces)[..., 0]}


def contact_inertia(robot: Robot, model: System, tasks: Tasks, Minv: Array) -> Array:
    """Return the inverse (N, 6 contacts, 6 contacts) of the inverse inertia that forces of contacts feel."""
    chosen = {name: tasks[name] for name in (CONTACT, HOLDING)}
    rows = contact_rows(robot, model, {**still_tasks(robot, tasks["q"]), **chosen})
    inertia = solve_rows(rows, Minv, np.eye(rows.present.shape[1]) * rows.present[:, np.newaxis])
    for _ in range(2):
        inertia = transpose(by_contact(robot, inertia).reshape(len(inertia), -1, inertia.shape[2]))
    return inertia


def stopped_by_contacts(robot: Robot, model: System, tasks: Tasks, Minv: Array) -> dict[str, Array]:
    """Return the velocities (N, nv) after an impact and the impulses of the contacts (N, contacts, 6)."""
    rows = contact_rows(robot, model, tasks)
    rebounds = [0.0 if place.closes else robot.contacts.restitution for place in robot.contacts.places]
    stopped = -(1.0 + np.repeat(rebounds, [place.rows for place in robot.contacts.places])) * rows.velocity
    impulses = solve_rows(rows, Minv, stopped[..., None])
    changed = (Minv @ transpose(rows.jacobian) @ impulses)[..., 0]
    return {"v_after": tasks["v"] + changed, "contact_impulse": by_contact(robot, impulses)[..., 0]}


def derivatives_with_contacts(
    robot: Robot, model: System, tasks: Tasks, solution: Tasks, Minv: Array, inverse_dynamics: Forces
) -> dict[str, Array]:
    """Return the derivatives of accelerations and of contacts' forces by configuration, velocity and force.

    ``solution`` has the accelerations and the forces. Those of the equations of motion and of the contacts
    are taken there by the complex step, and the linear system of both is solved.
    """
    count = [contact.rows for contact in robot.contacts.places]
    forces = [solution["contact_force"][:, k, :rows, None] for k, rows in enumerate(count)]
    acceleration = solution["a"][..., None]

    def residuals(states: Tasks) -> dict[str, Array]:
        rows = contact_rows(robot, model, states)
        pushed = transpose(rows.jacobian) @ np.concatenate(forces, axis=1)
        motions = (rows.jacobian @ acceleration)[..., 0] + rows.drift
        return {
            "motion": inverse_dynamics(states, solution["a"]) - pushed[..., 0],
            "contacts": motions + rows.error,
        }

    rows = contact_rows(robot, model, tasks)
    by = {
        "q": by_position(robot, residuals, tasks),
        "v": by_velocity(robot, residuals, tasks),
        "tau": {"motion": -np.eye(robot.nv), "contacts": np.zeros_like(rows.jacobian)},
    }
    slopes = {}
    for name, part in by.items():
        changed = rows.jacobian @ Minv @ part["motion"] - part["contacts"]
        changes = solve_rows(rows, Minv, changed)
        slopes[f"da_d{name}"] = Minv @ (transpose(rows.jacobian) @ changes - part["motion"])
        slopes[f"dforce_d{name}"] = by_contact(robot, changes)
    return slopes


def derivatives_by_holding(
    robot: Robot, model: System, tasks: Tasks, solution: Tasks, Minv: Array
) -> dict[str, Array]:
    """Return the derivatives of accelerations (N, nv, 3) and forces (N, contacts, 6, 3) by ``holding``.

    That of damping is by its logarithm. ``solution`` has the forces. The equation that they solve is
    differentiated.
    """
    rows = contact_rows(robot, model, tasks)
    forces = [solution["contact_force"][:, k, : place.rows] for k, place in enumerate(robot.contacts.places)]
    damped = rows.holding[:, :1] * np.concatenate(forces, axis=1)
    countered = np.stack([damped, rows.velocity, rows.gap], axis=-1)
    changes = solve_rows(rows, Minv, -countered)
    changed = Minv @ (transpose(rows.jacobian) @ changes)
    return {"da_dholding": changed, "dforce_dholding": by_contact(robot, changes)}


def solve_rows(rows: Rows, Minv: Array, wanted: Array) -> Array:
    """Return the forces (N, rows, k) that change the rows by ``wanted``, zero where there is no contact."""
    inertia = rows.jacobian @ Minv @ transpose(rows.jacobian)
    diagonal = np.where(rows.present == 0.0, 1.0, rows.holding[:, :1])
    system = inertia + diagonal[:, None] * np.eye(inertia.shape[-1])
    return np.asarray(np.linalg.solve(system, wanted * rows.present[..., None]))


def contact_rows(robot: Robot, model: System, tasks: Tasks) -> Rows:
    """Return the rows of all contacts at the states of N tasks."""
    parts = [_rows(robot, model, contact, tasks) for contact in robot.contacts.places]
    jacobian, velocity, drift, gap = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    kept = [contact.rows for contact in robot.contacts.places]
    present = np.repeat(np.asarray(tasks[CONTACT] != 0.0, np.float64), kept, axis=1)
    moving = velocity * present, drift * present, gap * present
    return Rows(jacobian * present[..., None], *moving, present, tasks[HOLDING])


def contact_jacobians(robot: Robot, q: Array) -> dict[str, Array]:
    """Return the Jacobians (N, rows, nv) of the contacts with the world at configurations, by link."""
    model, tasks = system(robot), still_tasks(robot, q)
    touching = [contact for contact in robot.contacts.places if contact.closes is None]
    return {contact.frame.name: _rows(robot, model, contact, tasks)[0] for contact in touching}


def loop_gaps(robot: Robot, loops: Sequence[Contact], q: Array) -> tuple[Array, Array]:
    """Return the gaps (N, rows) of loops at configurations, and their Jacobians (N, rows, nv)."""
    model, tasks = system(robot), still_tasks(robot, q)
    jacobians, _, _, gaps = zip(*(_rows(robot, model, loop, tasks) for loop in loops), strict=True)
    return np.concatenate(gaps, axis=1), np.concatenate(jacobians, axis=1)


def _rows(robot: Robot, model: System, contact: Contact, tasks: Tasks) -> tuple[Array, ...]:
    """Return Jacobian, velocity, drift and gap of a contact."""
    still = {**tasks, "a": np.zeros_like(tasks["v"])}
    if contact.closes is not None:
        return _loop_rows(robot, model, (contact.frame, contact.closes), still)
    X, jacobian, v, a = frame_motion(model, robot, contact.frame, still)
    if contact.kind == "point":  # the acceleration of the point, not of the frame that passes it
        a = a.copy()
        a[:, 3:] += np.cross(v[:, :3], v[:, 3:], axis=1)
    axes = level(X) if robot.contacts.axes == "world" else np.eye(6)
    columns = (linear_first(axes @ part)[:, : contact.rows] for part in (jacobian @ model.G, v, a))
    J, velocity, drift = columns
    return J, velocity[..., 0], drift[..., 0], np.zeros(velocity.shape[:2])


def _loop_rows(robot: Robot, model: System, frames: tuple[Frame, Frame], tasks: Tasks) -> tuple[Array, ...]:
    """Return the rows of a loop: how its first point moves against the second, along the first frame."""
    motions = loop_motions(model, robot, frames, tasks)
    points = []
    for X, jacobian, v, a in motions:
        out = X[:, :3, :3].swapaxes(1, 2)
        drift = a[:, 3:] + np.cross(v[:, :3], v[:, 3:], axis=1)
        points.append((out @ jacobian[:, 3:] @ model.G, out @ v[:, 3:], out @ drift, origin(X)[..., None]))
    along = motions[0][0][:, :3, :3]
    J, velocity, drift, gap = (along @ (one - other) for one, other in zip(*points, strict=True))
    return J, velocity[..., 0], drift[..., 0], gap[..., 0]


def by_contact(robot: Robot, forces: Array) -> Array:
    """Return forces (N, rows, k) as (N, contacts, 6, k)."""
    result = np.zeros((len(forces), len(robot.contacts.places), 6, forces.shape[2]), forces.dtype)
    start = 0
    for k, contact in enumerate(robot.contacts.places):
        result[:, k, : contact.rows] = forces[:, start : start + contact.rows]
        start += contact.rows
    return result
