"""Which rewrites of a robot make its dynamics cheaper: each is kept only where the cost falls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from rbdhw.robot.frames import (
    align_axes,
    common_normal_frames,
    frame_candidates,
    intersect_axes,
    straighten_joints,
    turn_leaves,
)
from rbdhw.robot.model import BASE, Robot
from rbdhw.robot.regroup import regroup_inertias

_PLACEMENTS: tuple[tuple[str, Callable[[Robot], Robot]], ...] = (
    ("straighten_joints", straighten_joints),
    ("intersect_axes toward children", partial(intersect_axes, toward_children=True)),
    ("intersect_axes toward parents", partial(intersect_axes, toward_children=False)),
    ("common_normal_frames", common_normal_frames),
    ("turn_leaves", turn_leaves),
)


MOST_WORK = 2e6
"""The sum of costs, as operation counts, that a search may evaluate: some 1,700 times an iiwa 14's.

A robot whose search would exceed it is large. Evaluating all of it for each frame of each body is quadratic,
so each frame is judged by what lies around it.
"""

REACH = 3
"""Joints towards the base, and towards the leaves, that lie around a body.

Judged so, Atlas, Tiago and chains of 14 joints cost within 0.1% of what they cost judged as a whole.
"""


class Rewriting(NamedTuple):
    """The cheapest rewrite that was found.

    Parameters
    ----------
    robot
        The rewritten robot.
    names
        The rewrites that lead to it.
    skipped
        What a robot of ordinary size would have had tried as well; empty where nothing was left out.
    """

    robot: Robot
    names: list[str]
    skipped: str = ""


def best_rewrite(robot: Robot, cost: Callable[[Robot], float]) -> Rewriting:
    """The cheapest rewrite of ``robot`` found.

    Joints have to be elementary. Their axes are put on z whatever that costs, for every later stage wants
    them there. Then, with and without inertial regrouping, placements of all frames at once are tried, and
    after them each body's :func:`frame_candidates`, from the leaves to the root, for as long as that helps
    and the number of evaluations of ``cost`` stays within four per body and ten. What does not lower the
    cost is dropped.

    Where so many evaluations would exceed :data:`MOST_WORK`, single frames are judged by their
    :func:`neighbourhood`, and no further once that much work is done.

    Parameters
    ----------
    cost
        The cost of a robot whose axes are on z, such as an operation count; a pure function, since
        robots that have been seen are not evaluated again. Evaluating it is taken to be as much work.
    """
    search = _RewriteSearch(cost, budget=4 * len(robot.bodies) + 10)
    aligned = align_axes(robot)
    names = [] if aligned == robot else ["align_axes"]
    regrouped = search.cost(regroup_inertias(aligned)) < search.cost(aligned)
    search.finish = regroup_inertias if regrouped else _keep
    placed = search.place_all(aligned, names)
    skipped = ""
    if search.budget * search.cost(placed) <= MOST_WORK:
        placed = search.place_each(placed, names, lambda placed, _: search.cost(placed))
    else:
        placed, skipped = search.place_large(placed, names)
    return Rewriting(search.finish(placed), names + (["regroup_inertias"] if regrouped else []), skipped)


def neighbourhood(robot: Robot, i: int) -> Robot:
    """The bodies within :data:`REACH` joints of body ``i``, towards the base and towards the leaves.

    The nearest of them to the base hangs from one of given motion, unless that is the robot's own. A joint
    that follows one outside moves by itself.
    """
    path = robot.path(i)
    kept = set(path[: REACH + 1])
    young = [i]
    for _ in range(REACH):
        young = [child for body in young for child in robot.children[body]]
        kept.update(young)
    order = sorted(kept)
    place = {body: k for k, body in enumerate(order)}
    joints = {robot.bodies[body].joint.name for body in order}
    bodies = []
    for body in (robot.bodies[k] for k in order):
        joint = body.joint
        if joint.mimic is not None and joint.mimic.joint not in joints:
            joint = replace(joint, mimic=None)
        bodies.append(replace(body, parent=place.get(body.parent, BASE), joint=joint))
    cut = len(path) > REACH + 1
    return replace(robot, bodies=tuple(bodies), base_given=cut or robot.base_given)


def _keep(robot: Robot) -> Robot:
    return robot


class _RewriteSearch:
    """Descends ``cost`` over placements, evaluating it ``budget`` times at most.

    ``finish`` is done to every placement before its cost is taken.
    """

    def __init__(self, cost: Callable[[Robot], float], budget: int) -> None:
        self._cost = cost
        self._seen: dict[Robot, float] = {}
        self._work = 0.0
        self.budget = budget
        self.finish: Callable[[Robot], Robot] = _keep

    @property
    def spent(self) -> bool:
        """Whether no evaluation is left."""
        return len(self._seen) >= self.budget or self._work > MOST_WORK

    def cost(self, placed: Robot) -> float:
        """The cost of a placement once finished; infinite where no evaluation is left to find it."""
        return self._known(self.finish(placed))

    def place_all(self, robot: Robot, names: list[str]) -> Robot:
        """``robot`` with the placements of all frames that lower the cost; their names are appended."""
        for name, rewrite in _PLACEMENTS:
            candidate = rewrite(robot)
            if self.cost(candidate) < self.cost(robot):
                robot = candidate
                names.append(name)
        return robot

    def place_each(self, robot: Robot, names: list[str], cost: Callable[[Robot, int], float]) -> Robot:
        """``robot`` with single frames placed so that the cost falls; their names are appended.

        ``cost`` is that of a placement, with regard to the body whose frame is placed.
        """
        improved = True
        while improved and not self.spent:
            improved = False
            for i in reversed(range(len(robot.bodies))):
                best = _cheapest([robot, *frame_candidates(robot, i)], i, cost)
                if best is not robot:
                    robot, improved = best, True
                    names.append(f"frame of {robot.bodies[i].name}")
        return robot

    def place_large(self, robot: Robot, names: list[str]) -> tuple[Robot, str]:
        """The same by the costs of neighbourhoods, and what is skipped thereby.

        All of it is dropped where the whole is not cheaper.
        """
        single: list[str] = []
        refined = self.place_each(
            robot, single, lambda placed, i: self._known(neighbourhood(self.finish(placed), i))
        )
        skipped = f"frames were compared by {REACH} joints around each body, not by the whole robot"
        if self.spent:
            skipped += f", and the search ended after evaluation {len(self._seen)}"
        if refined is robot or self._cost(self.finish(refined)) >= self.cost(robot):
            return robot, skipped
        names += single
        return refined, skipped

    def _known(self, finished: Robot) -> float:
        if finished not in self._seen:
            if self.spent:
                return float("inf")
            self._seen[finished] = self._cost(finished)
            self._work += self._seen[finished]
        return self._seen[finished]


def _cheapest(robots: list[Robot], i: int, cost: Callable[[Robot, int], float]) -> Robot:
    """The first of the cheapest robots, with regard to body ``i``."""
    return min(robots, key=lambda robot: cost(robot, i))
