"""Another link as the floating base: the same mechanism, seen from a link nearer to its middle.

A robot that is free in space has no end at which it has to begin. From a link in the middle its limbs are
shorter, and with them every chain of operations that runs from the base to the leaves and back. The user's
coordinates of the base change with it: :mod:`rbdhw.robot.rebase` tells how.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from rbdhw.errors import InputError
from rbdhw.robot.model import BASE, Body, JointKind, Placement, Robot, Vector3
from rbdhw.robot.spatial import compose, inverse, move_inertia

REVERSIBLE = (
    JointKind.REVOLUTE,
    JointKind.CONTINUOUS,
    JointKind.PRISMATIC,
    JointKind.HELICAL,
    JointKind.CYLINDRICAL,
)
"""Joints that turn about and shift along one axis: about the opposite axis they are their own inverse."""


MOST_WORK = 1e6
"""The sum of costs, as operation counts, that a search for the root may evaluate.

All functions of Atlas cost less than a tenth of it. Where the robot is so large that the search would exceed
it, fewer roots are compared, but at least two.
"""


@dataclass(frozen=True)
class RootTrial:
    """A link that was tried as the root: bodies on the longest path from it, and the cost."""

    link: str
    depth: int
    cost: float


class Rooting(NamedTuple):
    """The cheapest root that was found.

    Parameters
    ----------
    robot
        The robot from that root.
    trials
        The links that were compared.
    skipped
        The links that would have been compared as well if the robot were smaller.
    """

    robot: Robot
    trials: list[RootTrial]
    skipped: tuple[str, ...] = ()


def reroot(robot: Robot, link: str) -> Robot:
    """``robot``, which floats, with ``link`` as its floating base.

    The joints between the old root and the new one are reversed: what was the child carries what was the
    parent. Their coordinates, velocities and torques keep meaning and sign, and mimics follow as before. A
    reversed joint's body has its frame at the joint; its ``link_frame`` tells where the link's own frame is.
    The new root's body frame is its link's frame, to which the base's coordinates now refer; the root joint
    keeps its name. Bodies are depth first, neighbours in their old order, and the user's arrays follow the
    new order of ``joints``.

    Parameters
    ----------
    link
        A link that moves, or one on a fixed joint, for which the link stands that it moves with.

    Raises
    ------
    InputError
        The robot does not float, the link is unknown, or a joint on the way to it is none of ``REVERSIBLE``.
    """
    root = _body_of(robot, link)
    way = robot.path(root)[::-1]
    for body in (robot.bodies[i] for i in way[1:]):
        if body.joint.kind not in REVERSIBLE:
            kinds = f"{', '.join(REVERSIBLE[:-1])} or {REVERSIBLE[-1]}"
            raise InputError(
                f"root: joint {body.joint.name!r} on the way to link {link!r} is {body.joint.kind}, "
                f"which cannot be reversed; expected {kinds} joints there"
            )
    turned = _turn(robot, way)
    order = _depth_first([body.parent for body in turned], root)
    place = {BASE: BASE} | {old: new for new, old in enumerate(order)}
    bodies = tuple(replace(turned[old], parent=place[turned[old].parent]) for old in order)
    named = robot.base == robot.bodies[0].name
    joint_order = robot.joint_order if root == 0 else "rerooted"
    return replace(
        robot, bodies=bodies, base=bodies[0].name if named else robot.base, joint_order=joint_order
    )


def candidate_roots(robot: Robot) -> list[tuple[str, int]]:
    """The links that may be the root, each with the robot's depth from it: the least depth first.

    Among equals the old order decides. ``robot`` floats; InputError if it does not.
    """
    _check_floats(robot)
    candidates = []
    for i in robot.links:
        way = robot.path(i)[:-1]
        if robot.path(i)[-1] == 0 and all(robot.bodies[k].joint.kind in REVERSIBLE for k in way):
            candidates.append((robot.bodies[i].name, reroot(robot, robot.bodies[i].name).depth))
    return sorted(candidates, key=lambda candidate: candidate[1])


def best_root(robot: Robot, cost: Callable[[Robot], float], evaluations: int = 8) -> Rooting:
    """The cheapest of ``robot`` as it is and from links that make it less deep, and what was tried.

    The trials begin with the present root; then come those :func:`candidate_roots` that lower the depth, for
    as long as the number of evaluations of ``cost`` allows, and :data:`MOST_WORK`. Only what lowers the cost
    is taken.

    Parameters
    ----------
    cost
        The cost of a robot, such as an operation count. Evaluating it is taken to be as much work.

    Raises
    ------
    InputError
        The robot does not float.
    """
    nearer = [(link, depth) for link, depth in candidate_roots(robot) if depth < robot.depth]
    best, tried = robot, [RootTrial(robot.bodies[0].name, robot.depth, cost(robot))]
    least = work = tried[0].cost
    wanted = nearer[: max(evaluations - 1, 0)]
    for number, (link, depth) in enumerate(wanted):
        if number and work + tried[-1].cost > MOST_WORK:
            return Rooting(best, tried, tuple(link for link, _ in wanted[number:]))
        candidate = reroot(robot, link)
        tried.append(RootTrial(link, depth, cost(candidate)))
        work += tried[-1].cost
        if tried[-1].cost < least:
            best, least = candidate, tried[-1].cost
    return Rooting(best, tried)


def _check_floats(robot: Robot) -> None:
    if not robot.floats:
        raise InputError(
            f"root: the base of robot {robot.name!r} does not float; expected --base floating, "
            "or a robot that is free in space"
        )


def _body_of(robot: Robot, link: str) -> int:
    """The body that carries ``link``; InputError where none does."""
    _check_floats(robot)
    bodies = {robot.bodies[i].name: i for i in robot.links if robot.path(i)[-1] == 0}
    carriers = {name: name for name in bodies} | dict(robot.fixed_links)
    carrier = carriers.get(link)
    if carrier not in bodies:
        raise InputError(f"root: link {link!r} is unknown; expected one of {', '.join(bodies)}")
    return bodies[carrier]


def _turn(robot: Robot, way: tuple[int, ...]) -> list[Body]:
    """All bodies in their old order, but those on the ``way``, root first, hanging from its last.

    Each one's frame moves onto the joint that carries it then, and the last one's onto its link.
    """
    bodies = list(robot.bodies)
    for i, below in pairwise(way):
        joint = robot.bodies[below].joint
        joint = replace(joint, axis=_opposite(joint.axis), placement=Placement())
        bodies[i] = replace(bodies[i], parent=below, joint=joint)
    bodies[way[-1]] = replace(bodies[way[-1]], parent=BASE, joint=robot.bodies[0].joint)
    poses = [robot.bodies[below].joint.placement for below in way[1:]] + [robot.bodies[way[-1]].link_frame]
    for i, pose in zip(way, poses, strict=True):
        _reframe(bodies, i, pose)
    return bodies


def _opposite(axis: Vector3) -> Vector3:
    """The axis the other way, without negative zeros."""
    x, y, z = (0.0 - value for value in axis)
    return (x, y, z)


def _reframe(bodies: list[Body], i: int, pose: Placement) -> None:
    """Give body ``i`` the frame at ``pose`` in its present one, which its joint moves; children follow."""
    back = inverse(pose)
    bodies[i] = replace(
        bodies[i],
        inertia=move_inertia(bodies[i].inertia, back),
        link_frame=compose(back, bodies[i].link_frame),
    )
    for k, body in enumerate(bodies):
        if body.parent == i:
            placement = compose(back, body.joint.placement)
            bodies[k] = replace(body, joint=replace(body.joint, placement=placement))


def _depth_first(parents: list[int], root: int) -> list[int]:
    """The bodies depth first, ``root`` before others on the base, the rest in their order."""
    waiting = [i for i, parent in enumerate(parents) if parent == BASE and i != root][::-1]
    waiting.append(root)
    order: list[int] = []
    while waiting:
        order.append(waiting.pop())
        waiting += [i for i, parent in enumerate(parents) if parent == order[-1]][::-1]
    return order
