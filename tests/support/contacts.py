"""Robots with random contacts, and Pinocchio's constrained dynamics."""

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.link_frames import closing_frame, contact_frames
from rbdhw.robot.model import BASE, CONTACT_KINDS, Contact, Contacts, Frame, Placement, Robot
from tests.support.oracle import (
    pinocchio_joints,
    pinocchio_model,
    placement_in_joint,
    se3,
    to_pinocchio_fext,
    to_pinocchio_q,
)
from tests.support.strategies import random_rotation

Arrays = dict[str, np.ndarray]

HELD = Contacts(damping=1e-2, velocity_gain=3.0, restitution=0.4)
"""Numbers of contacts all of which have an effect."""


def with_contacts(robot: Robot, count: int, axes: str, seed: int = 0, numbers: Contacts = HELD) -> Robot:
    """Return the robot with contacts at random frames of some of its bodies, of random kinds."""
    rng = np.random.default_rng(seed)
    places = []
    for k, i in enumerate(rng.integers(len(robot.bodies), size=count)):
        x, y, z = rng.uniform(-0.3, 0.3, 3).tolist()
        frame = Frame(f"contact {k}", robot.bodies[i].name, Placement(random_rotation(rng), (x, y, z)))
        places.append(Contact(frame, str(rng.choice(list(CONTACT_KINDS)))))
    return replace(robot, contacts=replace(numbers, places=tuple(places), axes=axes))


def constrained(robot: Robot, function: str, arrays: Arrays) -> Arrays:
    """Return the regular results of a function with contacts by Pinocchio, for robots without mimics.

    Its derivatives along the world's axes leave out what damping adds.
    """
    tasks = [{name: array[k] for name, array in arrays.items()} for k in range(len(arrays["q"]))]
    results = [_constrained(robot, function, task) for task in tasks]
    return {name: np.stack([result[name] for result in results]) for name in results[0]}


def _constrained(robot: Robot, function: str, task: Arrays) -> Arrays:
    model, numbers = pinocchio_model(robot), robot.contacts
    present = np.flatnonzero(task["contact"])
    constraints = _constraints(robot, model, present)
    datas = [constraint.createData() for constraint in constraints]
    data, settings = model.createData(), pin.ProximalSettings(1e-14, numbers.damping, 1)
    pin.initConstraintDynamics(model, data, constraints, datas)
    q, v = to_pinocchio_q(robot, task["q"]), task["v"]
    external, by_position = _external(robot, model, q, task["fext"])
    tau = task["tau"] + external - model.damping * v
    if function == "impulse":
        after = pin.impulseDynamics(model, data, q, v, constraints, datas, numbers.restitution, settings)
        return {"v_after": after.copy(), "contact_impulse": _forces(robot, present, datas)}
    a = pin.constraintDynamics(model, data, q, v, tau, constraints, datas, settings).copy()
    if function == "cinertia":
        factors = pin.ContactCholeskyDecomposition(model, data, constraints, datas)
        factors.compute(model, data, constraints, datas, numbers.damping)
        return {"contact_inertia": _inertia(robot, present, factors)}
    if function == "dcfd":
        slopes = pin.computeConstraintDynamicsDerivatives(model, data, constraints, datas, settings)
        by = dict(zip(FUNCTIONS[function].outputs, map(np.copy, slopes), strict=False))
        by["da_dq"] += by["da_dtau"] @ by_position
        by["da_dv"] -= by["da_dtau"] * model.damping
        return by
    return {"a": a, "contact_force": _forces(robot, present, datas)}


def _inertia(robot: Robot, present: np.ndarray, factors: Any) -> np.ndarray:
    """Return the inertia over six rows of each contact, with zeros for those that are not there."""
    rows = [6 * k + np.arange(robot.contacts.places[k].rows) for k in present]
    chosen = np.concatenate([np.zeros(0, int), *rows])
    inertia = np.zeros(2 * (6 * len(robot.contacts.places),))
    inertia[np.ix_(chosen, chosen)] = factors.getOperationalSpaceInertiaMatrix()
    return inertia


def _forces(robot: Robot, present: np.ndarray, datas: list[pin.RigidConstraintData]) -> np.ndarray:
    forces = np.zeros((len(robot.contacts.places), 6))
    for k, one in zip(present, datas, strict=True):
        forces[k] = one.contact_force.vector
    return forces


def _constraints(robot: Robot, model: pin.Model, present: np.ndarray) -> list[pin.RigidConstraintModel]:
    joints, frames = pinocchio_joints(robot), contact_frames(robot)
    axes = pin.LOCAL if robot.contacts.axes == "local" else pin.LOCAL_WORLD_ALIGNED
    constraints = []
    for k in present:
        surface = robot.contacts.places[k].kind == "surface"
        kind = pin.ContactType.CONTACT_6D if surface else pin.ContactType.CONTACT_3D
        ends = [(joints[frames[k].body], placement_in_joint(robot, frames[k]))]
        loop = robot.contacts.places[k].closes is not None
        if loop:
            other = closing_frame(robot, robot.contacts.places[k])
            at_base = other.body == BASE
            placed = se3(other.placement) if at_base else placement_in_joint(robot, other)
            ends.append((int(robot.base_given) if at_base else joints[other.body], placed))
        (joint, placed), *others = ends
        frame = pin.LOCAL if loop else axes
        constraint = pin.RigidConstraintModel(
            kind, model, joint, placed, *(part for end in others for part in end), frame
        )
        constraint.m_baumgarte_parameters.Kd = robot.contacts.velocity_gain
        constraint.m_baumgarte_parameters.Kp = robot.contacts.position_gain if loop else 0.0
        constraints.append(constraint)
    return constraints


def _external(
    robot: Robot, model: pin.Model, q: np.ndarray, fext: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the joint forces of external forces, and their derivatives by position."""
    data, still, results = model.createData(), np.zeros((2, model.nv)), []
    for wrenches in (np.zeros_like(fext), fext):
        force = to_pinocchio_fext(robot, wrenches)
        tau = pin.rnea(model, data, q, *still, force).copy()
        results.append((tau, pin.computeRNEADerivatives(model, data, q, *still, force)[0].copy()))
    (without, slope), (pushed, changed) = results
    return without - pushed, slope - changed
