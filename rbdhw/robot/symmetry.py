"""Find symmetric limbs: subtrees of the same shape that hang from the same body.

Limbs are alike if their trees are the same, with joints of the same kinds, and the same constants of their
bodies are zero. Left and right limbs differ in signs; other limbs that are alike also differ in values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple

from rbdhw.robot.model import BASE, Body, Robot

Limb = tuple[int, ...]
"""The bodies of a limb by index, each parent before its children."""

LimbGroup = tuple[Limb, ...]
"""Limbs that are alike, with their bodies in corresponding order."""


def limb_groups(robot: Robot) -> tuple[LimbGroup, ...]:
    """Return every group of two or more limbs that are alike; groups inside such limbs are not searched."""
    return tuple(_groups(robot, BASE))


def _groups(robot: Robot, parent: int) -> Iterator[LimbGroup]:
    alike: dict[object, list[Limb]] = defaultdict(list)
    for child in _children(robot, parent):
        limb = _limb(robot, child)
        alike[_shape(robot, child), _followers(robot, limb)].append(limb)
    for limbs in alike.values():
        if len(limbs) > 1:
            yield tuple(limbs)
    for (limb,) in (limbs for limbs in alike.values() if len(limbs) == 1):
        yield from _groups(robot, limb[0])


def _children(robot: Robot, parent: int) -> Sequence[int]:
    return [i for i, body in enumerate(robot.bodies) if body.parent == parent]


def _limb(robot: Robot, root: int) -> Limb:
    """Return the bodies of a subtree; like branches come in the order of the robot."""
    branches = sorted(_children(robot, root), key=lambda child: (repr(_shape(robot, child)), child))
    return (root, *(body for child in branches for body in _limb(robot, child)))


def _shape(robot: Robot, root: int) -> tuple[object, ...]:
    """Return a key that is equal for subtrees that are alike."""
    branches = sorted((_shape(robot, child) for child in _children(robot, root)), key=repr)
    return (*_pattern(robot.bodies[root]), *branches)


def _pattern(body: Body) -> tuple[object, ...]:
    """Return a joint's kind, and which constants of the joint and its body are zero."""
    joint = body.joint
    placements = (joint.placement, body.link_frame)
    drives = (joint.armature, joint.damping)
    constants = (*placements, body.inertia, joint.axis, joint.second_axis, joint.offset, joint.pitch, *drives)
    flat = [number for entry in constants for number in _numbers(entry)]
    return joint.kind.value, body.virtual, tuple(number != 0.0 for number in flat)


def _numbers(entry: object) -> Iterator[float]:
    if isinstance(entry, float):
        yield entry
        return
    for part in entry if isinstance(entry, tuple) else astuple(entry):  # type: ignore[call-overload]
        yield from _numbers(part)


def _followers(robot: Robot, limb: Limb) -> tuple[object, ...]:
    """Return the joints that the joints of a limb mimic: by position inside the limb, by name outside."""
    places = {robot.bodies[i].joint.name: place for place, i in enumerate(limb)}
    mimics = (robot.bodies[i].joint.mimic for i in limb)
    return tuple(mimic and places.get(mimic.joint, mimic.joint) for mimic in mimics)
