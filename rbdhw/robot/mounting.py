"""How the robot of a file is read and stands in the world, and the links whose quantities tasks bring."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from rbdhw.robot.drives import NO_DRIVES, Drives
from rbdhw.robot.loops import EmbeddedLoop, Loop
from rbdhw.robot.model import FRAME_AXES, Contacts

ANY_BASE = "any"
"""A value in place of a motion of the root link: each task chooses its own."""

BASES = ("fixed", "floating", "given", ANY_BASE)
"""The motion of the root link: none, free, given by each task, or one of these by task."""

PER_TASK = "task"
"""A value in place of a gravity vector: each task has its own."""

OF_DOMAIN = "domain"
"""A value in place of :data:`PER_TASK`: the domain file has the numbers."""

WAYS_OF_GAINS = (OF_DOMAIN, PER_TASK)
"""What has the damping and the gains of contacts: the domain file, or each task."""

JOINT_ORDERS = ("pinocchio", "file")
"""The order of a link's joints: by name, as Pinocchio visits them, or as in the file."""

CHEAPEST_ROOT = "auto"
"""A value in place of a root link: the one from which the accelerator costs least."""

NO_LINKS, ALL_LINKS = "none", "all"
"""Values in place of the links that take an external force."""

PAYLOAD, INERTIAS = "payload", "inertias"
"""Values in place of the links whose inertial parameters are given at run time."""

Links = str | tuple[str, ...]
"""The links that take an external force: :data:`NO_LINKS`, :data:`ALL_LINKS`, or their names."""


def link_text(name: str) -> str:
    """Return a link's name in the syntax of :func:`rbdhw.options.syntax.parse_links`."""
    if name in (NO_LINKS, ALL_LINKS):
        return f"\\{name}"
    return name.replace("\\", "\\\\").replace(",", "\\,")


@dataclass(frozen=True)
class Mounting:
    """How the robot of a file is read, how it stands in the world, and what tasks and results have of it."""

    base: str = "fixed"
    """``fixed``, ``floating`` (six degrees of freedom at the root, in its frame), ``given`` (each task
    contains the root's velocity and acceleration) or ``any`` (each task says which of these it is)."""
    _: KW_ONLY
    strict: bool = False
    """Whether to refuse a file with problems that could otherwise be tolerated with a remark."""
    joint_order: str = JOINT_ORDERS[0]
    """One of :data:`JOINT_ORDERS`."""
    drives: Drives = NO_DRIVES
    """The rotor inertia and the viscous friction that joints have."""
    gravity: tuple[float, float, float] | str | None = None
    """Acceleration of free fall (m/s^2) in the world frame, or in the root's frame for a given base; or
    :data:`PER_TASK`. None is 9.81 m/s^2 along -z."""
    root: str | None = None
    """The link that floats instead of the file's root, or :data:`CHEAPEST_ROOT`."""
    time_step: float | None = None
    """The step in time (s) of all tasks, or None if each task has its own."""
    parameters: Links = NO_LINKS
    """The links whose inertial parameters are given at run time: :data:`NO_LINKS`, :data:`PAYLOAD` (the link
    that carries no other), :data:`INERTIAS` (all that move and have mass), or their names."""
    frames: tuple[str, ...] = ()
    """The links of whose frames the kinematics are wanted, in their order."""
    frame_axes: str = FRAME_AXES[0]
    """One of :data:`rbdhw.robot.model.FRAME_AXES`: the axes of these frames' twists."""
    contacts: tuple[tuple[str, str], ...] = ()
    """The links whose frames may touch the world, and the kind of each contact, one of
    :data:`rbdhw.robot.model.CONTACT_KINDS`."""
    contact_gains: str = OF_DOMAIN
    """One of :data:`WAYS_OF_GAINS`: what has the damping and the gains of contacts."""
    loops: tuple[Loop, ...] = ()
    """The loops of links (:mod:`rbdhw.robot.loops`)."""
    spheres: tuple[tuple[str, float], ...] = ()
    """The spheres between which distances are wanted: points of links or of the world, and radii (m)."""
    contact_axes: str = Contacts.axes
    """One of :data:`rbdhw.robot.model.FRAME_AXES`: the axes of the contacts' forces."""

    @property
    def constrained(self) -> bool:
        """Whether forces hold frames to the world, or loops together."""
        return bool(self.contacts or self.held_loops)

    @property
    def embedded_loops(self) -> tuple[EmbeddedLoop, ...]:
        """The loops whose joints are mimics of one of them."""
        return tuple(loop for loop in self.loops if isinstance(loop, EmbeddedLoop))

    @property
    def held_loops(self) -> tuple[tuple[str, str, str], ...]:
        """The loops that forces hold together."""
        return tuple(loop for loop in self.loops if not isinstance(loop, EmbeddedLoop))
