"""The regressor of inverse dynamics: joint forces as a linear function of the inertial parameters of links.

A link's ten parameters are mass, first moment and the inertia ``(xx, xy, yy, xz, yz, zz)`` about the origin
of its frame. Each parameter has a column: the wrench that it alone needs for the link's motion, projected on
all joints that carry the link.

Source: Khalil and Dombre, *Modeling, Identification and Control of Robots*, section 12.3.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbdhw.dynamics.joint import Coordinate, dofs
from rbdhw.dynamics.rnea import (
    Motion,
    RoundTrip,
    along,
    backward,
    in_body_axes,
    make_motion,
    relative_acceleration,
)
from rbdhw.dynamics.spatial import UNIT, ZERO, Wrench, add, cross, multiply, transpose
from rbdhw.robot.link_frames import BodyFrame
from rbdhw.robot.model import Placement, Robot
from rbdhw.scalar import Scalar, region

Matrix = list[list[Scalar]]


def regressor(robot: Robot, q: Sequence[Coordinate], trip: RoundTrip, frame: BodyFrame) -> Matrix:
    """Return the joint forces (10, degrees of freedom) for a unit of each parameter of a link.

    ``trip`` has the motions of the bodies, with gravity as an upward acceleration.
    """
    spans = dofs(robot)
    rows: Matrix = [[0.0] * spans[-1].stop for _ in range(10)]
    with region("regressor", frame.body):
        wrenches = [
            in_body_axes(wrench, frame.placement)
            for wrench in parameter_wrenches(_moved(trip.motions[frame.body], frame.placement))
        ]
    for i in robot.path(frame.body):
        joint = robot.bodies[i].joint
        with region("regressor", i):
            for row, wrench in zip(rows, wrenches, strict=True):
                row[spans[i]] = along(joint, wrench)
            wrenches = [backward(joint, q[i], wrench) for wrench in wrenches]
    return rows


def parameter_wrenches(motion: Motion) -> list[Wrench]:
    """Return the moments and forces, in a link's frame, that a unit of each of its parameters needs."""
    (ax, ay, az), (xx, yy, zz), (yz, xz, xy) = motion.angular, motion.squares, motion.products
    moments = (
        (ax, xz, -xy),
        (ay - xz, ax + yz, xx - yy),
        (-yz, ay, xy),
        (az + xy, zz - xx, ax - yz),
        (yy - zz, az - xy, ay + xz),
        (yz, -xz, az),
    )
    first = [(cross(unit, motion.linear), relative_acceleration(motion, unit)) for unit in UNIT]
    return [(ZERO, motion.linear), *first, *((moment, ZERO) for moment in moments)]


def _moved(motion: Motion, placement: Placement) -> Motion:
    """Return the motion of a frame on a body, in the frame's axes."""
    linear = add(motion.linear, relative_acceleration(motion, placement.translation))
    into = transpose(placement.rotation)
    if into == UNIT:
        return Motion(motion.velocity, motion.angular, linear, motion.squares, motion.products)
    return make_motion(
        multiply(into, motion.velocity), multiply(into, motion.angular), multiply(into, linear)
    )
