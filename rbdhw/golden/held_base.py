"""A floating base that some tasks hold: it moves as they say, and the joints move on it.

The equation of motion of the joints alone has the rows and columns of the joints. The base's rows of results
are those of a motion that nothing changes: its acceleration is the task's, and all derivatives are zero.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdhw.golden.spatial import Array
from rbdhw.protocol import BASE_HELD

BASE_PART = slice(0, 6)
"""The velocities of the base among the robot's."""

MOTION = "acceleration of the held base"


def with_base_motion(tasks: Mapping[str, Array]) -> dict[str, Array]:
    """Return tasks whose acceleration of the base is that of the first joint instead of the world's.

    Under :data:`MOTION` they have it as accelerations (N, nv), which are zero where the base floats.
    """
    motion = np.zeros_like(tasks["v"])
    motion[:, BASE_PART] = tasks["base_a"] * is_held(tasks)[:, np.newaxis]
    return {**tasks, "base_a": np.zeros_like(tasks["base_a"]), MOTION: motion}


def is_held(tasks: Mapping[str, Array]) -> Array:
    """Return for each task (N,) whether the base is held; it never is if tasks cannot choose."""
    return np.asarray(tasks.get(BASE_HELD, np.zeros(len(tasks["q"]))) != 0.0)


def without_base(M: Array, held: Array) -> Array:
    """Return mass matrices (N, nv, nv) in which a held base is not coupled to the joints, and is one."""
    alone = clear_base(M, held)
    for k in range(6) if held.any() else ():
        alone[held, k, k] = 1.0
    return alone


def clear_base(matrix: Array, held: Array) -> Array:
    """Return matrices (N, nv, nv) whose rows and columns of a held base are zero."""
    cleared = matrix.copy()
    cleared[held, BASE_PART] = 0.0
    cleared[held, :, BASE_PART] = 0.0
    return cleared


def without_base_changes(A: Array, held: Array) -> Array:
    """Return derivatives of states (N, 2 nv, 2 nv) in which the motion of a held base moves no joint."""
    cleared, nv = A.copy(), A.shape[1] // 2
    base, joints = np.arange(6), np.arange(6, nv)
    rows, columns = np.concatenate([joints, nv + joints]), np.concatenate([base, nv + base])
    cleared[np.ix_(np.flatnonzero(held), rows, columns)] = 0.0
    return cleared


def clear_base_motion(derivatives: Mapping[str, Array], held: Array) -> dict[str, Array]:
    """Return second derivatives (N, ..., nv) of which those by the motion of a held base are zero."""
    cleared = {name: array.copy() for name, array in derivatives.items()}
    for array in cleared.values():
        array[held, ..., BASE_PART] = 0.0
    return cleared
