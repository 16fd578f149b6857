"""Squared distances between spheres, on links and in the world, and how they change.

For two spheres whose centres are ``d`` apart, the clearance ``d.d - (r + s)^2`` is positive if they do not
touch, and has derivatives everywhere. Joints that carry both spheres do not change it. Centres are in the
axes of the base, or of a floating first body, seen from which a sphere in the world moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.dynamics.joint import Coordinate, dofs
from rbdhw.dynamics.kinematics import frame_motion
from rbdhw.dynamics.spatial import UNIT, Vector, add, cross, dot, multiply, scale, subtract, transpose
from rbdhw.robot.link_frames import sphere_frames
from rbdhw.robot.model import Robot
from rbdhw.scalar import Scalar, region


@dataclass(frozen=True)
class _Centre:
    """A sphere's centre, and its velocity for a unit of each degree of freedom that moves it."""

    position: Vector
    columns: dict[int, Vector]


def clearances(robot: Robot, q: Sequence[Coordinate]) -> tuple[list[Scalar], list[list[Scalar]]]:
    """Return the clearance (m^2) of each of the robot's pairs, and its derivatives by all degrees of freedom.

    ``q`` has a coordinate for each body, that of a floating body with its pose.
    """
    centres, values, gradients = _centres(robot, q), [], []
    count = dofs(robot)[-1].stop
    for i, j in robot.pairs:
        one, other = centres[i], centres[j]
        touching = (robot.spheres[i].radius + robot.spheres[j].radius) ** 2
        with region("clearance"):
            apart = subtract(one.position, other.position)
            values.append(dot(apart, apart) - touching)
            twice = scale(2.0, apart)
            gradient: list[Scalar] = [0.0] * count
            for k in sorted(one.columns.keys() ^ other.columns.keys()):
                moved = one.columns.get(k) or scale(-1.0, other.columns[k])
                gradient[k] = dot(twice, moved)
            gradients.append(gradient)
    return values, gradients


def _centres(robot: Robot, q: Sequence[Coordinate]) -> list[_Centre]:
    spans = dofs(robot)
    still = [0.0] * spans[-1].stop
    seen = [Coordinate(), *q[1:]] if robot.floats else q
    centres = []
    for sphere, frame in zip(robot.spheres, sphere_frames(robot), strict=True):
        if frame is None:
            centres.append(_in_world(robot, q, sphere.frame.placement.translation))
            continue
        motion = frame_motion(robot, frame, seen, still, still, in_world=True)
        path = [i for i in robot.path(frame.body) if i or not robot.floats]
        moving = sorted(k for i in path for k in range(spans[i].start, spans[i].stop))
        x, y, z = motion.jacobian[:3]
        position = [row[3] for row in motion.placement[:3]]
        columns = {k: (x[k], y[k], z[k]) for k in moving}
        centres.append(_Centre((position[0], position[1], position[2]), columns))
    return centres


def _in_world(robot: Robot, q: Sequence[Coordinate], point: Vector) -> _Centre:
    """Return a centre in the world, which moves backward as a floating body moves forward."""
    if not robot.floats:
        return _Centre(point, {})
    placement = robot.bodies[0].joint.placement
    with region("clearance"):
        placed = multiply(transpose(placement.rotation), subtract(point, placement.translation))
        seen = q[0].into(subtract(placed, q[0].shift))
        backward = [*(scale(-1.0, axis) for axis in UNIT), *(cross(seen, axis) for axis in UNIT)]
        columns = {k: multiply(placement.rotation, column) for k, column in enumerate(backward)}
        return _Centre(add(multiply(placement.rotation, seen), placement.translation), columns)
