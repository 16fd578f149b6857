"""An arm reaches for one goal after another with the solver on the accelerator: a state in, forces out."""

import argparse
from pathlib import Path

import numpy as np
import pinocchio as pin

from examples.closed_loop import Robot, hold, link, panels, run, told
from rbdhw.control.optimiser import LostAnswer
from rbdhw.solving import Solved

H, KNOTS, ALPHAS = 0.02, 24, 4
GOALS, STAY, AWAY = 3, 40, 0.4  # their number, the steps for which each is one, and how far they are, in rad
SPEED = 0.2  # at the start at most, in rad/s
WEIGHTS, LAST, EFFORT = (20.0, 1.0), 5.0, 1e-3  # of joints and velocities, at the end, and of forces
FAILED = (Solved.INDEFINITE, Solved.NOT_FINITE)


class Reach:
    """A controller that makes one iteration in each step, from the solution that the accelerator has kept."""

    def __init__(self, functions, model, goals, knots):
        self.functions, self.model, self.goals, self.plan = functions, model, goals, None
        self.weights = np.tile(np.repeat(WEIGHTS, model.nv), (knots + 1, 1))
        self.weights[-1] *= LAST

    def __call__(self, tick, q, v):
        goal = self.goals[tick // STAY]
        cost = {"x_ref": np.hstack([goal, 0.0 * goal]), "Q": self.weights}
        cost |= {"R": np.full(len(q), EFFORT), "tau_ref": hold(self.model, goal)}
        first = {"warm": self.plan, "shift": 1}
        if self.plan is None:
            first = {"tau": hold(self.model, q)}
        self.plan = None  # until there is an answer
        plan = self.functions.solve(q, v, H, **cost, **first, iterations=1)
        if plan.status in FAILED:
            raise LostAnswer
        self.plan = plan
        return plan.tau[0]


def main(arguments=None):
    """Run the loop; return the joints of all steps, the goals of these, and the forces, (N, nv) each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", type=Path, default=Path("robots/toy.urdf"))
    parser.add_argument("--engine", choices=("model", "rtl", "driver", "golden"), default="model")
    parser.add_argument("--steps", type=int, default=GOALS * STAY)
    parser.add_argument("--knots", type=int, default=KNOTS)
    parser.add_argument("--output", type=Path, default=Path("build/examples/reach"))
    options = parser.parse_args(arguments)
    model, rng = pin.buildModelFromUrdf(str(options.robot)), np.random.default_rng(1)
    start = np.where(np.arange(model.nv) % 2, -0.8, 0.4)
    goals = start + rng.uniform(-AWAY, AWAY, (-(-options.steps // STAY), model.nv))
    build = {"width": 27, "ii": 16, "knots": options.knots, "alphas": ALPHAS}
    functions = link(options.robot, options.output, options.engine, "solve", **build)
    robot, control = Robot(model, start, rng, H), Reach(functions, model, goals, options.knots)
    robot.v = rng.uniform(-SPEED, SPEED, model.nv)
    joints, _, tau = run(robot, control, hold(model, start), options.steps)
    asked = goals[np.arange(options.steps) // STAY]
    print(told(functions))
    print(f"the joints are {np.abs(joints[-1] - asked[-1]).max():.4f} rad from the last goal")
    draw(options.output / "reach.png", joints, asked, tau)
    return joints, asked, tau


def draw(path, joints, goals, tau):
    """Draw the joints beside their goals, and the forces."""
    times = H * np.arange(len(joints))
    (left, right), save = panels(path, "joints (lines) and goals (dots), rad", "forces, N m")
    left.plot(times, joints)
    left.plot(times, goals, "k.", markersize=1)
    right.plot(times, tau)
    for axes in (left, right):
        axes.set_xlabel("time (s)")
    save()


if __name__ == "__main__":
    main()
