"""Convert arrays of a robot to and from the layout of Pinocchio's model of the same URDF.

Most arrays are the same: the order of joints, ``v``, ``a``, ``tau``, external forces, and the coordinates of
revolute, prismatic, spherical and floating joints. Three things differ by choice:

- A continuous joint has one angle here (rad), and its cosine and sine in Pinocchio.
- A planar joint has ``[x, y, angle]`` here and ``[x, y, cosine, sine]`` in Pinocchio. Pinocchio's planar
  joint lies in the xy plane of the joint's frame, whatever the URDF's ``<axis>``.
- A joint with ``<mimic>`` (a follower) has no coordinate here, nor in a Pinocchio model built with
  ``mimic=True``. In Pinocchio's default model it is an independent joint.

This module does not need Pinocchio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rbdhw.errors import InputError
from rbdhw.robot.model import Body, JointKind, Robot

Array = npt.NDArray[np.float64]

CIRCULAR = (JointKind.CONTINUOUS, JointKind.PLANAR)
"""The kinds of joints whose angle Pinocchio replaces by its cosine and sine."""

UNIT_SLACK = 2.0**-11
"""The tolerance of the length of a quaternion, or of a cosine and a sine, for rounding at the sender."""

FOLLOWING = 1e-6
"""The tolerance for a follower's coordinate against the value that its leader gives (rad or m)."""


@dataclass(frozen=True)
class PinocchioLayout:
    """The layout of the arrays of Pinocchio's model of a robot. The leading axes of arrays are batches.

    Raises InputError if ``names`` are not the robot's joints.
    """

    robot: Robot
    """The robot in rbdhw, from :func:`rbdhw.robot.urdf.load_urdf` or a design folder."""
    mimic: bool = False
    """Whether Pinocchio's model was built with ``mimic=True``, which gives followers no coordinates."""
    names: tuple[str, ...] | None = None
    """The model's joints in its order, without the universe: ``list(model.names)[1:]``. By default the order
    is the robot's, which is Pinocchio's unless the robot was read with ``joint_order="file"``."""

    def __post_init__(self) -> None:
        joints = sorted(body.joint.name for body in self.robot.bodies)
        if self.names is not None and sorted(self.names) != joints:
            reason = f"{', '.join(self.names)} are not the joints of robot '{self.robot.name}'"
            raise InputError("names", reason, f"{', '.join(joints)} in the model's order")

    @cached_property
    def _bodies(self) -> tuple[int, ...]:
        """The bodies whose joints have coordinates in Pinocchio, in its order."""
        index_of = {body.joint.name: i for i, body in enumerate(self.robot.bodies)}
        order = range(len(self.robot.bodies)) if self.names is None else [index_of[n] for n in self.names]
        return tuple(i for i in order if not (self.mimic and self.robot.bodies[i].joint.mimic))

    @cached_property
    def q_of(self) -> dict[int, slice]:
        """For each body whose joint has coordinates in Pinocchio, their slice of ``q``."""
        return _spans(self._bodies, [_size(self.robot.bodies[i]) for i in self._bodies])

    @cached_property
    def _v_of(self) -> dict[int, slice]:
        return _spans(self._bodies, [self.robot.bodies[i].joint.kind.nv for i in self._bodies])

    @property
    def nq(self) -> int:
        """Pinocchio's number of configuration coordinates."""
        return sum(_size(self.robot.bodies[i]) for i in self._bodies)

    @property
    def nv(self) -> int:
        """Pinocchio's number of velocity coordinates."""
        return sum(self.robot.bodies[i].joint.kind.nv for i in self._bodies)

    @cached_property
    def coupling(self) -> Array:
        """G (Pinocchio's nv, robot.nv): ``v_pinocchio = G v``, ``tau = G^T tau_pinocchio``."""
        G = np.zeros((self.nv, self.robot.nv))
        for i, rows in self._v_of.items():
            mimic = self.robot.bodies[i].joint.mimic
            unit = np.eye(rows.stop - rows.start)
            G[rows, self.robot.v_of[i]] = (mimic.multiplier if mimic else 1.0) * unit
        return G

    def configuration(self, q: npt.ArrayLike, slack: float = UNIT_SLACK) -> Array:
        """Convert Pinocchio's ``q`` (..., nq) to the robot's (..., robot.nq).

        Raises InputError if a follower is not at the position that its leader gives, or a cosine and a sine
        are no point of the unit circle. ``slack`` is how far the length of a cosine and a sine may be from
        one.
        """
        theirs = np.asarray(q, np.float64)
        ours = np.zeros((*theirs.shape[:-1], self.robot.nq))
        for i, columns in self.q_of.items():
            body = self.robot.bodies[i]
            _check_circle(body, theirs[..., columns], slack)
            if body.joint.mimic is None:
                ours[..., self.robot.q_of[i]] = _without_circle(body, theirs[..., columns])
        for i, columns in self.q_of.items():
            self._check_follower(i, theirs[..., columns], ours)
        return ours

    def pinocchio_configuration(self, q: npt.ArrayLike) -> Array:
        """Convert the robot's ``q`` (..., robot.nq) to Pinocchio's (..., nq)."""
        ours = np.asarray(q, np.float64)
        theirs = np.zeros((*ours.shape[:-1], self.nq))
        for i, columns in self.q_of.items():
            body = self.robot.bodies[i]
            theirs[..., columns] = _with_circle(body, _follow(body, ours[..., self.robot.q_of[i]]))
        return theirs

    def velocity(self, v: npt.ArrayLike) -> Array:
        """Convert Pinocchio's ``v`` or ``a`` (..., nv) to the robot's (..., robot.nv).

        Raises InputError if a follower does not have the velocity that its leader gives.
        """
        theirs = np.asarray(v, np.float64)
        free = [i for i in self._bodies if self.robot.bodies[i].joint.mimic is None]
        ours = np.zeros((*theirs.shape[:-1], self.robot.nv))
        for i in free:
            ours[..., self.robot.v_of[i]] = theirs[..., self._v_of[i]]
        if not np.allclose(theirs, ours @ self.coupling.T, rtol=FOLLOWING, atol=FOLLOWING):
            raise self._stray("velocity")
        return ours

    def pinocchio_velocity(self, v: npt.ArrayLike) -> Array:
        """Convert the robot's ``v`` or ``a`` (..., robot.nv) to Pinocchio's (..., nv)."""
        moved: Array = np.asarray(v, np.float64) @ self.coupling.T
        return moved

    def force(self, tau: npt.ArrayLike) -> Array:
        """Convert Pinocchio's ``tau`` (..., nv) to the robot's (..., robot.nv); the power is the same."""
        reduced: Array = np.asarray(tau, np.float64) @ self.coupling
        return reduced

    def matrix(self, matrix: npt.ArrayLike) -> Array:
        """Return ``G^T X G`` (..., robot.nv, robot.nv) for Pinocchio's matrix X (..., nv, nv).

        This converts M and the derivatives of ``tau`` to the robot's. For a robot with followers it does not
        convert M^-1 or the derivatives of ``a``: invert the robot's M instead.
        """
        reduced: Array = self.coupling.T @ np.asarray(matrix, np.float64) @ self.coupling
        return reduced

    def _check_follower(self, i: int, theirs: Array, ours: Array) -> None:
        body = self.robot.bodies[i]
        if body.joint.mimic is None:
            return
        off = _without_circle(body, theirs) - _follow(body, ours[..., self.robot.q_of[i]])
        if body.joint.kind.rotates:
            off = np.arctan2(np.sin(off), np.cos(off))
        if np.any(np.abs(off) > FOLLOWING):
            raise self._stray("position", body)

    def _stray(self, what: str, body: Body | None = None) -> InputError:
        followers = [b for b in self.robot.bodies if b.joint.mimic is not None]
        body = body or followers[0]
        assert body.joint.mimic is not None
        mimic = body.joint.mimic
        law = f"{mimic.multiplier:g} times that of joint '{mimic.joint}'"
        law += f" plus {mimic.offset:g}" if what == "position" and mimic.offset else ""
        return InputError(f"joint '{body.joint.name}'", f"its {what} is not that of its <mimic>", law)


def layout_of(robot: Robot, nq: int) -> PinocchioLayout | None:
    """Return the Pinocchio layout in which ``q`` has ``nq`` columns, or None if that is the robot's layout.

    A robot without continuous, planar and mimicking joints has only its own layout.
    """
    if nq == robot.nq:
        return None
    layouts: Sequence[PinocchioLayout] = (PinocchioLayout(robot, mimic=True), PinocchioLayout(robot))
    return next((layout for layout in layouts if layout.nq == nq), None)


def _size(body: Body) -> int:
    return body.joint.kind.nq + (body.joint.kind in CIRCULAR)


def _spans(bodies: Sequence[int], sizes: Sequence[int]) -> dict[int, slice]:
    ends = np.cumsum(sizes).tolist()
    return {i: slice(end - size, end) for i, size, end in zip(bodies, sizes, ends, strict=True)}


def _follow(body: Body, q: Array) -> Array:
    """Return a joint's own coordinates from those of its leader, if it is a follower."""
    mimic = body.joint.mimic
    return q if mimic is None else mimic.multiplier * q + mimic.offset


def _with_circle(body: Body, q: Array) -> Array:
    if body.joint.kind not in CIRCULAR:
        return q
    return np.concatenate([q[..., :-1], np.cos(q[..., -1:]), np.sin(q[..., -1:])], axis=-1)


def _without_circle(body: Body, q: Array) -> Array:
    if body.joint.kind not in CIRCULAR:
        return q
    return np.concatenate([q[..., :-2], np.arctan2(q[..., -1:], q[..., -2:-1])], axis=-1)


def _check_circle(body: Body, q: Array, slack: float) -> None:
    """Refuse a cosine and a sine whose length is not one."""
    if body.joint.kind in CIRCULAR:
        lengths = np.linalg.norm(q[..., -2:], axis=-1)
        off = lengths[np.abs(lengths - 1.0) > slack]
        if off.size:
            reason = f"its cosine and sine have length {off.flat[0]:g}"
            raise InputError(f"joint '{body.joint.name}'", reason, "a point of the unit circle")
