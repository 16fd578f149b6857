"""MPPI moves an arm to a goal. Rollouts, samples and costs are an accelerator's; Pinocchio is the arm."""

import argparse
from pathlib import Path

import numpy as np
import pinocchio as pin
from matplotlib.figure import Figure

import rbdhw

H = 0.02  # the time step in seconds
HORIZON = 24  # in steps
ACCELERATION = 2.0  # that a standard deviation of a joint's force gives it, in rad/s^2
ROTOR = 0.3  # the inertia of the motors, seen at the joints, in kg m^2
TEMPERATURE = 0.05  # of the weights, in parts of the spread of the costs


class Controller:
    """Forces by the mean of sampled rollouts, weighted by their costs."""

    def __init__(self, accelerator, model, start, goal, samples):
        nv = model.nv
        self.accelerator, self.model, self.samples, self.seed = accelerator, model, samples, 0
        self.forces = np.tile(gravity(model, start), (HORIZON, 1))
        self.std = ACCELERATION / np.diag(pin.computeMinverse(model, model.createData(), goal))
        near = np.array([100.0] * nv + [10.0] * nv)
        weights = np.vstack([np.tile(near, (HORIZON - 1, 1)), 10 * near])  # the last state counts more
        self.cost = {"x_ref": np.concatenate([goal, np.zeros(nv)]), "Q": weights, "R": 1e-4 / self.std**2}

    def control(self, q, v):
        """Return the forces of the next step, the least cost, and the number of flagged rollouts."""
        seeds = np.arange(self.seed, self.seed + self.samples)
        self.seed += self.samples
        result = self.accelerator.rollout(
            q, v, self.forces, H, std=self.std, seed=seeds, states=False, **self.cost
        )
        good = result.status == 0  # the others left the domain, and their cost says nothing
        if good.any():
            costs = result.cost[good]
            spread = max(costs.mean() - costs.min(), 1e-9)
            weights = np.exp((costs.min() - costs) / (TEMPERATURE * spread))
            sampled = self.accelerator.rollout_forces(self.forces, self.std, seeds[good])
            self.forces = np.tensordot(weights / weights.sum(), sampled, 1)
        tau = self.forces[0]
        self.forces = np.vstack([self.forces[1:], gravity(self.model, q)])
        return tau, result.cost[good].min(initial=np.inf), np.count_nonzero(~good)


def gravity(model, q):
    """Return the forces that hold the arm still."""
    return pin.rnea(model, model.createData(), q, np.zeros(model.nv), np.zeros(model.nv))


def move(model, controller, q, steps):
    """Return the joints (steps + 1, nv) of the arm under control, the costs, and the flagged rollouts."""
    data, v = model.createData(), np.zeros(model.nv)
    joints, costs, flagged = [q], [], 0
    for _ in range(steps):
        tau, cost, bad = controller.control(q, v)
        v = v + H * pin.aba(model, data, q, v, tau)
        q = q + H * v
        joints.append(q)
        costs.append(cost)
        flagged += bad
    return np.array(joints), np.array(costs), flagged


def draw(joints, goal, costs, path):
    """Draw the joints and the costs."""
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    times = H * np.arange(len(joints))
    left.plot(times, joints)
    left.set_prop_cycle(None)
    for angle in goal:
        left.plot(times[-1], angle, "o", clip_on=False)
    left.set(xlabel="time (s)", ylabel="joints (rad)", title="dots: the goal")
    right.semilogy(times[:-1], costs)
    right.set(xlabel="time (s)", ylabel="least cost of the rollouts")
    figure.savefig(path, dpi=110)


def main(arguments=None):
    """Move the arm; return the joints' distances from the goal, first and last, and the flagged rollouts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", type=Path, default=Path("robots/iiwa14.urdf"))
    parser.add_argument("--engine", choices=("model", "numpy", "rtl", "driver"), default="model")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--output", type=Path, default=Path("build/examples/mppi"))
    options = parser.parse_args(arguments)
    folder = options.output / "accelerator"
    model = pin.buildModelFromUrdf(str(options.robot))
    model.armature[:] = ROTOR
    build = {"functions": "rollout", "rollout": "samples,cost", "horizon": HORIZON, "ii": 4}
    rbdhw.generate(options.robot, folder, armature=dict.fromkeys(model.names[1:], ROTOR), **build)
    start, goal = np.zeros(model.nv), 0.4 * np.where(np.arange(model.nv) % 2, -1.0, 1.0)
    accelerator = rbdhw.load(folder, options.engine)
    controller = Controller(accelerator, model, start, goal, options.samples)
    joints, costs, flagged = move(model, controller, start, options.steps)
    print(f"{options.steps} steps; of {options.steps * options.samples} rollouts {flagged} were flagged")
    for name, first, last, aim in zip(model.names[1:], joints[0], joints[-1], goal, strict=True):
        print(f"{name:12} from {first:6.3f} to {last:6.3f}, goal {aim:6.3f} rad")
    draw(joints, goal, costs, options.output / "mppi.png")
    return np.abs(joints[0] - goal), np.abs(joints[-1] - goal), flagged


if __name__ == "__main__":
    main()
