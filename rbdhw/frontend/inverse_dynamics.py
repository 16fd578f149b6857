"""The quantities of inverse dynamics: the round trip of Newton-Euler and the forces of the joints.

The first round trip uses the task's accelerations. Tasks that bring forces instead use zero accelerations
there, and obtain the bias ``C``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from rbdhw.dynamics.drives import with_drive_forces
from rbdhw.dynamics.gravity import gravity_forces
from rbdhw.dynamics.joint import dofs
from rbdhw.dynamics.rnea import RoundTrip, joint_forces
from rbdhw.frontend.setting import Setting, Vector
from rbdhw.scalar import Scalar, region


class InverseDynamics:
    """The quantities of inverse dynamics. Each is recorded when a function first needs it.

    The vectors of accelerations have an entry for every degree of freedom, including those of mimicking
    joints. A floating body's linear acceleration is the proper one (:mod:`rbdhw.dynamics.floating_base`).
    """

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @cached_property
    def first(self) -> RoundTrip:
        return self.round_trip(self.first_accelerations)

    @cached_property
    def first_accelerations(self) -> Vector:
        return self.select_accelerations(self._known_accelerations)

    @cached_property
    def bias(self) -> Vector:
        """The joint forces at the accelerations of the first round trip, (nv,)."""
        robot = self.setting.robot
        forces = joint_forces(robot, self.first)
        driven = with_drive_forces(robot, forces, self.setting.v, self.first_accelerations)
        return self.setting.coupling.gather(driven)

    @cached_property
    def bias_at_rest(self) -> Vector:
        """The joint forces at zero acceleration of all coordinates, (nv,).

        A floating base has zero coordinate acceleration here, and zero proper acceleration in ``bias``.
        """
        if self.setting.task.floating is None:
            return self.bias
        robot, still = self.setting.robot, self._proper([0.0] * self.setting.robot.nv)
        driven = with_drive_forces(robot, joint_forces(robot, self.round_trip(still)), self.setting.v, still)
        return self.setting.coupling.gather(driven)

    @cached_property
    def gravity(self) -> Vector:
        """The joint forces that hold the robot at rest against gravity, (nv,)."""
        setting, task = self.setting, self.setting.task
        turning = setting.configuration
        in_body = None if task.floating is None else task.floating.gravity
        forces = gravity_forces(turning.robot, turning.coordinates, task.gravity, in_body)
        return setting.coupling.gather(forces)

    def round_trip(self, a: Sequence[Scalar]) -> RoundTrip:
        return self.setting.configuration.round_trip(self.setting.v, a, self.setting.task.base)

    def select_accelerations(self, others: Vector) -> Vector:
        """Return the task's accelerations if the task brings them, and ``others`` if it brings forces."""
        chosen = []
        for i, span in enumerate(dofs(self.setting.robot)):
            with region("rnea_forward", i):
                pairs = zip(self.task_accelerations[span], others[span], strict=True)
                chosen += [self.setting.recorder.select(self.setting.given, *pair) for pair in pairs]
        return chosen

    @cached_property
    def _known_accelerations(self) -> Vector:
        """The accelerations that tasks with forces have beforehand: none but those of a held base.

        Solves take the latter from the task only when they reach the base.
        """
        held = self.setting.task.held_base
        if held is None or self.setting.algorithms.products == "solves":
            return self.setting.zeros
        return held.choose(held.proper(), self.setting.zeros)

    @cached_property
    def task_accelerations(self) -> Vector:
        """The accelerations of the task, of all degrees of freedom."""
        return self._proper(self.setting.task.a)

    def _proper(self, accelerations: Sequence[Scalar]) -> Vector:
        """Return accelerations of all degrees of freedom, proper for a floating body, from coordinates'."""
        a, floating = list(accelerations), self.setting.task.floating
        if floating is not None:
            with region("floating"):
                a[:3] = floating.proper((a[0], a[1], a[2]))
        return self.setting.coupling.spread(a)
