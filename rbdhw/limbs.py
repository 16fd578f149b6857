"""Which limbs of a robot share hardware at an initiation interval, and which inputs of a graph are theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rbdhw.errors import InputError
from rbdhw.robot.model import Robot
from rbdhw.robot.symmetry import Limb, LimbGroup, limb_groups

Meaning = tuple[str, tuple[int, ...]]
"""What an input is of its limb: its array, and its place in the limb's share of it."""


def shared_limbs(robot: Robot, share: str, ii: int) -> tuple[LimbGroup, ...]:
    """Groups of limbs that take turns in one limb's hardware; their sizes divide ``ii``.

    Parameters
    ----------
    share
        ``off`` for none, ``auto`` for those that the interval can serve, ``on`` for all.

    Raises
    ------
    InputError
        For ``on`` where no limbs are alike, or the interval cannot serve them.
    """
    if share == "off":
        return ()
    groups = limb_groups(robot)
    if share == "on" and not groups:
        raise InputError(f"share-limbs: no limbs of {robot.name} are alike; expected auto or off")
    found: list[LimbGroup] = []
    for group in groups:
        sizes = [size for size in range(2, len(group) + 1) if ii % size == 0]
        if not sizes:
            if share == "on":
                raise InputError(_not_served(robot, group, ii))
            continue
        size = min(sizes, key=lambda size: len(group) // size + len(group) % size)
        found += [group[k : k + size] for k in range(0, len(group) - size + 1, size)]
    return tuple(found)


def _not_served(robot: Robot, group: LimbGroup, ii: int) -> str:
    names = ", ".join(robot.bodies[limb[0]].name for limb in group)
    sizes = [size for size in range(2, len(group) + 1) if all(size % k for k in range(2, size))]
    expected = " or ".join(str(size) for size in sizes)
    return (
        f"share-limbs: an ii of {ii} cannot serve the limbs at {names}; a multiple of {expected} was expected"
    )


def limb_inputs(robot: Robot, groups: Sequence[LimbGroup]) -> list[list[dict[str, Meaning]]]:
    """The inputs of each limb of each group, by the names of :mod:`rbdhw.task`."""
    return [[dict(_inputs(robot, limb)) for limb in group] for group in groups]


def _inputs(robot: Robot, limb: Limb) -> Iterator[tuple[str, Meaning]]:
    moving = [body for body in limb if robot.bodies[body].joint.mimic is None]
    q = [k for body in moving for k in range(*robot.q_of[body].indices(robot.nq))]
    v = [k for body in moving for k in range(*robot.v_of[body].indices(robot.nv))]
    for place, k in enumerate(q):
        yield f"q[{k}]", ("q", (place,))
    for array in ("v", "a", "tau"):
        for place, k in enumerate(v):
            yield f"{array}[{k}]", (array, (place,))
    for row, i in enumerate(v):
        for column, j in enumerate(v):
            if j <= i:
                yield f"Minv[{i},{j}]", ("Minv", (row, column))
    links = [robot.links.index(body) for body in limb if body in robot.links]
    for place, link in enumerate(links):
        for k in range(6):
            yield f"fext[{link},{k}]", ("fext", (place, k))
