"""Loops of links whose joints follow one of them: these become mimics, and no force holds the loop.

A loop can be embedded if its joints' angles are linear functions of one of them, the crank's, with which the
points of the loop coincide at all angles. A closed pose says which functions may be these: if its joints have
one freedom there, the ratios of their velocities are those of their angles. Some poses then prove it
(:meth:`_Between._largest_gap`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.frontend.solvability import CLOSED, STARTS, close_loops, random_poses
from rbdhw.remarks import subject
from rbdhw.robot.link_frames import choose_loops, closing_frame, contact_frames
from rbdhw.robot.loops import EmbeddedLoop
from rbdhw.robot.model import Contact, Contacts, Mimic, Robot

Array = NDArray[np.float64]

DENOMINATOR = 12
"""The largest common denominator of the ratios of the angles in a loop."""

NEAR = 1e-3
"""How far ratios of velocities may be from those of angles: a file has lengths with some digits only."""

NOTHING = 1e-9
"""What counts as zero: a share of the largest singular value or velocity, an offset (rad), or how far from a
fraction a ratio is."""

REMEDY = "leave out embed: forces then hold the loop"


def embed_loops(robot: Robot, loops: Iterable[EmbeddedLoop]) -> Robot:
    """Return the robot in which the joints between the points of each loop are mimics of its crank.

    Each loop finds the mimics of those before it. Raises InputError if points are none
    (:func:`rbdhw.robot.link_frames.choose_loops`), or if a loop cannot be embedded (:func:`followers`).
    """
    for loop in loops:
        (place,) = choose_loops(replace(robot, contacts=Contacts()), [loop[:3]]).contacts.places
        robot = _with_mimics(robot, followers(robot, place, loop.crank))
    return robot


def embeddable_loops(robot: Robot) -> tuple[str, ...]:
    """Return one sentence for each loop of the robot that could be embedded."""
    remarks = []
    for loop in robot.contacts.loops:
        try:
            mimics = followers(robot, loop)
        except InputError:
            continue
        rule = "it is closed whatever moves"
        if mimics:
            (leader, *_), follow = mimics.values(), "follow" if len(mimics) > 1 else "follows"
            rule = f"{subject('joint', list(mimics))} {follow} '{leader.joint}' exactly"
        remedy = f"embed = true in [{loop.frame.name}] takes fewer operations, and leaves them out of q"
        remarks.append(f"loops, {loop.frame.name}: {rule}; {remedy}")
    return tuple(remarks)


def followers(robot: Robot, loop: Contact, crank: str = "") -> dict[str, Mimic]:
    """Return how the free joints between the points of a loop follow its crank, by default the first of them.

    Raises InputError if there is no such crank, if a joint between the points does not rotate, if the loop
    closes in no pose, or if no rule keeps it closed.
    """
    between, where = _Between(robot, loop), f"loops, {loop.frame.name}"
    if crank and crank not in between.free:
        reason = f"the crank '{crank}' is none of the joints that move its points against each other"
        raise InputError(where, reason, f"one of {', '.join(between.free)}")
    lead = between.free.index(crank) if crank else 0
    failures = []
    for q in between.closed_poses():
        try:
            return between.rule(q, lead)
        except _UnfixedError as failure:
            failures.append(failure)
    first = min(failures, key=lambda failure: failure.singular)
    expected = "angles in fixed ratios, as in a parallelogram"
    raise InputError(where, f"cannot be embedded: {first}", expected, REMEDY)


class _UnfixedError(Exception):
    """Why the joints of a loop follow no rule of a pose, which may be a singular one."""

    def __init__(self, reason: str, singular: bool = False) -> None:
        super().__init__(reason)
        self.singular = singular


class _Between:
    """The joints that move the points of a loop against each other."""

    def __init__(self, robot: Robot, loop: Contact) -> None:
        self._robot, self._loop = robot, loop
        (frame,) = contact_frames(replace(robot, contacts=Contacts((loop,))))
        one, other = (robot.path(end.body) for end in (frame, closing_frame(robot, loop)))
        self._sides = [i for i in one if i not in other], [i for i in other if i not in one]
        joints = [robot.bodies[i].joint for side in self._sides for i in side]
        moving = {joint.mimic.joint if joint.mimic else joint.name for joint in joints}
        leaders = [body.joint for body in robot.bodies if body.joint.name in moving]
        for joint in (*leaders, *joints):
            if not joint.kind.rotates:
                reason = f"cannot be embedded: joint '{joint.name}' is {joint.kind}"
                raise InputError(f"loops, {loop.frame.name}", reason, "joints that rotate", REMEDY)
        self.free = tuple(joint.name for joint in leaders)
        spans = {body.joint.name: k for body, k in zip(robot.bodies, robot.q_of, strict=True)}
        self._q = [spans[name].start for name in self.free]
        self._v = sorted({robot.v_of[i].start for side in self._sides for i in side})

    def closed_poses(self) -> Array:
        """Return poses (k, nq) that close the loop, those near zero first; InputError if there is none."""
        starts = random_poses(self._robot, STARTS)
        starts[0, self._q] = 0.0
        poses = close_loops(self._robot, (self._loop,), starts)
        return poses[np.argsort(np.abs(poses[:, self._q]).max(axis=1), kind="stable")]

    def rule(self, q: Array, lead: int) -> dict[str, Mimic]:
        """Return the mimics of the free joint of this index that keep the loop closed, as in a closed pose.

        A loop that is closed at zero is so by mimics without offsets. Raises _UnfixedError if there are none.
        """
        ratios, period = self._ratios(self._velocities(q), lead)
        angles = np.zeros(len(ratios)) if self._closed_at_zero else q[self._q]
        offsets = angles - ratios * angles[lead]
        offsets[np.abs(offsets) < NOTHING] = 0.0
        rules = zip(self.free, ratios.tolist(), offsets.tolist(), strict=True)
        mimics = {name: Mimic(self.free[lead], *rule) for name, *rule in rules if name != self.free[lead]}
        gap = self._largest_gap(mimics, lead, period)
        if gap > CLOSED:
            raise _UnfixedError(f"its points come {gap:.3g} m apart")
        return mimics

    @cached_property
    def _closed_at_zero(self) -> bool:
        pose = random_poses(self._robot, 1)
        pose[:, self._q] = 0.0
        return bool(np.linalg.norm(golden.loop_gaps(self._robot, (self._loop,), pose)[0]) <= CLOSED)

    def _velocities(self, q: Array) -> Array:
        """Return velocities of the free joints that keep the loop closed in a pose."""
        jacobian = golden.loop_gaps(self._robot, (self._loop,), q[None])[1][0][:, self._v]
        _, sizes, motions = np.linalg.svd(jacobian)
        freedoms = len(self.free) - np.count_nonzero(sizes > CLOSED)
        if freedoms != 1:
            raise _UnfixedError(f"its joints have {freedoms or 'no'} freedoms", singular=True)
        still = np.flatnonzero(np.abs(motions[-1]) < NOTHING)
        if still.size:
            raise _UnfixedError(f"it holds joint '{self.free[still[0]]}'")
        return np.asarray(motions[-1])

    def _ratios(self, velocities: Array, lead: int) -> tuple[Array, int]:
        """Return the ratios of the angles, and in how many turns of the crank all return."""
        sought = velocities / velocities[lead]
        for turns in range(1, DENOMINATOR + 1):
            ratios = np.round(turns * sought) / turns
            returning = turns * np.concatenate([*self._shares(ratios)])
            if (
                np.abs(ratios - sought).max() < NEAR
                and np.abs(returning - np.round(returning)).max() < NOTHING
            ):
                return ratios, turns
        raise _UnfixedError("its angles are in no fixed ratios")

    def _shares(self, ratios: Array) -> Iterator[Array]:
        """Yield the ratios of the angles of all joints on each of both sides."""
        by_name = dict(zip(self.free, ratios.tolist(), strict=True))
        for side in self._sides:
            joints = [self._robot.bodies[i].joint for i in side]
            yield np.array(
                [
                    by_name[j.name] if j.mimic is None else j.mimic.multiplier * by_name[j.mimic.joint]
                    for j in joints
                ]
            )

    def _largest_gap(self, mimics: Mapping[str, Mimic], lead: int, turns: int) -> float:
        """Return a bound (m) of the gap at all angles of the crank.

        A point is a sum of products of rotations by multiples of the angle, so that along any direction of
        the nearest body that carries both points the gap is a trigonometric polynomial, whose degree is at
        most the sum of these multiples. One of degree ``n`` is nowhere larger than the largest of its values
        at ``4 n`` even steps, times ``1 / cos(pi / 4)`` (Ehlich and Zeller, *Schwankung von Polynomen
        zwischen Gitterpunkten*, 1964). So what is closed there is closed everywhere.
        """
        ratios = [mimics[name].multiplier if name in mimics else 1.0 for name in self.free]
        degree = max(round(turns * np.abs(shares).sum()) for shares in self._shares(np.array(ratios)))
        robot = _with_mimics(self._robot, mimics)
        poses = np.repeat(random_poses(robot, 1), 4 * degree, axis=0)
        (crank,) = (i for i, body in enumerate(robot.bodies) if body.joint.name == self.free[lead])
        poses[:, robot.q_of[crank].start] = 2.0 * pi * turns * np.arange(4 * degree) / (4 * degree)
        gaps = golden.loop_gaps(robot, (self._loop,), poses)[0]
        return sqrt(2.0) * float(np.linalg.norm(gaps, axis=1).max())


def _with_mimics(robot: Robot, mimics: Mapping[str, Mimic]) -> Robot:
    """Return the robot in which free joints are these mimics; those that follow them follow what they do."""
    bodies = []
    for body in robot.bodies:
        mimic = mimics.get(body.joint.name, body.joint.mimic)
        if body.joint.mimic and (leader := mimics.get(body.joint.mimic.joint)):
            ratio, offset = body.joint.mimic.multiplier, body.joint.mimic.offset
            mimic = Mimic(leader.joint, ratio * leader.multiplier, ratio * leader.offset + offset)
        bodies.append(replace(body, joint=replace(body.joint, mimic=mimic)))
    return robot.with_bodies(bodies)
