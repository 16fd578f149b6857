"""Crocoddyl's FDDP on the problem of a file, with another Python: python crocoddyl_times.py IN.npz OUT.npz.

Its numbers are those of :func:`benchmarks.solver.problem_of`. The other Python has Crocoddyl, and nothing of
rbdhw.
"""

import sys
import time
from collections.abc import Callable, Mapping
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
    driven = slice(model.nv - actuation.nu, None)

    def dynamics_of(k: int, costs: Any) -> Any:
        if not touching:
            return crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs)
        contacts = crocoddyl.ContactModelMultiple(state, actuation.nu)
        for name, present in zip(problem["points"], problem["contact"][min(k, steps - 1)], strict=True):
            if present:
                frame, axes = model.getFrameId(str(name)), pinocchio.LOCAL
                gains = np.zeros(2)
                point = crocoddyl.ContactModel3D(state, frame, np.zeros(3), axes, actuation.nu, gains)
                contacts.addContact(str(name), point)
        damping = float(problem["damping"])
        return crocoddyl.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs, damping)

    steps = len(problem["tau"])

    def action(k: int, h: float) -> Any:
        costs = crocoddyl.CostModelSum(state, actuation.nu)
        weights = crocoddyl.ActivationModelWeightedQuad(problem["Q"][k])
        error = crocoddyl.ResidualModelState(state, problem["x_ref"][k], actuation.nu)
        costs.addCost("x", crocoddyl.CostModelResidual(state, weights, error), 1.0)
        if h:
            weights = crocoddyl.ActivationModelWeightedQuad(problem["R"][k][driven])
            error = crocoddyl.ResidualModelControl(state, problem["tau_ref"][k][driven])
            costs.addCost("tau", crocoddyl.CostModelResidual(state, weights, error), 1.0)
        if problem["frame"]:
            frame = model.getFrameId(str(problem["frame"]))
            goal = problem["placement_ref"][k, 0, :3, 3]
            error = crocoddyl.ResidualModelFrameTranslation(state, frame, goal, actuation.nu)
            weights = crocoddyl.ActivationModelWeightedQuad(problem["position_weight"][k, 0])
            costs.addCost("p", crocoddyl.CostModelResidual(state, weights, error), 1.0)
        if "momentum_weight" in problem:
            error = crocoddyl.ResidualModelCentroidalMomentum(state, problem["momentum_ref"][k], actuation.nu)
            weights = crocoddyl.ActivationModelWeightedQuad(problem["momentum_weight"][k])
            costs.addCost("h", crocoddyl.CostModelResidual(state, weights, error), 1.0)
        # Costs are multiplied by the step in time, so weights are divided by it.
        for item in costs.costs.todict().values():
            item.weight = 1.0 / h if h else 1.0
        return crocoddyl.IntegratedActionModelEuler(dynamics_of(k, costs), h)

    h = float(problem["h"])
    first = np.hstack([problem["q"], problem["v"]])
    made = crocoddyl.ShootingProblem(first, [action(k, h) for k in range(steps)], action(steps, 0.0))
    made.nthreads = 1
    return made


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
