"""The quantities of a robot in contact with the world: forces of contacts, and accelerations under them.

A row is a motion that a contact prevents. All rows are in the axes of the robot's base or, if it floats, of
the frame in which it does, so the rows of a floating base are simple. The forces ``f`` solve::

    (J M^-1 J^T + damping) f = wanted - J a_free - drift

With ``M = L^T D L`` and ``Y = J L^-1``, the matrix is ``Y D^-1 Y^T``. A row of ``J`` has entries on the path
to its frame alone, and so has its row of ``Y``. Accelerations of frames are proper, as those of a floating
body are (:mod:`rbdhw.dynamics.floating_base`): what is wanted of a frame at rest is minus gravity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from rbdhw.dynamics.factorization import (
    Factors,
    Places,
    ascend,
    descend,
    divide,
    factorize_choice,
    inverse,
    solve,
)
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.kinematics import FrameMotion, frame_motion
from rbdhw.dynamics.pivots import Group
from rbdhw.dynamics.rnea import relative_acceleration
from rbdhw.dynamics.spatial import (
    Tensor,
    Vector,
    add,
    apply,
    cross,
    multiply,
    scale,
    subtract,
    transpose,
    transpose_tensor,
)
from rbdhw.frontend.forward_dynamics import ForwardDynamics, symmetric
from rbdhw.frontend.loops import Loop
from rbdhw.graph.trace import Signal
from rbdhw.robot.link_frames import BodyFrame, contact_frames
from rbdhw.robot.model import Contact, Placement, Vector3
from rbdhw.scalar import Scalar, inner_product, region

Matrix = list[list[Scalar]]


@dataclass(frozen=True)
class Place:
    """A contact of a task.

    ``present`` is whether the task has it, ``frame`` is on its body, ``point`` the frame's origin in the axes
    of the body's quantities, from which the body has ``turned``, and ``motion`` in those of the rows.
    """

    contact: Contact
    present: Signal
    frame: BodyFrame
    point: Vector
    turned: Coordinate
    motion: FrameMotion

    @property
    def jacobian(self) -> Matrix:
        """The rows of the contact, with an entry for each degree of freedom."""
        return self.motion.jacobian[: self.contact.rows]

    @property
    def axes(self) -> Matrix:
        """The axes (3, degrees of freedom) about which the frame turns."""
        return self.motion.jacobian[3:]

    @property
    def velocity(self) -> list[Scalar]:
        """The velocities of the rows."""
        return self.motion.velocity[: self.contact.rows]

    @property
    def rotation(self) -> Tensor:
        """The tensor from the axes of the body's quantities to those of the rows."""
        x, y, z = ((row[0], row[1], row[2]) for row in self.motion.placement[:3])
        return x, y, z

    def in_frame(self, vector: Vector) -> Vector:
        """Return a vector in the axes of the contact's frame."""
        in_body = self.turned.into(apply(transpose_tensor(self.rotation), vector))
        return multiply(transpose(self.frame.placement.rotation), in_body)


class Contacts:
    """The quantities of contacts. Each is recorded when a function first needs it."""

    def __init__(self, forward: ForwardDynamics) -> None:
        self.forward, self.setting, self.task = forward, forward.setting, forward.setting.task
        self._settings = self.setting.robot.contacts
        self.damping: Scalar = self.task.holding[0]
        self.velocity_gain: Scalar = self.task.holding[1]
        self.in_world = self._settings.axes == "world"

    @cached_property
    def accelerations(self) -> list[Scalar]:
        """The accelerations (nv,) as the user's interface defines them."""
        return self.forward.coordinate(self.proper_accelerations)

    @cached_property
    def proper_accelerations(self) -> list[Scalar]:
        """The accelerations (nv,), proper for a floating body."""
        return self.with_response(self.forward.accelerations)

    def with_response(self, accelerations: Sequence[Scalar]) -> list[Scalar]:
        """Return accelerations (nv,) plus those that the contacts' forces add."""
        with region("contact_dynamics"):
            return [x + y for x, y in zip(accelerations, self._added, strict=True)]

    @cached_property
    def _added(self) -> list[Scalar]:
        return self.response(self.row_forces)

    @cached_property
    def forces(self) -> Matrix:
        """The force and the moment (contacts, 6) of each contact in the axes asked for."""
        return self.by_contact(self.row_forces)

    @property
    def inertia(self) -> Matrix:
        """The inverse of the inverse inertia that forces feel, over six rows of each contact along its axes.

        Rows of contacts that the task does not have are zero.
        """
        rows = symmetric(inverse(self.row_factors))
        for k, row in enumerate(rows):
            with region("contact_inertia", self._of_rows[k].frame.body):
                row[k] = self._if_present(k, row[k], 0.0)
        for _ in range(2):  # the one index, then the other
            turned = [[x for contact in self.by_contact(row) for x in contact] for row in rows]
            rows = [list(column) for column in zip(*turned, strict=True)]
        return rows

    @cached_property
    def velocities(self) -> list[Scalar]:
        """The velocities (nv,) after an impact."""
        added = self.response(self.row_impulses)
        with region("contact_dynamics"):
            return [x + y for x, y in zip(self.task.v, added, strict=True)]

    @cached_property
    def impulses(self) -> Matrix:
        """The impulse and its moment (contacts, 6) of each contact in the axes asked for."""
        return self.by_contact(self.row_impulses)

    @cached_property
    def row_impulses(self) -> list[Scalar]:
        """The impulses of all rows."""
        stopped = []
        for place in self.places:
            factor = -1.0 if isinstance(place, Loop) else -(1.0 + self._settings.restitution)
            with region("contact_motion", place.frame.body):
                stopped += [factor * rate for rate in place.velocity]
        return solve(self.row_factors, stopped)

    def by_contact(self, forces: Sequence[Scalar]) -> Matrix:
        """Return forces of the rows as (contacts, 6) in the axes of results."""
        rows, result = iter(forces), []
        for place in self.places:
            with region("contact_force", place.frame.body):
                parts = [self.in_axes(place, part) for part in vectors(rows, place.contact.rows)]
            result.append([*(x for part in parts for x in part), *[0.0] * (6 - place.contact.rows)])
        return result

    @cached_property
    def row_forces(self) -> list[Scalar]:
        """The forces of all rows."""
        free = self._free
        wanted = []
        for place in self.places:
            with region("contact_motion", place.frame.body):
                wanted += self._wanted(place)
        seen = [self._seen(free, place) for place in self._of_rows]
        with region("contact_dynamics"):
            changes = [x - inner_product(row, a) for x, row, a in zip(wanted, self._moved, seen, strict=True)]
        return solve(self.row_factors, changes)

    @property
    def _free(self) -> list[Scalar]:
        """What tells the accelerations of rows without forces of contacts: here those (nv,) of the joints."""
        return self.forward.added_accelerations

    @property
    def _moved(self) -> Matrix:
        """The rows (rows, nv) whose products with that are these accelerations."""
        return self._rows

    def seen_from(self, place: Place | Loop) -> Sequence[Scalar]:
        """Return the accelerations (nv,) at the solution as the rows of a place take them."""
        return self._seen(self.proper_accelerations, place)

    def _seen(self, proper: list[Scalar], place: Place | Loop) -> list[Scalar]:
        """Return accelerations as the rows of a place take them: from the world, a floating body falls."""
        from_world = isinstance(place, Loop) and place.reaches_world
        return self.forward.coordinate(proper) if from_world else proper

    @property
    def rows_from_world(self) -> Matrix:
        """The Jacobian (rows, nv) of loops that reach the world, with zeros for other rows."""
        return [
            row if isinstance(place, Loop) and place.reaches_world else [0.0] * len(row)
            for place, row in zip(self._of_rows, self._rows, strict=True)
        ]

    @cached_property
    def places(self) -> list[Place | Loop]:
        frames = contact_frames(self.setting.robot)
        return [
            self._place(*pair) for pair in zip(self._settings.places, self.task.contact, frames, strict=True)
        ]

    def _place(self, contact: Contact, present: Signal, frame: BodyFrame) -> Place | Loop:
        if contact.closes is not None:
            return Loop(self.setting, contact, present, frame)
        setting, configuration = self.setting, self.setting.configuration
        turned = configuration.turned.get(frame.body, Coordinate())
        with region("frame", frame.body):
            point = turned.out_of(frame.placement.translation)
        moved = BodyFrame(frame.body, Placement(translation=cast(Vector3, point)))
        state = configuration.coordinates, setting.v, setting.zeros, self.task.base_twists
        motion = frame_motion(configuration.robot, moved, *state, in_world=True)
        return Place(contact, present, frame, point, turned, motion)

    def _wanted(self, place: Place | Loop) -> list[Scalar]:
        """Return what the forces have to add to the accelerations of a contact's rows without joints'."""
        if isinstance(place, Loop):
            return [*place.wanted]
        motion = self.forward.inverse_dynamics.first.motions[place.frame.body]
        drift = add(motion.linear, relative_acceleration(motion, place.point))
        x, y, z, *turning = place.motion.velocity
        linear = subtract(scale(-1.0, self.gravity), apply(place.rotation, drift))
        linear = subtract(linear, scale(self.velocity_gain, (x, y, z)))
        if place.contact.rows == 3:
            return [*linear]
        rates = turning[0], turning[1], turning[2]
        linear = add(linear, cross(rates, (x, y, z)))  # the change of the velocity in axes that turn
        angular = scale(-1.0, apply(place.rotation, motion.angular))
        return [*linear, *subtract(angular, scale(self.velocity_gain, rates))]

    @property
    def gravity(self) -> Vector:
        """The acceleration of free fall in the axes of the rows."""
        if self.task.floating is None:
            return self.task.gravity
        return self.in_row_axes(self.task.floating.gravity)

    def in_row_axes(self, vector: Vector) -> Vector:
        """Return a vector of the floating body's axes in those of the rows."""
        return multiply(self.setting.robot.bodies[0].joint.placement.rotation, vector)

    @cached_property
    def _rows(self) -> Matrix:
        """The Jacobian (rows, nv)."""
        gather = self.setting.coupling.gather
        return [gather(row) for place in self.places for row in place.jacobian]

    @cached_property
    def _of_rows(self) -> list[Place | Loop]:
        """The contact of each row."""
        return [place for place in self.places for _ in range(place.contact.rows)]

    @cached_property
    def _half(self) -> Matrix:
        """The rows of ``J L^-1``."""
        return [descend(self.forward.factors, row) for row in self._rows]

    @cached_property
    def weighted(self) -> Matrix:
        """The rows of ``J L^-1 D^-1``; those of a held base are zero."""
        held, factors = self.task.held_base, self.forward.factors
        kept = factors if held is None else held.without_base(factors)
        return [divide(kept, row) for row in self._half]

    @cached_property
    def row_factors(self) -> Factors:
        """The factors of the inverse inertia that forces of the rows feel."""
        matrix = []
        for i, place in enumerate(self._of_rows):
            with region("contact_inertia", place.frame.body):
                row = [inner_product(self._half[i], other) for other in self.weighted[: i + 1]]
                matrix.append([*row[:-1], row[-1] + self.damping])
        bodies = tuple(place.frame.body for place in self._of_rows)
        return factorize_choice(matrix, self._order, self._if_present, Places("contact_", bodies))

    @property
    def _order(self) -> list[Group]:
        """The groups of rows, each of one contact, from the last to the first."""
        largest, order, start = self.forward.largest_block, [], 0
        for place in self.places:
            rows = range(start, start + place.contact.rows)
            order += [tuple(rows[k : k + largest][::-1]) for k in range(0, len(rows), largest)]
            start = rows.stop
        return order[::-1]

    def _if_present(self, row: int, x: Scalar, other: float) -> Scalar:
        return self.setting.recorder.select(self._of_rows[row].present, x, other)

    def response(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the accelerations (nv,) by forces of the rows."""
        with region("contact_dynamics"):
            columns = zip(*self.weighted, strict=True)
            driven = [inner_product(column, forces) for column in columns]
        return ascend(self.forward.factors, driven)

    def in_axes(self, place: Place | Loop, vector: Vector) -> Vector:
        """Return a vector of the rows' axes in those of the results."""
        if isinstance(place, Loop) or not self.in_world:
            return place.in_frame(vector)
        if self.task.floating is None:
            return vector
        rotation = self.setting.robot.bodies[0].joint.placement.rotation
        return multiply(rotation, self.task.poses[0].out_of(multiply(transpose(rotation), vector)))


def vectors(rows: Iterator[Scalar], count: int) -> list[Vector]:
    """Return the next ``count`` rows as vectors."""
    return [(next(rows), next(rows), next(rows)) for _ in range(count // 3)]
