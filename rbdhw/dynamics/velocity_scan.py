"""Angular velocities along a chain in rounds: the longest path grows with the logarithm of its length.

A body's angular velocity follows from that of any ancestor: ``w_i = R w_j + r``. A *segment* is a number of
bodies one after the other. The rotation ``R`` and the rate ``r`` over a segment are found for all segments at
once. They make a shorter chain, which is treated in the same way. The bodies within the segments follow last,
again those of all segments at once.

Source: Blelloch, "Prefix sums and their applications" (1990); Fijany, Sharf and D'Eleuterio (1995) use such
sums for the terms of velocities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.spatial import UNIT, ZERO, Vector, add, multiply, scale, transpose
from rbdhw.robot.model import BASE, Joint, Robot
from rbdhw.scalar import Scalar, region

SEGMENT = 8
"""The bodies of a segment."""

SERIAL = 128
"""The most bodies on a path that follow one after the other. Up to there other paths are longer."""


@dataclass(frozen=True)
class _Step:
    """From the angular velocity of an ancestor to that of a body, each in its own axes."""

    into: Callable[[Vector], Vector]
    """Transforms the ancestor's axes to the body's."""
    rate: Vector
    """The body's angular velocity relative to the ancestor, in the body's axes."""

    def of(self, velocity: Vector) -> Vector:
        """Return the body's angular velocity from the ancestor's."""
        return add(self.into(velocity), self.rate)


def segment_velocities(robot: Robot, q: Sequence[Coordinate], v: Sequence[Scalar]) -> Mapping[int, Vector]:
    """Return the angular velocities (rad/s) of the first body of each segment, in that body's axes.

    There are none on a robot without long paths, nor in the segments at the base. ``robot`` has a fixed
    base and joints of one freedom, all axes z. ``q`` and ``v`` are the coordinate and the velocity of
    each joint.
    """
    parents = [body.parent for body in robot.bodies]
    if max(_depths(parents)) < SERIAL:
        return {}
    joints = (body.joint for body in robot.bodies)
    return _of_heads(parents, [*map(_joint_step, joints, q, v)])


def _joint_step(joint: Joint, q: Coordinate, rate: Scalar) -> _Step:
    turned = transpose(joint.placement.rotation)
    return _Step(lambda a: q.into(multiply(turned, a)), (0.0, 0.0, rate) if joint.kind.rotates else ZERO)


def _velocities(parents: Sequence[int], steps: Sequence[_Step]) -> list[Vector]:
    """Return the angular velocity of every body."""
    known = _of_heads(parents, steps)
    velocities: list[Vector] = []
    for i, (parent, step) in enumerate(zip(parents, steps, strict=True)):
        velocities.append(
            known[i] if i in known else step.rate if parent == BASE else step.of(velocities[parent])
        )
    return velocities


def _of_heads(parents: Sequence[int], steps: Sequence[_Step]) -> dict[int, Vector]:
    """Return the angular velocities of the first bodies of all segments but those at the base."""
    heads = {i: k for k, i in enumerate(i for i, depth in enumerate(_depths(parents)) if _begins(depth))}
    if not heads:
        return {}
    joined: list[_Step] = []
    before: list[int] = []
    for i, (parent, step) in enumerate(zip(parents, steps, strict=True)):
        alone = parent == BASE or parent in heads
        joined.append(step if alone else _join(joined[parent], step, i))
        before.append(parent if alone else before[parent])
    # The first bodies of segments make a shorter chain, to which the same applies.
    above = [heads.get(before[i], BASE) for i in heads]
    return dict(zip(heads, _velocities(above, [joined[i] for i in heads]), strict=True))


def _begins(depth: int) -> bool:
    """Return whether a body at this depth is the first of a segment."""
    return depth > 0 and depth % SEGMENT == 0


def _join(first: _Step, second: _Step, i: int) -> _Step:
    with region("velocity_scan", i):
        # The rotated unit vectors are the matrix of both steps. From here on a product with it takes the
        # place of all joints between.
        x, y, z = (second.into(first.into(unit)) for unit in UNIT)
        rate = second.of(first.rate)
    return _Step(lambda a: add(scale(a[0], x), scale(a[1], y), scale(a[2], z)), rate)


def _depths(parents: Sequence[int]) -> list[int]:
    depths: list[int] = []
    for parent in parents:
        depths.append(0 if parent == BASE else depths[parent] + 1)
    return depths
