"""Results by frame: kinematics, derivatives by forces on frames, and the regressor of the frames' links."""

from __future__ import annotations

from rbdhw.dynamics.kinematics import FrameMotion, frame_motion
from rbdhw.dynamics.regressor import regressor
from rbdhw.dynamics.shared_axes import Configuration
from rbdhw.frontend.forward_dynamics import ForwardDynamics
from rbdhw.frontend.result_elements import Results
from rbdhw.frontend.setting import Setting
from rbdhw.robot.link_frames import chosen_frames
from rbdhw.scalar import Scalar, stage

Vector = list[Scalar]


def kinematics(setting: Setting) -> tuple[Results, ...]:
    """Return all results of ``kin``, by frame."""
    coupling, v, base = setting.coupling, setting.v, setting.task.base_twists
    accelerations, in_world = coupling.spread(setting.task.a), setting.robot.frame_axes == "world"
    frames = [
        frame_motion(setting.robot, frame, setting.task.poses, v, accelerations, base, in_world)
        for frame in chosen_frames(setting.robot)
    ]
    gather = coupling.gather
    return (
        [frame.placement for frame in frames],
        [list(map(gather, frame.jacobian)) for frame in frames],
        [frame.velocity for frame in frames],
        [frame.acceleration for frame in frames],
        [list(map(gather, frame.velocity_by_position)) for frame in frames],
        [list(map(gather, frame.acceleration_by_position)) for frame in frames],
        [list(map(gather, frame.acceleration_by_velocity)) for frame in frames],
    )


def positions(setting: Setting) -> tuple[Results, ...]:
    """Return the positions of frames in the world, and the linear rows of their Jacobians there."""
    rest = [0.0] * len(setting.v)
    frames = [
        frame_motion(setting.robot, frame, setting.task.poses, rest, rest, in_world=True)
        for frame in chosen_frames(setting.robot)
    ]
    gather = setting.coupling.gather
    return (
        list(map(_origin, frames)),
        [list(map(gather, frame.jacobian[:3])) for frame in frames],
    )


def tracked(setting: Setting, state: Vector) -> tuple[Results, ...]:
    """Return the positions of frames in the world in the ``state`` (nq + nv) behind a step, if asked for."""
    return (list(map(_origin, _behind(setting, state))),) if setting.robot.tracks else ()


def tracked_jacobians(setting: Setting, state: Vector) -> tuple[Results, ...]:
    """Return the linear rows of their Jacobians in the world there, if asked for."""
    if not setting.robot.tracks:
        return ()
    frames = _behind(setting, state)
    with stage(2):
        return ([list(map(setting.coupling.gather, frame.jacobian[:3])) for frame in frames],)


def _behind(setting: Setting, state: Vector) -> list[FrameMotion]:
    """Return the tracked frames at rest in the ``state`` (nq + nv) behind a step."""
    robot, rest = setting.robot, [0.0] * len(setting.v)
    with stage(2):
        poses = setting.task.behind(state[: robot.nq]).poses
        return [
            frame_motion(robot, frame, poses, rest, rest, in_world=True) for frame in chosen_frames(robot)
        ]


def _origin(motion: FrameMotion) -> Vector:
    return [row[3] for row in motion.placement[:3]]


def by_external_forces(setting: Setting, forward: ForwardDynamics) -> tuple[Results, ...]:
    """Return the derivatives (nv, frames, 6) of joint forces and accelerations by forces on frames."""
    rest = [0.0] * len(setting.v)
    in_world = setting.robot.frame_axes == "world"
    columns, gained = [], []
    for frame in chosen_frames(setting.robot):
        motion = frame_motion(setting.robot, frame, setting.task.poses, rest, rest, in_world=in_world)
        rows = list(map(setting.coupling.gather, motion.jacobian))
        columns.append([[-1.0 * entry for entry in row] for row in rows])
        gained.append([forward.inverse_times(forward.inverse, row) for row in rows])
    by_row = range(setting.robot.nv)
    return tuple(
        [[[row[i] for row in frame] for frame in frames] for i in by_row] for frames in (columns, gained)
    )


def force_regressor(setting: Setting, accelerations: Vector) -> list[list[list[Scalar]]]:
    """Return the joint forces (nv, frames, 10) by the parameters of the frames' links."""
    turning = Configuration(setting.robot, setting.task.coordinates, {})
    trip = turning.round_trip(setting.v, accelerations, setting.task.base)
    links = [
        regressor(setting.robot, turning.coordinates, trip, frame) for frame in chosen_frames(setting.robot)
    ]
    columns = [list(map(setting.coupling.gather, rows)) for rows in links]
    return [[[row[i] for row in rows] for rows in columns] for i in range(setting.robot.nv)]
