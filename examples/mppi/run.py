"""MPPI moves an arm to a goal and around an obstacle. Rollouts, samples and costs are an accelerator's."""

import argparse
from pathlib import Path

import numpy as np
import pinocchio as pin

from examples.closed_loop import ENGINES, ROTOR, Link, LostAnswer, Robot, hold, panels, run

H = 0.02  # the time step in seconds
HORIZON = 24  # in steps
ACCELERATION = 2.0  # that a standard deviation of a joint's force gives it, in rad/s^2
TEMPERATURE = 0.05  # of the weights, in parts of the spread of the costs
MARGIN, TOUCH = 0.03, 1e6  # how near the obstacle costs something, in m, and its weight


class Controller:
    """Forces by the mean of sampled rollouts, weighted by their costs, and by their way around a sphere."""

    def __init__(self, link, model, start, goal, centre, radius, samples):
        nv = model.nv
        self.link, self.model, self.samples, self.seed = link, model, samples, 0
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
        result = self.link.rollout(q, v, forces, H, std=self.std, seed=seeds, every=1, **self.cost)
        good = result.status == 0  # the others left the domain, and their cost says nothing
        self.flagged += np.count_nonzero(~good)
        if not good.any():
            return forces
        costs = result.cost[good] + self._touch(result.states[good])
        self.least.append(costs.min())
        weights = np.exp((costs.min() - costs) / (TEMPERATURE * max(costs.mean() - costs.min(), 1e-9)))
        sampled = self.link.rollout_forces(forces, self.std, seeds[good])
        return np.tensordot(weights / weights.sum(), sampled, 1)

    def _touch(self, states):
        """Return what it costs rollouts (N,) to come near the obstacle."""
        q = states[..., : self.model.nq]
        tips = self.link.position(q).position[..., 0, :]
        depth = self.radius + MARGIN - np.linalg.norm(tips - self.centre, axis=-1)
        return TOUCH * (np.maximum(depth, 0.0) ** 2).sum(-1)


def main(arguments=None):
    """Move the arm; return the joints' distances from the goal, first and last, and the tip's to the ball."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", type=Path, default=Path("robots/iiwa14.urdf"))
    parser.add_argument("--engine", choices=ENGINES, default="model")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--radius", type=float, default=0.06)
    parser.add_argument("--output", type=Path, default=Path("build/examples/mppi"))
    options = parser.parse_args(arguments)
    model = pin.buildModelFromUrdf(str(options.robot))
    model.armature[:] = ROTOR
    tip, data = len(model.frames) - 1, model.createData()

    def tip_of(q):
        pin.framesForwardKinematics(model, data, q)
        return data.oMf[tip].translation.copy()

    build = {"frames": model.frames[tip].name, "armature": dict.fromkeys(model.names[1:], ROTOR)}
    build |= {"horizon": HORIZON} | ({} if options.engine == "c" else {"rollout": "samples,cost"})
    link = Link(
        options.robot, options.output, options.engine, np.random.default_rng(0), "rollout,position", **build
    )
    start, goal = np.zeros(model.nv), 0.6 * np.where(np.arange(model.nv) % 2, -1.0, 1.0)
    centre = tip_of(0.5 * goal)  # in the middle of the way, if all joints turned at once
    controller = Controller(link, model, start, goal, centre, options.radius, options.samples)
    robot = Robot(model, start, np.random.default_rng(1), H)
    joints, _, tau = run(robot, controller, hold(model, start), options.steps)
    distances = np.array([np.linalg.norm(tip_of(q) - centre) for q in joints]) - options.radius
    rollouts = options.steps * options.samples
    print(f"{link.calls} calls, of which {link.lost} had no answer")
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
