"""Dynamics of a chain link by link, in sweeps whose steps are the same for every link.

Forward dynamics takes three sweeps. The first goes outward and finds the motion of each link at zero joint
accelerations, and the wrench that this motion takes. The second goes inward and gathers articulated inertias
and wrenches. The third goes outward again and releases the accelerations. Source: Featherstone, *Rigid Body
Dynamics Algorithms*, section 7.3; the motion at zero accelerations is that of :mod:`rbdhw.dynamics.rnea`, so
that the last two sweeps have no terms of velocities and gravity. Inverse dynamics takes two sweeps: the first
with the accelerations of the joints, the second gathers wrenches only.

The numbers of a link may be scalars of any kind. Those that differ from link to link are inputs of a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rbdhw.dynamics.articulated import (
    Articulated,
    Eliminated,
    inertia_in_parent,
    less_column,
    rigid,
    without_turn,
)
from rbdhw.dynamics.columns import in_child
from rbdhw.dynamics.inertia import LoadedInertia
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.rnea import Motion, backward, carry_into, inertial_wrench, join, relative_acceleration
from rbdhw.dynamics.spatial import (
    Twist,
    Vector,
    Wrench,
    add,
    add_twist,
    multiply,
    power,
    scale_twist,
    transpose,
    transpose_tensor,
)
from rbdhw.robot.model import Joint
from rbdhw.scalar import Scalar, is_zero, reciprocal

Choice = Callable[[Scalar, Scalar], Scalar]
"""Returns the first argument for a link on a revolute joint, and the second for one on a prismatic joint."""


@dataclass(frozen=True)
class Link:
    """The numbers of a link."""

    joint: Joint
    """Its placement is that of the link in the frame of the link before it. Its kind is a revolute one if the
    joints of all links turn."""
    inertia: LoadedInertia
    """The inertia in the link's frame, whose z axis is the joint's."""
    choose: Choice
    """The choice by the kind of joint."""
    armature: Scalar = 0.0
    """The rotor's inertia; the float 0.0 if there is none."""
    damping: Scalar = 0.0
    """The viscous friction of the joint; the float 0.0 if there is none."""

    def along(self, wrench: Wrench) -> Scalar:
        """Return a wrench's component along the joint's freedom."""
        return self.choose(wrench[0][2], wrench[1][2])

    def axis(self, rate: Scalar) -> Twist:
        """Return the joint's axis times a rate, as a twist."""
        return (0.0, 0.0, self.choose(rate, 0.0)), (0.0, 0.0, self.choose(0.0, rate))


def advance(
    link: Link, q: Coordinate, rate: Scalar, above: Motion, change: Scalar = 0.0
) -> tuple[Motion, Wrench]:
    """Return the motion of a link, and the wrench that it takes.

    ``q``, ``rate`` and ``change`` are the joint's coordinate, its velocity (rad/s or m/s) and acceleration
    (rad/s² or m/s²). ``above`` is the motion of the link before, in its own frame.
    """
    placement = link.joint.placement
    into = transpose(placement.rotation)
    linear = add(above.linear, relative_acceleration(above, placement.translation))
    carried = multiply(into, above.velocity), multiply(into, above.angular), multiply(into, linear)
    motion = join(carry_into(q, carried), link.axis(rate), link.axis(change))
    return motion, inertial_wrench(link.inertia, motion)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Gathered:
    """What the links from one on outward are to the link before it, and what remains at its joint."""

    inertia: Articulated
    """In the frame of the link before, as is the wrench."""
    wrench: Wrench
    joint: Eliminated
    """The column and the factor with which the joint was eliminated."""
    left: Scalar
    """The force that is left over for the joint."""


def gather(
    link: Link, q: Coordinate, force: Scalar, wrench: Wrench, beyond: tuple[Articulated, Wrench]
) -> Gathered:
    """Eliminate a link's joint.

    ``force`` is the joint's force, less its viscous friction (Nm or N). ``wrench`` is what the link's motion
    at zero accelerations takes. ``beyond`` is the articulated inertia and the wrench of all links beyond, in
    this link's frame.
    """
    inertia = rigid(link.inertia) + beyond[0]  # type: ignore[arg-type]
    total = add_twist(wrench, beyond[1])
    eliminated = _eliminate(link, inertia)
    left = force - link.along(total)
    caused = add_twist(total, scale_twist(eliminated.factor * left, eliminated.column))
    seen = _project(link, inertia, eliminated)
    inward = inertia_in_parent(link.joint, q, seen), backward(link.joint, q, caused)
    return Gathered(*inward, eliminated, left)


def bear(link: Link, q: Coordinate, wrench: Wrench, beyond: Wrench) -> tuple[Scalar, Wrench]:
    """Return the force on a link's joint without that of its drive, and the wrench on the link before.

    ``wrench`` is what the link's motion takes. ``beyond`` is the wrench of all links beyond, in this link's
    frame; the wrench on the link before is in its frame.
    """
    total = add_twist(wrench, beyond)
    return link.along(total), backward(link.joint, q, total)


def release(
    link: Link, q: Coordinate, column: Wrench, factor: Scalar, left: Scalar, above: Twist
) -> tuple[Scalar, Twist]:
    """Return a joint's acceleration, and what it and those before it add to the link's acceleration."""
    reached = in_child(link.joint, q, above)
    acceleration = factor * (left - power(column, reached))
    return acceleration, add_twist(reached, link.axis(acceleration))


def _eliminate(link: Link, inertia: Articulated) -> Eliminated:
    """Return the column and the factor with which a joint is eliminated from an articulated inertia."""
    turning = inertia.rotational[2], inertia.coupling[2]
    sliding = transpose_tensor(inertia.coupling)[2], inertia.linear[2]
    column = _choose(link, turning[0], sliding[0]), _choose(link, turning[1], sliding[1])
    return Eliminated(column, reciprocal(link.along(column) + link.armature))


def _choose(link: Link, turning: Vector, sliding: Vector) -> Vector:
    x, y, z = (link.choose(a, b) for a, b in zip(turning, sliding, strict=True))
    return x, y, z


def _project(link: Link, inertia: Articulated, eliminated: Eliminated) -> Articulated:
    """Return the inertia seen through the joint: zero about (or along) its axis, unless it has a rotor."""
    seen = less_column(inertia, eliminated)
    return without_turn(seen) if link.joint.kind.rotates and is_zero(link.armature) else seen
