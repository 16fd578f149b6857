"""The robot model that every later stage uses: a frozen tree of bodies, each moved by one joint.

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


FRAME_AXES = ("local", "world")
"""The axes of a frame's twists: its own, or the world's."""

CONTACT_KINDS = {"point": 3, "surface": 6}
"""The kinds of contacts, and the motions of their frames that they prevent: translations, then rotations."""


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
    """A kind of joint: the motion it allows, its coordinates ``q`` and its velocities ``v``."""

    REVOLUTE = "revolute"
    """Rotation about ``axis``, within limits."""
    CONTINUOUS = "continuous"
    """Rotation about ``axis``, without limits."""
    PRISMATIC = "prismatic"
    """Translation along ``axis``."""
    HELICAL = "helical"
    """Rotation about ``axis`` with a translation of ``pitch`` metres per radian along it."""
    CYLINDRICAL = "cylindrical"
    """Rotation about ``axis`` and translation along it: ``q = [angle, shift]``."""
    UNIVERSAL = "universal"
    """Rotation about ``axis``, then about ``second_axis``: ``q = [first, second]``."""
    TRANSLATION = "translation"
    """Translation along x, y and z: ``q = [x, y, z]``."""
    PLANAR = "planar"
    """Translation in the plane perpendicular to ``axis``, then rotation about it: ``q = [x, y, angle]``. The
    velocity ``v = [vx, vy, rate]`` is in the body's own axes."""
    SPHERICAL = "spherical"
    """Any rotation: ``q`` is a quaternion ``[qx qy qz qw]``, ``v`` the angular velocity in the body frame."""
    FLOATING = "floating"
    """Any motion: ``q = [x y z, qx qy qz qw]``, ``v = [linear; angular]`` in the body frame."""

    @property
    def nq(self) -> int:
        """The number of configuration coordinates."""
        return _COORDINATES.get(self, (1, 1))[0]

    @property
    def nv(self) -> int:
        """The number of velocity coordinates (degrees of freedom)."""
        return _COORDINATES.get(self, (1, 1))[1]

    @property
    def angles(self) -> tuple[bool, ...]:
        """For each configuration coordinate, whether it is an angle (rad), not a length (m) or quaternion."""
        return _ANGLES.get(self, (self.rotates,) if self.nq == 1 else (False,) * self.nq)

    @property
    def angular(self) -> tuple[bool, ...]:
        """For each velocity coordinate, whether it is angular (rad/s); the others are linear (m/s)."""
        return _ANGULAR.get(self, self.angles)

    @property
    def rotates(self) -> bool:
        """Whether the joint's one coordinate is an angle about its axis."""
        return self in (JointKind.REVOLUTE, JointKind.CONTINUOUS)

    @property
    def quaternion(self) -> slice | None:
        """The slice of the joint's coordinates that is its unit quaternion ``[x y z w]``, or None."""
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
"""Numbers of configuration and velocity coordinates of joints that have more than one."""

_ANGLES = {
    JointKind.HELICAL: (True,),
    JointKind.CYLINDRICAL: (True, False),
    JointKind.UNIVERSAL: (True, True),
    JointKind.PLANAR: (False, False, True),
}

_ANGULAR = {
    JointKind.SPHERICAL: (True, True, True),
    JointKind.FLOATING: (False, False, False, True, True, True),
}


@dataclass(frozen=True)
class Limits:
    """The declared range of one degree of freedom: rad, rad/s and Nm, or m, m/s and N.

    ``lower`` and ``upper`` are minus and plus infinity where there are no limits: for a continuous joint and
    for the rotation that a quaternion describes.
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
    """The joint that moves a body relative to its parent."""

    name: str
    kind: JointKind
    axis: Vector3
    """Unit vector in the body's own frame; joints without an axis ignore it."""
    placement: Placement
    """Pose of the body frame in the parent body's frame when ``q + offset`` is zero, or when the joint's
    quaternion is the identity."""
    limits: tuple[Limits, ...]
    """One entry for each degree of freedom."""
    offset: float = 0.0
    """Constant added to the user's coordinate (rad or m). With it, frames may be rotated about or shifted
    along the axis without changing the meaning of ``q``. Joints of one degree of freedom only."""
    pitch: float = 0.0
    """Helical joints only: translation per rotation (m/rad)."""
    second_axis: Vector3 = (0.0, 0.0, 0.0)
    """Universal joints only: unit vector of the second rotation, perpendicular to ``axis``, in the body's own
    frame."""
    mimic: Mimic | None = None
    """The joint that this one follows, and how. A mimic has no coordinates of its own. Joints of one degree
    of freedom only."""
    armature: tuple[float, ...] = ()
    """For each degree of freedom the inertia of its rotor, seen at the joint (kg m^2 or kg): the force that
    accelerates the rotor is this times the acceleration. Empty if there is none."""
    damping: tuple[float, ...] = ()
    """For each degree of freedom the coefficient of viscous friction (Nm s/rad or N s/m), or empty."""


@dataclass(frozen=True)
class Body:
    """One moving body: everything rigidly attached to one joint.

    ``name`` is the URDF link that the joint moves. ``link_frame`` is that link's frame in the body frame;
    external forces are given in the link's frame. ``parent`` indexes ``Robot.bodies`` or is ``BASE``. A
    ``virtual`` body has no inertia and is not a link: it lies between two parts of one joint. ``whole`` is
    the inertia before a regrouping, if there was one. ``parent_link`` is the link of the parent body that the
    URDF calls the joint's parent, if that link is fixed to the one that gives the body its name.
    """

    name: str
    parent: int
    joint: Joint
    inertia: Inertia
    link_frame: Placement = Placement()
    virtual: bool = False
    whole: Inertia | None = field(default=None, compare=False)
    parent_link: str = field(default="", compare=False)


@dataclass(frozen=True)
class Frame:
    """The frame of a URDF link, or of a point of it, for the kinematics.

    ``body`` is the name of the link that moves it: ``name`` itself, unless the link is fixed to another one.
    ``placement`` is the pose in that link's frame.
    """

    name: str
    body: str
    placement: Placement = Placement()


@dataclass(frozen=True)
class Contact:
    """A frame that may touch the world, or the point of a link at which a loop is closed."""

    frame: Frame
    kind: str
    """One of :data:`CONTACT_KINDS`; a loop is held at a point."""
    closes: Frame | None = None
    """For a loop the frame with which ``frame`` has its origin in common. Its ``body`` is empty if it is
    fixed to the base."""

    @property
    def rows(self) -> int:
        """The number of motions of the frame that the contact prevents."""
        return CONTACT_KINDS[self.kind]


MOST_DAMPING = 1e3
"""The most damping that tasks bring, in that of the build."""

VELOCITY_GAIN, POSITION_GAIN = 100.0, 2500.0
"""The largest gains (1/s, 1/s^2) that tasks bring, where the build has none."""


@dataclass(frozen=True)
class Contacts:
    """The contacts with the world that each task may have, and how they are held."""

    places: tuple[Contact, ...] = ()
    axes: str = FRAME_AXES[1]
    """The axes of contact forces, one of :data:`FRAME_AXES`."""
    damping: float = 1e-6
    """What is added to the diagonal of the inverse inertia that forces feel (1/kg, and 1/(kg m^2))."""
    velocity_gain: float = 0.0
    """Baumgarte's gain (1/s): a contact that moves is decelerated by this times its velocity."""
    restitution: float = 0.0
    """The share of its velocity with which a contact leaves an impact; loops leave none."""
    position_gain: float = 0.0
    """Baumgarte's gain (1/s^2) of loops: points that are apart accelerate by this times their distance."""

    by_task: bool = False
    """Whether each task brings damping and gains. Those here then bound them (:attr:`bounds`)."""

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """The ranges of damping and of the gains for velocity and position that tasks bring."""
        return (
            (self.damping, MOST_DAMPING * self.damping),
            (0.0, self.velocity_gain or VELOCITY_GAIN),
            (0.0, self.position_gain or POSITION_GAIN),
        )

    @property
    def loops(self) -> tuple[Contact, ...]:
        """Those that close loops of links, instead of touching the world."""
        return tuple(contact for contact in self.places if contact.closes is not None)


WORLD = "world"
"""The name of what carries spheres that do not move."""


@dataclass(frozen=True)
class Sphere:
    """A sphere about the origin of a frame; the frame's ``body`` is empty if it does not move."""

    frame: Frame
    radius: float


@dataclass(frozen=True)
class LoadedInertias:
    """The moving links whose inertial parameters are given at run time (:mod:`rbdhw.robot.parameters`).

    Each link counts together with all that is fixed to it. Each has ten parameters, with ``bounds``; a link
    with ``payload`` carries a load. The other fields are filled in once the robot is rewritten: for each
    number that the hardware holds its name, its unit, its coefficients by mass, first moment and inertia of
    each link, about and along the link's frame, and its constant.
    """

    links: tuple[str, ...]
    payload: bool = False
    bounds: tuple[tuple[float, float], ...] = ()
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    matrix: tuple[tuple[float, ...], ...] = ()
    constants: tuple[float, ...] = ()


@dataclass(frozen=True)
class Robot:
    """A tree of moving bodies in topological order (each parent before its children)."""

    name: str
    base: str
    """The URDF's root link, fixed to the world (or freed by :meth:`with_floating_base`)."""
    bodies: tuple[Body, ...]
    base_inertia: Inertia = Inertia()
    """Inertia of the root link and of all links fixed to it, in the root link's frame."""
    unfelt: Inertia = Inertia()
    """What a regrouping has moved from the bodies to a base that is not one of them, in its frame."""
    gravity: Vector3 = (0.0, 0.0, -9.81)
    """Acceleration of free fall (m/s^2) in the world frame, or in the base link's frame if the base is fixed
    or its motion is given."""
    fixed_links: tuple[tuple[str, str], ...] = ()
    """For every link merged away by a fixed joint: its name and the name of the link it moves with."""
    fixed_placements: tuple[Placement, ...] = field(default=(), compare=False)
    """For each of ``fixed_links``, the pose of its frame in that of the link it moves with. Only a robot from
    a URDF file has them."""
    gravity_given: bool = False
    """Whether each task has its own gravity, which replaces ``gravity``."""
    base_given: bool = False
    """Whether each task has the base's velocity and acceleration."""
    base_chosen: bool = False
    """Whether each task says if the base, which floats, is held: then it has the base's acceleration."""
    frames: tuple[Frame, ...] = ()
    """The frames of which the kinematics are wanted."""
    frame_axes: str = FRAME_AXES[0]
    """The axes of their twists, one of :data:`FRAME_AXES`."""
    tracks: bool = False
    """Whether steps in time give the positions of these frames behind them."""
    contacts: Contacts = Contacts()
    """The contacts that tasks may have."""
    spheres: tuple[Sphere, ...] = ()
    """The spheres between which distances are wanted."""
    time_step: float | None = None
    """The step in time (s) of all tasks, or None if each task has its own."""
    loaded: LoadedInertias | None = None
    """The inertial parameters that are given at run time, if there are any."""
    joint_order: str = "given"
    """The source of the order of ``bodies``: ``pinocchio`` (a link's joints by name) or ``file`` for a URDF,
    ``rerooted`` after :func:`rbdhw.robot.reroot.reroot`, ``given`` for a robot built in code."""
    remarks: tuple[str, ...] = field(default=(), compare=False)
    """One sentence for each problem in the robot's file and the interpretation chosen. Robots that differ
    only in remarks are equal."""

    @cached_property
    def free_joints(self) -> tuple[Joint, ...]:
        """The joints that have coordinates, in the order of the bodies."""
        return tuple(body.joint for body in self.bodies if body.joint.mimic is None)

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """The names of the joints that have coordinates, in the order of the bodies."""
        return tuple(joint.name for joint in self.free_joints)

    @cached_property
    def nq(self) -> int:
        """The number of configuration coordinates."""
        return sum(joint.kind.nq for joint in self.free_joints)

    @cached_property
    def nv(self) -> int:
        """The number of degrees of freedom."""
        return sum(joint.kind.nv for joint in self.free_joints)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The lengths of the axes of arrays, by the names of :data:`rbdhw.arrays.ARRAYS`."""
        states = {"nx": self.nq + self.nv, "ndx": 2 * self.nv}
        lengths = {"nq": self.nq, "nv": self.nv, "bodies": len(self.bodies), "frames": len(self.frames)}
        lengths |= {"contacts": len(self.contacts.places), "contact_rows": 6 * len(self.contacts.places)}
        lengths |= {"pairs": len(self.pairs), "holding": 3 if self.contacts.by_task else 0}
        lengths["tracked"] = len(self.frames) if self.tracks else 0
        return lengths | states | {"loaded": len(self.loaded.links) if self.loaded else 0}

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of spheres on different bodies, one of which may be the world."""
        bodies = [sphere.frame.body for sphere in self.spheres]
        return tuple((i, j) for j in range(len(bodies)) for i in range(j) if bodies[i] != bodies[j])

    @cached_property
    def q_of(self) -> tuple[slice, ...]:
        """For each body, the slice of ``q`` of its joint; a mimic has the slice of the joint it follows."""
        return self._spans([body.joint.kind.nq for body in self.bodies])

    @cached_property
    def v_of(self) -> tuple[slice, ...]:
        """For each body, the slice of ``v`` of its joint; a mimic has the slice of the joint it follows."""
        return self._spans([body.joint.kind.nv for body in self.bodies])

    def _spans(self, sizes: Sequence[int]) -> tuple[slice, ...]:
        spans: dict[str, slice] = {}
        start = 0
        for body, size in zip(self.bodies, sizes, strict=True):
            if body.joint.mimic is None:
                spans[body.joint.name] = slice(start, start + size)
                start += size
        followed = (body.joint.mimic.joint if body.joint.mimic else body.joint.name for body in self.bodies)
        return tuple(spans[name] for name in followed)

    @cached_property
    def armature(self) -> tuple[float, ...]:
        """The rotor inertias of all degrees of freedom, including those of mimics."""
        return self._drives("armature")

    @cached_property
    def damping(self) -> tuple[float, ...]:
        """The coefficients of viscous friction of all degrees of freedom, including those of mimics."""
        return self._drives("damping")

    def _drives(self, name: str) -> tuple[float, ...]:
        joints = (body.joint for body in self.bodies)
        return tuple(number for joint in joints for number in getattr(joint, name) or (0.0,) * joint.kind.nv)

    @cached_property
    def links(self) -> tuple[int, ...]:
        """The indices of the bodies that are links, which are those that are not virtual."""
        return tuple(i for i, body in enumerate(self.bodies) if not body.virtual)

    @property
    def floats(self) -> bool:
        """Whether the first body has a floating joint."""
        return bool(self.bodies) and self.bodies[0].joint.kind is JointKind.FLOATING

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each body, the indices of its children."""
        children: list[list[int]] = [[] for _ in self.bodies]
        for i, body in enumerate(self.bodies):
            if body.parent != BASE:
                children[body.parent].append(i)
        return tuple(map(tuple, children))

    @cached_property
    def depth(self) -> int:
        """The number of bodies on the longest path from the base to a leaf."""
        return max((len(self.path(i)) for i in range(len(self.bodies))), default=0)

    def path(self, i: int) -> tuple[int, ...]:
        """Return body ``i`` and its ancestors, nearest first, without the base."""
        line: list[int] = []
        while i != BASE:
            line.append(i)
            i = self.bodies[i].parent
        return tuple(line)

    def with_bodies(self, bodies: Sequence[Body]) -> Robot:
        """Return this robot with other bodies."""
        return replace(self, bodies=tuple(bodies))

    def with_floating_base(self) -> Robot:
        """Return this robot with its base link as body 0 on a floating joint.

        The joint is called ``root_joint``, with underscores appended if another joint has that name.
        """
        name = "root_joint"
        while name in {body.joint.name for body in self.bodies}:
            name += "_"
        joint = Joint(name, JointKind.FLOATING, (0.0, 0.0, 1.0), Placement(), (UNLIMITED,) * 6)
        root = Body(self.base, BASE, joint, self.base_inertia)
        moved = [replace(body, parent=body.parent + 1) for body in self.bodies]
        return replace(self, bodies=(root, *moved), base_inertia=Inertia())
