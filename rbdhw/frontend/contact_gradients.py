"""The derivatives of accelerations and forces under contacts, by configuration, velocity and joint forces.

Let ``T`` be the derivatives of inverse dynamics at the solution, with the contacts' forces fixed along the
axes of their frames, and ``R`` those of what the contacts keep at zero, along the same axes. With
``G = J M^-1`` and the matrix ``A = J M^-1 J^T + damping``::

    Q = A^-1 G    P = M^-1 - G^T Q    da = P dtau - (P T + Q^T R) dx    df = (Q T - A^-1 R) dx - Q dtau

By the logarithm of damping, ``df = -A^-1 damping f``, and by a gain it is ``-A^-1`` times what the gain
counters; ``da = G^T df``. Damping may span decades, and its logarithm keeps the range of ``f``.

As in :mod:`rbdhw.frontend.gradients`, the proper acceleration of a floating body is held at first, and its
derivatives are added at the end. Forces do not depend on them.

Source: Budhiraja, Carpentier, Mastalli and Mansard, "Differential dynamic programming for multi-phase rigid
contact dynamics" (2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from rbdhw.dynamics.factorization import ascend, inverse, solve
from rbdhw.dynamics.kinematics import FrameMotion, frame_motion
from rbdhw.dynamics.rnea import in_body_axes
from rbdhw.dynamics.shared_axes import Configuration
from rbdhw.dynamics.spatial import (
    ZERO,
    Vector,
    add,
    add_twist,
    apply,
    cross,
    scale,
    transpose_tensor,
)
from rbdhw.frontend.contacts import Contacts, Place, vectors
from rbdhw.frontend.forward_dynamics import symmetric
from rbdhw.frontend.gradients import Gradients, Halves, sum_of
from rbdhw.frontend.integrators import Dynamics, Slopes
from rbdhw.frontend.loops import Loop
from rbdhw.frontend.result_elements import Results
from rbdhw.robot.link_frames import BodyFrame
from rbdhw.robot.model import Placement
from rbdhw.scalar import Scalar, in_regions, inner_product, region

Matrix = list[list[Scalar]]

Column = tuple[Vector, Vector]
"""The linear and the angular rows of a degree of freedom's column."""


class ContactGradients:
    """The derivatives under contacts. Each is recorded when a function first needs it."""

    def __init__(self, contacts: Contacts, gradients: Gradients) -> None:
        self.contacts, self.gradients = contacts, gradients
        self.setting, self.task, self.forward = contacts.setting, contacts.task, contacts.forward
        self._floating = self.task.floating

    @property
    def dynamics(self) -> Dynamics:
        """Forward dynamics with contacts."""
        return Dynamics(lambda: self.contacts.accelerations, lambda: self.slopes)

    @property
    def results(self) -> tuple[Results, ...]:
        """The derivatives of accelerations (nv, nv), and of forces (contacts, 6, nv), by q, v and tau.

        Then those of both by ``holding`` if tasks bring it.
        """
        slopes, by_force = self.slopes, self._minus(self._gains)
        forces = [
            self._in_axes(rows, turned) for rows, turned in zip(self._of_rows, (True, False), strict=True)
        ]
        accelerations = slopes.by_position, slopes.by_velocity, slopes.by_force
        return (*accelerations, *forces, self._in_axes(by_force, turned=False), *self._by_holding)

    @property
    def _by_holding(self) -> tuple[Results, ...]:
        """The derivatives of accelerations (nv, 3) and of forces (contacts, 6, 3) by ``holding``.

        That of damping is by its logarithm.
        """
        contacts = self.contacts
        if not self.setting.robot.contacts.by_task:
            return ()
        damped = [contacts.damping * force for force in contacts.row_forces]
        velocities = [rate for place in contacts.places for rate in place.velocity]
        gaps = [
            entry
            for place in contacts.places
            for entry in (place.gap if isinstance(place, Loop) else [0.0] * place.contact.rows)
        ]
        changes = [
            solve(contacts.row_factors, [-1.0 * entry for entry in column])
            for column in (damped, velocities, gaps)
        ]
        forces = zip(*map(contacts.by_contact, changes), strict=True)
        return (
            _transpose([contacts.response(change) for change in changes]),
            [_transpose(columns) for columns in forces],
        )

    # Accelerations

    @cached_property
    def slopes(self) -> Slopes:
        """The derivatives of the accelerations."""
        halves = [
            self._minus(sum_of(_product(self._constrained, T), _product(_transpose(self._gains), R)))
            for T, R in zip(self._forces_by, self._residuals_by, strict=True)
        ]
        by_position, by_velocity = self.gradients.in_coordinates((halves[0], halves[1]))
        return Slopes(by_position, by_velocity, self._constrained)

    @cached_property
    def _of_rows(self) -> list[Matrix]:
        """The derivatives of the rows' forces by position and by velocity, along the frames' axes."""
        return [
            sum_of(_product(self._gains, T), self._minus(_product(self._inverse, R)))
            for T, R in zip(self._forces_by, self._residuals_by, strict=True)
        ]

    @cached_property
    def _constrained(self) -> Matrix:
        """``P``, the derivatives of the accelerations by joint forces."""
        free, columns = self.forward.inverse, _transpose(self._moved)
        gains = _transpose(self._gains)

        def row(i: int) -> list[Scalar]:
            return [free[i][j] - inner_product(columns[i], gains[j]) for j in range(i + 1)]

        return symmetric(in_regions("contact_gradient", row, range(len(free))))

    @cached_property
    def _gains(self) -> Matrix:
        """``Q``, minus the derivatives of the rows' forces by joint forces."""
        return _product(self._inverse, self._moved)

    @cached_property
    def _moved(self) -> Matrix:
        """``G``, the accelerations of the rows by joint forces."""
        return [ascend(self.forward.factors, row) for row in self.contacts.weighted]

    @cached_property
    def _inverse(self) -> Matrix:
        return symmetric(inverse(self.contacts.row_factors))

    # Inverse dynamics at the solution

    @cached_property
    def _forces_by(self) -> Halves:
        """``T``"""
        by_position, by_velocity = self._forces_of_motion
        rows = iter(self.contacts.row_forces)
        for place in self.contacts.places:
            force = vectors(rows, place.contact.rows)[0]
            if isinstance(place, Loop):
                with region("contact_gradient", place.frame.body):
                    bent = self._minus(place.bent(force))
                by_position = sum_of(by_position, self.setting.coupling.gather_both(bent))
        return by_position, by_velocity

    @cached_property
    def _forces_of_motion(self) -> Halves:
        """``T`` without the forces of loops, which turn with neither of the links that they join."""
        setting, contacts, task = self.setting, self.contacts, self.task
        if setting.algorithms.gradient == "repeated":
            loaded = self._loaded(setting.configuration)
            a = setting.coupling.spread(contacts.proper_accelerations)
            return self.gradients.of(loaded, setting.v, a, loaded.round_trip(setting.v, a, task.base))
        loaded = self._loaded(setting.unloaded)
        a = setting.coupling.spread(contacts.with_response(self.forward.added_accelerations))
        by_position, by_velocity = self.gradients.at_task
        correction, _ = self.gradients.of(loaded, setting.zeros, a, loaded.round_trip(setting.zeros, a))
        return sum_of(by_position, correction), by_velocity

    def _loaded(self, configuration: Configuration) -> Configuration:
        """Return a configuration with the contacts' forces among the external ones."""
        bodies, fext = list(configuration.robot.bodies), dict(configuration.fext)
        rows = iter(self.contacts.row_forces)
        for place in self.contacts.places:
            if isinstance(place, Loop):
                vectors(rows, place.contact.rows)
                continue
            i = place.frame.body
            with region("contact_force", i):
                back = transpose_tensor(place.rotation)
                force, *moment = (apply(back, part) for part in vectors(rows, place.contact.rows))
                wrench = add(cross(place.point, force), *moment), force
                if i in fext:
                    wrench = add_twist(in_body_axes(fext[i], bodies[i].link_frame), wrench)
            fext[i] = wrench
            bodies[i] = replace(bodies[i], link_frame=Placement())
        robot = replace(configuration.robot, bodies=tuple(bodies))
        return Configuration(robot, configuration.coordinates, fext)

    # What the contacts keep at zero

    @cached_property
    def _residuals_by(self) -> Halves:
        """``R``"""
        by_position: Matrix = []
        by_velocity: Matrix = []
        for place in self.contacts.places:
            with region("contact_gradient", place.frame.body):
                if isinstance(place, Loop):
                    columns = place.residual(self.setting.coupling.spread(self.contacts.seen_from(place)))
                else:
                    columns = self._residual(place)
                for half, rows in zip((by_position, by_velocity), columns, strict=True):
                    half += [self.setting.coupling.gather(row) for row in rows[: place.contact.rows]]
        falling = self._minus(self.contacts.rows_from_world)
        return self.gradients.add_proper((by_position, by_velocity), falling)

    def _motion(self, place: Place) -> FrameMotion:
        """Return the frame's motion; a floating body has no linear velocity, and the proper acceleration."""
        setting, configuration = self.setting, self.setting.configuration
        proper = self.contacts.proper_accelerations
        v = setting.v if self._floating is None else [0.0, 0.0, 0.0, *setting.v[3:]]
        a, base = setting.coupling.spread(proper), self.task.base_twists
        frame = BodyFrame(place.frame.body, Placement(translation=place.point))
        return frame_motion(
            configuration.robot, frame, configuration.coordinates, v, a, base, in_world=True, along_frame=True
        )

    def _residual(self, place: Place) -> tuple[Matrix, Matrix]:
        """Return the derivatives (6, degrees of freedom) of a contact's residual by position and velocity."""
        motion = self._motion(place)
        arrays = (
            motion.jacobian,
            motion.velocity_by_position,
            motion.acceleration_by_position,
            motion.acceleration_by_velocity,
        )
        moved, pushed = [], []
        for k, (axis, dv, da, da_dv) in enumerate(zip(*map(_columns, arrays), strict=True)):
            moved.append(self._residual_column(place, motion, dv, da, self._carried_by_turn(axis, k)))
            base = self._floating is not None and k < 3
            still = (ZERO, ZERO), (ZERO, ZERO)  # the proper acceleration has what this velocity changes
            rate, change = still if base else (axis, da_dv)
            pushed.append(
                self._residual_column(place, motion, rate, change, (axis[0] if base else ZERO, ZERO))
            )
        return _rows(moved), _rows(pushed)

    def _residual_column(
        self, place: Place, motion: FrameMotion, rate: Column, change: Column, carried: tuple[Vector, Vector]
    ) -> Column:
        """Return the derivative of a residual by those of the frame's velocity and acceleration.

        ``carried`` are those of the linear velocity that the floating body adds, and of gravity.
        """
        gain = self.contacts.velocity_gain
        (x, y, z, *turning), drift = motion.velocity, carried[0]
        rates = turning[0], turning[1], turning[2]
        linear = add(change[0], carried[1], scale(gain, add(rate[0], drift)))
        if place.contact.rows == 3 or self._floating is not None:
            other: Vector = (x, y, z)
            speed = rate[0]
            if place.contact.rows == 6:  # less the product with the whole velocity
                other, speed = scale(-1.0, self._body_velocity), scale(-1.0, drift)
            linear = add(linear, cross(rate[1], other), cross(rates, speed))
        return linear, add(change[1], scale(gain, rate[1]))

    def _carried_by_turn(self, axis: Column, k: int) -> tuple[Vector, Vector]:
        """Return how the floating body's linear velocity and gravity change along a frame that turns."""
        if self._floating is None:
            return ZERO, ZERO
        turn = scale(-1.0, axis[1])
        return ZERO if k < 6 else cross(turn, self._body_velocity), cross(turn, self.contacts.gravity)

    @property
    def _body_velocity(self) -> Vector:
        """The floating body's linear velocity in the axes of the rows."""
        assert self._floating is not None
        return self.contacts.in_row_axes(self._floating.linear)

    # Results

    def _in_axes(self, rows: Matrix, turned: bool) -> list[Matrix]:
        """Return derivatives (contacts, 6, nv) in the axes asked for of those along the frames' axes.

        By position the axes may have ``turned`` with the frame.
        """
        forces = iter(self.contacts.row_forces)
        remaining = iter(rows)
        result = []
        for place in self.contacts.places:
            axes = _transpose([self.setting.coupling.gather(row) for row in place.axes])
            columns = map(iter, _transpose([next(remaining) for _ in range(place.contact.rows)]))
            parts = vectors(forces, place.contact.rows)
            with region("contact_force", place.frame.body):
                changed = []
                for column, axis in zip(columns, axes, strict=True):
                    entries: list[Scalar] = []
                    for part, change in zip(parts, vectors(column, place.contact.rows), strict=True):
                        if turned and isinstance(place, Loop):
                            change = add(change, cross(part, (axis[0], axis[1], axis[2])))
                        elif turned and self.contacts.in_world:
                            change = add(change, cross((axis[0], axis[1], axis[2]), part))
                        entries += self.contacts.in_axes(place, change)
                    changed.append([*entries, *[0.0] * (6 - place.contact.rows)])
            rows_of = _transpose(changed)
            held = self.task.held_base
            result.append(rows_of if held is None else held.clear_columns(rows_of))
        return result

    def _minus(self, matrix: Matrix) -> Matrix:
        return [[-1.0 * entry for entry in row] for row in matrix]


def _product(matrix: Matrix, other: Matrix) -> Matrix:
    columns = _transpose(other)
    return in_regions(
        "contact_gradient", lambda row: [inner_product(row, column) for column in columns], matrix
    )


def _transpose(matrix: Sequence[Sequence[Scalar]]) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


def _columns(matrix: Matrix) -> list[Column]:
    """Return the columns of a matrix (6, n)."""
    return [((x, y, z), (u, v, w)) for x, y, z, u, v, w in zip(*matrix, strict=True)]


def _rows(columns: Sequence[Column]) -> Matrix:
    return _transpose([[*linear, *angular] for linear, angular in columns])
