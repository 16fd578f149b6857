"""The frames of which a build gives the kinematics, by the links of the URDF file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rbdhw.errors import InputError
from rbdhw.robot.model import Frame, Placement, Robot
from rbdhw.robot.spatial import compose


@dataclass(frozen=True)
class BodyFrame:
    """A frame that is fixed to a body: the body's index, and the frame's pose in the body's frame."""

    body: int
    placement: Placement


def choose_frames(robot: Robot, links: Sequence[str], axes: str) -> Robot:
    """Return the robot with the frames of these links, in this order, as the chosen ones.

    A link that is fixed to another one has its own frame. Raises InputError if a link is unknown, or does not
    move. ``axes`` is one of :data:`rbdhw.robot.model.FRAME_AXES`.
    """
    known = {body.name: Frame(body.name, body.name) for body in robot.bodies}
    still = {robot.base} - known.keys()
    for (name, carrier), placement in zip(robot.fixed_links, robot.fixed_placements, strict=True):
        if carrier in known:
            known[name] = Frame(name, carrier, placement)
        else:
            still.add(name)
    for link in links:
        if link not in known:
            reason = "does not move" if link in still else "is unknown"
            raise InputError("frames", f"link '{link}' {reason}", f"some of {', '.join(known)}")
    return replace(robot, frames=tuple(known[link] for link in links), frame_axes=axes)


def chosen_frames(robot: Robot) -> list[BodyFrame]:
    """Return the chosen frames as they are fixed to the robot's bodies."""
    index_of = {body.name: i for i, body in enumerate(robot.bodies)}
    bodies = [index_of[frame.body] for frame in robot.frames]
    return [
        BodyFrame(i, compose(robot.bodies[i].link_frame, frame.placement))
        for i, frame in zip(bodies, robot.frames, strict=True)
    ]
