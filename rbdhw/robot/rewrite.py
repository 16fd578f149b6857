"""Which rewrites of a robot make its dynamics cheaper: each is kept only where the cost falls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rbdhw.robot.frames import (
    align_axes,
    common_normal_frames,
    frame_candidates,
    intersect_axes,
    straighten_joints,
    turn_leaves,
)
from rbdhw.robot.model import Robot
from rbdhw.robot.regroup import regroup_inertias

_PLACEMENTS: tuple[tuple[str, Callable[[Robot], Robot]], ...] = (
    ("straighten_joints", straighten_joints),
    ("intersect_axes toward children", partial(intersect_axes, toward_children=True)),
    ("intersect_axes toward parents", partial(intersect_axes, toward_children=False)),
    ("common_normal_frames", common_normal_frames),
    ("turn_leaves", turn_leaves),
)


def best_rewrite(robot: Robot, cost: Callable[[Robot], float]) -> tuple[Robot, list[str]]:
    """The cheapest rewrite of ``robot`` found, and the names of the rewrites that lead to it.

    Joints have to be elementary. Their axes are put on z whatever that costs, for every later stage wants
    them there. Then, with and without inertial regrouping, placements of all frames at once are tried, and
    after them each body's :func:`frame_candidates`, from the leaves to the root, for as long as that helps
    and the number of evaluations of ``cost`` stays within four per body and ten. What does not lower the
    cost is dropped.

    Parameters
    ----------
    cost
        The cost of a robot whose axes are on z, such as an operation count; a pure function, since
        robots that have been seen are not evaluated again.
    """
    search = _Search(cost, budget=4 * len(robot.bodies) + 10)
    aligned = align_axes(robot)
    names = [] if aligned == robot else ["align_axes"]
    regrouped = search.cost(regroup_inertias(aligned)) < search.cost(aligned)
    search.finish = regroup_inertias if regrouped else _unchanged
    placed = search.place_all(aligned, names)
    placed = search.place_each(placed, names)
    return search.finish(placed), names + (["regroup_inertias"] if regrouped else [])


def _unchanged(robot: Robot) -> Robot:
    return robot


class _Search:
    """Descends ``cost`` over placements, evaluating it ``budget`` times at most.

    ``finish`` is done to every placement before its cost is taken.
    """

    def __init__(self, cost: Callable[[Robot], float], budget: int) -> None:
        self._cost = cost
        self._seen: dict[Robot, float] = {}
        self._budget = budget
        self.finish: Callable[[Robot], Robot] = _unchanged

    @property
    def spent(self) -> bool:
        """Whether no evaluation is left."""
        return len(self._seen) >= self._budget

    def cost(self, placed: Robot) -> float:
        """The cost of a placement once finished; infinite where no evaluation is left to find it."""
        finished = self.finish(placed)
        if finished not in self._seen:
            if self.spent:
                return float("inf")
            self._seen[finished] = self._cost(finished)
        return self._seen[finished]

    def place_all(self, robot: Robot, names: list[str]) -> Robot:
        """``robot`` with the placements of all frames that lower the cost; their names are appended."""
        for name, rewrite in _PLACEMENTS:
            candidate = rewrite(robot)
            if self.cost(candidate) < self.cost(robot):
                robot = candidate
                names.append(name)
        return robot

    def place_each(self, robot: Robot, names: list[str]) -> Robot:
        """``robot`` with single frames placed so that the cost falls; their names are appended."""
        improved = True
        while improved and not self.spent:
            improved = False
            for i in reversed(range(len(robot.bodies))):
                best = min([robot, *frame_candidates(robot, i)], key=self.cost)
                if best is not robot:
                    robot, improved = best, True
                    names.append(f"frame of {robot.bodies[i].name}")
        return robot
