"""Search for rewrites of a robot that make its dynamics cheaper; only those that lower the cost are kept."""

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
"""The sum of costs, as operation counts, that a search may evaluate: about 1,700 times that of an iiwa 14.

For a larger robot, evaluating the whole robot for each frame of each body takes quadratic time, so each frame
is judged by its neighbourhood.
"""

REACH = 3
"""The radius of a body's neighbourhood: joints toward the base and joints toward the leaves.

With this radius, Atlas, Tiago and chains of 14 joints cost within 0.1% of the cost when frames are judged by
the whole robot.
"""


class Rewriting(NamedTuple):
    """The cheapest rewrite that was found."""

    robot: Robot
    """The rewritten robot."""
    names: list[str]
    """The rewrites that lead to it."""
    skipped: str = ""
    """What was not tried because the robot is large; empty if nothing was left out."""


def best_rewrite(robot: Robot, cost: Callable[[Robot], float]) -> Rewriting:
    """Find a cheap rewrite of ``robot``, whose joints must be elementary.

    The axes are put on z regardless of cost, because every later stage requires that. Then placements of all
    frames at once are tried, with and without inertial regrouping. After that each body's
    :func:`frame_candidates` are tried, from the leaves to the root, until no candidate lowers the cost or
    ``cost`` was evaluated ``4 * bodies + 10`` times. A change that does not lower the cost is dropped.

    If that many evaluations would exceed :data:`MOST_WORK`, single frames are judged by their
    :func:`neighbourhood`, and the search ends when that much work is done. ``cost`` is that of a robot whose
    axes are on z, such as an operation count. It must be a pure function, since a robot is not evaluated
    twice. The work of evaluating it is assumed to be proportional to it.
    """
    search = _RewriteSearch(cost, budget=4 * len(robot.bodies) + 10)
    aligned = align_axes(robot)
    names = [] if aligned == robot else ["align_axes"]
    # Decided first, so that frames are placed for the inertias that remain.
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
    """Return the bodies within :data:`REACH` joints of body ``i``, toward the base and toward the leaves.

    If bodies toward the base are cut off, the nearest remaining body hangs from a base of given motion. A
    mimic whose leader is cut off becomes independent. Frames, contacts and spheres of bodies that are cut off
    are left out.
    """
    path = robot.path(i)
    kept = set(path[: REACH + 1])
    young = [i]
    for _ in range(REACH):
        young = [child for body in young for child in robot.children[body]]
        kept.update(young)
    order = sorted(kept)
    index_of = {body: k for k, body in enumerate(order)}
    joints = {robot.bodies[body].joint.name for body in order}
    bodies = []
    for body in (robot.bodies[k] for k in order):
        joint = body.joint
        if joint.mimic is not None and joint.mimic.joint not in joints:
            joint = replace(joint, mimic=None)
        bodies.append(replace(body, parent=index_of.get(body.parent, BASE), joint=joint))
    cut = len(path) > REACH + 1
    names = {body.name for body in bodies}
    frames = tuple(frame for frame in robot.frames if frame.body in names)
    places = tuple(
        contact
        for contact in robot.contacts.places
        if contact.frame.body in names and (contact.closes is None or contact.closes.body in names)
    )
    return replace(
        robot,
        bodies=tuple(bodies),
        base_given=cut or robot.base_given,
        base_chosen=robot.base_chosen and not cut,
        frames=frames,
        contacts=replace(robot.contacts, places=places),
        spheres=tuple(sphere for sphere in robot.spheres if sphere.frame.body in {"", *names}),
    )


def _keep(robot: Robot) -> Robot:
    return robot


class _RewriteSearch:
    """A search that lowers ``cost`` over placements with at most ``budget`` evaluations.

    ``finish`` is applied to every placement before its cost is computed.
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
        """Return the cost of a placement after ``finish``; infinite if no evaluation is left."""
        return self._evaluate(self.finish(placed))

    def place_all(self, robot: Robot, names: list[str]) -> Robot:
        """Apply each rewrite of all frames that lowers the cost, and append its name to ``names``."""
        for name, rewrite in _PLACEMENTS:
            candidate = rewrite(robot)
            if self.cost(candidate) < self.cost(robot):
                robot = candidate
                names.append(name)
        return robot

    def place_each(self, robot: Robot, names: list[str], cost: Callable[[Robot, int], float]) -> Robot:
        """Move single frames as long as that lowers the cost, and append their names to ``names``.

        ``cost(robot, i)`` is the cost by which placements of body ``i``'s frame are compared.
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
        """Move single frames by the costs of their neighbourhoods; also return a note on what was skipped.

        All moves are dropped unless the whole robot becomes cheaper.
        """
        single: list[str] = []
        refined = self.place_each(
            robot, single, lambda placed, i: self._evaluate(neighbourhood(self.finish(placed), i))
        )
        skipped = f"frames were compared by {REACH} joints around each body, not by the whole robot"
        if self.spent:
            skipped += f", and the search ended after evaluation {len(self._seen)}"
        if refined is robot or self._cost(self.finish(refined)) >= self.cost(robot):
            return robot, skipped
        names += single
        return refined, skipped

    def _evaluate(self, finished: Robot) -> float:
        if finished not in self._seen:
            if self.spent:
                return float("inf")
            self._seen[finished] = self._cost(finished)
            self._work += self._seen[finished]
        return self._seen[finished]


def _cheapest(robots: list[Robot], i: int, cost: Callable[[Robot, int], float]) -> Robot:
    """Return the cheapest robot by ``cost(robot, i)``, the first if several are equal."""
    return min(robots, key=lambda robot: cost(robot, i))
