"""The robot as every later stage sees it: a frozen tree of bodies, each moved by one joint.

Conventions are those of Featherstone, *Rigid Body Dynamics Algorithms*: spatial vectors are
``[angular; linear]``, body ``i`` has parent ``lambda(i) < i``, and the fixed base is parent ``-1``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

Vector3 = tuple[float, float, float]
Matrix3 = tuple[Vector3, Vector3, Vector3]

BASE = -1
"""The parent index of a body that hangs from the fixed base (the world)."""

IDENTITY: Matrix3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class Placement:
    """The pose of a child frame in its parent frame: ``p_parent = rotation @ p_child + translation``.

    ``rotation`` (3x3) has the child's axes as columns; ``translation`` is in metres.
    """

    rotation: Matrix3 = IDENTITY
    translation: Vector3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Inertia:
    """A rigid body's inertia about the origin of, and along, its body frame.

    ``first_moment`` is mass times centre of mass (kg m). ``rotational`` is ``(xx, xy, xz, yy, yz, zz)``
    about the frame's origin, not the centre of mass (kg m^2).
    """

    mass: float = 0.0
    first_moment: Vector3 = (0.0, 0.0, 0.0)
    rotational: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class JointKind(StrEnum):
    """What a joint lets its body do, with its coordinates ``q`` and velocities ``v``."""

    REVOLUTE = "revolute"
    """A turn about ``axis``, within limits."""
    CONTINUOUS = "continuous"
    """A turn about ``axis``, without limits."""
    PRISMATIC = "prismatic"
    """A shift along ``axis``."""
    HELICAL = "helical"
    """A turn about ``axis`` with a shift of ``pitch`` metres a radian along it."""
    CYLINDRICAL = "cylindrical"
    """A turn about and a shift along ``axis``: ``q = [angle, shift]``."""
    UNIVERSAL = "universal"
    """A turn about ``axis``, then one about ``second_axis``: ``q = [first, second]``."""
    TRANSLATION = "translation"
    """A shift along x, y and z: ``q = [x, y, z]``."""
    PLANAR = "planar"
    """A shift in the plane across ``axis``, then a turn about it: ``q = [x, y, angle]``, and the velocity
    ``v = [vx, vy, rate]`` in the body's own axes."""
    SPHERICAL = "spherical"
    """Any turn: ``q`` is a quaternion ``[qx qy qz qw]``, ``v`` the angular velocity in the body frame."""
    FLOATING = "floating"
    """Any motion: ``q = [x y z, qx qy qz qw]``, ``v = [linear; angular]`` in the body frame."""

    @property
    def nq(self) -> int:
        """Configuration coordinates."""
        return _COORDINATES.get(self, (1, 1))[0]

    @property
    def nv(self) -> int:
        """Velocity coordinates: degrees of freedom."""
        return _COORDINATES.get(self, (1, 1))[1]

    @property
    def angles(self) -> tuple[bool, ...]:
        """Which configuration coordinates are angles (rad); the others are metres or parts of quaternions."""
        return _ANGLES.get(self, (self.rotates,) if self.nq == 1 else (False,) * self.nq)

    @property
    def turning(self) -> tuple[bool, ...]:
        """Which velocity coordinates are angular (rad/s); the others are linear (m/s)."""
        return _TURNING.get(self, self.angles)

    @property
    def rotates(self) -> bool:
        """Whether the joint's one coordinate is an angle about its axis."""
        return self in (JointKind.REVOLUTE, JointKind.CONTINUOUS)

    @property
    def quaternion(self) -> slice | None:
        """Where in the joint's coordinates its unit quaternion ``[x y z w]`` lies, if it has one."""
        if self is JointKind.FLOATING:
            return slice(3, 7)
        return slice(0, 4) if self is JointKind.SPHERICAL else None


_COORDINATES = {
    JointKind.CYLINDRICAL: (2, 2),
    JointKind.UNIVERSAL: (2, 2),
    JointKind.TRANSLATION: (3, 3),
    JointKind.PLANAR: (3, 3),
    JointKind.SPHERICAL: (4, 3),
    JointKind.FLOATING: (7, 6),
}
"""Configuration and velocity coordinates of joints that have more than one."""

_ANGLES = {
    JointKind.HELICAL: (True,),
    JointKind.CYLINDRICAL: (True, False),
    JointKind.UNIVERSAL: (True, True),
    JointKind.PLANAR: (False, False, True),
}

_TURNING = {
    JointKind.SPHERICAL: (True, True, True),
    JointKind.FLOATING: (False, False, False, True, True, True),
}


@dataclass(frozen=True)
class Limits:
    """The declared range of one degree of freedom: rad and rad/s and Nm, or m and m/s and N.

    ``lower`` and ``upper`` are minus and plus infinity where there are no limits, as for a continuous joint,
    and for the turns that a quaternion tells.
    """

    lower: float
    upper: float
    velocity: float
    effort: float


UNLIMITED = Limits(float("-inf"), float("inf"), float("inf"), float("inf"))
"""No limits at all."""


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another of one degree of freedom: ``q = multiplier * q_other + offset``.

    ``joint`` is the other's name, ``offset`` in rad or m.
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """The joint that moves a body relative to its parent.

    Parameters
    ----------
    axis
        Unit vector in the body's own frame; unused by joints that have none.
    placement
        Pose of the body frame in the parent body's frame when the joint's coordinates are zero
        (that is, when ``q + offset`` is zero), or its quaternion the unit.
    limits
        One for each degree of freedom.
    offset
        Constant added to the user's coordinate, so that frames may be turned about or shifted
        along the axis without changing what ``q`` means (rad or m). Joints of one degree of freedom only.
    pitch
        Of a helical joint, metres a radian.
    second_axis
        Of a universal joint, the unit vector of the second turn, at right angles to the first, in the body's
        own frame.
    mimic
        The joint that this one follows, and how; it has no coordinates of its own then. Joints of one degree
        of freedom only.
    """

    name: str
    kind: JointKind
    axis: Vector3
    placement: Placement
    limits: tuple[Limits, ...]
    offset: float = 0.0
    pitch: float = 0.0
    second_axis: Vector3 = (0.0, 0.0, 0.0)
    mimic: Mimic | None = None


@dataclass(frozen=True)
class Body:
    """One moving body: everything that is rigidly attached below one joint.

    ``name`` is the URDF link that the joint moves, ``link_frame`` that link's frame in the body
    frame (external forces are given there). ``parent`` indexes ``Robot.bodies`` or is ``BASE``. A
    ``virtual`` body has no inertia and is no link: it stands between two parts of one joint.
    """

    name: str
    parent: int
    joint: Joint
    inertia: Inertia
    link_frame: Placement = Placement()
    virtual: bool = False


@dataclass(frozen=True)
class Robot:
    """A tree of moving bodies in topological order (each parent before its children).

    Parameters
    ----------
    base
        The URDF's root link, fixed to the world (or freed by :meth:`with_floating_base`).
    base_inertia
        Inertia of the root link and of all that is fixed to it, in the root link's frame.
    gravity
        Acceleration of free fall in the world frame (m/s^2), the base link's where the base is fixed or its
        motion is given.
    fixed_links
        For every link merged away by a fixed joint, the name of the link it moves with.
    gravity_given
        Whether each task brings its own gravity instead.
    base_given
        Whether each task brings the base's velocity and acceleration.
    joint_order
        Where the order of ``bodies`` comes from: ``pinocchio`` (a link's joints by name) or ``file`` for a
        URDF, ``rerooted`` after :func:`rbdhw.robot.reroot.reroot`, ``given`` for a robot built in code.
    remarks
        What is amiss in the robot's file, and what was taken instead, a sentence each. Robots that differ in
        nothing else are equal.
    """

    name: str
    base: str
    bodies: tuple[Body, ...]
    base_inertia: Inertia = Inertia()
    gravity: Vector3 = (0.0, 0.0, -9.81)
    fixed_links: tuple[tuple[str, str], ...] = ()
    gravity_given: bool = False
    base_given: bool = False
    joint_order: str = "given"
    remarks: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """The names of the joints that have coordinates, in the order of the bodies."""
        return tuple(body.joint.name for body in self.bodies if body.joint.mimic is None)

    @cached_property
    def nq(self) -> int:
        """The number of configuration coordinates."""
        return sum(body.joint.kind.nq for body in self.bodies if body.joint.mimic is None)

    @cached_property
    def nv(self) -> int:
        """The number of degrees of freedom."""
        return sum(body.joint.kind.nv for body in self.bodies if body.joint.mimic is None)

    @cached_property
    def q_of(self) -> tuple[slice, ...]:
        """For each body, where its joint's configuration lies in ``q``: a mimic's is the other joint's."""
        return self._spans([body.joint.kind.nq for body in self.bodies])

    @cached_property
    def v_of(self) -> tuple[slice, ...]:
        """For each body, where its joint's velocities lie in ``v``: a mimic's is the other joint's."""
        return self._spans([body.joint.kind.nv for body in self.bodies])

    def _spans(self, sizes: Sequence[int]) -> tuple[slice, ...]:
        places: dict[str, slice] = {}
        start = 0
        for body, size in zip(self.bodies, sizes, strict=True):
            if body.joint.mimic is None:
                places[body.joint.name] = slice(start, start + size)
                start += size
        followed = (body.joint.mimic.joint if body.joint.mimic else body.joint.name for body in self.bodies)
        return tuple(places[name] for name in followed)

    @cached_property
    def links(self) -> tuple[int, ...]:
        """The bodies that are links: all that are not virtual."""
        return tuple(i for i, body in enumerate(self.bodies) if not body.virtual)

    @property
    def floats(self) -> bool:
        """Whether the first body is free in space."""
        return bool(self.bodies) and self.bodies[0].joint.kind is JointKind.FLOATING

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each body, the bodies whose parent it is."""
        return tuple(
            tuple(i for i, body in enumerate(self.bodies) if body.parent == parent)
            for parent in range(len(self.bodies))
        )

    @cached_property
    def depth(self) -> int:
        """Bodies on the longest path from the base to a leaf."""
        return max((len(self.path(i)) for i in range(len(self.bodies))), default=0)

    def path(self, i: int) -> tuple[int, ...]:
        """Body ``i`` and its ancestors, nearest first, without the base."""
        line: list[int] = []
        while i != BASE:
            line.append(i)
            i = self.bodies[i].parent
        return tuple(line)

    def with_bodies(self, bodies: Sequence[Body]) -> Robot:
        """This robot with other bodies."""
        return replace(self, bodies=tuple(bodies))

    def with_floating_base(self) -> Robot:
        """This robot with its base link as a body of its own, free in space as body 0.

        Its joint is called ``root_joint``, with underscores behind where a joint has that name already.
        """
        name = "root_joint"
        while name in {body.joint.name for body in self.bodies}:
            name += "_"
        joint = Joint(name, JointKind.FLOATING, (0.0, 0.0, 1.0), Placement(), (UNLIMITED,) * 6)
        root = Body(self.base, BASE, joint, self.base_inertia)
        moved = [replace(body, parent=body.parent + 1) for body in self.bodies]
        return replace(self, bodies=(root, *moved), base_inertia=Inertia())
