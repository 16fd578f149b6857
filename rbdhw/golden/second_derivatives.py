"""Second derivatives of inverse and forward dynamics: first ones, differentiated by the complex step."""

from __future__ import annotations

import numpy as np

from rbdhw.golden.complex_step import by_position, by_velocity
from rbdhw.golden.dynamics import (
    acceleration_derivatives,
    forward_dynamics,
    inverse_dynamics_derivatives,
    mass_matrix,
    mass_matrix_inverse,
)
from rbdhw.golden.held_base import clear_base_motion, is_held
from rbdhw.golden.spatial import Array
from rbdhw.golden.system import System
from rbdhw.golden.tasks import Tasks
from rbdhw.robot.model import Robot


def second_derivatives(robot: Robot, model: System, forward: bool, tasks: Tasks) -> dict[str, Array]:
    """Return the derivatives of ``did`` and ``M``, or of ``dfd`` and ``Minv``."""
    x, matrix = ("a", "Minv") if forward else ("tau", "M")
    held = is_held(tasks)

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


def contracted_derivatives(robot: Robot, model: System, forward: bool, tasks: Tasks) -> dict[str, Array]:
    """Return the second derivatives of ``lambda_a . a``, or of ``lambda_tau . tau``."""
    driven, multiplier = ("tau", "lambda_a") if forward else ("a", "lambda_tau")
    held = is_held(tasks)

    def gradient(states: Tasks) -> dict[str, Array]:
        weights = states[multiplier][:, np.newaxis]
        parts = _gradients(model, forward, states, held)
        return {name: (weights @ part)[:, 0] for name, part in parts.items()}

    moved, pushed = by_position(robot, gradient, tasks), by_velocity(robot, gradient, tasks)
    second = {"qq": moved["q"], "qv": pushed["q"], "vv": pushed["v"], "m": moved["m"]}
    qq, qv, vv, matrix = (clear_base_motion(second, held) if forward else second).values()
    return {"H_qq": qq, "H_qv": qv, "H_vv": vv, f"H_q{driven}": matrix.swapaxes(1, 2)}


def _gradients(model: System, forward: bool, states: Tasks, held: Array) -> dict[str, Array]:
    """Return derivatives by ``q`` and ``v``: of forces, with M, or of accelerations, with its inverse.

    ``held`` are those of the tasks: a complex state has no choice of its own.
    """
    if forward:
        matrix = mass_matrix_inverse(model, states["q"], held)
        slopes = acceleration_derivatives(model, states, forward_dynamics(model, states), matrix)
    else:
        matrix = mass_matrix(model, states["q"])
        slopes = inverse_dynamics_derivatives(model, states, states["a"])
    by_q, by_v = np.split(slopes, 2, axis=-1)
    return {"q": by_q, "v": by_v, "m": matrix}
