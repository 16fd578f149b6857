"""Record a step in time: semi-implicit Euler, the Runge-Kutta method of four stages, and their derivatives.

The state accumulates: a step adds small changes to it. The graph therefore keeps the state apart from what
is computed from it. Configurations and velocities enter as they are into the sums that give the next state,
while products read a rounded copy (:meth:`rbdhw.graph.trace.Recorder.rounded`). So the state may have the
fraction bits that the changes need, however narrow the multipliers are.

Derivatives are rows over the columns ``[q | v | tau]``, ``3 nv`` in all. Those of a stage's rates are
``K = F_x P + [0 | F_u]``, where ``P`` are the derivatives of the stage's state, ``F_x`` is
``[[0, 1], [da_dq, da_dv]]`` and ``F_u`` is ``[[0], [M^-1]]``. What is zero or one whatever the inputs adds no
operation.

Source: :mod:`rbdhw.golden.integrators` lists the same schemes; the sensitivities follow by the chain rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rbdhw.dynamics.derivatives import Matrix
from rbdhw.dynamics.integration import arc, displacement_derivatives, lengthen, multiply, sweep, turn
from rbdhw.dynamics.joint import Coordinate, attitude
from rbdhw.frontend.inputs import Task, shrink
from rbdhw.robot.model import Joint, JointKind, Robot
from rbdhw.scalar import Scalar, in_regions, region, stage

Vector = list[Scalar]

SHARES = (0.5, 0.5, 1.0)
"""The parts of the step after which the second, third and fourth stage are evaluated."""


@dataclass(frozen=True)
class Slopes:
    """The derivatives of the accelerations by ``q``, ``v`` and ``tau``, (nv, nv) each."""

    by_position: Matrix
    by_velocity: Matrix
    by_force: Matrix


@dataclass(frozen=True)
class Dynamics:
    """Forward dynamics at a state: accelerations (nv,), and their derivatives if they are needed."""

    accelerations: Callable[[], Vector]
    slopes: Callable[[], Slopes]


At = Callable[[Task], Dynamics]
"""The dynamics at the state of a task."""


@dataclass(frozen=True)
class Stage:
    """A state of the Runge-Kutta method and its rates."""

    dynamics: Dynamics
    velocity: Vector
    acceleration: Vector


class Integrator:
    """The steps of a task; ``at`` gives the dynamics at a state."""

    def __init__(self, recorder: Any, robot: Robot, task: Task, at: At) -> None:
        self._recorder, self._robot, self._task, self._at = recorder, robot, task, at

    # Semi-implicit Euler

    def euler(self) -> Vector:
        return self._euler()[0]

    def euler_derivatives(self) -> tuple[Vector, Matrix, Matrix]:
        """Return the next state of a step by Euler, and its derivatives ``A`` and ``B``."""
        state, velocity = self._euler()
        h = self._task.h
        change = self._times(h, _beside(self._at(self._task).slopes()), "pushed")
        factors = [list(map(self._recorder.rounded, row)) for row in change]
        moved = self._sum(
            self._times(h, self._identity(1), "moved"), self._times(h, factors, "moved"), "moved"
        )
        pushed = self._sum(self._identity(1), change, "pushed")
        return (state, *halves([*self._moved_rows(h, velocity, moved), *pushed]))

    def _euler(self) -> tuple[Vector, Vector]:
        """Return the next state, and its velocity as products read it."""
        h = self._task.h
        after = self._pushed(self._task.state_v, h, self._at(self._task).accelerations())
        velocity = [self._recorder.rounded(component) for component in after]
        return [*self._moved(h, velocity), *after], velocity

    # Runge-Kutta

    def runge_kutta(self) -> Vector:
        return self._runge_kutta(self._stages())[0]

    def runge_kutta_derivatives(self) -> tuple[Vector, Matrix, Matrix]:
        """Return the next state of a step by Runge-Kutta, and its derivatives ``A`` and ``B``."""
        stages = self._stages()
        state, velocity = self._runge_kutta(stages)
        rates = [(self._identity(1), _beside(stages[0].dynamics.slopes()))]
        for k, share in enumerate(SHARES):
            with stage(k + 2):
                part = share * self._task.h
                by_velocity, by_acceleration = self._rates(*rates[-1])
                moved = self._moved_rows(part, stages[k].velocity, self._times(part, by_velocity, "moved"))
                change = self._times(part, by_acceleration, "pushed")
                pushed = self._sum(self._identity(1), change, "pushed")
                rates.append((pushed, self._rate_rows(stages[k + 1].dynamics.slopes(), moved, pushed)))
        sixth = self._sixth
        by_velocity, by_acceleration = (_weighted_rows(rows) for rows in zip(*rates, strict=True))
        moved = self._moved_rows(sixth, velocity, self._times(sixth, by_velocity, "moved"))
        change = self._times(sixth, by_acceleration, "pushed")
        return (state, *halves([*moved, *self._sum(self._identity(1), change, "pushed")]))

    def _rates(self, by_velocity: Matrix, by_acceleration: Matrix) -> list[Matrix]:
        """Return the derivatives of a stage's rates as the products of the next stage read them."""
        return [
            self._each_row(step, lambda row: list(map(self._recorder.rounded, row)), rows)
            for step, rows in (("moved", by_velocity), ("pushed", by_acceleration))
        ]

    def _stages(self) -> list[Stage]:
        first = self._at(self._task)
        stages = [Stage(first, self._task.v, first.accelerations())]
        for k, share in enumerate(SHARES):
            with stage(k + 2):
                part, before = share * self._task.h, stages[-1]
                q = self._moved(part, before.velocity, within=True)
                velocity = self._pushed(self._task.v, part, before.acceleration, within=True)
                dynamics = self._at(self._task.at(q, velocity))
                stages.append(Stage(dynamics, velocity, dynamics.accelerations()))
        return stages

    def _runge_kutta(self, stages: Sequence[Stage]) -> tuple[Vector, Vector]:
        """Return the next state, and six times the mean velocity of the stages."""
        sixth = self._sixth
        with region("mean_rate"):
            velocity = _weighted([evaluated.velocity for evaluated in stages])
            acceleration = _weighted([evaluated.acceleration for evaluated in stages])
        after = self._pushed(self._task.state_v, sixth, acceleration)
        return [*self._moved(sixth, velocity), *after], velocity

    @property
    def _sixth(self) -> Scalar:
        with region("time"):
            return (1.0 / 6.0) * self._task.h

    def _rate_rows(self, slopes: Slopes, moved: Matrix, pushed: Matrix) -> Matrix:
        """Return the derivatives of a stage's accelerations from those of its state."""

        def row(by_position: Vector, by_velocity: Vector, by_force: Vector) -> Vector:
            (by_state,) = multiply([[*by_position, *by_velocity]], [*moved, *pushed])
            return _add(by_state, [0.0] * (2 * self._robot.nv) + by_force)

        return self._each_row("sensitivity", row, slopes.by_position, slopes.by_velocity, slopes.by_force)

    # The state after a time

    def _pushed(self, velocity: Vector, time: Scalar, acceleration: Vector, within: bool = False) -> Vector:
        """Return velocities after a time; ``within`` a step, as the products of the next stage read them."""
        return self._each_row(
            "pushed", lambda rate, change: self._number(rate + time * change, within), velocity, acceleration
        )

    def _moved(self, time: Scalar, velocity: Vector, within: bool = False) -> Vector:
        """Return the configuration after a time; ``within`` a step, as products of the next stage read it."""
        with region("time"):
            per_turn = (0.5 / math.pi) * time
        moved: Vector = []
        for i, joint, span, rates in self._joints():
            q = self._task.q[span] if within else self._task.state_q[span]
            with region("moved", i):
                if joint.kind.nv == 1:
                    changes = [(per_turn if joint.kind.rotates else time) * velocity[rates][0]]
                else:
                    d = [time * rate for rate in velocity[rates]]
                    changes = self._changes(joint.kind, self._task.q[span], d, within)
                    if joint.kind is JointKind.PLANAR:
                        changes.append(per_turn * velocity[rates][2])
                for part, change in zip(q, changes, strict=True):
                    moved.append(self._number(part + change, within))
        return moved

    def _number(self, value: Scalar, within: bool) -> Scalar:
        """Return a number of the next state as it is, or of a stage's state as products read it."""
        return self._recorder.rounded(value) if within else value

    def _changes(self, kind: JointKind, q: Vector, d: Vector, within: bool) -> Vector:
        """Return the changes of the coordinates of a joint of several freedoms, but for an angle."""
        if kind is JointKind.PLANAR:
            cos, sin = self._recorder.cos_sin(q[2], 0.0)
            x, y, _ = Coordinate(cos, sin).out_of((*arc(d[0], d[1], d[2]), 0.0))
            return [x, y]
        quaternion = q[-4:]
        changes = turn(quaternion, (d[-3], d[-2], d[-1]))
        if not within:
            longer = self._lengthening(quaternion)
            pairs = zip(changes, quaternion, strict=True)
            changes = [change + longer * (part + change) for change, part in pairs]
        if kind is JointKind.SPHERICAL:
            return changes
        pose = Coordinate(attitude=attitude(quaternion, shrink(quaternion)))
        return [*pose.out_of(sweep((d[0], d[1], d[2]), (d[3], d[4], d[5]))), *changes]

    def _lengthening(self, quaternion: Vector) -> Scalar:
        return lengthen(quaternion)

    # The derivatives of the state after a time

    def _moved_rows(self, time: Scalar, velocity: Vector, change: Matrix) -> Matrix:
        """Return the derivatives of the configuration after a time, from those of the displacement."""
        rows: Matrix = []
        before = self._identity(0)
        for i, joint, _, rates in self._joints():
            with region("moved", i):
                carried, added = before[rates], change[rates]
                if joint.kind.nv > 1:
                    d = [time * rate for rate in velocity[rates]]
                    transport, jacobian = displacement_derivatives(joint.kind, d)
                    carried, added = multiply(transport, carried), multiply(jacobian, added)
                rows += [_add(row, other) for row, other in zip(carried, added, strict=True)]
        return rows

    def _times(self, time: Scalar, rows: Matrix, step: str) -> Matrix:
        return self._each_row(step, lambda row: [time * entry for entry in row], rows)

    def _sum(self, one: Matrix, other: Matrix, step: str) -> Matrix:
        return self._each_row(step, _add, one, other)

    def _each_row(self, step: str, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Return a function of each row, in the region of a step at its body."""
        return in_regions(step, function, *columns, joints=self._bodies)

    @property
    def _bodies(self) -> list[int]:
        """The body of each velocity coordinate."""
        return [i for i, joint, *_ in self._joints() for _ in range(joint.kind.nv)]

    def _identity(self, block: int) -> Matrix:
        """Return the derivatives of ``q`` (block 0) or ``v`` (block 1) before the step."""
        n = self._robot.nv
        return [[1.0 if k == block * n + i else 0.0 for k in range(3 * n)] for i in range(n)]

    def _joints(self) -> list[tuple[int, Joint, slice, slice]]:
        """Return the joints that have coordinates: the body of each, and its slices of ``q`` and ``v``."""
        rows = zip(self._robot.bodies, self._robot.q_of, self._robot.v_of, strict=True)
        return [
            (i, body.joint, span, rates)
            for i, (body, span, rates) in enumerate(rows)
            if body.joint.mimic is None
        ]


def halves(rows: Matrix) -> tuple[Matrix, Matrix]:
    """Return ``A`` and ``B`` from the derivatives of a state, which has twice as many rows as forces."""
    n = len(rows)
    return [row[:n] for row in rows], [row[n:] for row in rows]


def _beside(slopes: Slopes) -> Matrix:
    parts = zip(slopes.by_position, slopes.by_velocity, slopes.by_force, strict=True)
    return [[entry for row in rows for entry in row] for rows in parts]


def _weighted(vectors: Sequence[Vector]) -> Vector:
    """Return six times the mean of the stages' vectors."""
    first, second, third, fourth = vectors
    return [(a + d) + 2.0 * (b + c) for a, b, c, d in zip(first, second, third, fourth, strict=True)]


def _weighted_rows(matrices: Sequence[Matrix]) -> Matrix:
    """Return six times the mean of the stages' matrices."""
    return in_regions("mean_row", lambda *rows: _weighted(rows), *matrices)


def _add(one: Vector, other: Vector) -> Vector:
    return [x + y for x, y in zip(one, other, strict=True)]
