"""Choose another link as the floating base, to make the tree less deep.

A robot that is free in space has no natural root. From a link in the middle its limbs are shorter, and so is
every chain of operations from the base to the leaves and back. The user's coordinates of the base change with
the root; :mod:`rbdhw.robot.rebase` converts them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from rbdhw.errors import InputError
from rbdhw.robot.frames import reframe
from rbdhw.robot.model import BASE, Body, JointKind, Placement, Robot, Vector3

REVERSIBLE = (
    JointKind.REVOLUTE,
    JointKind.CONTINUOUS,
    JointKind.PRISMATIC,
    JointKind.HELICAL,
    JointKind.CYLINDRICAL,
)
"""Kinds of joints with one axis: the joint about the opposite axis is the inverse of the joint."""

MOST_WORK = 1e6
"""The sum of costs, as operation counts, that a search for the root may evaluate.

All functions of Atlas cost less than a tenth of it. For a robot so large that the search would exceed it,
fewer roots are compared, but at least two.
"""


@dataclass(frozen=True)
class RootTrial:
    """A link that was tried as the root: the number of bodies on the longest path from it, and the cost."""

    link: str
    depth: int
    cost: float


class Rooting(NamedTuple):
    """The result of a search for the cheapest root."""

    robot: Robot
    """The robot with that root."""
    trials: list[RootTrial]
    """The links that were compared."""
    skipped: tuple[str, ...] = ()
    """The links that were not compared because the robot is large."""


def reroot(robot: Robot, link: str) -> Robot:
    """Return ``robot``, which must float, with ``link`` as its floating base.

    The joints between the old root and the new one are reversed: the former child carries the former parent.
    Their coordinates, velocities and torques keep their meaning and sign, and mimics follow as before. The
    body of a reversed joint has its frame at the joint; its ``link_frame`` is the pose of the link's own
    frame. The body frame of the new root is its link's frame, and the base's coordinates refer to it. The
    root joint keeps its name. Bodies are ordered depth first, siblings in their old order, and the user's
    arrays follow the new order of ``joints``. Raises InputError if the robot does not float, the link is
    unknown, or a joint on the path to it is not in ``REVERSIBLE``.

    ``link`` is a moving link, or a link on a fixed joint; the latter stands for the link that carries it.
    """
    root = _body_of(robot, link)
    way = robot.path(root)[::-1]
    for body in (robot.bodies[i] for i in way[1:]):
        if body.joint.kind not in REVERSIBLE:
            kinds = f"{', '.join(REVERSIBLE[:-1])} or {REVERSIBLE[-1]}"
            reason = f"joint {body.joint.name!r} on the way to link {link!r} is {body.joint.kind}"
            raise InputError("root", f"{reason}, which cannot be reversed", f"{kinds} joints there")
    turned = _turn(robot, way)
    order = _depth_first([body.parent for body in turned], root)
    index_of = {BASE: BASE} | {old: new for new, old in enumerate(order)}
    bodies = tuple(replace(turned[old], parent=index_of[turned[old].parent]) for old in order)
    base = bodies[0].name if robot.base == robot.bodies[0].name else robot.base
    joint_order = robot.joint_order if root == 0 else "rerooted"
    return replace(robot, bodies=bodies, base=base, joint_order=joint_order)


def candidate_roots(robot: Robot) -> list[tuple[str, int]]:
    """Return the links that can be the root, each with the depth of the robot from it, least depth first.

    Links of equal depth keep their order. InputError if ``robot`` does not float.
    """
    _check_floats(robot)
    candidates = []
    for i in robot.links:
        way = robot.path(i)[:-1]
        if robot.path(i)[-1] == 0 and all(robot.bodies[k].joint.kind in REVERSIBLE for k in way):
            candidates.append((robot.bodies[i].name, reroot(robot, robot.bodies[i].name).depth))
    return sorted(candidates, key=lambda candidate: candidate[1])


def best_root(robot: Robot, cost: Callable[[Robot], float], evaluations: int = 8) -> Rooting:
    """Find the root from which ``robot`` costs least.

    The first trial is the present root. Then come the :func:`candidate_roots` that lower the depth, up to
    ``evaluations`` trials or :data:`MOST_WORK`. The present root is kept unless another one lowers the cost.
    Raises InputError if the robot does not float. ``cost`` is that of a robot, such as an operation count;
    the work of evaluating it is assumed to be proportional to it.
    """
    nearer = [(link, depth) for link, depth in candidate_roots(robot) if depth < robot.depth]
    best, tried = robot, [RootTrial(robot.bodies[0].name, robot.depth, cost(robot))]
    least = work = tried[0].cost
    candidates = nearer[: max(evaluations - 1, 0)]
    for number, (link, depth) in enumerate(candidates):
        if number and work + tried[-1].cost > MOST_WORK:
            return Rooting(best, tried, tuple(link for link, _ in candidates[number:]))
        candidate = reroot(robot, link)
        tried.append(RootTrial(link, depth, cost(candidate)))
        work += tried[-1].cost
        if tried[-1].cost < least:
            best, least = candidate, tried[-1].cost
    return Rooting(best, tried)


def _check_floats(robot: Robot) -> None:
    if not robot.floats:
        reason = f"the base of robot {robot.name!r} does not float"
        raise InputError("root", reason, "a robot that is free in space", "use --base floating")


def _body_of(robot: Robot, link: str) -> int:
    """Return the body that carries ``link``; InputError if none does."""
    _check_floats(robot)
    bodies = {robot.bodies[i].name: i for i in robot.links if robot.path(i)[-1] == 0}
    carriers = {name: name for name in bodies} | dict(robot.fixed_links)
    carrier = carriers.get(link)
    if carrier not in bodies:
        raise InputError("root", f"link {link!r} is unknown", f"one of {', '.join(bodies)}")
    return bodies[carrier]


def _turn(robot: Robot, way: tuple[int, ...]) -> list[Body]:
    """Return all bodies in their old order, with the path ``way``, root first, reversed.

    Each body on the path then hangs from the next, and the last one from the base. The frame of each is moved
    to the joint that now carries it, and the frame of the last to its link's.
    """
    bodies = list(robot.bodies)
    for i, below in pairwise(way):
        joint = robot.bodies[below].joint
        joint = replace(joint, axis=_opposite(joint.axis), placement=Placement())
        bodies[i] = replace(bodies[i], parent=below, joint=joint, parent_link="")
    bodies[way[-1]] = replace(bodies[way[-1]], parent=BASE, joint=robot.bodies[0].joint)
    poses = [robot.bodies[below].joint.placement for below in way[1:]] + [robot.bodies[way[-1]].link_frame]
    for i, pose in zip(way, poses, strict=True):
        bodies = reframe(bodies, i, pose)
    return bodies


def _opposite(axis: Vector3) -> Vector3:
    """Return the opposite axis, without negative zeros."""
    x, y, z = (0.0 - value for value in axis)
    return (x, y, z)


def _depth_first(parents: list[int], root: int) -> list[int]:
    """Return the bodies depth first: ``root`` before others on the base, siblings in their order."""
    waiting = [i for i, parent in enumerate(parents) if parent == BASE and i != root][::-1]
    waiting.append(root)
    order: list[int] = []
    while waiting:
        order.append(waiting.pop())
        waiting += [i for i, parent in enumerate(parents) if parent == order[-1]][::-1]
    return order
