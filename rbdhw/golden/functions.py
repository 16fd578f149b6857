"""The golden twin of every function: a table from its name to what computes its results.

A twin takes a chunk of tasks beside the robot and returns all results of its function, optional ones too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from rbdhw.golden.contacts import (
    contact_inertia,
    derivatives_by_holding,
    derivatives_with_contacts,
    held_by_contacts,
    stopped_by_contacts,
)
from rbdhw.golden.dynamics import (
    acceleration_derivatives,
    forward_dynamics,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    mass_matrix,
    mass_matrix_inverse,
)
from rbdhw.golden.held_base import clear_base_motion, is_held, without_base_changes
from rbdhw.golden.integrators import Scheme, derivatives, euler, runge_kutta
from rbdhw.golden.kinematics import clearances, frame_jacobians, kinematics, placements, positions
from rbdhw.golden.regressor import regressor
from rbdhw.golden.second_derivatives import contracted_derivatives, second_derivatives
from rbdhw.golden.spatial import Array
from rbdhw.golden.system import System
from rbdhw.golden.tasks import Tasks
from rbdhw.golden.whole_body import centre_of_mass, centroidal, centroidal_derivatives, energy
from rbdhw.protocol import TRACKED, TRACKED_JACOBIAN
from rbdhw.robot.model import Robot

Results = dict[str, Array]


@dataclass(frozen=True)
class Chunk:
    """Checked tasks of a robot, and its links with these tasks' parameters."""

    robot: Robot
    model: System
    tasks: Tasks

    @property
    def held(self) -> Array:
        """For each task (N,), whether its base is held."""
        return is_held(self.tasks)

    @cached_property
    def Minv(self) -> Array:
        """The inverse of the mass matrix (N, nv, nv)."""
        return mass_matrix_inverse(self.model, self.tasks["q"], self.held)


def _inverse_dynamics(chunk: Chunk) -> Results:
    return {"tau": inverse_dynamics(chunk.model, chunk.tasks, chunk.tasks["a"])}


def _gravity(chunk: Chunk) -> Results:
    still = np.zeros((len(chunk.tasks["q"]), chunk.model.G.shape[1]))
    base = {name: np.zeros_like(chunk.tasks[name]) for name in ("base_v", "base_a", "fext")}
    return {"tau": inverse_dynamics(chunk.model, {**chunk.tasks, **base, "v": still}, still)}


def _bias(chunk: Chunk) -> Results:
    return {"tau": inverse_dynamics(chunk.model, chunk.tasks, np.zeros_like(chunk.tasks["v"]))}


def _did(chunk: Chunk) -> Results:
    return _halves("tau", inverse_dynamics_derivatives(chunk.model, chunk.tasks, chunk.tasks["a"]))


def _dfd(chunk: Chunk) -> Results:
    acceleration = forward_dynamics(chunk.model, chunk.tasks)
    return _halves("a", acceleration_derivatives(chunk.model, chunk.tasks, acceleration, chunk.Minv))


def _difd(chunk: Chunk) -> Results:
    received = chunk.tasks.get("Minv")
    Minv = chunk.Minv if received is None else received
    return _halves("a", acceleration_derivatives(chunk.model, chunk.tasks, chunk.tasks["a"], Minv))


def _halves(name: str, slopes: Array) -> Results:
    by_q, by_v = np.split(slopes, 2, axis=-1)
    return {f"d{name}_dq": by_q, f"d{name}_dv": by_v}


def _by_external_forces(chunk: Chunk) -> Results:
    columns = frame_jacobians(chunk.robot, chunk.model, chunk.tasks).transpose(0, 3, 1, 2)
    return {"dtau_dfext": -columns, "da_dfext": np.einsum("tij,tjfk->tifk", chunk.Minv, columns)}


def _with_contacts(chunk: Chunk) -> Results:
    free = forward_dynamics(chunk.model, chunk.tasks)
    return held_by_contacts(chunk.robot, chunk.model, chunk.tasks, free, chunk.Minv)


def _contact_inertia(chunk: Chunk) -> Results:
    return {"contact_inertia": contact_inertia(chunk.robot, chunk.model, chunk.tasks, chunk.Minv)}


def _derivatives_with_contacts(chunk: Chunk) -> Results:
    robot, model, tasks = chunk.robot, chunk.model, chunk.tasks
    forces, solution = partial(inverse_dynamics, model), _with_contacts(chunk)
    slopes = derivatives_with_contacts(robot, model, tasks, solution, chunk.Minv, forces)
    by_holding = derivatives_by_holding(robot, model, tasks, solution, chunk.Minv)
    return clear_base_motion(slopes, chunk.held) | by_holding


def _step(scheme: Scheme, touches: bool, differentiated: bool, chunk: Chunk) -> Results:
    """Return the state after a step and, where they are asked for, its derivatives."""

    def accelerations(stage: Tasks) -> Array:
        if touches:
            return _with_contacts(Chunk(chunk.robot, chunk.model, stage))["a"]
        return forward_dynamics(chunk.model, stage)

    def step(states: Tasks) -> Array:
        return scheme(chunk.robot, accelerations, states)

    results = {"x_next": step(chunk.tasks)}
    if differentiated:
        slopes = derivatives(chunk.robot, step, chunk.tasks)
        results |= slopes | {"A": without_base_changes(slopes["A"], chunk.held)}
    if chunk.robot.tracks:
        behind = positions(chunk.robot, results["x_next"][:, : chunk.robot.nq])
        name, of = (TRACKED_JACOBIAN, "J_position") if differentiated else (TRACKED, "position")
        results[name] = behind[of]
    return results


TWINS: dict[str, Callable[[Chunk], Results]] = {
    "id": _inverse_dynamics,
    "gravity": _gravity,
    "bias": _bias,
    "fd": lambda chunk: {"a": forward_dynamics(chunk.model, chunk.tasks)},
    "m": lambda chunk: {"M": mass_matrix(chunk.model, chunk.tasks["q"])},
    "minv": lambda chunk: {"Minv": chunk.Minv},
    "did": _did,
    "dfd": _dfd,
    "difd": _difd,
    "sid": lambda chunk: second_derivatives(chunk.robot, chunk.model, False, chunk.tasks),
    "sfd": lambda chunk: second_derivatives(chunk.robot, chunk.model, True, chunk.tasks),
    "hid": lambda chunk: contracted_derivatives(chunk.robot, chunk.model, False, chunk.tasks),
    "hfd": lambda chunk: contracted_derivatives(chunk.robot, chunk.model, True, chunk.tasks),
    "step": partial(_step, euler, False, False),
    "dstep": partial(_step, euler, False, True),
    "rk4": partial(_step, runge_kutta, False, False),
    "drk4": partial(_step, runge_kutta, False, True),
    "cstep": partial(_step, euler, True, False),
    "dcstep": partial(_step, euler, True, True),
    "kin": lambda chunk: kinematics(chunk.robot, chunk.model, chunk.tasks),
    "pose": lambda chunk: {"placement": placements(chunk.robot, chunk.tasks["q"])},
    "position": lambda chunk: positions(chunk.robot, chunk.tasks["q"]),
    "clearance": lambda chunk: clearances(chunk.robot, chunk.tasks),
    "energy": lambda chunk: energy(chunk.model, chunk.tasks),
    "com": lambda chunk: centre_of_mass(chunk.model, chunk.tasks),
    "centroidal": lambda chunk: centroidal(chunk.model, chunk.tasks),
    "dcentroidal": lambda chunk: centroidal_derivatives(chunk.robot, chunk.model, chunk.tasks),
    "regressor": lambda chunk: regressor(chunk.robot, chunk.model, chunk.tasks),
    "dfext": _by_external_forces,
    "cfd": _with_contacts,
    "dcfd": _derivatives_with_contacts,
    "impulse": lambda chunk: stopped_by_contacts(chunk.robot, chunk.model, chunk.tasks, chunk.Minv),
    "cinertia": _contact_inertia,
}
"""The twins by function; a test compares the names with the registry's."""
