"""The joint forces as a linear function of the links' inertial parameters."""

from __future__ import annotations

import numpy as np

from rbdhw.golden.kinematics import placed_frame
from rbdhw.golden.recursions import rnea_forward
from rbdhw.golden.spatial import Array, force_cross, transpose
from rbdhw.golden.system import System, unit_inertias
from rbdhw.golden.tasks import Tasks
from rbdhw.robot.model import BASE, Robot


def regressor(robot: Robot, model: System, tasks: Tasks) -> dict[str, Array]:
    """Return ``Y`` (N, nv, frames, 10): joint forces by mass, first moment and inertia of frames' links."""
    motion, columns = rnea_forward(model, tasks, tasks["a"]), []
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
    return {"Y": np.stack(columns, axis=2)}
