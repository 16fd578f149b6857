"""An arm reaches a goal by iLQR with a design's steps and derivatives, and with Pinocchio's in float64."""

import argparse
import functools
from pathlib import Path

import numpy as np
import pinocchio as pin
from matplotlib.figure import Figure

import rbdhw

H = 0.02  # the time step in seconds
ROTOR = 0.3  # the inertia of the motors, seen at the joints, in kg m^2
SHARES = 0.5 ** np.arange(8)  # of a step of the optimiser, all tried at once
FINAL = 100.0  # the weight of the last state, in those of the others


class Pinocchio:
    """Steps by semi-implicit Euler and their derivatives, in double precision."""

    def __init__(self, model):
        self.model, self.data = model, model.createData()

    def step(self, q, v, tau):
        """Return the next states (N, 2 nv), and which steps are good."""
        a = np.array([pin.aba(self.model, self.data, *task) for task in zip(q, v, tau, strict=True)])
        return np.hstack([q + H * (v + H * a), v + H * a]), np.full(len(q), True)

    def derivatives(self, q, v, tau):
        """Return A (N, 2 nv, 2 nv) and B (N, 2 nv, nv)."""
        call = functools.partial(pin.computeABADerivatives, self.model, self.data)
        results = [[matrix.copy() for matrix in matrices] for matrices in map(call, q, v, tau)]
        by_q, by_v, by_tau = (H * np.array(matrices) for matrices in zip(*results, strict=True))
        one = np.eye(self.model.nv)
        A = np.block([[one + H * by_q, H * (one + by_v)], [by_q, one + by_v]])
        return A, np.concatenate([H * by_tau, by_tau], axis=1)


class Design:
    """The same by a folder that rbdhw generated; steps that are flagged are not good."""

    def __init__(self, robot, engine, folder, armature):
        kind = {"target": "c"} if engine == "c" else {"ii": 4}
        rbdhw.generate(robot, folder, functions="step,dstep", armature=armature, **kind)
        self.loaded = rbdhw.load(folder, "float32" if engine == "c" else engine)

    def step(self, q, v, tau):
        result = self.loaded.step(q, v, tau, H)
        return result.x_next, result.status == 0

    def derivatives(self, q, v, tau):
        result = self.loaded.dstep(q, v, tau, H)
        return result.A, result.B


def roll_out(dynamics, states, forces, gains, changes, costs):
    """Return states, forces and cost of the cheapest share of the changes."""
    x = np.tile(states[0], (len(SHARES), 1))
    total, nv = np.zeros(len(SHARES)), forces.shape[1]
    taken = [x], []
    for k in range(len(forces)):
        tau = forces[k] + np.outer(SHARES, changes[k]) + (x - states[k]) @ gains[k].T
        total += costs(x, tau)
        x, good = dynamics.step(x[:, :nv], x[:, nv:], tau)
        total[~good] = np.inf
        x[~good] = states[0]  # a trajectory that has left the domain goes on anywhere
        taken[0].append(x)
        taken[1].append(tau)
    total += FINAL * costs(x, np.zeros((1, nv)))
    best = np.argmin(total)
    return *(np.array(arrays)[:, best] for arrays in taken), total[best]


def policy(A, B, Q, R, by_state, by_force):
    """Return gains, and changes of the forces, by Riccati's recursion from the last step on."""
    S, s = FINAL * Q, FINAL * by_state[-1]
    gains, changes = np.empty((len(A), B.shape[2], A.shape[1])), np.empty((len(A), B.shape[2]))
    for k in reversed(range(len(A))):
        mixed, slope = B[k].T @ S @ A[k], by_force[k] + B[k].T @ s
        hessian = R + B[k].T @ S @ B[k]
        gains[k], changes[k] = -np.linalg.solve(hessian, mixed), -np.linalg.solve(hessian, slope)
        s = by_state[k] + A[k].T @ s + mixed.T @ changes[k]
        S = Q + A[k].T @ S @ A[k] + mixed.T @ gains[k]
    return gains, changes


def ilqr(dynamics, start, goal, first, hold, steps, iterations=15):
    """Return the states of the best trajectory, and the cost after each iteration."""
    nv = len(hold)
    Q, R = np.diag([10.0] * nv + [1.0] * nv), 1e-2 * np.eye(nv)

    def costs(x, tau):
        return 0.5 * (((x - goal) @ Q * (x - goal)).sum(-1) + ((tau - hold) @ R * (tau - hold)).sum(-1))

    guess = np.tile(start, (steps + 1, 1)), np.tile(first, (steps, 1)), np.zeros((steps, nv, 2 * nv))
    states, forces, cost = roll_out(dynamics, *guess, np.zeros((steps, nv)), costs)
    history = [cost]
    for _ in range(iterations):
        A, B = dynamics.derivatives(states[:-1, :nv], states[:-1, nv:], forces)
        plan = policy(A, B, Q, R, (states - goal) @ Q, (forces - hold) @ R)
        better = roll_out(dynamics, states, forces, *plan, costs)
        if better[2] >= cost * (1 - 1e-6):
            break
        states, forces, cost = better
        history.append(cost)
    return states, history


def draw(results, path):
    """Draw costs and joints of both trajectories."""
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (states, costs), style in zip(results, ("o-", "k.:"), strict=True):
        left.semilogy(costs, style)
        right.plot(H * np.arange(len(states)), states[:, : states.shape[1] // 2], style[1:])
        right.set_prop_cycle(None)
    left.set(xlabel="iteration", ylabel="cost", title="line: the design; dots: Pinocchio")
    right.set(xlabel="time (s)", ylabel="joints (rad)", title="the joints, likewise")
    figure.savefig(path, dpi=110)


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
    gravity = [pin.rnea(model, model.createData(), q, rest, rest) for q in (rest, goal)]
    reach = np.hstack([rest, rest]), np.hstack([goal, rest]), *gravity, options.steps
    results = {
        f"engine {options.engine}": ilqr(Design(options.robot, options.engine, folder, rotors), *reach),
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
