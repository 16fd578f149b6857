"""An arm reaches a goal by iLQR with a design's steps and derivatives, and with Pinocchio's in float64."""

import argparse
import functools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pinocchio as pin

import rbdhw
from examples.closed_loop import ROTOR, hold, panels
from rbdhw.control.optimiser import Optimiser, Plan

H = 0.02  # the time step in seconds
FINAL = 100.0  # the weight of the last state, in those of the others


class Pinocchio:
    """Steps by semi-implicit Euler and their derivatives, in double precision."""

    def __init__(self, model):
        self.model, self.data = model, model.createData()

    def step(self, q, v, tau, h):
        """Return the next states (N, 2 nv)."""
        a = np.array([pin.aba(self.model, self.data, *task) for task in zip(q, v, tau, strict=True)])
        return SimpleNamespace(x_next=np.hstack([q + h * (v + h * a), v + h * a]))

    def dstep(self, q, v, tau, h):
        """Return the next states, A (N, 2 nv, 2 nv) and B (N, 2 nv, nv)."""
        call = functools.partial(pin.computeABADerivatives, self.model, self.data)
        results = [[matrix.copy() for matrix in matrices] for matrices in map(call, q, v, tau)]
        by_q, by_v, by_tau = (h * np.array(matrices) for matrices in zip(*results, strict=True))
        one = np.eye(self.model.nv)
        A = np.block([[one + h * by_q, h * (one + by_v)], [by_q, one + by_v]])
        return self.step(q, v, tau, h).x_next, A, np.concatenate([h * by_tau, by_tau], axis=1)


def ilqr(functions, start, goal, first, final, steps, iterations=15):
    """Return the states of the best trajectory, and the cost of each."""
    nv = len(final)
    weights = np.vstack([np.ones((steps, 1)), [[FINAL]]]) * np.repeat([10.0, 1.0], nv)
    cost = {"x_ref": np.tile(goal, (steps + 1, 1)), "Q": weights, "R": np.full((steps, nv), 1e-2)}
    cost["tau_ref"] = np.tile(final, (steps, 1))
    still = np.tile(start, (steps + 1, 1)), np.tile(first, (steps, 1)), np.zeros((steps, nv, 2 * nv))
    plans = [Plan(*still)]
    for _ in range(iterations):
        plan = Optimiser(functions).solve(*np.split(start, 2), H, **cost, warm=plans[-1])
        if plan.cost >= plans[-1].cost * (1 - 1e-6):
            break
        plans.append(plan)
    return plans[-1].states, [plan.cost for plan in plans[1:]]


def draw(results, path):
    """Draw costs and joints of both trajectories."""
    (left, right), save = panels(path, "cost; line: the design; dots: Pinocchio", "joints, rad, likewise")
    for (states, costs), style in zip(results, ("o-", "k.:"), strict=True):
        left.semilogy(costs, style)
        right.plot(H * np.arange(len(states)), states[:, : states.shape[1] // 2], style[1:])
        right.set_prop_cycle(None)
    left.set_xlabel("iteration")
    right.set_xlabel("time (s)")
    save()


def main(arguments=None):
    """Optimise by both; return the states and the costs of each, and the goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", type=Path, default=Path("robots/iiwa14.urdf"))
    parser.add_argument("--engine", choices=("model", "c", "driver"), default="model")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--output", type=Path, default=Path("build/examples/ilqr"))
    options = parser.parse_args(arguments)
    model = pin.buildModelFromUrdf(str(options.robot))
    model.armature[:] = ROTOR
    rotors, folder = dict.fromkeys(model.names[1:], ROTOR), options.output / options.engine
    rest, goal = np.zeros(model.nv), 0.4 * np.where(np.arange(model.nv) % 2, -1.0, 1.0)
    gravity = [hold(model, q) for q in (rest, goal)]
    reach = np.hstack([rest, rest]), np.hstack([goal, rest]), *gravity, options.steps
    kind = {"target": "c"} if options.engine == "c" else {"ii": 4}
    rbdhw.generate(options.robot, folder, functions="step,dstep", armature=rotors, **kind)
    design = rbdhw.load(folder, "float32" if options.engine == "c" else options.engine)
    results = {
        f"engine {options.engine}": ilqr(design, *reach),
        "Pinocchio, float64": ilqr(Pinocchio(model), *reach),
    }
    for name, (_, costs) in results.items():
        print(f"{name:20} cost", *(f"{cost:.6g}" for cost in costs))
    draw(results.values(), options.output / "ilqr.png")
    (states, _), (exact, _) = results.values()
    print(f"largest difference of a state: {np.abs(states - exact).max():.1e} rad or rad/s")
    return *results.values(), goal


if __name__ == "__main__":
    main()
