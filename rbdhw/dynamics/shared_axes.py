"""Axes that do not turn with a body, so that bodies on parallel joints share them.

A body's quantities are usually given in axes that turn with it. If all joints on a body are parallel to its
own joint, or if there are none, its quantities can as well be given in the axes of its joint's frame. Seen
from there the body has turned by its angle, and so have its inertia and the places of the joints on it, which
are products with constants. The angle of a joint on it adds to its own angle, and the two bodies' frames
differ by a constant rotation and a translation, so that nothing is rotated by the angles.

The algorithms are the same for such axes: their velocities and accelerations are those of the bodies, and
they never differentiate the axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from rbdhw.dynamics.inertia import LoadedInertia, second_moments
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.rnea import STILL, Motion, RoundTrip, in_body_axes, newton_euler
from rbdhw.dynamics.spatial import Wrench
from rbdhw.robot.model import Body, Inertia, Joint, Placement, Robot
from rbdhw.scalar import Scalar, region


@dataclass(frozen=True)
class Configuration:
    """A robot, the coordinates of its joints, and the external wrenches, as the algorithms take them."""

    robot: Robot
    coordinates: Sequence[Coordinate]
    fext: Mapping[int, Wrench]
    turned: Mapping[int, Coordinate] = field(default_factory=dict)
    """For each body whose axes do not turn with it, how it has turned from them."""

    def round_trip(self, v: Sequence[Scalar], a: Sequence[Scalar], base: Motion = STILL) -> RoundTrip:
        """Return both passes of :func:`rbdhw.dynamics.rnea.newton_euler`."""
        return newton_euler(self.robot, self.coordinates, v, a, base, self.fext)


def can_share_axes(robot: Robot) -> tuple[bool, ...]:
    """Return for each body whether its joint and all joints on it are revolute and parallel."""
    sharing = [_revolute(body.joint) for body in robot.bodies]
    for body in robot.bodies:
        if body.parent >= 0 and not (_revolute(body.joint) and _parallel(body.joint.placement)):
            sharing[body.parent] = False
    return tuple(sharing)


def share_axes(configuration: Configuration) -> Configuration:
    """Return a robot in a state with each body in the axes of its joint's frame where these can be shared."""
    robot, fext = configuration.robot, dict(configuration.fext)
    bodies: list[Body] = []
    coordinates: list[Coordinate] = []
    turned: dict[int, Coordinate] = {}
    for i, shares in enumerate(can_share_axes(robot)):
        body, q = robot.bodies[i], configuration.coordinates[i]
        with region("shared_axes", i):
            if body.parent in turned:
                q = _add_angles(turned[body.parent], q, body.joint.placement)
                body = replace(body, joint=_moved(body.joint, turned[body.parent]))
            if shares:
                turned[i] = q
                if i in fext:
                    moment, force = in_body_axes(fext[i], body.link_frame)
                    fext[i] = q.out_of(moment), q.out_of(force)
                body = replace(body, inertia=_turned(body.inertia, q), link_frame=Placement())
                q = Coordinate()
        bodies.append(body)
        coordinates.append(q)
    return Configuration(replace(robot, bodies=tuple(bodies)), coordinates, fext, turned)


def _revolute(joint: Joint) -> bool:
    return joint.kind.rotates and joint.kind.nv == 1


def _parallel(placement: Placement) -> bool:
    """Return whether the z axis is that of the parent, or its opposite."""
    x, y, z = (row[2] for row in placement.rotation)
    return (x, y, abs(z)) == (0.0, 0.0, 1.0)


def _add_angles(parent: Coordinate, q: Coordinate, placement: Placement) -> Coordinate:
    """Return the coordinate of a joint against axes that its parent body has turned from."""
    sin = placement.rotation[2][2] * parent.sin
    return Coordinate(parent.cos * q.cos - sin * q.sin, sin * q.cos + parent.cos * q.sin)


def _moved(joint: Joint, parent: Coordinate) -> Joint:
    """Return a joint at its place on a turned body."""
    translation = parent.out_of(joint.placement.translation)
    return replace(joint, placement=replace(joint.placement, translation=translation))


def _turned(inertia: Inertia, q: Coordinate) -> Inertia:
    xx, xy, xz, yy, yz, zz = second_moments(inertia)
    rows = q.tensor_out_of(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
    moments = (*rows[0], *rows[1][1:], rows[2][2])
    return cast(Inertia, LoadedInertia(inertia.mass, q.out_of(inertia.first_moment), moments))
