"""Mass matrix, its inverse, and derivatives by every algorithm on arrays, compared with the golden model."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from rbdhw import golden
from rbdhw.dynamics.articulated import articulated_inverse
from rbdhw.dynamics.columns import column_derivatives
from rbdhw.dynamics.derivatives import inverse_dynamics_derivatives, mass_matrix
from rbdhw.dynamics.factorization import factorize, inverse
from rbdhw.dynamics.joint import coordinates
from rbdhw.dynamics.rnea import at_rest, newton_euler
from rbdhw.emit.manifest import function_counts
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.functions import trace
from rbdhw.graph.graph import Op
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import Robot
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from tests.support.marks import long
from tests.support.strategies import random_states, robots
from tests.support.wrenches import wrenches

TASKS = 3

States = dict[str, np.ndarray]
Rows = Sequence[Sequence[Any]]


def motion(robot: Robot, states: States) -> tuple[Any, list[np.ndarray], list[np.ndarray]]:
    """Return the coordinates, velocities and accelerations of a robot whose axes are z."""
    return coordinates(robot, states["q"].T), list(states["v"].T), list(states["a"].T)


def by_composite_bodies(robot: Robot, states: States) -> dict[str, Rows]:
    q, v, a = motion(robot, states)
    trip = newton_euler(robot, q, v, a, at_rest(robot.gravity), wrenches(states["fext"]))
    derivatives = inverse_dynamics_derivatives(robot, q, v, trip)
    return {
        "M": derivatives.mass_matrix,
        "dtau_dq": derivatives.by_position,
        "dtau_dv": derivatives.by_velocity,
    }


def by_columns(robot: Robot, states: States) -> dict[str, Rows]:
    derivatives = column_derivatives(robot, *motion(robot, states), wrenches(states["fext"]))
    return dict(zip(("dtau_dq", "dtau_dv"), derivatives, strict=True))


def mass_alone(robot: Robot, states: States) -> dict[str, Rows]:
    return {"M": mass_matrix(robot, coordinates(robot, states["q"].T))}


def by_articulated_bodies(robot: Robot, states: States) -> dict[str, Rows]:
    return {"Minv": articulated_inverse(robot, coordinates(robot, states["q"].T))}


def by_factors(largest: int) -> Callable[[Robot, States], dict[str, Rows]]:
    return lambda robot, states: {"Minv": inverse(factorize(mass_alone(robot, states)["M"], largest))}


ALGORITHMS = {
    "composite": by_composite_bodies,
    "columns": by_columns,
    "mass alone": mass_alone,
    "articulated": by_articulated_bodies,
    **{f"pivots of {largest}": by_factors(largest) for largest in (1, 2, 3)},
}

LARGE = ("atlas", "hand22", "spot_arm")

WITHOUT_MIMICS = sorted(bundled().keys() - {"tiago"})

REGROUPED = ("composite", "articulated")
"""Algorithms of bodies without the inertia that joints do not feel."""


def assert_golden(algorithm: str, source: Robot, robot: Robot) -> None:
    """Check the matrices, or their lower triangles, of a rewritten robot against those of its source."""
    states = random_states(source, TASKS, seed=4)
    expected = golden.evaluate(source, "did", states) | golden.evaluate(source, "m", states)
    expected |= golden.evaluate(source, "minv", states)
    for name, rows in ALGORITHMS[algorithm](robot, states).items():
        within = 1e-9 * max(1.0, np.abs(expected[name]).max())
        for i, row in enumerate(rows):
            assert len(row) in (i + 1, robot.nv)
            for j, entry in enumerate(row):
                np.testing.assert_allclose(entry, expected[name][:, i, j], rtol=0, atol=within, err_msg=name)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", [long(name) if name in LARGE else name for name in WITHOUT_MIMICS])
def test_bundled_robots(algorithm: str, name: str) -> None:
    source = load_urdf(bundled()[name])
    assert_golden(algorithm, source, align_axes(source))
    if algorithm in REGROUPED:
        assert_golden(algorithm, source, regroup_inertias(align_axes(source)))


@given(robots(max_bodies=7))
def test_random_robots(source: Robot) -> None:
    for algorithm in ALGORITHMS:
        assert_golden(algorithm, source, align_axes(source))


@pytest.mark.parametrize("algorithm", ["composite", "columns", "articulated"])
def test_entries_between_different_limbs_are_zero(algorithm: str) -> None:
    robot = align_axes(load_urdf(bundled()["hyq"]))
    for rows in ALGORITHMS[algorithm](robot, random_states(robot, TASKS, seed=0)).values():
        unrelated = [x for i, row in enumerate(rows) for j, x in enumerate(row) if i // 3 != j // 3]
        assert unrelated == [0.0] * len(unrelated)
        assert len(unrelated) in (54, 108)


@pytest.mark.parametrize(("name", "products"), [long("iiwa14", 4313), ("hyq", 2126)])
def test_operations_by_columns_are_at_most_those_of_the_published_way(name: str, products: int) -> None:
    robot = align_axes(load_urdf(bundled()[name]))
    graph = trace(robot, ("did",), (), Algorithms(derivatives="columns"))
    multiplications = function_counts(graph, "did").multiplications
    assert multiplications.variable + multiplications.constant <= products


@pytest.mark.parametrize(
    ("name", "products", "reciprocals"), [("iiwa14", 630, 5), ("hyq", 290, 8), long("atlas", 6040, 25)]
)
def test_operations_by_articulated_bodies_stay_few(name: str, products: int, reciprocals: int) -> None:
    robot = regroup_inertias(align_axes(load_urdf(bundled()[name])))
    graph = trace(robot, ("minv",), (), Algorithms(inverse="articulated"))
    assert graph.count(Op.MULTIPLY) + graph.count(Op.SCALE) <= products
    assert graph.count(Op.RECIPROCAL) == reciprocals
