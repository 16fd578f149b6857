"""The quantities of a robot as a whole: energy, centre of mass, and centroidal momentum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from rbdhw.dynamics.composite import Composite
from rbdhw.dynamics.derivatives import momentum_of
from rbdhw.dynamics.drives import with_drive_forces
from rbdhw.dynamics.rnea import STILL, Motion, RoundTrip, joint_forces, make_motion
from rbdhw.dynamics.spatial import (
    UNIT,
    ZERO,
    Vector,
    Wrench,
    add,
    cross,
    dot,
    multiply,
    scale,
    subtract,
    transpose_tensor,
)
from rbdhw.dynamics.whole_body import (
    View,
    base_wrench,
    central_columns,
    momentum_columns,
    views,
    whole_body,
    wrench_columns,
)
from rbdhw.frontend.result_elements import Results
from rbdhw.frontend.setting import Setting
from rbdhw.scalar import Scalar, inner_product, reciprocal, region

Matrix = list[list[Scalar]]


class WholeBody:
    """The quantities of a task's robot as one body. Each is recorded when a function first needs it.

    Results are in the world's axes, or in those of a base whose motion is given. Momentum is linear first.
    """

    def __init__(self, setting: Setting) -> None:
        self.setting, self.task = setting, setting.task
        self._configuration = setting.unloaded

    @cached_property
    def energy(self) -> tuple[Scalar, Scalar]:
        """Kinetic and potential energy.

        A robot at rest that is given its velocities as accelerations needs its momentum as forces.
        """
        setting, (angular, linear) = self.setting, self.task.base_twists[0]
        trip = self._momentum_trip
        forces = joint_forces(self._configuration.robot, trip)
        momenta = with_drive_forces(setting.robot, forces, setting.zeros, setting.v)
        moment, force = base_wrench(self._configuration.robot, self._configuration.coordinates, trip)
        with region("energy"):
            kinetic = inner_product(momenta, setting.v)
            if self.task.floating is None:
                kinetic = kinetic + dot(moment, angular) + dot(force, linear)
            return 0.5 * kinetic, -1.0 * self._lifted

    @property
    def _lifted(self) -> Scalar:
        """The work of gravity from the origin to where the bodies are."""
        body, floating, gravity = self._body, self.task.floating, self.task.gravity
        if floating is None:
            return dot(body.first, gravity)
        return dot(body.first, floating.gravity) + body.mass * dot(self._place(ZERO), gravity)

    @cached_property
    def centre(self) -> Vector:
        """The centre of mass."""
        return self._place(self._centre)

    @cached_property
    def jacobian(self) -> Matrix:
        """The derivatives (3, nv) of the centre of mass by the configuration."""
        with region("centroidal"):
            columns = [self._turn(scale(self._per_mass, force)) for _, force in self._columns]
        return [list(row) for row in zip(*columns, strict=True)]

    @cached_property
    def velocity(self) -> list[Scalar]:
        """The velocity of the centre of mass."""
        angular, linear = self.task.base_twists[0]
        with region("centroidal"):
            carried = add(linear, cross(angular, self._centre))
            return [
                inner_product(row, self.task.v) + x for row, x in zip(self.jacobian, carried, strict=True)
            ]

    @property
    def acceleration(self) -> list[Scalar]:
        """The acceleration of the centre of mass at zero acceleration of the joints."""
        force = self.momentum_rate[:3]
        with region("centroidal"):
            return [self._per_mass * entry for entry in force]

    @cached_property
    def momentum_map(self) -> Matrix:
        """The matrix (6, nv) that maps velocities to the momentum about the centre of mass."""
        return self._gathered([[*force, *moment] for moment, force in self._central_columns])

    @cached_property
    def momentum(self) -> list[Scalar]:
        """The momentum (6,) about the centre of mass."""
        angular, linear = self.task.base_twists[0]
        with region("centroidal"):
            base = self._about_centre(momentum_of(self._body, (angular, linear)))
            return [
                inner_product(row, self.task.v) + x for row, x in zip(self.momentum_map, base, strict=True)
            ]

    @property
    def momentum_alone(self) -> list[Scalar]:
        """The momentum (6,) about the centre of mass, by fewer operations where nothing needs its matrix."""
        return self._rate(self._momentum_trip)

    @cached_property
    def momentum_rate(self) -> list[Scalar]:
        """The rate of change (6,) of that momentum at zero acceleration of the joints."""
        return self._rate(self._trip_at(self.setting.zeros))

    @property
    def centroidal_derivatives(self) -> tuple[Results, ...]:
        """The derivatives of momentum and of its rate (6, nv), the rate (6,), and the momentum's matrix.

        The rate is that at the task's accelerations.
        """
        setting = self.setting
        trip = self._trip_at(setting.coupling.spread(self.task.a))
        slopes = self._slopes(setting.v, trip)
        return (self.momentum_slopes, *slopes, self._rate(trip), self.momentum_map)

    @property
    def momentum_slopes(self) -> Matrix:
        """The derivatives (6, nv) of the momentum by the configuration."""
        return self._slopes(self.setting.zeros, self._momentum_trip)[0]

    def _slopes(self, v: Sequence[Scalar], trip: RoundTrip) -> tuple[Matrix, Matrix]:
        """Return the derivatives (6, nv) of the wrench of a round trip about the centre of mass.

        A uniform acceleration of all bodies has no moment about it, so that of a floating body's proper
        acceleration is a force alone.
        """
        robot, q = self._configuration.robot, self._configuration.coordinates
        wrench = base_wrench(robot, q, trip)
        columns = wrench_columns(robot, q, v, trip)
        base = () if self.task.floating is None else columns[:6]
        with region("centroidal"):
            moved, driven = self._base_slopes(wrench, base)
            pull = self._turn(wrench[1])
            for (i, by_position, by_velocity), (_, momentum) in zip(
                columns[len(base) :], self._central_columns[len(base) :], strict=True
            ):
                carried = cross(scale(self._per_mass, momentum), pull)  # the centre moves, too
                moment, force = self._views[i].of(by_position)
                moved.append([*force, *subtract(moment, carried)])
                moment, force = self._views[i].of(by_velocity)
                driven.append([*force, *moment])
        return self._gathered(moved), self._gathered(driven)

    def _gathered(self, columns: Sequence[Sequence[Scalar]]) -> Matrix:
        """Return the rows of a matrix over the robot's velocities from columns for all degrees of freedom."""
        return [self.setting.coupling.gather(row) for row in zip(*columns, strict=True)]

    def _base_slopes(
        self, wrench: Wrench, columns: Sequence[tuple[int, Wrench, Wrench]]
    ) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
        """Return the derivatives by position and velocity of a floating body, which turns all others."""
        floating = self.task.floating
        if floating is None:
            return [], []
        force, moment = wrench[1], subtract(wrench[0], cross(self._centre, wrench[1]))
        proper = (*floating.by_linear(), *floating.by_angular())
        moved = [[*self._turn(cross(e, force)), *self._turn(cross(e, moment))] for e in (*[ZERO] * 3, *UNIT)]
        driven = []
        for (_, _, (by_moment, by_force)), change in zip(columns, proper, strict=True):
            central = subtract(by_moment, cross(self._centre, by_force))
            accelerated = add(by_force, scale(self._body.mass, change))
            driven.append([*self._turn(accelerated), *self._turn(central)])
        return moved, driven

    @cached_property
    def _momentum_trip(self) -> RoundTrip:
        """The round trip of a robot at rest whose accelerations are its velocities: forces are momenta."""
        angular, linear = self.task.base_twists[0]
        base = Motion(ZERO, angular, linear, ZERO, ZERO)
        return self._configuration.round_trip(self.setting.zeros, self.setting.v, base)

    def _trip_at(self, accelerations: Sequence[Scalar]) -> RoundTrip:
        """Return the round trip without gravity at accelerations of all degrees of freedom."""
        a, floating = list(accelerations), self.task.floating
        if floating is not None:
            with region("floating"):
                a[:3] = replace(floating, gravity=ZERO).proper((a[0], a[1], a[2]))
        return self._configuration.round_trip(self.setting.v, a, self._base_motion)

    def _rate(self, trip: RoundTrip) -> list[Scalar]:
        wrench = base_wrench(self._configuration.robot, self._configuration.coordinates, trip)
        with region("centroidal"):
            return self._about_centre(wrench)

    @property
    def _base_motion(self) -> Motion:
        """The motion of the base without gravity."""
        if not self.setting.robot.base_given:
            return STILL
        (velocity, linear), (angular, change) = self.task.base_twists
        with region("base"):
            return make_motion(velocity, angular, add(change, cross(velocity, linear)))

    @cached_property
    def _body(self) -> Composite:
        return whole_body(self._configuration.robot, self._configuration.coordinates)

    @cached_property
    def _columns(self) -> list[Wrench]:
        """The momentum at a unit of each of the robot's velocities, about the origin of the base."""
        with region("whole_body"):
            gathered = [
                self.setting.coupling.gather([part[k] for part in half])
                for half in zip(*self._momentum_columns, strict=True)
                for k in range(3)
            ]
        return [((mx, my, mz), (x, y, z)) for mx, my, mz, x, y, z in zip(*gathered, strict=True)]

    @cached_property
    def _momentum_columns(self) -> list[Wrench]:
        """The same at a unit of each degree of freedom, those of mimics among them."""
        return momentum_columns(self._configuration.robot, self._configuration.coordinates)

    @cached_property
    def _central_columns(self) -> list[Wrench]:
        """The same about the centre of mass, in the axes of results."""
        return central_columns(self._configuration.robot, self._configuration.coordinates, self._views)

    @cached_property
    def _views(self) -> list[View]:
        """How each body sees the axes of results and the centre of mass."""
        with region("centroidal"):
            x, y, z = (self._turn(axis) for axis in UNIT)
        first = View(transpose_tensor((x, y, z)), self._centre)
        return views(self._configuration.robot, self._configuration.coordinates, first)

    @cached_property
    def _per_mass(self) -> Scalar:
        return reciprocal(self._body.mass)

    @cached_property
    def _centre(self) -> Vector:
        """The centre of mass from the origin of the base, in its axes."""
        with region("centroidal"):
            return scale(self._per_mass, self._body.first)

    def _about_centre(self, wrench: Wrench) -> list[Scalar]:
        """Return momentum about the base's origin as ``[linear; angular]`` about the centre of mass."""
        moment, force = wrench
        return [*self._turn(force), *self._turn(subtract(moment, cross(self._centre, force)))]

    def _turn(self, vector: Vector) -> Vector:
        """Return a vector in the axes of results."""
        if self.task.floating is None:
            return vector
        rotation = self.setting.robot.bodies[0].joint.placement.rotation
        return multiply(rotation, self.task.poses[0].out_of(vector))

    def _place(self, point: Vector) -> Vector:
        """Return a point in the world."""
        if self.task.floating is None:
            return point
        placement = self.setting.robot.bodies[0].joint.placement
        with region("floating"):
            shift = multiply(placement.rotation, self.task.poses[0].shift)
            return add(self._turn(point), shift, placement.translation)
