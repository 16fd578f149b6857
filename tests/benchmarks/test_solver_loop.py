"""The accelerator's solver in a loop at 1 kHz beside double precision's, and from rest to random goals."""

import numpy as np
import pytest

from benchmarks.solver_loop import (
    KNOTS,
    PERIOD,
    ROBOT,
    TICKS,
    forces_at_rest,
    solver_loop_layout,
    solver_loop_rows,
    solvers_of,
)
from rbdhw.solving import Solved

AS_GOOD, IN_BLOCKS = 0.02, 0.1
"""How much larger an error in the loop may be than in double precision, and with sweeps in blocks."""


FALLS = 0.994
"""The share of the forces that hold the arm with which 13 of 30 falls, in double precision, leave the domain.

Of these each is beyond the domain by 0.18 rad/s or more, and the others stay within it by 0.2 rad/s.
"""

ROUNDING = 1e-6
"""Of the bounds of states, in words (rad, rad/s)."""


def check_loop(rows, ticks):
    exact, *accelerators = rows
    for fixed, share in zip(accelerators, (AS_GOOD, IN_BLOCKS), strict=True):
        assert exact["ends"] == fixed["ends"] == {"iterations": ticks}
        for name in ("median", "max"):
            assert fixed[name] == pytest.approx(exact[name], rel=share)
        assert fixed["median"] != exact["median"]


@pytest.mark.verify
def test_the_solver_on_chip_tracks_as_double_precision():
    rows = solver_loop_rows("toy", 10, 0.2)
    check_loop(rows, 200)
    headings = ["", "error in the loop, median / max, rad", "ends of iterations"]
    lines = solver_loop_layout(rows)
    assert [list(line) for line in lines] == [headings] * 3
    assert lines[1][headings[2]] == "200 iterations"


@pytest.mark.verify(minutes=2)
@pytest.mark.timeout(3600)
def test_an_arm_draws_a_quarter_of_the_figure():
    check_loop(solver_loop_rows(seconds=0.5), 500)


def solutions(fast=0.0, held=1.0):
    """Yield solutions of random problems by both solvers; joints move by up to ``fast`` rad/s at first.

    The first trajectory has ``held`` times the forces that hold the arm at rest.
    """
    both, rng = solvers_of(ROBOT, KNOTS), np.random.default_rng(0)
    robot, nv = both.robot, both.robot.nv
    weights = np.tile(np.repeat([10.0, 0.5], nv), (KNOTS + 1, 1))
    weights[-1] *= 5.0
    costs = {"Q": weights, "R": np.full(nv, 1e-3), "tau_min": both.limits[:, 0], "tau_max": both.limits[:, 1]}
    for _ in range(30):
        q = rng.uniform(*np.clip(0.4 * both.states[:nv], -1.2, 1.2).T)
        v = rng.uniform(-fast, fast, nv)
        goal = np.hstack([q + rng.uniform(-0.5, 0.5, nv), np.zeros(nv)])
        problem = {"x_ref": goal, "tau": held * forces_at_rest(robot, q), **costs}
        yield tuple(each.solve(q, v, TICKS * PERIOD, **problem) for each in (both.exact, both.fixed))


def within(states):
    """Return whether the states (N + 1, 2 nv) before all steps are within those of the accelerator."""
    low, high = solvers_of(ROBOT, KNOTS).states.T
    return bool(np.all((states[:-1] >= low - ROUNDING) & (states[:-1] <= high + ROUNDING)))


@pytest.mark.verify(minutes=1)
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("fast", [0.0, 0.2])
def test_goals_from_rest_and_in_motion(fast):
    """Each ends, and finds the optimum unless that of double precision is beyond the accelerator's domain."""
    reached = 0
    for exact, fixed in solutions(fast):
        assert (fixed.status, fixed.iterations) == (Solved.ITERATIONS, 10)
        assert within(fixed.states)
        if within(exact.states):
            assert fixed.cost <= exact.cost * (1.0 + 1e-4)
            reached += 1
    assert reached > 15


@pytest.mark.verify(minutes=1)
@pytest.mark.timeout(3600)
def test_a_first_trajectory_that_leaves_the_domain_says_so():
    """An arm that falls for 0.64 s may leave it; what has no solution has its status."""
    ends = {Solved.ITERATIONS: 0, Solved.NOT_FINITE: 0}
    for exact, fixed in solutions(held=FALLS):
        ends[Solved(int(fixed.status))] += 1
        if fixed.status == Solved.NOT_FINITE:
            assert fixed.iterations == 0
            assert not fixed.K.any()
        elif within(exact.states):
            assert fixed.cost <= exact.cost * (1.0 + 1e-4)
    assert min(ends.values()) > 0
