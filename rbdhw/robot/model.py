"""The robot as every later stage sees it: a frozen tree of bodies, each moved by one joint.

Conventions are those of Featherstone, *Rigid Body Dynamics Algorithms*: spatial vectors are
``[angular; linear]``, body ``i`` has parent ``lambda(i) < i``, and the fixed base is parent ``-1``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    """What a joint lets its body do."""

    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    FLOATING = "floating"

    @property
    def nq(self) -> int:
        """Configuration coordinates: a floating joint has ``[x y z, qx qy qz qw]``."""
        return 7 if self is JointKind.FLOATING else 1

    @property
    def nv(self) -> int:
        """Velocity coordinates: a floating joint has ``[linear; angular]`` in the body frame."""
        return 6 if self is JointKind.FLOATING else 1

    @property
    def rotates(self) -> bool:
        """Whether the joint's one coordinate is an angle about its axis."""
        return self in (JointKind.REVOLUTE, JointKind.CONTINUOUS)


@dataclass(frozen=True)
class Limits:
    """A joint's declared range: rad and rad/s and Nm, or m and m/s and N.

    ``lower`` and ``upper`` are minus and plus infinity for a continuous joint.
    """

    lower: float
    upper: float
    velocity: float
    effort: float


@dataclass(frozen=True)
class Joint:
    """The joint that moves a body relative to its parent.

    Parameters
    ----------
    axis
        Unit vector in the body's own frame; unused for a floating joint.
    placement
        Pose of the body frame in the parent body's frame when the joint's coordinate is zero
        (that is, when ``q + offset`` is zero).
    offset
        Constant added to the user's coordinate, so that frames may be turned about or shifted
        along the axis without changing what ``q`` means (rad or m).
    """

    name: str
    kind: JointKind
    axis: Vector3
    placement: Placement
    limits: Limits
    offset: float = 0.0


@dataclass(frozen=True)
class Body:
    """One moving body: everything that is rigidly attached below one joint.

    ``name`` is the URDF link that the joint moves, ``link_frame`` that link's frame in the body
    frame (external forces are given there). ``parent`` indexes ``Robot.bodies`` or is ``BASE``.
    """

    name: str
    parent: int
    joint: Joint
    inertia: Inertia
    link_frame: Placement = Placement()


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
        Acceleration of free fall in the world frame (m/s^2).
    fixed_links
        For every link merged away by a fixed joint, the name of the link it moves with.
    """

    name: str
    base: str
    bodies: tuple[Body, ...]
    base_inertia: Inertia = Inertia()
    gravity: Vector3 = (0.0, 0.0, -9.81)
    fixed_links: tuple[tuple[str, str], ...] = ()

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """The moving joints' names, in the order of the bodies."""
        return tuple(body.joint.name for body in self.bodies)

    @cached_property
    def nq(self) -> int:
        """The number of configuration coordinates."""
        return sum(body.joint.kind.nq for body in self.bodies)

    @cached_property
    def nv(self) -> int:
        """The number of degrees of freedom."""
        return sum(body.joint.kind.nv for body in self.bodies)

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
        """This robot with its base link as a body of its own, free in space as body 0."""
        free = Limits(lower=float("-inf"), upper=float("inf"), velocity=float("inf"), effort=float("inf"))
        joint = Joint("root_joint", JointKind.FLOATING, (0.0, 0.0, 1.0), Placement(), free)
        root = Body(self.base, BASE, joint, self.base_inertia)
        moved = [replace(body, parent=body.parent + 1) for body in self.bodies]
        return replace(self, bodies=(root, *moved), base_inertia=Inertia())
