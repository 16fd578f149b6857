"""The lengths of quaternions, and of the cosines and sines that describe angles in Pinocchio's models.

A task in which such a length is not one is flagged. A core finds that of its quaternions itself; cosines and
sines become angles before a core sees them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rbdhw.errors import InputError
from rbdhw.robot.model import Robot
from rbdhw.robot.pinocchio import CIRCULAR, UNIT_SLACK, layout_of

Array = npt.NDArray[np.float64]

MIN_LENGTH = 1e-6
"""The smallest length that gives a direction."""


@dataclass(frozen=True)
class UnitVector:
    """A quaternion, or a cosine and a sine, among the columns of ``q``."""

    joint: str
    columns: slice
    circle: bool

    @property
    def name(self) -> str:
        """What it is."""
        return f"{'circle' if self.circle else 'quaternion'} of joint '{self.joint}'"

    @property
    def elements(self) -> str:
        """Its elements."""
        return "[cosine sine]" if self.circle else "[x y z w]"

    def lengths(self, q: Array) -> Array:
        """Return its lengths (N,)."""
        return np.asarray(np.linalg.norm(q[:, self.columns], axis=1))

    def off(self, q: Array) -> npt.NDArray[np.bool_]:
        """Return in which tasks (N,) its length differs from one by more than :data:`UNIT_SLACK`."""
        return np.abs(self.lengths(q) - 1.0) > UNIT_SLACK


def unit_vectors(robot: Robot, columns: int) -> list[UnitVector]:
    """Return the unit vectors of configurations with these columns, in the robot's or Pinocchio's layout."""
    layout, vectors = layout_of(robot, columns), []
    spans = dict(enumerate(robot.q_of)) if layout is None else layout.q_of
    for i, span in spans.items():
        joint = robot.bodies[i].joint
        part = joint.kind.quaternion
        if layout is not None and joint.kind in CIRCULAR:
            vectors.append(UnitVector(joint.name, slice(span.stop - 2, span.stop), circle=True))
        elif part is not None and joint.mimic is None:
            quaternion = slice(span.start + part.start, span.start + part.stop)
            vectors.append(UnitVector(joint.name, quaternion, circle=False))
    return vectors


def check_directions(robot: Robot, q: Array) -> None:
    """Refuse configurations (N, columns), in either layout, with a unit vector of (nearly) no length."""
    for vector in unit_vectors(robot, q.shape[1]):
        lengths = vector.lengths(q)
        rows = np.flatnonzero(lengths < MIN_LENGTH)
        if len(rows):
            reason = f"the {vector.name} has length {lengths[rows[0]]:g}"
            expected = f"a unit {'circle' if vector.circle else 'quaternion'} {vector.elements}"
            raise InputError(f"array 'q', row {rows[0]}", reason, expected)


def check_unit_lengths(robot: Robot, q: Array) -> None:
    """Refuse configurations (N, columns), in either layout, with a unit vector of another length."""
    for vector in unit_vectors(robot, q.shape[1]):
        rows = np.flatnonzero(vector.off(q))
        if len(rows):
            reason = f"the {vector.name} has length {vector.lengths(q)[rows[0]]:g}"
            expected, remedy = f"1 within {UNIT_SLACK:.1g}", f"bring {vector.elements} to unit length"
            raise InputError(f"row {rows[0]}", reason, expected, remedy)


def off_unit(robot: Robot, q: Array) -> npt.NDArray[np.bool_]:
    """Return which tasks of ``q`` (N, columns), in either layout, have a unit vector of another length."""
    off = np.zeros(len(q), np.bool_)
    for vector in unit_vectors(robot, q.shape[1]):
        off |= vector.off(q)
    return off
