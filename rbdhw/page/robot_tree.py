"""The robot as a table: its bodies in the order of a tree, with the coordinates of their joints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rbdhw.design.entries import CoordinateEntry, Coordinates, VelocityEntry
from rbdhw.robot.model import BASE, Robot


@dataclass(frozen=True)
class TreeRow:
    """A body: what lies above it in the tree, its joint, and the joint's coordinates.

    Parameters
    ----------
    lines
        The lines of the tree in front of the name: for each ancestor whether it has later siblings, and then
        whether the body itself has.
    number
        The body's index, which the names of steps have; None for the base.
    follows
        The joint that the joint follows as a mimic, and how; empty if it is none.
    """

    lines: tuple[bool, ...]
    number: int | None
    link: str
    joint: str
    kind: str
    follows: str
    positions: tuple[CoordinateEntry, ...]
    velocities: tuple[VelocityEntry, ...]


def tree_rows(robot: Robot, coordinates: Coordinates) -> list[TreeRow]:
    """Return the base and all bodies, each after its parent and before the parent's next child."""
    base = [] if robot.floats else [TreeRow((), None, robot.base, "", "", "", (), ())]
    roots = [i for i, body in enumerate(robot.bodies) if body.parent == BASE]
    return [*base, *_branches(robot, coordinates, roots, (), rooted=robot.floats)]


def _branches(
    robot: Robot, coordinates: Coordinates, bodies: list[int], lines: tuple[bool, ...], rooted: bool = False
) -> Iterator[TreeRow]:
    """Yield the rows of bodies of one parent; ``rooted`` says that they have none."""
    for i in bodies:
        below = () if rooted else (*lines, i != bodies[-1])
        joint = robot.bodies[i].joint
        mimic = joint.mimic
        yield TreeRow(
            below,
            i,
            robot.bodies[i].name,
            joint.name,
            joint.kind.value,
            f"{mimic.multiplier:g} × {mimic.joint} + {mimic.offset:g}" if mimic else "",
            tuple(coordinate for coordinate in coordinates.q if coordinate.joint == joint.name),
            tuple(coordinate for coordinate in coordinates.v if coordinate.joint == joint.name),
        )
        yield from _branches(robot, coordinates, list(robot.children[i]), below)
