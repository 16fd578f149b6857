"""The recorded step of a sweep back: its sweep equals that of dense matrices, with few operations."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.frontend.build_graph import multiplications
from rbdhw.frontend.knot_step import record_sweep
from rbdhw.golden.riccati import sweep_back
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


def test_costs_that_join_velocities_are_refused():
    expansion = random_expansion(toy(), KNOTS, 1)
    hessian = expansion.hessian.copy()
    hessian[2, 0, 3] = hessian[2, 3, 0] = 1.0
    with pytest.raises(ValueError, match="join velocities"):
        knot_numbers(replace(expansion, hessian=hessian), STEP, (0, 1))
