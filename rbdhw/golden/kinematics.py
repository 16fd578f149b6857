"""The kinematics of frames by transforms from the world to each frame, and derivatives by the complex step.

Twists are ``[linear; angular]``, in a frame's own axes or in the world's. The acceleration is the spatial
one, without gravity. Derivatives by the configuration hold the point of space at which a twist is taken, as
Pinocchio's do: in the world's axes, a twist at the world's origin is differentiated, then moved to the point.

Source: Featherstone, *Rigid Body Dynamics Algorithms*, chapter 2.
"""

from __future__ import annotations

import numpy as np

from rbdhw.errors import InputError
from rbdhw.golden.complex_step import by_position, by_velocity
from rbdhw.golden.spatial import Array, motion_cross, transform
from rbdhw.golden.system import Link, System, system
from rbdhw.golden.tasks import Tasks
from rbdhw.robot.model import BASE, Frame, Robot, Sphere


def kinematics(robot: Robot, model: System, tasks: Tasks) -> dict[str, Array]:
    """Return all results of ``kin`` for N tasks, with optional ones; the second axis is that of frames.

    Raises InputError if the robot has no chosen frames.
    """
    if not robot.frames:
        raise InputError(f"robot '{robot.name}'", "no frames are chosen", "some for kin")
    frames = [_frame(robot, model, frame, tasks) for frame in robot.frames]
    return {name: np.stack([frame[name] for frame in frames], axis=1) for name in frames[0]}


def _frame(robot: Robot, model: System, frame: Frame, tasks: Tasks) -> dict[str, Array]:
    in_world = robot.frame_axes == "world"
    X, jacobian, v, a = frame_motion(model, robot, frame, tasks)
    axes = level(X) if in_world else np.eye(6)
    way, last = _way_to(model, robot, frame)

    def twists(states: Tasks) -> dict[str, Array]:
        moved, velocity, acceleration = _twist(model, way, last, _steps(way, states), states)
        back = np.linalg.inv(moved) if in_world else np.eye(6)
        return {"v": back @ velocity, "a": back @ acceleration}

    held = axes @ X if in_world else np.eye(6)
    moved, pushed = by_position(robot, twists, tasks), by_velocity(robot, twists, tasks)
    return {
        "placement": _pose(X),
        "J": linear_first(axes @ jacobian @ model.G),
        "velocity": linear_first(axes @ v)[..., 0],
        "acceleration": linear_first(axes @ a)[..., 0],
        "dv_dq": linear_first(held @ moved["v"][:, :, 0]),
        "da_dq": linear_first(held @ moved["a"][:, :, 0]),
        "da_dv": linear_first(held @ pushed["a"][:, :, 0]),
    }


def placed_frame(robot: Robot, model: System, frame: Frame) -> tuple[int, Array]:
    """Return the index of the link to which a frame is fixed, and X (6, 6) from the link to the frame."""
    end = next(i for i, link in enumerate(model.links) if _name(robot, link) == frame.body)
    return end, _into(frame) @ model.links[end].X_link


def _into(frame: Frame) -> Array:
    """Return X (6, 6) from the link that carries a frame to the frame."""
    return transform(np.array(frame.placement.rotation).T, np.array(frame.placement.translation))


def frame_motion(
    model: System, robot: Robot, frame: Frame, tasks: Tasks
) -> tuple[Array, Array, Array, Array]:
    """Return X from the world to the frame, and in its axes J (N, 6, all links), v and a (N, 6, 1)."""
    return _motion(model, *_way_to(model, robot, frame), tasks)


def loop_motions(
    model: System, robot: Robot, frames: tuple[Frame, Frame], tasks: Tasks
) -> list[tuple[Array, Array, Array, Array]]:
    """Return the motions of two frames as :func:`frame_motion`, seen from what carries both."""
    ways: list[list[Link]] = []
    lasts = []
    for frame in frames:
        end, last = placed_frame(robot, model, frame) if frame.body else (BASE, _into(frame))
        ways.append([] if end == BASE else _way(model, model.links[end]))
        lasts.append(last)
    common = sum(one is other for one, other in zip(*ways, strict=False))
    still = {**tasks, "base_v": 0.0 * tasks["base_v"], "base_a": 0.0 * tasks["base_a"]}
    return [_motion(model, way[common:], last, still) for way, last in zip(ways, lasts, strict=True)]


def _motion(model: System, way: list[Link], last: Array, tasks: Tasks) -> tuple[Array, Array, Array, Array]:
    """Return what :func:`frame_motion` does, along a way of links."""
    steps = _steps(way, tasks)
    jacobian = np.zeros((len(tasks["q"]), 6, len(model.G)), tasks["q"].dtype)
    for link, step in zip(way, steps, strict=True):
        jacobian = step @ jacobian
        jacobian[:, :, link.v] += link.S
    X, v, a = _twist(model, way, last, steps, tasks)
    return X, last @ jacobian, v, a


def _steps(way: list[Link], tasks: Tasks) -> list[Array]:
    """Return the transform (N, 6, 6) into each link of a way from the one before."""
    return [link.X(tasks["q"]) for link in way]


def _twist(
    model: System, way: list[Link], last: Array, steps: list[Array], tasks: Tasks
) -> tuple[Array, Array, Array]:
    """Return X, v and a of :func:`frame_motion`, along a way of links."""
    rates, accelerations = ((tasks[name] @ model.G.T)[..., np.newaxis] for name in ("v", "a"))
    v, a = (np.roll(tasks[name], 3, axis=1)[..., np.newaxis] for name in ("base_v", "base_a"))
    X = np.broadcast_to(np.eye(6), (len(v), 6, 6))
    for link, step in zip(way, steps, strict=True):
        joint_velocity = link.S @ rates[:, link.v]
        X, v = step @ X, step @ v + joint_velocity
        a = step @ a + link.S @ accelerations[:, link.v] + motion_cross(v) @ joint_velocity
    return last @ X, last @ v, last @ a


def placements(robot: Robot, q: Array) -> Array:
    """Return the placements (N, frames, 4, 4) of the robot's frames at configurations, real or complex."""
    model, still = system(robot), still_tasks(robot, q)
    return np.stack([_pose(frame_motion(model, robot, frame, still)[0]) for frame in robot.frames], axis=1)


def still_tasks(robot: Robot, q: Array) -> Tasks:
    """Return the tasks of a robot at rest at configurations (N, nq)."""
    nothing = {name: np.zeros((len(q), robot.nv)) for name in ("v", "a")}
    return nothing | {"q": q} | {name: np.zeros((len(q), 6)) for name in ("base_v", "base_a")}


def positions(robot: Robot, q: Array) -> dict[str, Array]:
    """Return the results of ``position``: those of the frames in the world, and their Jacobians."""
    model, still = system(robot), still_tasks(robot, q)
    motions = [frame_motion(model, robot, frame, still)[:2] for frame in robot.frames]
    rows = [(level(X) @ jacobian @ model.G)[:, 3:] for X, jacobian in motions]
    origins = np.stack([origin(X) for X, _ in motions], axis=1)
    return {"position": origins, "J_position": np.stack(rows, axis=1)}


def frame_jacobians(robot: Robot, model: System, tasks: Tasks) -> Array:
    """Return the Jacobians (N, frames, 6, nv) of the robot's frames, as those of ``kin``."""
    jacobians = []
    for frame in robot.frames:
        X, jacobian, _, _ = frame_motion(model, robot, frame, still_tasks(robot, tasks["q"]))
        axes = level(X) if robot.frame_axes == "world" else np.eye(6)
        jacobians.append(linear_first(axes @ jacobian @ model.G))
    return np.stack(jacobians, axis=1)


def clearances(robot: Robot, tasks: Tasks) -> dict[str, Array]:
    """Return the results of ``clearance``: squared distances of spheres, and derivatives by complex steps.

    Raises InputError if the robot has no pairs of spheres.
    """
    if not robot.pairs:
        raise InputError(f"robot '{robot.name}'", "no spheres are chosen", "some for clearance")
    model = system(robot)

    def centre(sphere: Sphere, q: Array) -> Array:
        if not sphere.frame.body:
            return np.tile(sphere.frame.placement.translation, (len(q), 1))
        return origin(frame_motion(model, robot, sphere.frame, still_tasks(robot, q))[0])

    def results(states: Tasks) -> dict[str, Array]:
        centres = [centre(sphere, states["q"]) for sphere in robot.spheres]
        radii = [sphere.radius for sphere in robot.spheres]
        values = [
            np.sum((centres[i] - centres[j]) ** 2, axis=1) - (radii[i] + radii[j]) ** 2
            for i, j in robot.pairs
        ]
        return {"clearance": np.stack(values, axis=1)}

    slopes = by_position(robot, results, tasks)["clearance"]
    return results(tasks) | {"dclearance_dq": slopes}


def _pose(X: Array) -> Array:
    """Return the homogeneous matrix of the pose of the frame into which X transforms."""
    pose = np.zeros((len(X), 4, 4), X.dtype)
    pose[:, :3, :3], pose[:, 3, 3] = X[:, :3, :3].swapaxes(1, 2), 1.0
    pose[:, :3, 3] = origin(X)
    return pose


def _name(robot: Robot, link: Link) -> str | None:
    return None if link.body is None else robot.bodies[link.body].name


def _way_to(model: System, robot: Robot, frame: Frame) -> tuple[list[Link], Array]:
    """Return the links from the world to a frame, and X (6, 6) from the last of them to the frame."""
    end, last = placed_frame(robot, model, frame)
    return _way(model, model.links[end]), last


def _way(model: System, link: Link) -> list[Link]:
    way = [link]
    while way[0].parent != BASE:
        way.insert(0, model.links[way[0].parent])
    return way


def level(X: Array) -> Array:
    """Return the transform that turns twists in the axes of a frame into the world's, at the same origin."""
    return transform(X[:, :3, :3].swapaxes(1, 2), np.zeros(3))


def origin(X: Array) -> Array:
    """Return the origin (N, 3) of the frame into which X transforms: X's lower left block is ``-E r x``."""
    cross = -X[:, :3, :3].swapaxes(1, 2) @ X[:, 3:, :3]
    return np.stack([cross[:, 2, 1], cross[:, 0, 2], cross[:, 1, 0]], axis=1)


def linear_first(columns: Array) -> Array:
    """Return twists (N, 6, k), ``[angular; linear]``, with the linear part first."""
    return np.concatenate([columns[:, 3:], columns[:, :3]], axis=1)
