"""Crocoddyl's FDDP on the problem of a file, with another Python: python crocoddyl_times.py IN.npz OUT.npz.

Its numbers are those of :func:`benchmarks.solver.problem_of`. The other Python has Crocoddyl, and nothing of
rbdhw.
"""

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import crocoddyl
import numpy as np
import pinocchio

ROUNDS = 60


def main(source: str, target: str) -> None:
    """Write the seconds of an iteration, and the minimiser."""
    with np.load(source) as archive:
        problem = dict(archive)
    root = [pinocchio.JointModelFreeFlyer()] if problem["floating"] else []
    model = pinocchio.buildModelFromUrdf(str(problem["urdf"]), *root)
    solver = crocoddyl.SolverFDDP(shooting_problem(model, problem))
    solver.alphas = [1.0]
    forces = list(problem["tau"])
    states = solver.problem.rollout(forces)
    one, three = (seconds(solver, states, forces, count) for count in (1, 3))
    parts = {
        "derivatives": solver.calcDiff,
        "backward": solver.backwardPass,
        "forward": lambda: solver.forwardPass(1.0),
    }
    solver.setCandidate(states, forces, True)
    shares: dict[str, Any] = {name: shortest(part) for name, part in parts.items()}
    solver.th_stop = 1e-24
    solver.solve(states, forces, 100, True, 0.0)
    shares |= {"seconds": (three - one) / 2.0, "states": np.array(solver.xs), "tau": np.array(solver.us)}
    np.savez(target, **shares)


def shooting_problem(model: Any, problem: Mapping[str, Any]) -> Any:
    """Return the problem: costs of states, of forces, and of a frame's position and of momentum if given.

    With ``contact`` (steps, points) frames ``points`` of the model touch the world, held with ``damping``,
    and nothing drives the base.
    """
    state = crocoddyl.StateMultibody(model)
    touching = "contact" in problem
    actuation = (crocoddyl.ActuationModelFloatingBase if touching else crocoddyl.ActuationModelFull)(state)
    steps, h = len(problem["tau"]), float(problem["h"])

    def action(k: int) -> Any:
        """Return the action of a knot; the last one has no step."""
        step = h if k < steps else 0.0
        costs = _costs(state, actuation.nu, problem, k, acts=k < steps)
        # Costs are multiplied by the step in time, so weights are divided by it.
        for item in costs.costs.todict().values():
            item.weight = 1.0 / step if step else 1.0
        if touching:
            present = problem["contact"][min(k, steps - 1)]
            dynamics = _touching_dynamics(state, actuation, costs, problem, present)
        else:
            dynamics = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        return crocoddyl.IntegratedActionModelEuler(dynamics, step)

    first = np.hstack([problem["q"], problem["v"]])
    made = crocoddyl.ShootingProblem(first, [action(k) for k in range(steps)], action(steps))
    made.nthreads = 1
    return made


def _costs(state: Any, forces: int, problem: Mapping[str, Any], k: int, acts: bool) -> Any:
    """Return the costs of a knot, whose last ``forces`` coordinates are driven if it ``acts``."""
    costs = crocoddyl.CostModelSum(state, forces)

    def add(name: str, error: Any, weights: Any) -> None:
        activation = crocoddyl.ActivationModelWeightedQuad(weights)
        costs.addCost(name, crocoddyl.CostModelResidual(state, activation, error), 1.0)

    add("x", crocoddyl.ResidualModelState(state, problem["x_ref"][k], forces), problem["Q"][k])
    if acts:
        driven = slice(state.nv - forces, None)
        wanted = problem["tau_ref"][k][driven]
        add("tau", crocoddyl.ResidualModelControl(state, wanted), problem["R"][k][driven])
    if problem["frame"]:
        frame = state.pinocchio.getFrameId(str(problem["frame"]))
        goal = problem["placement_ref"][k, 0, :3, 3]
        error = crocoddyl.ResidualModelFrameTranslation(state, frame, goal, forces)
        add("p", error, problem["position_weight"][k, 0])
    if "momentum_weight" in problem:
        error = crocoddyl.ResidualModelCentroidalMomentum(state, problem["momentum_ref"][k], forces)
        add("h", error, problem["momentum_weight"][k])
    return costs


def _touching_dynamics(
    state: Any, actuation: Any, costs: Any, problem: Mapping[str, Any], present: Iterable[bool]
) -> Any:
    """Return forward dynamics with those of the points that are ``present``."""
    contacts = crocoddyl.ContactModelMultiple(state, actuation.nu)
    for name, touches in zip(problem["points"], present, strict=True):
        if touches:
            frame, gains = state.pinocchio.getFrameId(str(name)), np.zeros(2)
            point = crocoddyl.ContactModel3D(state, frame, np.zeros(3), pinocchio.LOCAL, actuation.nu, gains)
            contacts.addContact(str(name), point)
    damping = float(problem["damping"])
    return crocoddyl.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs, damping)


def seconds(solver: Any, states: Any, forces: Any, iterations: int) -> float:
    """Return the shortest processor time of so many iterations."""
    return shortest(lambda: solver.solve(states, forces, iterations, True, 0.0))


def shortest(call: Callable[[], Any]) -> float:
    """Return the shortest processor time of a call in seconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time_ns()
        call()
        times.append(time.process_time_ns() - start)
    return 1e-9 * min(times)


if __name__ == "__main__":
    main(*sys.argv[1:])
