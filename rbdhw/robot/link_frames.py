"""The frames whose kinematics are wanted, those of contacts and loops, and spheres, by links of the URDF."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rbdhw.errors import InputError, nearest
from rbdhw.robot.model import BASE, WORLD, Contact, Contacts, Frame, Placement, Robot, Sphere, Vector3
from rbdhw.robot.spatial import compose


@dataclass(frozen=True)
class BodyFrame:
    """A frame that is fixed to a body: the body's index, and the frame's pose in the body's frame."""

    body: int
    placement: Placement


def choose_frames(robot: Robot, names: Sequence[str], axes: str) -> Robot:
    """Return the robot with these frames, in this order, as the chosen ones.

    A name is that of a link, ``LINK``, whose frame it is, also where the link is fixed to another one, or of
    a joint, whose frame is that of the link that it moves; or ``LINK@X:Y:Z``, for the same axes at a point of
    the link (m). Raises InputError if a link is unknown, or does not move, or a point is none. ``axes`` is
    one of :data:`rbdhw.robot.model.FRAME_AXES`.
    """
    return replace(robot, frames=_frames(robot, "frames", names), frame_axes=axes)


def choose_contacts(robot: Robot, kinds: Iterable[tuple[str, str]], axes: str = Contacts.axes) -> Robot:
    """Return the robot with contacts at these frames, in this order, each of its kind.

    ``kinds`` has names as for :func:`choose_frames`, with one of :data:`rbdhw.robot.model.CONTACT_KINDS`
    each. Raises InputError as it does.
    """
    names, named = zip(*kinds, strict=True)
    places = map(Contact, _frames(robot, "contacts", names), named)
    return replace(robot, contacts=replace(robot.contacts, places=tuple(places), axes=axes))


def choose_spheres(robot: Robot, spheres: Iterable[tuple[str, float]]) -> Robot:
    """Return the robot with spheres of these radii (m) about points of links, in this order.

    Names are those of :func:`choose_frames`, or ``world@X:Y:Z``. Raises InputError as it does, and if there
    is no pair of spheres on different bodies.
    """
    chosen = []
    for name, radius in spheres:
        link, _, point = name.rpartition("@")
        if link == WORLD:
            frame = Frame(name, "", Placement(translation=_point("spheres", name, point)))
        else:
            (frame,) = _frames(robot, "spheres", [name])
        chosen.append(Sphere(frame, radius))
    robot = replace(robot, spheres=tuple(chosen))
    if not robot.pairs:
        raise InputError("spheres", "all are on one body", "some on links that move against each other")
    return robot


def choose_loops(robot: Robot, loops: Iterable[tuple[str, str, str]]) -> Robot:
    """Return the robot with loops after its contacts, each by its name and the points that it joins.

    The points are named as for :func:`choose_frames`; one of them may be on a link that does not move. Raises
    InputError as it does, if both are on one body, or if a contact has the loop's name.
    """
    places = robot.contacts.places
    for name, *points in loops:
        option = f"loops, {name}"
        first, second = sorted(_frames(robot, option, points, still=True), key=lambda frame: not frame.body)
        if first.body == second.body:
            raise InputError(option, f"'{points[0]}' and '{points[1]}' are on one body", "two bodies")
        if name in [place.frame.name for place in places]:
            raise InputError(option, "a contact has this name", "another name")
        places = (*places, Contact(replace(first, name=name), "point", second))
    return replace(robot, contacts=replace(robot.contacts, places=places))


def _frames(robot: Robot, option: str, names: Sequence[str], still: bool = False) -> tuple[Frame, ...]:
    """Return the frames of these names for an option; ``still``: also those of links that do not move."""
    known = {body.name: Frame(body.name, body.name) for body in robot.bodies}
    fixed = {} if robot.base in known else {robot.base: Frame(robot.base, "")}
    for (name, carrier), placement in zip(robot.fixed_links, robot.fixed_placements, strict=True):
        if carrier in known:
            known[name] = Frame(name, carrier, placement)
        else:
            fixed[name] = Frame(name, "", placement)
    if still:
        known |= fixed
    links = tuple(known)
    joints = {body.joint.name: Frame(body.joint.name, body.name) for body in robot.bodies}
    known = {name: frame for name, frame in joints.items() if name not in fixed} | known
    frames = []
    for name in names:
        link, _, point = (name, "", "") if name in known else name.rpartition("@")
        if (link := link or name) not in known:
            reason = "does not move" if link in fixed else "is unknown"
            near = None if link in fixed else nearest(link, links)
            remedy = "" if near is None else f"the nearest is {near}"
            raise InputError(option, f"link '{link}' {reason}", f"some of {', '.join(links)}", remedy)
        offset = Placement(translation=_point(option, name, point)) if point else Placement()
        frames.append(replace(known[link], name=name, placement=compose(known[link].placement, offset)))
    return tuple(frames)


def _point(option: str, name: str, text: str) -> Vector3:
    """Return the point of a frame's name."""
    try:
        x, y, z = map(float, text.split(":"))
    except ValueError:
        x = y = z = math.nan
    if not all(map(math.isfinite, (x, y, z))):
        raise InputError(option, f"'{name}' has no point '{text}'", "LINK@X:Y:Z, in metres")
    return x, y, z


def chosen_frames(robot: Robot) -> list[BodyFrame]:
    """Return the chosen frames as they are fixed to the robot's bodies."""
    return _on_bodies(robot, robot.frames)


def contact_frames(robot: Robot) -> list[BodyFrame]:
    """Return the frames of the robot's contacts as they are fixed to its bodies."""
    return _on_bodies(robot, [contact.frame for contact in robot.contacts.places])


def closing_frame(robot: Robot, loop: Contact) -> BodyFrame:
    """Return the second frame of a loop, as it is fixed to a body or to the base."""
    assert loop.closes is not None
    if not loop.closes.body:
        return BodyFrame(BASE, loop.closes.placement)
    return _on_bodies(robot, [loop.closes])[0]


def sphere_frames(robot: Robot) -> list[BodyFrame | None]:
    """Return the frames of the robot's spheres as they are fixed to its bodies; None for the world."""
    frames = [sphere.frame for sphere in robot.spheres]
    return [_on_bodies(robot, [frame])[0] if frame.body else None for frame in frames]


def _on_bodies(robot: Robot, frames: Sequence[Frame]) -> list[BodyFrame]:
    index_of = {body.name: i for i, body in enumerate(robot.bodies)}
    bodies = [index_of[frame.body] for frame in frames]
    return [
        BodyFrame(i, compose(robot.bodies[i].link_frame, frame.placement))
        for i, frame in zip(bodies, frames, strict=True)
    ]
