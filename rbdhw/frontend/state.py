"""The state of a task at which second derivatives are taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdhw.dynamics.floating_base import FloatingBody
from rbdhw.dynamics.joint import Coordinate
from rbdhw.dynamics.rnea import RoundTrip
from rbdhw.frontend.inputs import Coupling
from rbdhw.robot.model import Robot
from rbdhw.scalar import Scalar


@dataclass(frozen=True)
class State:
    """The state of a task.

    Parameters
    ----------
    coordinates
        Those of the joints in the axes of ``robot``, which are functions of ``joint_coordinates``.
    v, a
        The velocities and accelerations of all degrees of freedom; those of a floating body are proper.
    trip
        The motions and wrenches at this state.
    floating
        The floating body, if there is one.
    differentiated
        Whether second derivatives are taken by differentiating the graph.
    """

    robot: Robot
    coordinates: Sequence[Coordinate]
    joint_coordinates: Sequence[Coordinate]
    v: Sequence[Scalar]
    a: Sequence[Scalar]
    trip: RoundTrip
    coupling: Coupling
    floating: FloatingBody | None
    differentiated: bool
