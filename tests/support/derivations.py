"""Every function by Pinocchio, or derived from its results without the golden model: for one small robot.

The robot has one joint of one degree of freedom after the other, so that positions add up.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pinocchio as pin

from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.link_frames import chosen_frames
from rbdhw.robot.model import Robot
from tests.support.contacts import constrained
from tests.support.oracle import pinocchio_joints, pinocchio_model, placement_in_joint, to_pinocchio_q
from tests.support.references import Arrays, references

STEP = 1e-5
"""The step of central differences, whose errors are some 1e-10 of a result."""

Derivation = Callable[[Robot, str, Arrays], Arrays]


def derived(robot: Robot, function: str, arrays: Arrays) -> Arrays:
    """Return the regular results of a function: derived, or else by Pinocchio; KeyError if it lacks them."""
    return DERIVATIONS.get(function, references)(robot, function, arrays)


def _by(name: str, results: Callable[[Arrays], np.ndarray], arrays: Arrays) -> np.ndarray:
    """Return the derivatives of an array by an input, whose index is the last."""
    columns = []
    for shift in STEP * np.eye(arrays[name].shape[1]):
        after, before = (results(arrays | {name: arrays[name] + step}) for step in (shift, -shift))
        columns.append((after - before) / (2.0 * STEP))
    return np.stack(columns, axis=-1)


def _second(robot: Robot, function: str, arrays: Arrays) -> Arrays:
    first, matrix, x, M = ("did", "m", "tau", "M") if function == "sid" else ("dfd", "minv", "a", "Minv")

    def result(name: str, array: str) -> Callable[[Arrays], np.ndarray]:
        return lambda tasks: references(robot, name, tasks)[array]

    return {
        f"d2{x}_dqdq": _by("q", result(first, f"d{x}_dq"), arrays),
        f"d2{x}_dqdv": _by("v", result(first, f"d{x}_dq"), arrays),
        f"d2{x}_dvdv": _by("v", result(first, f"d{x}_dv"), arrays),
        f"d{M}_dq": _by("q", result(matrix, M), arrays),
    }


def _contracted(robot: Robot, function: str, arrays: Arrays) -> Arrays:
    tensor, weights, u = ("sid", "lambda_tau", "a") if function == "hid" else ("sfd", "lambda_a", "tau")
    qq, qv, vv, matrix = (
        np.einsum("ti,tijk->tjk", arrays[weights], derivative)
        for derivative in _second(robot, tensor, arrays).values()
    )
    return {"H_qq": qq, "H_qv": qv, "H_vv": vv, f"H_q{u}": matrix.swapaxes(1, 2)}


def _frames(robot: Robot, function: str, arrays: Arrays) -> Arrays:
    model, joints = pinocchio_model(robot), pinocchio_joints(robot)
    added = [
        model.addFrame(
            pin.Frame(f"own {k}", joints[frame.body], 0, placement_in_joint(robot, frame), pin.OP_FRAME)
        )
        for k, frame in enumerate(chosen_frames(robot))
    ]
    data, tasks = model.createData(), []
    for q, v in zip(arrays["q"], arrays["v"], strict=True):
        pin.forwardKinematics(model, data, to_pinocchio_q(robot, q), v)
        pin.computeJointJacobians(model, data)
        pin.updateFramePlacements(model, data)
        poses = [data.oMf[frame].homogeneous.copy() for frame in added]
        jacobians = [pin.getFrameJacobian(model, data, frame, pin.LOCAL) for frame in added]
        velocities = [pin.getFrameVelocity(model, data, frame, pin.LOCAL).vector for frame in added]
        tasks.append((poses, jacobians, velocities))
    results = dict(zip(("placement", "J", "velocity"), map(np.array, zip(*tasks, strict=True)), strict=True))
    results["position"] = results["placement"][..., :3, 3]
    return {name: results[name] for name in FUNCTIONS[function].outputs}


def _pushes(robot: Robot, _function: str, arrays: Arrays) -> Arrays:
    """Return the derivatives by forces on frames from their Jacobians and the inverse of the mass matrix."""
    columns = _frames(robot, "kin", arrays)["J"].transpose(0, 3, 1, 2)
    Minv = references(robot, "minv", arrays)["Minv"]
    return {"dtau_dfext": -columns, "da_dfext": np.einsum("tij,tjfk->tifk", Minv, columns)}


def _clearances(robot: Robot, _function: str, arrays: Arrays) -> Arrays:
    on_links = [sphere.frame for sphere in robot.spheres if sphere.frame.body]

    def values(tasks: Arrays) -> np.ndarray:
        positions = _frames(replace(robot, frames=tuple(on_links)), "position", tasks)["position"]
        at = iter(positions.swapaxes(0, 1))
        fixed = np.ones((len(positions), 1))
        centres = [
            next(at) if sphere.frame.body else fixed * sphere.frame.placement.translation
            for sphere in robot.spheres
        ]
        radii = [sphere.radius for sphere in robot.spheres]
        squares = [((centres[i] - centres[j]) ** 2).sum(axis=1) for i, j in robot.pairs]
        return np.stack(squares, axis=1) - [(radii[i] + radii[j]) ** 2 for i, j in robot.pairs]

    return {"clearance": values(arrays), "dclearance_dq": _by("q", values, arrays)}


def _regressor(robot: Robot, _function: str, arrays: Arrays) -> Arrays:
    """Return the columns from the joint forces of ten random bodies, each alone at the frame."""
    joints, rng = pinocchio_joints(robot), np.random.default_rng(0)
    columns = []
    for frame in chosen_frames(robot):
        placed, parameters, forces = placement_in_joint(robot, frame), [], []
        for _ in range(10):
            inertia, model = pin.Inertia.Random(), pinocchio_model(robot)
            inertia.lever = rng.uniform(-1.0, 1.0, 3)
            for k in range(model.njoints):
                model.inertias[k] = pin.Inertia.Zero()
            model.inertias[joints[frame.body]] = placed.act(inertia)
            model.armature[:] = 0.0
            parameters.append(inertia.toDynamicParameters())
            data = model.createData()
            tasks = zip(arrays["q"], arrays["v"], arrays["a"], strict=True)
            forces.append([pin.rnea(model, data, to_pinocchio_q(robot, q), v, a) for q, v, a in tasks])
        columns.append(np.moveaxis(np.array(forces), 0, -1) @ np.linalg.inv(np.array(parameters).T))
    return {"Y": np.stack(columns, axis=2)}


def _step(robot: Robot, function: str, arrays: Arrays) -> Arrays:
    """Return the next state, and for ``dstep``, ``drk4`` and ``dcstep`` its derivatives."""
    h, n = arrays["h"][:, np.newaxis], robot.nv

    def rates(tasks: Arrays, x: np.ndarray) -> np.ndarray:
        state = {"q": x[:, :n], "v": x[:, n:]}
        forward, results = ("cfd", constrained) if "contact" in tasks else ("fd", references)
        return np.hstack([x[:, n:], results(robot, forward, tasks | state)["a"]])

    def follow(tasks: Arrays) -> np.ndarray:
        x = np.hstack([tasks["q"], tasks["v"]])
        k1 = rates(tasks, x)
        if function not in ("rk4", "drk4"):
            v = tasks["v"] + h * k1[:, n:]
            return np.hstack([tasks["q"] + h * v, v])
        k2 = rates(tasks, x + h / 2 * k1)
        k3 = rates(tasks, x + h / 2 * k2)
        k4 = rates(tasks, x + h * k3)
        return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    results = {"x_next": follow(arrays)}
    behind = arrays | {"q": results["x_next"][:, :n]}
    differentiated = function in ("dstep", "drk4", "dcstep")
    if differentiated:
        results["A"] = np.concatenate([_by(name, follow, arrays) for name in ("q", "v")], axis=-1)
        results["B"] = _by("tau", follow, arrays)
    if robot.tracks:
        name, of = ("J_next", partial(_by, "q")) if differentiated else ("p_next", lambda f, x: f(x))
        results[name] = of(lambda tasks: _frames(robot, "position", tasks)["position"], behind)
    return results


DERIVATIONS: Mapping[str, Derivation] = {
    **dict.fromkeys(("sid", "sfd"), _second),
    **dict.fromkeys(("hid", "hfd"), _contracted),
    **dict.fromkeys(("kin", "pose", "position"), _frames),
    "regressor": _regressor,
    "dfext": _pushes,
    "clearance": _clearances,
    **dict.fromkeys(("cfd", "impulse", "dcfd", "cinertia"), constrained),
    **dict.fromkeys(("step", "dstep", "rk4", "drk4", "cstep", "dcstep"), _step),
}
