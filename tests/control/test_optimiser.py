"""The optimiser beside dense least squares and the solver in C, and plans that do not arrive."""

from types import SimpleNamespace

import numpy as np
import pytest

import rbdhw
from rbdhw.control.optimiser import LostAnswer, Mpc, Optimiser, Plan, later
from rbdhw.robots import path

N, H = 8, 0.02
STEP = np.array([[1.0, 0.0, H, 0.0], [0.0, 1.0, 0.0, H], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
PUSH = np.vstack([H * H * np.eye(2), H * np.eye(2)])


class Masses:
    """Two masses of one kilogram; the second is a frame at (0, 0, q)."""

    def step(self, q, v, tau, _h):
        return SimpleNamespace(x_next=np.hstack([q, v]) @ STEP.T + tau @ PUSH.T)

    def dstep(self, q, v, tau, h):
        return self.step(q, v, tau, h).x_next, np.tile(STEP, (len(q), 1, 1)), np.tile(PUSH, (len(q), 1, 1))

    def position(self, q, extended=False):
        position = np.zeros((*q.shape[:-1], 1, 3))
        position[..., 0, 2] = q[..., 1]
        J = np.zeros((*q.shape[:-1], 1, 3, 2))
        J[..., 0, 2, 1] = 1.0
        return (
            SimpleNamespace(position=position, J_position=J)
            if extended
            else SimpleNamespace(position=position)
        )


def costs(rng):
    goal = np.tile(np.eye(4), (N + 1, 1, 1, 1))
    goal[:, 0, 2, 3] = rng.normal(size=N + 1)
    return {
        "x_ref": rng.normal(size=(N + 1, 4)),
        "Q": rng.uniform(0.1, 1.0, (N + 1, 4)),
        "R": rng.uniform(0.01, 0.1, (N, 2)),
        "tau_ref": rng.normal(size=(N, 2)),
        "placement_ref": goal,
        "position_weight": rng.uniform(0.1, 1.0, (N + 1, 1, 3)),
    }


def test_linear_problems_are_solved_at_once():
    """The least squares of all forces together, without any recursion."""
    rng = np.random.default_rng(0)
    cost, x0 = costs(rng), rng.normal(size=4)
    plan = Optimiser(Masses()).solve(x0[:2], x0[2:], H, **cost)
    still, by_tau = [x0], [np.zeros((4, 2 * N))]
    for k in range(N):
        still.append(STEP @ still[-1])
        by_tau.append(STEP @ by_tau[-1])
        by_tau[-1][:, 2 * k : 2 * k + 2] += PUSH
    rows, right = [], []
    for k in range(N + 1):
        weights = np.sqrt(cost["Q"][k])
        rows.append(weights[:, np.newaxis] * by_tau[k])
        right.append(weights * (cost["x_ref"][k] - still[k]))
        weight = np.sqrt(cost["position_weight"][k, 0, 2])
        rows.append(weight * by_tau[k][1:2])
        right.append([weight * (cost["placement_ref"][k, 0, 2, 3] - still[k][1])])
    rows.append(np.diag(np.sqrt(cost["R"].ravel())))
    right.append(np.sqrt(cost["R"].ravel()) * cost["tau_ref"].ravel())
    tau, (twice,), *_ = np.linalg.lstsq(np.vstack(rows), np.hstack(right), rcond=None)
    assert plan.tau.ravel() == pytest.approx(tau, abs=1e-9)
    assert plan.cost == pytest.approx(0.5 * twice)
    assert plan.share == 1.0
    again = Optimiser(Masses()).solve(x0[:2], x0[2:], H, **cost, warm=plan)
    assert again.cost == pytest.approx(plan.cost)


def test_iterations_end_at_the_minimiser_of_the_solver(tmp_path):
    acc = rbdhw.generate(path("toy"), tmp_path / "toy", target="c", functions="solve", knots=N).load("golden")
    arrays = {"x_ref": [0.5, -0.3, 0.0, 0.0], "Q": [10.0, 10.0, 0.1, 0.1], "R": [1e-2, 1e-2]}
    exact = acc.solve([0.1, 0.2], [0.0, 0.0], H, **arrays, iterations=30)
    full = {name: np.tile(row, (N + (name != "R"), 1)) for name, row in arrays.items()}
    plan = None
    for _ in range(8):
        efforts = {"tau_min": [-40.0, -15.0], "tau_max": [40.0, 15.0]}
        start = np.array([0.1, 0.2]), np.zeros(2)
        plan = Optimiser(acc).solve(*start, H, **full, **efforts, tau_ref=np.zeros((N, 2)), warm=plan)
    assert plan.tau == pytest.approx(exact.tau, abs=1e-3)
    assert plan.cost == pytest.approx(float(exact.cost), rel=1e-8)


def test_plans_that_do_not_arrive_are_made_up_for():
    calls = []

    def solve(q, v, _h, *, shift, **_others):
        calls.append(shift)
        if len(calls) in (1, 3):
            raise LostAnswer
        forces = float(len(calls)) + np.arange(3.0)[:, np.newaxis]
        return Plan(np.tile(np.hstack([q, v]), (4, 1)), forces, np.zeros((3, 1, 2)))

    mpc = Mpc(solve, H, 2, lambda _tick: {})
    q, v = np.array([0.3]), np.array([0.0])
    for tick in (0, 1):
        with pytest.raises(LostAnswer):
            mpc(tick, q, v)
    assert [float(mpc(tick, q, v)[0]) for tick in range(2, 8)] == [2.0, 2.0, 3.0, 3.0, 4.0, 4.0]
    assert calls == [0, 1, 1, 2]
    assert (mpc.lost, mpc.failed) == (2, 1)  # a plan without a step is one whose line search failed


def test_the_last_row_stays():
    assert later(np.arange(4), 1).tolist() == [1, 2, 3, 3]
    assert later(np.arange(3), 9).tolist() == [2, 2, 2]
