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
    shapes, groups, waiting = _shapes(robot), [], [BASE]
    while waiting:
        parent = waiting.pop()
        children = robot.children[parent] if parent != BASE else _on_base(robot)
        if len(children) < 2:
            waiting.extend(children)
            continue
        alike: dict[object, list[Limb]] = defaultdict(list)
        for child in children:
            limb = _limb(robot, child, shapes)
            alike[shapes[child], _followers(robot, limb)].append(limb)
        groups += [tuple(limbs) for limbs in alike.values() if len(limbs) > 1]
        waiting += [limbs[0][0] for limbs in reversed(alike.values()) if len(limbs) == 1]
    return tuple(groups)


def _on_base(robot: Robot) -> Sequence[int]:
    return [i for i, body in enumerate(robot.bodies) if body.parent == BASE]


def _limb(robot: Robot, root: int, shapes: Sequence[int]) -> Limb:
    """Return the bodies of a subtree; like branches come in the order of the robot."""
    limb, waiting = [], [root]
    while waiting:
        body = waiting.pop()
        limb.append(body)
        waiting += sorted(robot.children[body], key=lambda child: (shapes[child], child), reverse=True)
    return tuple(limb)


def _shapes(robot: Robot) -> list[int]:
    """Return for each body a number that is equal for the roots of subtrees that are alike."""
    known: dict[object, int] = {}
    shapes = [0] * len(robot.bodies)
    for i in reversed(range(len(robot.bodies))):
        # Numbered from the leaves: subtrees are alike if their roots are, and their branches are in any
        # order.
        branches = sorted(shapes[child] for child in robot.children[i])
        shapes[i] = known.setdefault((_pattern(robot.bodies[i]), *branches), len(known))
    return shapes


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
    position_of = {robot.bodies[i].joint.name: position for position, i in enumerate(limb)}
    mimics = (robot.bodies[i].joint.mimic for i in limb)
    return tuple(mimic and position_of.get(mimic.joint, mimic.joint) for mimic in mimics)
