"""A quadruped stands under pushes, or trots: by a KKT system of the host, or by plans with contacts."""

import argparse
from pathlib import Path

import numpy as np
import pinocchio as pin

from examples.closed_loop import ENGINES, Robot, link, panels, run, told
from examples.legs.plan import KNOTS, Gait, Planner, swinging

H = 0.002  # the period of the loop, in s
FEET = tuple(
    f"{leg}_lowerleg@0.346:0:0" for leg in ("lf", "lh", "rh", "rf")
)  # links and points, around the base
STANCE = 2 * (-0.1, 0.75, -1.5, -0.1, -0.75, 1.5)  # the joints of a front and a hind leg, left and right
STEP, LIFT = 0.25, 0.08  # s for which a diagonal is in the air, and m by which feet are lifted
SPEED = 0.3  # of the trot, in m/s
PUSH, EVERY, LASTING = np.array([80.0, 250.0, 0.0]), 1.0, 0.1  # N, s, s
BASE, SWING = (100.0, 20.0), (600.0, 50.0)  # stiffness and damping of base and feet
GROUND, GRIP = (2e5, 2e3), 0.8  # stiffness and damping of the ground in N/m and N s/m, and its friction


class Legged(Robot):
    """A robot on soft ground, which may be pushed."""

    def __init__(self, model, feet, q, rng, pushed):
        super().__init__(model, q, rng, H)
        self.feet, self.pushed, self.time, self.sticking = feet, pushed, 0.0, {}

    def forces(self):
        forces = super().forces()
        pin.forwardKinematics(self.model, self.data, self.q, self.v)
        pin.updateFramePlacements(self.model, self.data)
        for k, frame in enumerate(self.feet):
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

    def __init__(self, functions, scene):
        self.functions, self.scene = functions, scene
        self.feet = None  # where they stand at first, relative to the base
        self.lifted, self.phase = None, 0

    def __call__(self, tick, q, v):
        still = np.zeros_like(v)
        M, bias = self.functions.m(q).M, self.functions.id(q, v, still).tau
        feet = self.functions.kin(q, v, still, extended=True)
        positions, J = feet.placement[:, :3, 3], feet.J[:, :3]
        speeds, turning = feet.velocity[:, :3], feet.velocity[:, 3:]
        drift = feet.acceleration[:, :3] + np.cross(turning, speeds)
        if self.feet is None:
            self.feet, self.lifted = positions - q[:3], positions
        swinging, foot_acceleration = self._gait(tick, q, v, positions, speeds)
        on_ground, in_air = J[~swinging].reshape(-1, len(v)), J[swinging].reshape(-1, len(v))
        stop = (-drift - 10.0 * speeds)[~swinging].ravel()
        rows = np.vstack([np.eye(6, len(v)), in_air, 1e-2 * np.eye(len(v))[6:]])
        goals = self._accelerations(tick, q, v), (foot_acceleration - drift)[swinging].ravel(), -0.1 * v[6:]
        a, forces = accelerations(M, bias, on_ground, stop, rows, np.hstack(goals))
        return np.hstack([np.zeros(6), (M @ a + bias - on_ground.T @ forces)[6:]])

    def _accelerations(self, tick, q, v):
        """Return the acceleration that brings the base back to where it should be."""
        R = pin.XYZQUATToSE3(q[:7]).rotation
        position, velocity = self.scene.goal(tick * H)
        linear = BASE[0] * (position - q[:3]) + BASE[1] * (velocity - R @ v[:3])
        angular = 2.0 * BASE[0] * pin.log3(R.T) - 1.5 * BASE[1] * v[3:6]
        return np.hstack([R.T @ linear - np.cross(v[3:6], v[:3]), angular])

    def _gait(self, tick, q, v, positions, speeds):
        """Return which feet swing, and the accelerations that carry all feet to where they should be."""
        phase, share = divmod(tick * H / STEP, 1.0)
        if not self.scene.speed or phase < 1:
            return np.zeros(len(positions), bool), np.zeros_like(positions)
        if phase != self.phase:
            self.phase, self.lifted = phase, positions.copy()
        R = pin.XYZQUATToSE3(q[:7]).rotation
        moving = (R @ v[:3])[:2]
        goal = q[:3] + self.feet
        goal[:, 2] = -0.005
        goal[:, :2] += (
            STEP * (1.0 - share) * moving + 0.5 * STEP * moving + 0.1 * (moving - [self.scene.speed, 0.0])
        )
        angle, rate = 2.0 * np.pi * share, 2.0 * np.pi / STEP
        way = share - np.sin(angle) / (2.0 * np.pi), (1.0 - np.cos(angle)) / STEP, rate * np.sin(angle) / STEP
        lift = 0.5 * (1.0 - np.cos(angle)), 0.5 * rate * np.sin(angle), 0.5 * rate**2 * np.cos(angle)
        up = LIFT * np.array([0.0, 0.0, 1.0])
        motion = [one * (goal - self.lifted) + other * up for one, other in zip(way, lift, strict=True)]
        errors = self.lifted + motion[0] - positions, motion[1] - speeds
        return swinging(phase, len(positions)), motion[2] + SWING[0] * errors[0] + SWING[1] * errors[1]


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


class Scene:
    """A robot with a floating base, as it stands on the ground, and its feet, ``LINK@x:y:z`` each."""

    def __init__(self, urdf, feet=FEET, stance=STANCE, task="stand"):
        self.model = pin.buildModelFromUrdf(str(urdf), pin.JointModelFreeFlyer())
        self.model.effortLimit[:6] = 0.0
        self.feet = [self._add_foot(foot) for foot in feet]
        self.speed = SPEED if task == "trot" else 0.0
        self.q = np.hstack([np.zeros(6), 1.0, stance])
        data = self.model.createData()
        pin.framesForwardKinematics(self.model, data, self.q)
        self.q[2] = -min(data.oMf[foot].translation[2] for foot in self.feet)

    def _add_foot(self, foot):
        name, _, point = foot.partition("@")
        frame = self.model.frames[self.model.getFrameId(name)]
        offset = pin.SE3(np.eye(3), np.array([float(part) for part in point.split(":")]))
        return self.model.addFrame(pin.Frame(foot, frame.parentJoint, frame.placement * offset, pin.OP_FRAME))

    def move(self, control, seconds):
        """Return the base's positions and goals (ticks, 3), and the forces; a robot that stands is pushed."""
        pushed = not self.speed
        robot = Legged(self.model, self.feet, self.q, np.random.default_rng(1), pushed)
        states, _, tau = run(robot, control, np.zeros(self.model.nv), round(seconds / H))
        goals = np.array([self.goal(tick * H)[0] for tick in range(len(states))])
        return states[:, :3], goals, tau

    def goal(self, time):
        """Return where the base should be, and its velocity: it starts with the first step."""
        velocity = np.array([self.speed, 0.0, 0.0])
        return self.q[:3] + velocity * max(0.0, time - STEP), velocity * (time > STEP)


def judge(urdf, functions, seconds):
    """Return the base's distances from where it should be in all ticks, for a study of number formats."""
    scene = Scene(urdf)
    positions, goals, _ = scene.move(Balance(functions, scene), seconds)
    return np.linalg.norm(positions - goals, axis=1)


def main(arguments=None):
    """Run the loop; return the base's positions (ticks, 3), where it should be at the end, and the forces."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", type=Path, default=Path("robots/hyq.urdf"))
    parser.add_argument("--feet", type=lambda text: text.split(","), default=FEET)
    parser.add_argument(
        "--stance", type=lambda text: [float(part) for part in text.split(",")], default=STANCE
    )
    parser.add_argument("--engine", choices=ENGINES, default="model")
    parser.add_argument("--task", choices=("stand", "trot"), default="trot")
    parser.add_argument("--control", choices=("balance", "plan"), default="balance")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--ii", type=int, default=16)
    parser.add_argument("--output", type=Path, default=Path("build/examples/legs"))
    options = parser.parse_args(arguments)
    scene, plans = Scene(options.robot, options.feet, options.stance, options.task), options.control == "plan"
    if plans and options.engine != "c":
        parser.error("--control plan takes --engine c, which solves")
    build = {"base": "floating", "frames": ",".join(options.feet)}
    build |= {} if options.engine == "c" else {"ii": options.ii}
    contacts = ",".join(f"{foot}:point" for foot in options.feet)
    build |= {"contacts": contacts, "knots": KNOTS} if plans else {"frame_axes": "world"}
    chosen = "solve" if plans else "id,m,kin"
    functions = link(options.robot, options.output, options.engine, chosen, **build)
    gait = Gait(scene, STEP, LIFT)
    control = Planner(functions, scene, gait, H) if plans else Balance(functions, scene)
    positions, _, tau = scene.move(control, options.seconds)
    print(told(functions))
    goal = scene.goal(len(positions) * H)[0]
    away = ", ".join(f"{1e3 * error:.0f}" for error in positions[-1] - goal)
    print(f"the base went {positions[-1, 0] - scene.q[0]:.2f} m; in the end it is {away} mm from its goal")
    draw(options.output / f"legs-{options.task}.png", positions, tau[:, 6:9], scene.model.names[2:5])
    return positions, goal, tau


def draw(path, positions, tau, joints):
    """Draw the base's position and the forces of some joints."""
    (left, right), save = panels(path, "position of the base, m", "forces of joints, Nm")
    times = H * np.arange(len(positions))
    left.plot(times, positions, label=["x", "y", "z"])
    right.plot(times, tau, label=list(joints))
    for one in (left, right):
        one.set_xlabel("time (s)")
        one.legend(loc="best", fontsize=8)
    save()


if __name__ == "__main__":
    main()
