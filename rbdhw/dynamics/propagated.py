"""Forward dynamics by the propagation of articulated bodies, without the mass matrix or its inverse.

The work grows with the number of bodies, and so does the longest path. The backward pass accumulates
articulated inertias and the wrenches that the joint forces leave over. The forward pass converts them to
accelerations. Source: Featherstone, *Rigid Body Dynamics Algorithms*, section 7.3; velocities, gravity and
external forces enter through the bias of inverse dynamics, so that these two passes have no terms of them.

The passes factorise the inverse of the mass matrix, ``M^-1 = F D^-1 F^T``: ``F^T`` is the backward pass,
``D`` what each joint feels, ``F`` the forward pass. Of a unit force of a contact ``F^T J^T`` is left to the
joints on the way to the base, so with ``Y = J F`` the inverse inertia that contacts feel is ``Y D^-1 Y^T``.
Source: Sathya and Carpentier, "Constrained articulated body dynamics algorithms" (2025), where the wrenches
on this way are called constraint force propagators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.dynamics.articulated import (
    Articulated,
    Eliminated,
    eliminate,
    inertia_in_parent,
    project,
    rigid,
)
from rbdhw.dynamics.columns import axis, in_child
from rbdhw.dynamics.factorization import Factors, ascend, descend, divide, factorize
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.rnea import along
from rbdhw.dynamics.rnea import backward as in_parent
from rbdhw.dynamics.spatial import Twist, Wrench, add_twist, power, scale_twist
from rbdhw.robot.model import BASE, Joint, JointKind, Robot
from rbdhw.scalar import Scalar, is_zero, region

BASE_BLOCK = 3
"""The most freedoms of a floating base that are eliminated together."""


def gather(
    robot: Robot, q: Sequence[Coordinate], forces: Sequence[Scalar]
) -> tuple[Propagation, list[Scalar]]:
    """Backward pass: return the eliminated joints, and the forces ``F^T forces`` that are left over (nv,).

    ``robot`` has joints of one freedom, all axes z, and a fixed base or one that floats. ``q`` is the
    coordinate of each joint. ``forces`` are the joint forces less the bias of inverse dynamics (Nm, N).
    """
    inertias = [rigid(body.inertia) for body in robot.bodies]
    wrenches: dict[int, Wrench] = {}
    joints: dict[int, Eliminated] = {}
    base, left = None, list(forces)
    for i, body in reversed(list(enumerate(robot.bodies))):
        k = robot.v_of[i].start
        with region("propagated_backward", i):
            if body.joint.kind is JointKind.FLOATING:
                base, left[:6] = _gather_base(inertias[i], forces[:6], wrenches.get(i))
                continue
            eliminated = eliminate(body.joint, inertias[i])
            if i in wrenches:
                left[k] = left[k] - along(body.joint, wrenches[i])[0]
            joints[i] = eliminated
            if body.parent == BASE:
                continue
            inertia = project(body.joint, inertias[i], eliminated)
            inertias[body.parent] += inertia_in_parent(body.joint, q[i], inertia)
            caused = scale_twist(eliminated.factor * left[k], eliminated.column)
            if i in wrenches:
                caused = add_twist(wrenches[i], caused)
            caused = in_parent(body.joint, q[i], caused)
            above = wrenches.get(body.parent)
            wrenches[body.parent] = caused if above is None else add_twist(above, caused)
    return Propagation(robot, tuple(q), joints, base), left


def _gather_base(
    inertia: Articulated, forces: Sequence[Scalar], wrench: Wrench | None
) -> tuple[Factors, list[Scalar]]:
    """Return the factors of a floating body's articulated inertia, and the forces that are left over (6,)."""
    linear, coupling, rotational = inertia.linear, inertia.coupling, inertia.rotational
    rows = [
        *([*linear[k][: k + 1]] for k in range(3)),
        *([*coupling[k], *rotational[k][: k + 1]] for k in range(3)),
    ]
    factors = factorize(rows, BASE_BLOCK)
    left = list(forces)
    if wrench is not None:
        left = [force - taken for force, taken in zip(forces, _of_base(wrench), strict=True)]
    return factors, descend(factors, left)


def _of_base(wrench: Wrench) -> list[Scalar]:
    """Return a wrench as the forces of a floating base."""
    return [*wrench[1], *wrench[0]]


@dataclass(frozen=True)
class Propagation:
    """The eliminated joints of a robot in a pose."""

    robot: Robot
    q: tuple[Coordinate, ...]
    joints: dict[int, Eliminated]
    """Those of the bodies whose joints have one freedom."""
    base: Factors | None
    """The factors of the articulated inertia of a floating base."""

    def row(self, i: int, wrench: Wrench) -> list[Scalar]:
        """Return the forces ``F^T J^T`` (nv,) that a wrench on a body, in its axes, leaves to the joints."""
        row: list[Scalar] = [0.0] * self.robot.nv
        while i in self.joints:
            body, k = self.robot.bodies[i], self.robot.v_of[i].start
            with region("propagated_rows", i):
                row[k] = along(body.joint, wrench)[0]
                if body.parent == BASE:
                    return row
                taken = scale_twist(-1.0 * (self.joints[i].factor * row[k]), self.joints[i].column)
                wrench = in_parent(body.joint, self.q[i], _passed_on(body.joint, add_twist(wrench, taken)))
            i = body.parent
        assert self.base is not None
        row[:6] = descend(self.base, _of_base(wrench))
        return row

    def divide(self, row: Sequence[Scalar]) -> list[Scalar]:
        """Return ``D^-1`` times forces (nv,) that are left to the joints."""
        divided = list(row)
        if self.base is not None:
            divided[:6] = divide(self.base, divided[:6])
        for i, joint in self.joints.items():
            k = self.robot.v_of[i].start
            if not is_zero(divided[k]):
                with region("propagated_rows", i):
                    divided[k] = divided[k] * joint.factor
        return divided

    def release(self, left: Sequence[Scalar]) -> list[Scalar]:
        """Forward pass: return the accelerations ``F D^-1 left`` (nv,), each from that of the parent's body.

        Those of revolute joints are in rad/s^2, those of prismatic ones in m/s^2. That of a floating base is
        ``[linear; angular]`` in its axes.
        """
        accelerations: list[Scalar] = []
        twists: list[Twist] = []
        for i, body in enumerate(self.robot.bodies):
            with region("propagated_forward", i):
                if i not in self.joints:
                    assert self.base is not None
                    x, y, z, *turn = ascend(self.base, divide(self.base, left[:6]))
                    accelerations += [x, y, z, *turn]
                    twists.append(((turn[0], turn[1], turn[2]), (x, y, z)))
                    continue
                joint, force = self.joints[i], left[self.robot.v_of[i].start]
                if body.parent == BASE:
                    accelerations.append(joint.factor * force)
                    twists.append(axis(body.joint, accelerations[-1]))
                    continue
                reached = in_child(body.joint, self.q[i], twists[body.parent])
                accelerations.append(joint.factor * (force - power(joint.column, reached)))
                twists.append(add_twist(reached, axis(body.joint, accelerations[-1])))
        return accelerations


def _passed_on(joint: Joint, wrench: Wrench) -> Wrench:
    """Return what of a wrench arrives at a joint's parent, with an exact zero for what moves the joint."""
    if joint.armature:
        return wrench
    (a, b, c), (x, y, z) = wrench
    return ((a, b, 0.0), (x, y, z)) if joint.kind.rotates else ((a, b, c), (x, y, 0.0))
