"""MPPI moves an arm to a goal and around an obstacle. Rollouts, samples and costs are an accelerator's."""

import argparse
from pathlib import Path

import numpy as np
import pinocchio as pin

from examples.closed_loop import ENGINES, ROTOR, LostAnswer, Robot, hold, link, panels, run

H = 0.02  # the time step in seconds
HORIZON = 24  # in steps
ACCELERATION = 2.0  # that a standard deviation of a joint's force gives it, in rad/s^2
TEMPERATURE = 0.05  # of the weights, in parts of the spread of the costs
SAMPLES, RADIUS = 512, 0.06  # rollouts of a step, and the size of the obstacle in m
MARGIN, TOUCH = 0.03, 1e6  # how near the obstacle costs something, in m, and its weight


class Controller:
    """Forces by the mean of sampled rollouts, weighted by their costs, and by their way around a sphere."""

    def __init__(self, functions, model, start, goal, centre, radius, samples):
        nv = model.nv
        self.functions, self.model, self.samples, self.seed = functions, model, samples, 0
        self.centre, self.radius = centre, radius
        self.forces = np.tile(hold(model, start), (HORIZON, 1))
        self.std = ACCELERATION / np.diag(pin.computeMinverse(model, model.createData(), goal))
        near = np.array([100.0] * nv + [10.0] * nv)
        weights = np.vstack([np.tile(near, (HORIZON - 1, 1)), 10 * near])  # the last state counts more
        self.cost = {"x_ref": np.concatenate([goal, np.zeros(nv)]), "Q": weights, "R": 1e-4 / self.std**2}
        self.least, self.flagged = [], 0

    def __call__(self, _tick, q, v):
        seeds = np.arange(self.seed, self.seed + self.samples)
        self.seed += self.samples
        forces, self.forces = self.forces, np.vstack([self.forces[1:], hold(self.model, q)])
        try:
            mean = self._mean(q, v, forces, seeds)
        except LostAnswer:
            return forces[0]  # those of the last step's horizon
        self.forces[:-1] = mean[1:]
        return mean[0]

    def _mean(self, q, v, forces, seeds):
        """Return the weighted mean of the forces of good rollouts, or the forces if there are none."""
        result = self.functions.rollout(q, v, forces, H, std=self.std, seed=seeds, every=1, **self.cost)
        good = result.status == 0  # the others left the domain, and their cost says nothing
        self.flagged += np.count_nonzero(~good)
        if not good.any():
            return forces
        costs = result.cost[good] + self._touch(result.states[good])
        self.least.append(costs.min())
        weights = np.exp((costs.min() - costs) / (TEMPERATURE * max(costs.mean() - costs.min(), 1e-9)))
        sampled = self.functions.rollout_forces(forces, self.std, seeds[good])
        return np.tensordot(weights / weights.sum(), sampled, 1)

    def _touch(self, states):
        """Return what it costs rollouts (N,) to come near the obstacle."""
        q = states[..., : self.model.nq]
        tips = self.functions.position(q).position[..., 0, :]
        depth = self.radius + MARGIN - np.linalg.norm(tips - self.centre, axis=-1)
        return TOUCH * (np.maximum(depth, 0.0) ** 2).sum(-1)


class Scene:
    """The arm, where it starts and should go, and a ball in the middle of its way."""

    def __init__(self, urdf, radius):
        self.model, self.radius = pin.buildModelFromUrdf(str(urdf)), radius
        self.model.armature[:] = ROTOR
        self.tip, self.data = len(self.model.frames) - 1, self.model.createData()
        self.start = np.zeros(self.model.nv)
        self.goal = 0.6 * np.where(np.arange(self.model.nv) % 2, -1.0, 1.0)
        self.centre = self.tip_of(0.5 * self.goal)  # half way, if all joints turned at once

    def tip_of(self, q):
        """Return where the tip is."""
        pin.framesForwardKinematics(self.model, self.data, q)
        return self.data.oMf[self.tip].translation.copy()

    def move(self, functions, samples, steps):
        """Return the joints and the forces of all steps, and the controller."""
        around = self.start, self.goal, self.centre, self.radius
        controller = Controller(functions, self.model, *around, samples)
        robot = Robot(self.model, self.start, np.random.default_rng(1), H)
        joints, _, tau = run(robot, controller, hold(self.model, self.start), steps)
        return joints, tau, controller


def judge(urdf, functions, seconds):
    """Return the distances of the joints from the goal in all steps, for a study of number formats."""
    scene = Scene(urdf, RADIUS)
    joints, _, _ = scene.move(functions, SAMPLES, round(seconds / H))
    return np.linalg.norm(joints - scene.goal, axis=1)


def main(arguments=None):
    """Move the arm; return the joints' distances from the goal, first and last, and the tip's to the ball."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", type=Path, default=Path("robots/iiwa14.urdf"))
    parser.add_argument("--engine", choices=ENGINES, default="model")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--radius", type=float, default=RADIUS)
    parser.add_argument("--output", type=Path, default=Path("build/examples/mppi"))
    options = parser.parse_args(arguments)
    scene = Scene(options.robot, options.radius)
    model, goal = scene.model, scene.goal
    build = {"frames": model.frames[scene.tip].name, "armature": dict.fromkeys(model.names[1:], ROTOR)}
    build |= {"horizon": HORIZON} | ({} if options.engine == "c" else {"rollout": "samples,cost"})
    functions = link(options.robot, options.output, options.engine, "rollout,position", **build)
    joints, tau, controller = scene.move(functions, options.samples, options.steps)
    distances = np.array([np.linalg.norm(scene.tip_of(q) - scene.centre) for q in joints]) - options.radius
    rollouts = options.steps * options.samples
    print(f"{functions.calls} calls, of which {functions.lost} had no answer")
    print(f"{controller.flagged} of {rollouts} rollouts flagged")
    for name, first, last, aim in zip(model.names[1:], joints[0], joints[-1], goal, strict=True):
        print(f"{name:12} from {first:6.3f} to {last:6.3f}, goal {aim:6.3f} rad")
    print(f"the tip comes as near as {1e3 * distances.min():.0f} mm to the obstacle")
    draw(options.output / "mppi.png", joints, goal, distances)
    return np.abs(joints[0] - goal), np.abs(joints[-1] - goal), distances, tau


def draw(path, joints, goal, distances):
    """Draw the joints, and the tip's distance from the obstacle."""
    (left, right), save = panels(
        path, "joints, rad; dots: the goal", "distance of the tip from the obstacle, m"
    )
    times = H * np.arange(len(joints))
    left.plot(times, joints)
    left.set_prop_cycle(None)
    for angle in goal:
        left.plot(times[-1], angle, "o", clip_on=False)
    right.plot(times, distances)
    right.axhline(0.0, color="k", linestyle=":")
    for one in (left, right):
        one.set_xlabel("time (s)")
    save()


if __name__ == "__main__":
    main()
