"""The recorded step of a sweep back: its sweep equals that of dense matrices, with few operations."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.frontend.build_graph import multiplications
from rbdhw.frontend.knot_step import record_sweep
from rbdhw.golden.riccati import Expansion, sweep_back
from rbdhw.graph.graph import Op
from rbdhw.model.knot_numbers import knot_numbers
from rbdhw.robot.model import JointKind
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.floating_robots import floating
from tests.support.knots import policy_of_graph, random_expansion
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.optimal_control import STEP, toy

KNOTS = 4

BASE = range(6)
"""The coordinates of a floating base, which nothing drives."""


def assert_equal(one, other, most=1e-9):
    for x, y in zip((one.gains, one.changes), (other.gains, other.changes), strict=True):
        np.testing.assert_allclose(x, y, rtol=0.0, atol=most * np.abs(y).max())
    assert one.decrease == pytest.approx(other.decrease, rel=most)


@pytest.mark.parametrize(
    ("make", "held"),
    [
        (toy, ()),
        (lambda: mechanism([JointKind.REVOLUTE, JointKind.SPHERICAL], [-1, 0], 4), ()),
        long(lambda: mechanism([JointKind.PLANAR, JointKind.REVOLUTE], [-1, 0], 2), (0, 1)),
        long(lambda: load_urdf(path("iiwa14")), ()),
        long(lambda: floating("hyq"), BASE),
    ],
)
@pytest.mark.parametrize("regularisation", [0.0, 1e-2])
def test_a_sweep_of_the_graph_equals_dense_matrices(make, held, regularisation):
    robot = make()
    expansion = random_expansion(robot, KNOTS, 3, held)
    policy = policy_of_graph(robot, record_sweep(robot, KNOTS, held), expansion, regularisation, held)
    assert_equal(
        policy, sweep_back(expansion, regularisation), 1e-7 if held else 1e-9
    )  # a weight of 1e8 holds


def cost_to_go(expansion, first, regularisation):
    """Return Hessian and gradient of the least cost of knots from ``first`` on, by the state there.

    All forces are eliminated at once, as part of one quadratic function.
    """
    A, B = expansion.A[first:], expansion.B[first:]
    steps, size, m = B.shape
    states = [np.eye(size, size + steps * m)]
    for k in range(steps):
        states.append(A[k] @ states[-1])
        states[-1][:, size + k * m : size + (k + 1) * m] += B[k]
    weights = np.hstack([np.zeros(size), (expansion.force_weight[first:] + regularisation).ravel()])
    costs = list(zip(states, expansion.hessian[first:], expansion.gradient[first:], strict=True))
    hessian = np.diag(weights) + sum(x.T @ V @ x for x, V, _ in costs)
    gradient = np.hstack([np.zeros(size), expansion.force_gradient[first:].ravel()])
    gradient += sum(x.T @ slope for x, _, slope in costs)
    by_force = np.linalg.solve(hessian[size:, size:], hessian[size:, :size])
    return (
        hessian[:size, :size] - hessian[:size, size:] @ by_force,
        gradient[:size] - by_force.T @ gradient[size:],
    )


def before(expansion, start, hessian, gradient):
    """Return the steps of an expansion up to the knot behind ``start``, whose cost is this one."""
    return Expansion(
        expansion.A[: start + 1],
        expansion.B[: start + 1],
        np.vstack([expansion.gradient[: start + 1], gradient]),
        np.concatenate([expansion.hessian[: start + 1], hessian[np.newaxis]]),
        expansion.force_gradient[: start + 1],
        expansion.force_weight[: start + 1],
    )


@pytest.mark.parametrize(
    "make",
    [
        toy,
        lambda: mechanism([JointKind.REVOLUTE, JointKind.SPHERICAL], [-1, 0], 4),
        long(lambda: mechanism([JointKind.PLANAR, JointKind.REVOLUTE], [-1, 0], 2)),
        long(lambda: load_urdf(path("iiwa14"))),
    ],
)
@pytest.mark.parametrize("starts", [long((2,)), (3, 1), long((0,))])
def test_blocks_begin_with_the_moved_values_of_another_trajectory(make, starts):
    """They equal dense sweeps whose last cost is that of the knots behind, as seen from the present state."""
    robot, regularisation = make(), 1e-2
    last, now = (random_expansion(robot, KNOTS, seed) for seed in (3, 4))
    sweeps = record_sweep(robot, KNOTS, moves=True)
    values = dict.fromkeys(starts)
    policy_of_graph(robot, sweeps, last, regularisation, (), values)
    changes = np.random.default_rng(5).uniform(-0.3, 0.3, now.gradient.shape)
    policy = policy_of_graph(robot, sweeps, now, regularisation, (), values, changes)
    for start, end in zip(starts, (*starts[1:], -1), strict=True):
        hessian, gradient = cost_to_go(last, start + 1, regularisation)
        block = before(now, start, hessian, gradient + hessian @ changes[start + 1])
        expected, own = sweep_back(block, regularisation), slice(end + 1, start + 1)
        for x, y in ((policy.gains, expected.gains), (policy.changes, expected.changes)):
            np.testing.assert_allclose(x[own], y[own], rtol=0.0, atol=1e-8 * np.abs(y).max())
    whole, behind = sweep_back(now, regularisation), slice(starts[0] + 1, None)
    np.testing.assert_allclose(policy.gains[behind], whole.gains[behind], rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("make", [toy, lambda: mechanism([JointKind.SPHERICAL], [-1], 4)])
def test_blocks_with_exact_values_that_have_not_moved_change_nothing(make):
    """The same bits; the values that a sweep hands out are those that it hands on."""
    robot = make()
    expansion, starts = random_expansion(robot, KNOTS, 3), (3, 1, 0)
    sweeps = record_sweep(robot, KNOTS, moves=True)
    whole, values = policy_of_graph(robot, sweeps, expansion, 1e-2), dict.fromkeys(starts)
    first = policy_of_graph(robot, sweeps, expansion, 1e-2, (), values)
    handed = {knot: dict(words) for knot, words in values.items()}
    again = policy_of_graph(robot, sweeps, expansion, 1e-2, (), values)
    for policy in (first, again):
        np.testing.assert_array_equal(policy.gains, whole.gains)
        np.testing.assert_array_equal(policy.changes, whole.changes)
    np.testing.assert_equal(values, handed)
    assert_equal(whole, sweep_back(expansion, 1e-2))


def test_costs_that_are_not_coupled_take_a_diagonal():
    robot = toy()
    expansion = random_expansion(robot, KNOTS, 3)
    diagonal = replace(expansion, hessian=expansion.hessian * np.eye(2 * robot.nv))
    sweeps = record_sweep(robot, KNOTS, coupled=False)
    assert [name for name in sweeps.sources if name.startswith("H")] == [f"H[{i},{i}]" for i in range(4)]
    assert_equal(policy_of_graph(robot, sweeps, diagonal, 1e-2), sweep_back(diagonal, 1e-2))


def test_derivatives_that_are_zero_take_no_products():
    robot = toy()
    expansion = random_expansion(robot, KNOTS, 3)
    expansion.A[:, :, 0] = np.eye(2 * robot.nv)[0]
    full, fewer = (
        record_sweep(robot, KNOTS, derivatives=names)
        for names in (None, [f"D[{i},{j}]" for i in range(2) for j in range(1, 6)])
    )
    assert multiplications(fewer.sweeps[0].step) < multiplications(full.sweeps[0].step)
    assert_equal(policy_of_graph(robot, fewer, expansion, 1e-2), sweep_back(expansion, 1e-2))


def test_operations_of_an_arm():
    """Dense products would be 9,485."""
    (sweep,) = record_sweep(load_urdf(path("iiwa14")), KNOTS).sweeps
    assert multiplications(sweep.step) == 4_641
    assert sweep.step.count(Op.ADD) <= 4_500
    assert sweep.step.count(Op.RECIPROCAL) == 7
    (moving,) = record_sweep(load_urdf(path("iiwa14")), KNOTS, moves=True).sweeps
    assert multiplications(moving.step) == 4_641 + 14 * 14


def test_costs_that_join_velocities_are_refused():
    expansion = random_expansion(toy(), KNOTS, 1)
    hessian = expansion.hessian.copy()
    hessian[2, 0, 3] = hessian[2, 3, 0] = 1.0
    with pytest.raises(ValueError, match="join velocities"):
        knot_numbers(replace(expansion, hessian=hessian), STEP, (0, 1))
