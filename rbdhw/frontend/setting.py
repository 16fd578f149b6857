"""What all quantities of a task share: its numbers, its configuration, and the chosen algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rbdhw.dynamics.floating_base import FloatingBody
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.rnea import RoundTrip
from rbdhw.dynamics.shared_axes import Configuration, share_axes
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.inputs import Coupling, Task
from rbdhw.graph.trace import Signal
from rbdhw.protocol import FLAGS, FUNCTIONS, functions_with
from rbdhw.robot.model import Robot
from rbdhw.scalar import Scalar, region

GIVEN, SUPPLIED = FLAGS

Vector = list[Scalar]


class Setting:
    """A task of some functions, as a recorder records it.

    Members
    -------
    robot
        The robot; inertial parameters that tasks bring are numbers of the task.
    coupling
        The map from the robot's velocities to all degrees of freedom.
    v, zeros
        The velocities of all degrees of freedom, and as many zeros.
    given, supplied
        Whether the task brings accelerations, and not forces; whether it brings the inverse of the mass
        matrix.
    """

    def __init__(
        self,
        recorder: Any,
        robot: Robot,
        functions: Sequence[str],
        fext: Sequence[int],
        algorithms: Algorithms,
        task: Task | None = None,
    ) -> None:
        self.recorder, self.functions, self.algorithms = recorder, tuple(functions), algorithms
        accumulates = any(FUNCTIONS[function].integrates for function in functions)
        self.task = task or Task(recorder, robot, fext, accumulates)
        self.robot = self.task.robot
        self.coupling = Coupling(self.robot)
        self.v = self.coupling.spread(self.task.v)
        self.zeros = [0.0] * len(self.v)
        with region("decode"):
            self.given = self._flag(GIVEN, functions_with(lambda entry: "fext" in entry.inputs))
            dense = algorithms.products == "dense"
            readers = functions_with(lambda entry: entry.derivative_of == "fd")
            self.supplied = self._flag(SUPPLIED, readers) if dense else False

    @cached_property
    def configuration(self) -> Configuration:
        """The robot, the coordinates and the external wrenches in the axes of the chosen algorithm."""
        turning = Configuration(self.robot, self.task.coordinates, self.task.fext)
        return turning if self.algorithms.axes == "turning" else share_axes(turning)

    @cached_property
    def unloaded(self) -> Configuration:
        """The same without gravity and external wrenches."""
        robot = replace(self.configuration.robot, gravity=(0.0, 0.0, 0.0))
        return Configuration(robot, self.configuration.coordinates, {})

    def _flag(self, name: str, readers: Sequence[str]) -> Signal | bool:
        """Return a flag that ``readers`` read: a constant if their tasks agree on it, otherwise an input."""
        functions, optional = FLAGS[name]
        raised = {function in functions for function in self.functions if function in readers}
        if raised == {True} and not optional:
            return True
        return self.recorder.input(name) if True in raised else False


@dataclass(frozen=True)
class State:
    """The state of a task at which second derivatives are taken."""

    robot: Robot
    coordinates: Sequence[Coordinate]
    """Those of the joints in the axes of ``robot``, which are functions of ``joint_coordinates``."""
    joint_coordinates: Sequence[Coordinate]
    v: Sequence[Scalar]
    a: Sequence[Scalar]
    """The velocities and accelerations of all degrees of freedom; those of a floating body are proper."""
    trip: RoundTrip
    """The motions and wrenches at this state."""
    coupling: Coupling
    floating: FloatingBody | None
    """The floating body, if there is one."""
    differentiated: bool
    """Whether second derivatives are taken by differentiating the graph."""
