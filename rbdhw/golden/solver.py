"""Optimal control in double precision: differential dynamic programming with Gauss-Newton costs.

The knots 0 to N of a horizon have states ``x = [q, v]``; a force ``tau`` acts from each of the first N to the
next, through a step by semi-implicit Euler. The tangent vector ``d(x, y)`` from a state to another is that
of :func:`difference`. The cost is the sum over all knots of half of

=================================  =========================================================================
``Q d^2``                          for the elements of ``d = d(x_ref, x)``
``W (C d - y)^2``                  for the rows of ``C``
``limit_weight e^2``               for the excess ``e`` of each element over ``x_min`` to ``x_max``
``R (tau - tau_ref)^2``            for each force; not at the last knot
``position_weight (p - p_ref)^2``  for the coordinates of the position of each frame
``orientation_weight |E|^2 / 2``   for the difference ``E`` of each frame's rotation matrix and its reference
``momentum_weight (m - m_ref)^2``  for the coordinates of the momentum about the centre of mass, linear first
=================================  =========================================================================

An iteration differentiates the steps and costs of a trajectory, sweeps back through the knots for the gains
``K`` and the changes ``k`` of the forces, and then forward: ``tau + alpha k + K d(x, x_new)``, limited to
``tau_min`` to ``tau_max``. A force whose limits are equal has no change. The first of the step lengths 1,
1/2, 1/4, ... is taken that decreases the cost by a share of what the quadratic model expects. Where the
Hessian by the forces is not positive, or no step length does, the Hessian's diagonal is raised.

Source: Tassa, Mansard and Todorov, "Control-limited differential dynamic programming" (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rbdhw.golden.complex_step import STEP, displaced, rotated
from rbdhw.golden.evaluation import evaluate
from rbdhw.golden.kinematics import placements
from rbdhw.golden.riccati import Expansion, Policy, sweep_back
from rbdhw.golden.spatial import Array
from rbdhw.golden.system import system
from rbdhw.golden.whole_body import centroidal
from rbdhw.protocol import CONTACT, steps_with
from rbdhw.robot.model import JointKind, Robot
from rbdhw.solving import LEAST_REGULARISATION, MOST_REGULARISATION, SUFFICIENT_DECREASE, Solved

Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Trajectory:
    """The states (N + 1, nq + nv), forces (N, nv) and cost of a forward pass."""

    states: Array
    tau: Array
    cost: float


Sweep = Callable[[Expansion, float], Policy | None]
"""A sweep back: the policy of an expansion with a regularisation, or None if it takes more of it."""


def solve(
    robot: Robot,
    problem: Arrays,
    iterations: int,
    alphas: int,
    tolerance: float,
    sweep: Sweep = sweep_back,
) -> dict[str, Array]:
    """Return the solution of one problem.

    Parameters
    ----------
    problem
        ``q`` (nq,) and ``v`` (nv,) of the first state, and ``h``; ``x_ref`` (N + 1, nq + nv), ``Q`` (N + 1,
        2 nv), ``C`` (rows, 2 nv), ``y`` and ``W`` (N + 1, rows), ``limit_weight`` (2 nv,), ``x_min`` and
        ``x_max`` (nq + nv,), ``tau_ref`` and ``R`` (N, nv), ``tau_min`` and ``tau_max`` (nv,),
        ``placement_ref`` (N + 1, frames, 4, 4), ``position_weight`` (N + 1, frames, 3) and
        ``orientation_weight`` (N + 1, frames); perhaps ``momentum_ref`` and ``momentum_weight`` (N + 1, 6);
        the forces ``tau`` (N, nv) of the first trajectory, with the feedback of gains ``K`` (N, nv, 2 nv)
        around ``states`` (N + 1, nq + nv). If the robot has contacts, ``contact`` (N, contacts) is one for
        each of them during a step.
    iterations
        The most iterations.
    alphas
        The number of step lengths.
    tolerance
        A trajectory is optimal if no more than this share of its cost can be gained.
    sweep
        The sweep back; other arithmetic than that of double precision takes its place in studies.

    Returns
    -------
    dict
        ``states``, ``tau``, ``K``, ``cost``, the ``decrease`` that the last sweep expects and the
        ``regularisation`` that it took, ``iterations`` and ``status``, one of :class:`rbdhw.solving.Solved`.
    """
    guess = Trajectory(problem["states"], problem["tau"], np.inf)
    best = _forward(robot, problem, guess, Policy(problem["K"], np.zeros_like(problem["tau"]), 0.0), 0.0)
    policy, taken = Policy(problem["K"], np.zeros_like(best.tau), np.inf), 0
    regularisation = added = 0.0
    status = Solved.ITERATIONS if np.isfinite(best.cost) else Solved.NOT_FINITE
    while status is Solved.ITERATIONS and taken < iterations:
        taken += 1
        swept, regularisation = _backward(sweep, expand(robot, problem, best), regularisation)
        added = regularisation
        if swept is None:
            status = Solved.INDEFINITE
            break
        policy = swept
        if policy.decrease <= tolerance * best.cost:
            status = Solved.CONVERGED
            break
        better = _search(robot, problem, best, policy, alphas)
        if better is None:
            regularisation = _raised(regularisation)
            status = Solved.STALLED if regularisation > MOST_REGULARISATION else status
        else:
            best, regularisation = better, _lowered(regularisation)
    numbers = {"cost": best.cost, "decrease": policy.decrease, "regularisation": added}
    numbers |= {"iterations": taken, "status": status}
    arrays = {"states": best.states, "tau": best.tau, "K": policy.gains}
    return arrays | {name: np.array(number) for name, number in numbers.items()}


def roll_out(robot: Robot, problem: Arrays, changes: Array) -> Trajectory:
    """Return the trajectory with ``changes`` (N, nv) of the forces ``tau`` and feedback, of any length."""
    guess = Trajectory(problem["states"], problem["tau"][: len(changes)], np.inf)
    return _forward(robot, problem, guess, Policy(problem["K"], changes, 0.0), 1.0)


def mean_of_samples(robot: Robot, problem: Arrays, changes: Array, temperature: float) -> dict[str, Array]:
    """Return the mean of the forces of samples with ``changes`` (S, N, nv), and where it leads.

    The weight of a sample is exp(-cost / temperature). Results are ``tau`` (N, nv), ``states`` (N + 1,
    nq + nv) and their ``cost``, the ``least`` cost of a sample, and the ``effective`` number of samples.
    """
    samples = [roll_out(robot, problem, each) for each in changes]
    costs = np.array([sample.cost for sample in samples])
    weights = np.exp((costs.min() - costs) / temperature)
    tau = np.tensordot(weights, [sample.tau for sample in samples], axes=1) / weights.sum()
    alone = {"tau": tau, "K": np.zeros_like(problem["K"])}
    mean = roll_out(robot, {**problem, **alone}, np.zeros_like(tau))
    numbers = {
        "cost": mean.cost,
        "least": costs.min(),
        "effective": weights.sum() ** 2 / np.sum(weights**2),
    }
    return {"tau": mean.tau, "states": mean.states} | {name: np.array(n) for name, n in numbers.items()}


def _raised(regularisation: float) -> float:
    return max(10.0 * regularisation, LEAST_REGULARISATION)


def _lowered(regularisation: float) -> float:
    return regularisation / 10.0 if regularisation > LEAST_REGULARISATION else 0.0


def _search(
    robot: Robot, problem: Arrays, best: Trajectory, policy: Policy, alphas: int
) -> Trajectory | None:
    """Return the trajectory of the first step length that decreases the cost enough, if there is one."""
    for alpha in 0.5 ** np.arange(alphas):
        trial = _forward(robot, problem, best, policy, alpha)
        expected = alpha * (2.0 - alpha) * policy.decrease
        if best.cost - trial.cost >= SUFFICIENT_DECREASE * expected:
            return trial
    return None


def _forward(robot: Robot, problem: Arrays, around: Trajectory, policy: Policy, alpha: float) -> Trajectory:
    """Return the trajectory of a policy around another."""
    x = np.hstack([problem["q"], problem["v"]])
    states, forces, cost = [x], [], 0.0
    step, _ = steps_with(contacts=bool(robot.contacts.places))
    for k, tau in enumerate(around.tau):
        feedback = policy.gains[k] @ difference(robot, around.states[k], x)
        applied = tau + alpha * policy.changes[k] + feedback
        applied = np.clip(applied, problem["tau_min"], problem["tau_max"])
        cost += _state_cost(robot, problem, k, x)
        cost += 0.5 * np.sum(problem["R"][k] * (applied - problem["tau_ref"][k]) ** 2)
        x = evaluate(robot, step, _task(robot, problem, k, x, applied))["x_next"][0]
        states.append(x)
        forces.append(applied)
    cost += _state_cost(robot, problem, len(forces), x)
    return Trajectory(np.array(states), np.array(forces), float(cost))


def _task(robot: Robot, problem: Arrays, k: int | slice, x: Array, tau: Array) -> dict[str, Array]:
    """Return tasks of states (..., nq + nv) and forces (..., nv) of steps ``k`` for the golden model."""
    x, tau = np.atleast_2d(x), np.atleast_2d(tau)
    task = {"q": x[:, : robot.nq], "v": x[:, robot.nq :], "tau": tau}
    task |= {CONTACT: np.atleast_2d(problem[CONTACT][k])} if robot.contacts.places else {}
    return task | ({} if robot.time_step is not None else {"h": np.full(len(x), problem["h"])})


# The sweep


def expand(robot: Robot, problem: Arrays, around: Trajectory) -> Expansion:
    """Return the expansion of a problem around a trajectory.

    A force whose limits are equal has so large a weight that it does not change.
    """
    _, derivatives = steps_with(contacts=bool(robot.contacts.places))
    steps = evaluate(robot, derivatives, _task(robot, problem, slice(None), around.states[:-1], around.tau))
    gradients, hessians = zip(
        *(_expansion(robot, problem, *knot) for knot in enumerate(around.states)), strict=True
    )
    held = np.where(problem["tau_min"] == problem["tau_max"], MOST_REGULARISATION, 0.0)
    by_force = problem["R"] * (around.tau - problem["tau_ref"])
    weights = problem["R"] + held
    costs = np.array(gradients), np.array(hessians), by_force, weights
    return Expansion(steps["A"], steps["B"], *costs, around.states)


def _backward(sweep: Sweep, expansion: Expansion, regularisation: float) -> tuple[Policy | None, float]:
    """Return the policy of an expansion and the regularisation that it takes, at least the one given."""
    while regularisation <= MOST_REGULARISATION:
        policy = sweep(expansion, regularisation)
        if policy is not None:
            return policy, regularisation
        regularisation = _raised(regularisation)
    return None, regularisation


# Costs of states


def _residuals(robot: Robot, problem: Arrays, k: int, x: Array) -> tuple[Array, Array]:
    """Return the residuals of a state at a knot, and their weights; half their squares are the cost."""
    d = difference(robot, problem["x_ref"][k], x)
    rows = [d, problem["C"] @ d - problem["y"][k]]
    weights = [problem["Q"][k], problem["W"][k]]
    elements = simple_elements(robot)
    excess = x - np.clip(x.real, problem["x_min"], problem["x_max"])
    rows.append(np.where(excess.real != 0.0, excess, 0.0)[elements[:, 1]])
    weights.append(problem["limit_weight"][elements[:, 0]])
    if robot.frames:
        error = placements(robot, x[np.newaxis, : robot.nq])[0] - problem["placement_ref"][k]
        rows += [error[:, :3, 3].ravel(), error[:, :3, :3].ravel()]
        turned = np.repeat(0.5 * problem["orientation_weight"][k], 9)
        weights += [problem["position_weight"][k].ravel(), turned]
    if "momentum_weight" in problem:
        rows.append(momentum(robot, x) - problem["momentum_ref"][k])
        weights.append(problem["momentum_weight"][k])
    return np.concatenate(rows), np.concatenate(weights)


def momentum(robot: Robot, x: Array) -> Array:
    """Return the momentum (6,) of a state (nq + nv,) about the centre of mass, ``[linear; angular]``."""
    still = np.zeros((1, 6))
    tasks = {"q": x[np.newaxis, : robot.nq], "v": x[np.newaxis, robot.nq :], "base_v": still, "base_a": still}
    return np.asarray(centroidal(system(robot), tasks)["h_g"][0])


def _state_cost(robot: Robot, problem: Arrays, k: int, x: Array) -> float:
    residuals, weights = _residuals(robot, problem, k, x)
    return float(0.5 * np.sum(weights * residuals**2))


def _expansion(robot: Robot, problem: Arrays, k: int, x: Array) -> tuple[Array, Array]:
    """Return the gradient (2 nv,) and the Gauss-Newton Hessian (2 nv, 2 nv) of the cost of a state."""
    residuals, weights = _residuals(robot, problem, k, x)
    columns = [_residuals(robot, problem, k, moved)[0].imag / STEP for moved in _displaced_states(robot, x)]
    jacobian = np.stack(columns, axis=1)
    weighted = weights[:, np.newaxis] * jacobian
    return weighted.T @ residuals, jacobian.T @ weighted


def _displaced_states(robot: Robot, x: Array) -> list[Array]:
    """Return a state after an imaginary step along each direction of the tangent space."""
    q, v = x[np.newaxis, : robot.nq], x[robot.nq :]
    moved = [np.hstack([displaced(robot, q, k)[0], v]) for k in range(robot.nv)]
    return moved + [np.hstack([q[0], v + STEP * 1j * unit]) for unit in np.eye(robot.nv)]


def simple_elements(robot: Robot) -> Array:
    """Return pairs of an element of the tangent space and the element of the state that moves along it."""
    pairs = [(robot.nv + i, robot.nq + i) for i in range(robot.nv)]
    for body, columns, rates in zip(robot.bodies, robot.q_of, robot.v_of, strict=True):
        kind = body.joint.kind
        if body.joint.mimic is None and kind.quaternion is None and kind is not JointKind.PLANAR:
            pairs += zip(range(robot.nv)[rates], range(robot.nq)[columns], strict=True)
    return np.array(pairs)


def difference(robot: Robot, one: Array, other: Array) -> Array:
    """Return the tangent vector (2 nv,) from a state (nq + nv,) to another, with chords in place of angles.

    Seen from the first pose of a joint, it is the displacement of the origin, and the vector of the direction
    of the rotation between both and of the length ``2 sin(angle / 2)``.
    """
    d = np.zeros(2 * robot.nv, np.result_type(one, other))
    d[robot.nv :] = other[robot.nq :] - one[robot.nq :]
    for body, columns, rates in zip(robot.bodies, robot.q_of, robot.v_of, strict=True):
        if body.joint.mimic is None:
            d[: robot.nv][rates] = _joint_difference(body.joint.kind, one[columns], other[columns])
    return d


def _joint_difference(kind: JointKind, one: Array, other: Array) -> Array:
    match kind:
        case JointKind.FLOATING:
            back = np.append(-one[3:6], one[6])[np.newaxis]
            return np.hstack([rotated(back, other[:3] - one[:3])[0], _chord(one[3:], other[3:])])
        case JointKind.SPHERICAL:
            return _chord(one, other)
        case JointKind.PLANAR:
            cos, sin = np.cos(one[2]), np.sin(one[2])
            x, y, angle = other - one
            return np.array([cos * x + sin * y, cos * y - sin * x, angle])
    return other - one


def _chord(one: Array, other: Array) -> Array:
    """Return twice the vector of the quaternion that turns one orientation into another."""
    return np.asarray(2.0 * (one[3] * other[:3] - other[3] * one[:3] - np.cross(one[:3], other[:3])))
