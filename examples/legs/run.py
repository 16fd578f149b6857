"""A quadruped stands under pushes, or trots: by a KKT system of the host, or by plans with contacts."""

import argparse
from pathlib import Path

import numpy as np
import pinocchio as pin

from examples.closed_loop import ENGINES, Link, Robot, panels, run
from examples.legs.plan import KNOTS, Gait, Planner

H = 0.002  # the period of the loop, in s
LEGS = ("lf", "lh", "rf", "rh")
PAIRS = np.array([0, 1, 1, 0])  # the diagonal to which a leg belongs
FOOT = "{}_lowerleg@0.346:0:0"  # feet have no links of their own
STANCE = np.array([-0.1, 0.75, -1.5, -0.1, -0.75, 1.5])  # of a front and a hind leg
STEP, LIFT = 0.25, 0.08  # s for which a diagonal is in the air, and m by which feet are lifted
SPEED = 0.3  # of the trot, in m/s
PUSH, EVERY, LASTING = np.array([80.0, 250.0, 0.0]), 1.0, 0.1  # N, s, s
BASE, SWING = (100.0, 20.0), (600.0, 50.0)  # stiffness and damping of base and feet
GROUND, GRIP = (2e5, 2e3), 0.8  # stiffness and damping of the ground in N/m and N s/m, and its friction


class Quadruped(Robot):
    """A robot on soft ground, which may be pushed."""

    def __init__(self, model, q, rng, pushed):
        super().__init__(model, q, rng, H)
        self.pushed, self.time, self.sticking = pushed, 0.0, {}

    def forces(self):
        forces = super().forces()
        pin.forwardKinematics(self.model, self.data, self.q, self.v)
        pin.updateFramePlacements(self.model, self.data)
        for k, leg in enumerate(LEGS):
            frame = self.model.getFrameId(f"{leg}_foot")
            joint, position = self.model.frames[frame].parentJoint, self.data.oMf[frame].translation
            speed = pin.getFrameVelocity(self.model, self.data, frame, pin.LOCAL_WORLD_ALIGNED).linear
            local = self.data.oMi[joint].rotation.T @ self._ground(k, position, speed)
            forces[joint] = pin.Force(local, np.cross(self.model.frames[frame].placement.translation, local))
        self.time += self.h
        if self.pushed and self.time % EVERY > EVERY - LASTING:
            forces[1] = pin.Force(self.data.oMi[1].rotation.T @ PUSH, np.zeros(3))
        return forces

    def _ground(self, k, position, speed):
        """Return the force on a foot: springs and dampers up to the friction."""
        pressed = GROUND[0] * -position[2] - GROUND[1] * speed[2]
        if position[2] > 0.0 or pressed < 0.0:
            self.sticking.pop(k, None)
            return np.zeros(3)
        anchor = self.sticking.setdefault(k, position[:2].copy())
        along = GROUND[0] * (anchor - position[:2]) - GROUND[1] * speed[:2]
        size = np.linalg.norm(along)
        if size > GRIP * pressed:
            along *= GRIP * pressed / size
            self.sticking[k] = position[:2].copy()
        return np.array([*along, pressed])


class Balance:
    """Forces by least squares over accelerations and contacts, under the equations of motion."""

    def __init__(self, link, q, speed):
        self.link, self.start, self.speed = link, q.copy(), speed
        self.feet = None  # where they stand at first, relative to the base
        self.lifted, self.phase = np.zeros((4, 3)), 0

    def __call__(self, tick, q, v):
        still = np.zeros_like(v)
        M, bias = self.link.m(q).M, self.link.id(q, v, still).tau
        feet = self.link.kin(q, v, still, extended=True)
        positions, J = feet.placement[:, :3, 3], feet.J[:, :3]
        speeds, turning = feet.velocity[:, :3], feet.velocity[:, 3:]
        drift = feet.acceleration[:, :3] + np.cross(turning, speeds)
        if self.feet is None:
            self.feet = positions - q[:3]
        swinging, foot_acceleration = self._gait(tick, q, v, positions, speeds)
        on_ground, in_air = J[~swinging].reshape(-1, len(v)), J[swinging].reshape(-1, len(v))
        stop = (-drift - 10.0 * speeds)[~swinging].ravel()
        rows = np.vstack([np.eye(6, len(v)), in_air, 1e-2 * np.eye(len(v))[6:]])
        goals = self._accelerations(tick, q, v), (foot_acceleration - drift)[swinging].ravel(), -0.1 * v[6:]
        a, forces = accelerations(M, bias, on_ground, stop, rows, np.hstack(goals))
        return np.hstack([np.zeros(6), (M @ a + bias - on_ground.T @ forces)[6:]])

    def goal(self, tick):
        """Return where the base should be, and its velocity: it starts with the first step."""
        velocity, time = np.array([self.speed, 0.0, 0.0]), tick * H - STEP
        return self.start[:3] + velocity * max(0.0, time), velocity * (time > 0.0)

    def _accelerations(self, tick, q, v):
        """Return the acceleration that brings the base back to where it should be."""
        R = pin.XYZQUATToSE3(q[:7]).rotation
        position, velocity = self.goal(tick)
        linear = BASE[0] * (position - q[:3]) + BASE[1] * (velocity - R @ v[:3])
        angular = 2.0 * BASE[0] * pin.log3(R.T) - 1.5 * BASE[1] * v[3:6]
        return np.hstack([R.T @ linear - np.cross(v[3:6], v[:3]), angular])

    def _gait(self, tick, q, v, positions, speeds):
        """Return which feet swing, and the accelerations that carry all feet to where they should be."""
        phase, share = divmod(tick * H / STEP, 1.0)
        if not self.speed or phase < 1:
            return np.zeros(4, bool), np.zeros((4, 3))
        if phase != self.phase:
            self.phase, self.lifted = phase, positions.copy()
        R = pin.XYZQUATToSE3(q[:7]).rotation
        moving = (R @ v[:3])[:2]
        goal = q[:3] + self.feet
        goal[:, 2] = -0.005
        goal[:, :2] += (
            STEP * (1.0 - share) * moving + 0.5 * STEP * moving + 0.1 * (moving - [self.speed, 0.0])
        )
        angle, rate = 2.0 * np.pi * share, 2.0 * np.pi / STEP
        way = share - np.sin(angle) / (2.0 * np.pi), (1.0 - np.cos(angle)) / STEP, rate * np.sin(angle) / STEP
        lift = 0.5 * (1.0 - np.cos(angle)), 0.5 * rate * np.sin(angle), 0.5 * rate**2 * np.cos(angle)
        up = LIFT * np.array([0.0, 0.0, 1.0])
        motion = [one * (goal - self.lifted) + other * up for one, other in zip(way, lift, strict=True)]
        errors = self.lifted + motion[0] - positions, motion[1] - speeds
        return phase % 2 == PAIRS, motion[2] + SWING[0] * errors[0] + SWING[1] * errors[1]


def accelerations(M, bias, contacts, stop, rows, goals):
    """Return the accelerations, and the forces of contacts, by which ``rows`` come nearest to their goals.

    Nothing drives the base, and contacts (k, nv) have the accelerations ``stop``. These constraints and the
    squares make a KKT system; a small weight shares the forces between contacts.
    """
    k, n = contacts.shape
    hessian = np.block([[rows.T @ rows, np.zeros((n, k))], [np.zeros((k, n)), 1e-6 * np.eye(k)]])
    constraints = np.block([[M[:6], -contacts[:, :6].T], [contacts, np.zeros((k, k))]])
    kkt = np.block([[hessian, constraints.T], [constraints, np.zeros((6 + k, 6 + k))]])
    right = np.hstack([rows.T @ goals, np.zeros(k), -bias[:6], stop])
    return np.split(np.linalg.lstsq(kkt, right, rcond=1e-12)[0][: n + k], [n])


def model_of(urdf):
    """Return the robot with a floating base and feet, as it stands on the ground."""
    model = pin.buildModelFromUrdf(str(urdf), pin.JointModelFreeFlyer())
    for leg in LEGS:
        joint = model.getJointId(f"{leg}_kfe_joint")
        model.addFrame(
            pin.Frame(f"{leg}_foot", joint, pin.SE3(np.eye(3), np.array([0.346, 0, 0])), pin.OP_FRAME)
        )
    model.effortLimit[:6] = 0.0
    q = np.hstack([np.zeros(6), 1.0, STANCE, STANCE])
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    q[2] = -min(data.oMf[model.getFrameId(f"{leg}_foot")].translation[2] for leg in LEGS)
    return model, q


def main(arguments=None):
    """Run the loop; return the base's positions (ticks, 3), where it should be at the end, and the forces."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", type=Path, default=Path("robots/hyq.urdf"))
    parser.add_argument("--engine", choices=ENGINES, default="model")
    parser.add_argument("--task", choices=("stand", "trot"), default="trot")
    parser.add_argument("--control", choices=("balance", "plan"), default="balance")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--ii", type=int, default=16)
    parser.add_argument("--output", type=Path, default=Path("build/examples/legs"))
    options = parser.parse_args(arguments)
    model, q = model_of(options.robot)
    build = {"base": "floating", "frames": ",".join(map(FOOT.format, LEGS))}
    build |= {} if options.engine == "c" else {"ii": options.ii}
    functions, plans = "id,m,kin", options.control == "plan"
    build |= {} if plans else {"frame_axes": "world"}
    if plans:
        if options.engine != "c":
            parser.error("--control plan takes --engine c, which solves")
        functions = "solve"
        build |= {"contacts": ",".join(f"{FOOT.format(leg)}:point" for leg in LEGS), "knots": KNOTS}
    link = Link(options.robot, options.output, options.engine, np.random.default_rng(0), functions, **build)
    trots = options.task == "trot"
    speed = SPEED if trots else 0.0
    robot = Quadruped(model, q, np.random.default_rng(1), pushed=not trots)
    balance = Balance(link, q, speed)
    gait = Gait(model, LEGS, q, speed, STEP, LIFT, PAIRS)
    control = Planner(link, model, q, gait, H) if plans else balance
    states, _, tau = run(robot, control, np.zeros(model.nv), round(options.seconds / H))
    print(f"{link.calls} calls, of which {link.lost} had no answer; {link.flagged} flagged answers")
    goal = balance.goal(len(states))[0]
    away = ", ".join(f"{1e3 * error:.0f}" for error in states[-1, :3] - goal)
    print(f"the base went {states[-1, 0] - q[0]:.2f} m; in the end it is {away} mm from where it should be")
    draw(options.output / f"legs-{options.task}.png", states, tau)
    return states[:, :3], goal, tau


def draw(path, states, tau):
    """Draw the base's position and the forces of one leg."""
    (left, right), save = panels(path, "position of the base, m", "forces of the left front leg, Nm")
    times = H * np.arange(len(states))
    left.plot(times, states[:, :3], label=["x", "y", "z"])
    right.plot(times, tau[:, 6:9], label=["abduction", "hip", "knee"])
    for one in (left, right):
        one.set_xlabel("time (s)")
        one.legend(loc="best", fontsize=8)
    save()


if __name__ == "__main__":
    main()
