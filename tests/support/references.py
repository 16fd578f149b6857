"""The functions that Pinocchio has, by Pinocchio, for any robot, including mimics and a given base motion."""

from dataclasses import replace

import numpy as np
import pinocchio as pin

from rbdhw import golden
from rbdhw.golden.pinocchio import compute_with_friction
from rbdhw.protocol import DEFAULT_FUNCTIONS, FUNCTIONS, WHOLE_BODY
from rbdhw.robot.model import JointKind, Robot
from tests.support.oracle import pinocchio_model, to_pinocchio_fext, to_pinocchio_q, velocity_map
from tests.support.strategies import random_states

Arrays = dict[str, np.ndarray]

TOLERANCE = 1e-9
"""The tolerance of golden's results relative to Pinocchio's, in the Frobenius norm of a task's array."""

DERIVATIVES = ("did", "dfd", "difd", "dcentroidal")
"""The functions for which universal joints are split in two: Pinocchio's derivatives leave out that the
second axis turns."""

OF_PINOCCHIO = (*DEFAULT_FUNCTIONS, "gravity", "bias", *WHOLE_BODY)
"""The functions that are calls of Pinocchio's."""


def assert_golden_is_pinocchio(robot: Robot, seed: int = 0, tasks: int = 2) -> None:
    """Check that Pinocchio's functions agree for random states under external forces."""
    arrays = random_states(robot, tasks, seed)
    for function in OF_PINOCCHIO:
        whole = function in WHOLE_BODY
        results = golden.evaluate(robot, function, arrays, extended=whole)
        assert_close(results, references(robot, function, arrays, extended=whole))


def assert_close(actual: Arrays, expected: Arrays) -> None:
    """Check equal names and, task by task, equality within the tolerance in the Frobenius norm."""
    assert actual.keys() == expected.keys()
    for name in expected:
        assert actual[name].shape == expected[name].shape
        axes = tuple(range(1, expected[name].ndim))
        error = np.sqrt(np.sum((actual[name] - expected[name]) ** 2, axis=axes))
        norm = np.sqrt(np.sum(expected[name] ** 2, axis=axes))
        assert np.all(error <= TOLERANCE * norm + 1e-12), f"{name}: error {error} of {norm}"


def references(robot: Robot, function: str, arrays: Arrays, extended: bool = False) -> Arrays:
    """Return Pinocchio's results on the model built joint by joint from ``robot``; arrays as for golden."""
    split = function in DERIVATIVES and any(b.joint.kind is JointKind.UNIVERSAL for b in robot.bodies)
    bound = robot.base_given or any(body.joint.mimic for body in robot.bodies)
    if function in WHOLE_BODY:
        tasks = _tasks(robot, function, arrays)
        results = stacked([_whole_body(robot, function, task, split) for task in tasks])
        return {
            name: results[name]
            for name in FUNCTIONS[function].outputs + extended * FUNCTIONS[function].optional_outputs
        }
    return stacked(
        [
            _reduced(robot, function, task, split) if bound else _task(robot, function, task, split)
            for task in _tasks(robot, function, arrays)
        ]
    )


def stacked(results: list[Arrays]) -> Arrays:
    """Return the results of single tasks as arrays over all tasks."""
    return {name: np.stack([result[name] for result in results]) for name in results[0]}


def _whole_body(robot: Robot, function: str, task: Arrays, split: bool) -> Arrays:
    """Return one task's energy, centre of mass or centroidal momentum."""
    model = pinocchio_model(replace(robot, gravity=tuple(task["gravity"])), split)
    data, G, base = model.createData(), velocity_map(robot), np.zeros((2, model.nv))
    if robot.base_given:
        base[:, :6] = task["base_v"], task["base_a"]
    q, v = to_pinocchio_q(robot, task["q"]), G @ task["v"] + base[0]
    if function == "energy":
        rotors, model.armature = 0.5 * model.armature @ v**2, 0.0 * model.armature
        # Pinocchio leaves out the rotors of some joints of several degrees of freedom.
        kinetic = pin.computeKineticEnergy(model, data, q, v) + rotors
        return {"kinetic": kinetic, "potential": pin.computePotentialEnergy(model, data, q)}
    if function == "com":
        pin.centerOfMass(model, data, q, v, base[1])
        motion = {"com": data.com[0], "com_velocity": data.vcom[0], "dJ_com_v": data.acom[0]}
        return {name: x.copy() for name, x in motion.items()} | {
            "J_com": pin.jacobianCenterOfMass(model, data, q) @ G
        }
    if function == "dcentroidal":
        a = G @ task["u"] + base[1]
        slopes = [part @ G for part in pin.computeCentroidalDynamicsDerivatives(model, data, q, v, a)]
        rate = pin.computeCentroidalMomentumTimeVariation(model, data, q, v, a).vector.copy()
        return dict(zip(("dh_dq", "dhdot_dq", "dhdot_dv", "A_g"), slopes, strict=True)) | {"hdot_g": rate}
    rate = pin.computeCentroidalMomentumTimeVariation(model, data, q, v, base[1]).vector.copy()
    pin.ccrba(model, data, q, v)
    return {"h_g": data.hg.vector.copy(), "A_g": data.Ag @ G, "dA_g_v": rate}


def reference(model: pin.Model, function: str, q, v, u, fext: pin.StdVec_Force) -> Arrays:
    """Return one task by Pinocchio; ``u`` is the torque for fd and dfd, else the acceleration."""
    return compute_with_friction(model, model.createData(), function, q, v, u, fext)


def _tasks(robot: Robot, function: str, arrays: Arrays) -> list[Arrays]:
    """Return each task's arrays, with zeros for missing forces; ``u`` is the input that drives the joints."""
    count = len(arrays["q"])
    still = {"v": (robot.nv,), "fext": (len(robot.bodies), 6), "base_v": (6,), "base_a": (6,)}
    given = {name: np.zeros((count, *shape)) for name, shape in still.items()}
    given |= {"gravity": np.tile(robot.gravity, (count, 1)), "u": given["v"]}
    drive = "tau" if FUNCTIONS[function].takes_force else "a"
    for name in (*golden.inputs_of(robot, function), "fext"):
        if name in arrays:
            given["u" if name == drive else name] = np.asarray(arrays[name])
    return [{name: array[k] for name, array in given.items()} for k in range(count)]


def _task(robot: Robot, function: str, task: Arrays, split: bool) -> Arrays:
    """Return one task of a robot without mimics and with a fixed or floating base."""
    model = pinocchio_model(replace(robot, gravity=tuple(task["gravity"])), split)
    fext = to_pinocchio_fext(robot, task["fext"], split)
    return reference(model, function, to_pinocchio_q(robot, task["q"]), task["v"], task["u"], fext)


def _reduced(robot: Robot, function: str, task: Arrays, split: bool) -> Arrays:
    """Return one task of a robot with mimics or a given base, reduced from Pinocchio's for all joints."""
    model = pinocchio_model(replace(robot, gravity=tuple(task["gravity"])), split)
    G, base = velocity_map(robot), np.zeros((2, model.nv))
    if robot.base_given:
        base[:, :6] = task["base_v"], task["base_a"]
    q, v = to_pinocchio_q(robot, task["q"]), G @ task["v"] + base[0]
    fext = to_pinocchio_fext(robot, task["fext"], split)

    def by_acceleration(function: str, a: np.ndarray) -> Arrays:
        return reference(model, function, q, v, G @ a + base[1], fext)

    M = G.T @ reference(model, "m", q, v, v, fext)["M"] @ G
    if function in ("m", "minv"):
        return {"M": M} if function == "m" else {"Minv": np.linalg.inv(M)}
    if function == "gravity":
        return {"tau": G.T @ reference(model, function, q, v, v, fext)["tau"]}
    a = 0.0 * task["v"] if function == "bias" else task["u"]
    if function in ("fd", "dfd"):
        a = np.linalg.solve(M, a - G.T @ by_acceleration("id", np.zeros(robot.nv))["tau"])
    if function in ("id", "bias", "fd"):
        return {"a": a} if function == "fd" else {"tau": G.T @ by_acceleration("id", a)["tau"]}
    dtau = {name: G.T @ matrix @ G for name, matrix in by_acceleration("did", a).items()}
    if function == "did":
        return dtau
    return {name.replace("dtau", "da"): -np.linalg.solve(M, matrix) for name, matrix in dtau.items()}
