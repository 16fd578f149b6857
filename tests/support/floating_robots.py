"""Robots on a floating base, and the poses of their links."""

from dataclasses import replace

import numpy as np
import pinocchio as pin

from rbdhw.robot.model import BASE, JointKind, Placement
from rbdhw.robot.reroot import REVERSIBLE
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.mechanisms import mechanism, random_parents, with_mimic
from tests.support.oracle import pinocchio_joints, pinocchio_model, se3, to_pinocchio_q


def floating(name):
    return load_urdf(path(name)).with_floating_base()


def two_legs():
    """Return a floating body with two links."""
    robot = mechanism([JointKind.REVOLUTE] * 2, [BASE, BASE], 7)
    bodies = [replace(body, link_frame=Placement()) for body in robot.bodies]
    return robot.with_bodies(bodies).with_floating_base()


def shoulder():
    """Return a link with a spherical joint behind one that turns."""
    return mechanism([JointKind.REVOLUTE, JointKind.SPHERICAL], [BASE, 0], 4)


def random_tree(seed, bodies=7):
    """Return a floating robot of reversible joints, one of them a mimic if two or more have one freedom."""
    rng = np.random.default_rng(seed)
    kinds = [REVERSIBLE[k] for k in rng.integers(len(REVERSIBLE), size=bodies)]
    kinds[0] = JointKind.REVOLUTE
    robot = mechanism(kinds, random_parents(len(kinds), rng), seed)
    single = [i for i in range(1, len(kinds)) if kinds[i].nv == 1]
    if single:
        robot = with_mimic(robot, int(rng.choice(single)), 0, 0.7, 0.2)
    linked = [replace(body, link_frame=Placement()) for body in robot.bodies]
    return robot.with_bodies(linked).with_floating_base()


def link_poses(robot, q):
    """Return the pose of every link in the world, computed by Pinocchio."""
    model = pinocchio_model(robot)
    data = model.createData()
    pin.forwardKinematics(model, data, to_pinocchio_q(robot, q))
    return {
        body.name: data.oMi[joint] * se3(body.link_frame)
        for body, joint in zip(robot.bodies, pinocchio_joints(robot), strict=True)
    }
