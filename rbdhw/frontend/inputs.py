"""The inputs of a graph, converted to the quantities of the dynamics algorithms.

The inputs are named after the arrays of the user's interface: ``q[0]`` (in turns for an angle, in metres for
a translation, without a unit for a quaternion), ``v[0]``, ``a[0]``, ``tau[0]``, ``base_v[5]``,
``base_a[5]``, ``base_held``, ``gravity[2]``, ``fext[3,5]`` (force, then moment), ``Minv[2,1]``,
``lambda_tau[0]``, ``lambda_a[0]``; and the flags of :data:`rbdhw.protocol.FLAGS`. The coordinates of
mimicking joints are computed here from the joints that they follow, so the dynamics algorithms treat all
joints alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar, cast

from rbdhw.dynamics.floating_base import FloatingBody
from rbdhw.dynamics.inertia import LoadedInertia, second_moments
from rbdhw.dynamics.joint import Coordinate, attitude, turns
from rbdhw.dynamics.rnea import Motion, at_rest, make_motion
from rbdhw.dynamics.spatial import (
    ZERO_TWIST,
    Twist,
    Vector,
    Wrench,
    add,
    apply,
    cross,
    multiply,
    scale,
    subtract,
    transpose,
)
from rbdhw.frontend.held_base import HeldBase
from rbdhw.protocol import BASE_HELD, CONTACT, HOLDING
from rbdhw.robot.model import Inertia, Joint, JointKind, Robot
from rbdhw.robot.parameters import held_numbers
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.scalar import Scalar, region

Matrix = list[list[Scalar]]

Value = TypeVar("Value")


class Coupling:
    """The linear map from the robot's ``nv`` velocities to all degrees of freedom, with mimicking joints."""

    def __init__(self, robot: Robot) -> None:
        self._size = robot.nv
        self._shares: list[tuple[int, float]] = []
        for body, span in zip(robot.bodies, robot.v_of, strict=True):
            factor = body.joint.mimic.multiplier if body.joint.mimic else 1.0
            self._shares += [(k, factor) for k in range(robot.nv)[span]]

    def spread(self, vector: Sequence[Scalar]) -> list[Scalar]:
        """Return the velocities or accelerations of all degrees of freedom from the robot's (nv,)."""
        return [vector[k] if factor == 1.0 else factor * vector[k] for k, factor in self._shares]

    def gather(self, vector: Sequence[Scalar]) -> list[Scalar]:
        """Return the robot's joint forces (nv,) from those of all degrees of freedom: the transposed map."""
        total: list[Scalar] = [0.0] * self._size
        for (k, factor), value in zip(self._shares, vector, strict=True):
            total[k] = total[k] + factor * value
        return total

    def parts(self, values: Sequence[Value]) -> list[list[tuple[float, Value]]]:
        """Return, for each of the robot's coordinates, the values that :meth:`gather` adds, with factors."""
        parts: list[list[tuple[float, Value]]] = [[] for _ in range(self._size)]
        for (k, factor), value in zip(self._shares, values, strict=True):
            parts[k].append((factor, value))
        return parts

    def gather_both(self, matrix: Matrix) -> Matrix:
        """Return a matrix (nv, nv) from one over all degrees of freedom, with rows and columns gathered."""
        rows = [self.gather(row) for row in matrix]
        columns = [self.gather(column) for column in zip(*rows, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]


class Task:
    """The inputs of a graph, created with a recorder.

    Members
    -------
    v, a, tau, q : list of scalars
        Velocities, accelerations, joint forces (``nv`` each) and the configuration, as the task gives them.
    state_q, state_v : list of scalars
        The state to which steps in time add. If the task ``accumulates``, ``q`` (except angles) and ``v`` are
        rounded copies of it.
    fext : dict
        External wrenches by body.
    supplied : rows
        The lower triangle of the inverse mass matrix that a task can bring.
    contact : list of scalars
        For each contact whether the task has it.
    holding : list of scalars
        The damping of contacts, and the gains for their velocities and for the positions of loops.
    lambda_tau, lambda_a : list of scalars
        The multipliers of joint forces and of accelerations, ``nv`` each.
    """

    def __init__(self, recorder: Any, robot: Robot, fext: Sequence[int], accumulates: bool = False) -> None:
        self._recorder, self._robot = recorder, robot
        self._accumulates = accumulates
        with region("decode"):
            self.state_q = self._vector("q", robot.nq)
            self.state_v = self._vector("v", robot.nv)
            self.q = self._factors(self.state_q)
            self.v = [self._factor_of(velocity) for velocity in self.state_v]
            self.a = self._vector("a", robot.nv)
            self.tau = self._vector("tau", robot.nv)
            self._base_v = self._vector("base_v", 6) if robot.base_given else []
            brings_motion = robot.base_given or robot.base_chosen
            self._base_a = self._vector("base_a", 6) if brings_motion else []
            self._base_held = recorder.input(BASE_HELD) if robot.base_chosen else None
            self._gravity = self._vector("gravity", 3) if robot.gravity_given else list(robot.gravity)
            named = {body: link for link, body in enumerate(robot.links)}
            self.fext = {i: self._wrench(named[i]) for i in sorted(fext)}
            self.contact = self._vector(CONTACT, len(robot.contacts.places))
            numbers = robot.contacts
            self.holding = (
                self._vector(HOLDING, 3)
                if numbers.by_task
                else [numbers.damping, numbers.velocity_gain, numbers.position_gain]
            )
            self.supplied = [
                [recorder.input(f"Minv[{i},{j}]") for j in range(i + 1)] for i in range(robot.nv)
            ]
            self.lambda_tau = self._vector("lambda_tau", robot.nv)
            self.lambda_a = self._vector("lambda_a", robot.nv)
            self.h = recorder.input("h") if robot.time_step is None else robot.time_step
            self.robot = self._robot = robot if robot.loaded is None else self._loaded(robot)

    def at(self, q: list[Scalar], v: list[Scalar]) -> Task:
        """Return the task at another state, whose numbers serve as factors; all else stays the same."""
        moved = copy(self)
        moved.q, moved.v, moved._accumulates = q, v, False
        for known in ("coordinates", "floating", "held_base", "poses"):
            vars(moved).pop(known, None)
        return moved

    def behind(self, q: list[Scalar]) -> Task:
        """Return the task at a configuration as wide as that of the state."""
        moved = self.at(self._factors(q), self.v)
        moved._accumulates = self._accumulates
        return moved

    @cached_property
    def coordinates(self) -> list[Coordinate]:
        with region("trigonometry"):
            pairs = zip(self._robot.bodies, self._robot.q_of, strict=True)
            return [self._coordinate(body.joint, span) for body, span in pairs]

    @cached_property
    def base(self) -> Motion:
        """The motion of the base; its acceleration includes gravity, so that it is the proper one."""
        if not self._robot.base_given:
            return at_rest(self.gravity)
        with region("base"):
            linear, velocity = _halves(self._base_v)
            change, angular = _halves(self._base_a)
            proper = subtract(add(change, cross(velocity, linear)), self.gravity)
            return make_motion(velocity, angular, proper)

    @cached_property
    def floating(self) -> FloatingBody | None:
        """The first body's velocity and the gravity in its frame, if it floats; otherwise None."""
        if not self._robot.floats:
            return None
        with region("floating"):
            quaternion = self.q[3:7]
            axes = attitude(quaternion, 1.0)
            into = transpose(self._robot.bodies[0].joint.placement.rotation)
            falling = apply(axes, scale(shrink(quaternion), multiply(into, self.gravity)))
            linear, angular = _halves(self.v[:6])
            return FloatingBody(angular, linear, falling)

    @cached_property
    def held_base(self) -> HeldBase | None:
        """The choice between a base that floats and one that is held, if tasks have it; otherwise None."""
        if self._base_held is None or self.floating is None:
            return None
        return HeldBase(self._recorder, self._base_held, self._base_a, self.floating)

    @cached_property
    def poses(self) -> list[Coordinate]:
        """The coordinates with the pose of a floating first body, which the dynamics do not need."""
        if not self._robot.floats:
            return self.coordinates
        with region("floating"):
            x, y, z = self.q[:3]
            quaternion = self.q[3:7]
            pose = Coordinate(shift=(x, y, z), attitude=attitude(quaternion, shrink(quaternion)))
        return [pose, *self.coordinates[1:]]

    @property
    def base_twists(self) -> tuple[Twist, Twist]:
        """The base's velocity and spatial acceleration in its axes, without gravity."""
        if not self._robot.base_given:
            return ZERO_TWIST, ZERO_TWIST
        (linear, angular), (change, turning) = _halves(self._base_v), _halves(self._base_a)
        return (angular, linear), (turning, change)

    @property
    def gravity(self) -> Vector:
        """The acceleration of free fall, in the axes of the world or of a base whose motion is given."""
        x, y, z = self._gravity
        return x, y, z

    def _coordinate(self, joint: Joint, span: slice) -> Coordinate:
        values = self.q[span]
        if joint.kind is JointKind.FLOATING:
            return Coordinate()  # only gravity depends on its attitude: see `floating`
        if joint.kind is JointKind.SPHERICAL:
            return Coordinate(attitude=attitude(values, shrink(values)))
        if joint.kind is JointKind.PLANAR:
            cos, sin = self._recorder.cos_sin(values[2], 0.0)
            return Coordinate(cos, sin, (values[0], values[1], 0.0))
        factor, offset = self._factor(joint), joint.offset
        if joint.mimic is not None:
            offset += joint.mimic.offset
        # A power of two only shifts an angle. Any other factor makes a product, which reads a rounded copy.
        whole = joint.kind.rotates and math.frexp(abs(factor))[0] in (0.0, 0.5)
        position = (
            factor * (values[0] if whole else self._factor_of(values[0])) if factor != 1.0 else values[0]
        )
        if joint.kind.rotates:
            cos, sin = self._recorder.cos_sin(position, turns(offset))
            return Coordinate(cos=cos, sin=sin)
        return Coordinate(shift=(0.0, 0.0, position + offset))

    def _factor(self, joint: Joint) -> float:
        """Return the ratio of a joint's coordinate to the one that it follows, each in turns or metres."""
        if joint.mimic is None:
            return 1.0
        followed = next(body.joint for body in self._robot.bodies if body.joint.name == joint.mimic.joint)
        factor = joint.mimic.multiplier
        if followed.kind.rotates == joint.kind.rotates:
            return factor
        return factor * 2.0 * math.pi if followed.kind.rotates else turns(factor)

    @property
    def _angles(self) -> list[bool]:
        joints = (body.joint for body in self._robot.bodies if body.joint.mimic is None)
        return [angle for joint in joints for angle in joint.kind.angles]

    def _factors(self, q: list[Scalar]) -> list[Scalar]:
        """Return a configuration as products read it; angles stay as they are."""
        pairs = zip(q, self._angles, strict=True)
        return [coordinate if angle else self._factor_of(coordinate) for coordinate, angle in pairs]

    def _factor_of(self, value: Scalar) -> Scalar:
        """Return a number of the state as products read it."""
        return self._recorder.rounded(value) if self._accumulates else value

    def _loaded(self, robot: Robot) -> Robot:
        """Return the robot with the inertias that vary with the parameters given at run time as inputs."""
        regrouped = regroup_inertias(robot)
        numbers: list[list[Scalar]] = []
        for body in regrouped.bodies:
            inertia = body.inertia
            numbers.append([inertia.mass, *inertia.first_moment, *second_moments(inertia)])
        for k, (row, entry) in enumerate(held_numbers(robot)):
            numbers[row][entry] = self._recorder.input(f"parameters[{k}]")
        bodies = []
        for body, (mass, x, y, z, *second) in zip(regrouped.bodies, numbers, strict=True):
            xx, xy, xz, yy, yz, zz = second
            loaded = LoadedInertia(mass, (x, y, z), (xx, xy, xz, yy, yz, zz))
            bodies.append(replace(body, inertia=cast(Inertia, loaded)))
        return regrouped.with_bodies(bodies)

    def _vector(self, name: str, size: int) -> list[Any]:
        return [self._recorder.input(f"{name}[{i}]") for i in range(size)]

    def _wrench(self, i: int) -> Wrench:
        force, moment = _halves([self._recorder.input(f"fext[{i},{k}]") for k in range(6)])
        return moment, force


def shrink(quaternion: Sequence[Scalar]) -> Scalar:
    """Return about ``1 / |q|^2`` for a quaternion ``q`` whose length is near one.

    With ``|q|^2 = 1 + e`` the result is ``1 - e + e^2``. The domain bounds ``e``, and its format has only
    that range. A task with a larger ``e`` overflows there and is flagged. The node of ``e`` has two uses, so
    that the passes do not rearrange sums across it.
    """
    x, y, z, w = quaternion
    excess = ((x * x + y * y) + (z * z + w * w)) - 1.0
    return 1.0 - (excess - excess * excess)


def _halves(six: Sequence[Scalar]) -> tuple[Vector, Vector]:
    """Return the two 3-vectors of ``[linear; angular]``."""
    x, y, z, u, v, w = six
    return (x, y, z), (u, v, w)
