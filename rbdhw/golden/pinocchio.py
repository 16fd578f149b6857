"""The seven functions by Pinocchio, which reads the URDF file itself: an external reference.

Pinocchio is a dependency of the tests, not of the package, and is imported when it is first needed. In its
model every joint is independent. Joints are matched by name, and a constant ``G`` maps the robot's velocities
to the model's, which orders the joints differently. ``G`` also reduces mimics: ``G^T tau``, ``G^T M G``. For
inverse dynamics and the mass matrix, Pinocchio can reduce mimics itself, and its reduction is used.

:func:`rbdhw.robot.urdf.load_urdf` makes rotations exact if a file gives quarter turns with few digits. The
angles passed to Pinocchio are made exact in the same way; otherwise results would differ by the rounding.

Pinocchio's algorithms add the rotor inertia (``model.armature``), but no viscous friction
(``model.damping``). The forces of the friction, and their derivatives, are added here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import SYMMETRIC
from rbdhw.errors import InputError
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.document import read_document
from rbdhw.robot.model import Robot
from rbdhw.robot.pinocchio import PinocchioLayout
from rbdhw.robot.spatial import SNAP
from rbdhw.runtime.extras import check_installed

Array = NDArray[np.float64]
Arrays = dict[str, Array]


@dataclass(frozen=True)
class Reference:
    """A URDF file as Pinocchio reads it, and the robot read from the same file.

    In ``free`` all joints are independent. ``reduced`` has Pinocchio's own mimics; it is None if there are no
    mimics or Pinocchio does not support them. It does not support the rotors and the friction of mimics.
    """

    robot: Robot
    free: _Model
    reduced: _Model | None

    @staticmethod
    def available() -> None:
        """Raise InputError if Pinocchio is not installed."""
        _pinocchio()

    @classmethod
    def read(cls, path: str | os.PathLike[str], robot: Robot) -> Reference:
        """Read the reference of ``robot``, on a fixed or a floating base like the robot.

        Raises InputError if pinocchio is not installed, refuses the file, or finds other joints than the
        robot has.
        """
        model = _build_model(path, robot, mimic=False)
        joints = {body.joint.name for body in robot.bodies}
        differing = joints.symmetric_difference(list(model.names)[1:])
        if differing:
            reason = f"Pinocchio does not have the same joints ({', '.join(sorted(differing))})"
            raise InputError(os.fspath(path), reason, f"those of robot '{robot.name}'")
        free = _Model(model, robot)
        if not has_mimics(robot) or any((*robot.armature, *robot.damping)):
            return cls(robot, free, None)
        try:
            model = _build_model(path, robot, mimic=True)
        except InputError:
            return cls(robot, free, None)
        return cls(robot, free, _Model(model, robot, mimic=True))

    def evaluate(self, function: str, arrays: Mapping[str, Array]) -> Arrays:
        """Return the results (N, ...) of a function without external forces, in golden's arrays.

        See :func:`rbdhw.golden.evaluation.evaluate`.
        """
        drive = "tau" if FUNCTIONS[function].takes_force else "a"
        motion = (arrays["q"], arrays["v"], arrays[drive])
        tasks = [self._task(function, q, v, u) for q, v, u in zip(*motion, strict=True)]
        return {name: np.stack([task[name] for task in tasks]) for name in tasks[0]}

    def _task(self, function: str, q: Array, v: Array, u: Array) -> Arrays:
        if not has_mimics(self.robot):
            return self.free.task(function, q, v, u)
        if self.reduced is not None and function in ("id", "m"):
            return self.reduced.task(function, q, v, u)
        return self._reduced_task(function, q, v, u)

    def _reduced_task(self, function: str, q: Array, v: Array, u: Array) -> Arrays:
        """Evaluate one task with ``free``, reduced to the robot's coordinates, solving for accelerations."""
        M = self.free.task("m", q, v, u)["M"]
        if function in ("m", "minv"):
            return {"M": M} if function == "m" else {"Minv": _solve(M, np.eye(len(M)))}
        if FUNCTIONS[function].takes_force:
            u = _solve(M, u - self.free.task("id", q, v, np.zeros_like(v))["tau"])
        if function in ("id", "fd"):
            return self.free.task("id", q, v, u) if function == "id" else {"a": u}
        dtau = self.free.task("did", q, v, u)
        if function == "did":
            return dtau
        return {name.replace("dtau", "da"): -_solve(M, matrix) for name, matrix in dtau.items()}


def _solve(M: Array, right: Array) -> Array:
    return np.asarray(np.linalg.solve(M, right), np.float64)


def has_mimics(robot: Robot) -> bool:
    """Return whether any joint mimics another."""
    return any(body.joint.mimic is not None for body in robot.bodies)


class _Model:
    """A Pinocchio model, evaluated in the robot's coordinates."""

    def __init__(self, model: Any, robot: Robot, mimic: bool = False) -> None:
        self.model, self.robot = model, robot
        self._data = model.createData()
        self._layout = PinocchioLayout(robot, mimic, tuple(model.names)[1:])
        joints = {body.joint.name: body.joint for body in robot.bodies}
        drives = [joints[name] for name in self._layout.names or ()]
        armature = [x for joint in drives for x in joint.armature or (0.0,) * joint.kind.nv]
        damping = [x for joint in drives for x in joint.damping or (0.0,) * joint.kind.nv]
        model.armature[:] = 0.0 if mimic else armature
        model.damping[:] = 0.0 if mimic else damping  # Pinocchio reads others from the file

    def task(self, function: str, q: Array, v: Array, u: Array) -> Arrays:
        """Evaluate one task with Pinocchio's algorithm and reduce the results to the robot's coordinates."""
        results = compute_with_friction(self.model, self._data, function, *self.convert_task(q, v, u))
        return {name: self.reduce(array) for name, array in results.items()}

    def convert_task(self, q: Array, v: Array, u: Array) -> tuple[Array, Array, Array]:
        """Convert a task to Pinocchio's coordinates."""
        unit, convert = q.copy(), self._layout.pinocchio_velocity
        for body, span in zip(self.robot.bodies, self.robot.q_of, strict=True):
            if (part := body.joint.kind.quaternion) is not None:
                unit[span][part] /= np.linalg.norm(unit[span][part])
        return self._layout.pinocchio_configuration(unit), convert(v), convert(u)

    def reduce(self, array: Array) -> Array:
        """Return ``G^T x`` for a vector, ``G^T X G`` for a matrix."""
        return self._layout.force(array) if array.ndim == 1 else self._layout.matrix(array)


def compute(model: Any, data: Any, function: str, q: Array, v: Array, u: Array, *fext: Any) -> Arrays:
    """Return the results of one task by Pinocchio's algorithm, which adds armature but no friction.

    ``q``, ``v`` and ``u``, the acceleration or joint force that the function takes, are in Pinocchio's
    coordinates. ``fext`` is nothing, or Pinocchio's list of the external force at each joint.
    """
    results = _CALLS[function](_pinocchio(), model, data, q, v, u, *fext)
    named = zip(FUNCTIONS[function].outputs, results, strict=True)
    return {name: symmetric(array) if name in SYMMETRIC else array.copy() for name, array in named}


def compute_with_friction(
    model: Any, data: Any, function: str, q: Array, v: Array, u: Array, *fext: Any
) -> Arrays:
    """Return the same with the forces of viscous friction, ``model.damping``, or with their derivatives."""
    damping = model.damping
    if FUNCTIONS[function].takes_force:
        u = u - damping * v
    results = compute(model, data, function, q, v, u, *fext)
    if "tau" in results and "v" in FUNCTIONS[function].inputs:
        results["tau"] += damping * v
    if "dtau_dv" in results:
        results["dtau_dv"] += np.diag(damping)
    if "da_dv" in results and damping.any():
        results["da_dv"] -= _solve(compute(model, data, "m", q, v, u)["M"], np.diag(damping))
    return results


def _held_derivatives(
    pin: Any, model: Any, data: Any, q: Array, v: Array, a: Array, *fext: Any
) -> tuple[Array, ...]:
    """Return the derivatives of the acceleration at the forces that give ``a``."""
    tau = pin.rnea(model, data, q, v, a, *fext).copy()
    return tuple(pin.computeABADerivatives(model, data, q, v, tau, *fext)[:2])


_CALLS: dict[str, Callable[..., tuple[Array, ...]]] = {
    "id": lambda pin, *task: (pin.rnea(*task),),
    "fd": lambda pin, *task: (pin.aba(*task),),
    "m": lambda pin, *task: (pin.crba(*task[:3]),),
    "minv": lambda pin, *task: (pin.computeMinverse(*task[:3]),),
    "did": lambda pin, *task: pin.computeRNEADerivatives(*task)[:2],
    "dfd": lambda pin, *task: pin.computeABADerivatives(*task)[:2],
    "difd": _held_derivatives,
    "gravity": lambda pin, *task: (pin.computeGeneralizedGravity(*task[:3]),),
    "bias": lambda pin, model, data, q, v, _, *fext: (pin.rnea(model, data, q, v, 0.0 * v, *fext),),
}
"""Pinocchio's algorithms on ``model, data, q, v, a`` (or ``tau``) and, if any, the external forces.

The next call may overwrite results. These calls are the fastest of those compared: the conventions of ``aba``
and ``crba``, the inverse by the Cholesky factors, and derivatives of the acceleration as products with the
inverse.
"""


def symmetric(upper: Array) -> Array:
    """Return the symmetric matrix whose upper triangle Pinocchio computed."""
    return np.asarray(np.triu(upper) + np.triu(upper, 1).T)


def _with_exact_quarters(path: str | os.PathLike[str]) -> ET.Element:
    """Parse the URDF and make angles within :data:`rbdhw.robot.spatial.SNAP` of quarter turns exact."""
    root = read_document(path).root  # which takes prefixes that are bound to nothing
    for origin in root.iter("origin"):
        if "rpy" in origin.attrib:
            angles = (float(angle) for angle in origin.attrib["rpy"].split())
            origin.set("rpy", " ".join(repr(_exact_quarter(angle)) for angle in angles))
    return root


def _exact_quarter(angle: float) -> float:
    exact = round(angle / (math.pi / 2)) * (math.pi / 2)
    return exact if abs(angle - exact) < SNAP else angle


def _build_model(path: str | os.PathLike[str], robot: Robot, mimic: bool) -> Any:
    pin = _pinocchio()
    urdf = _with_exact_quarters(path)
    named = {joint.get("name") for joint in urdf.iter("joint")}
    freed = robot.floats and robot.bodies[0].joint.name not in named  # by no joint of the file
    root = (pin.JointModelFreeFlyer(), robot.bodies[0].joint.name) if freed else ()
    text = ET.tostring(urdf, encoding="unicode")
    try:
        model = pin.buildModelFromXML(text, *root, mimic=mimic)
    except ValueError as error:
        raise InputError(os.fspath(path), f"refused by Pinocchio ({error})") from error
    model.gravity.linear = np.array(robot.gravity)
    return model


def _pinocchio() -> Any:
    check_installed("pinocchio")
    import pinocchio

    return pinocchio
