"""Forward dynamics by propagation, compared with the golden model."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw.errors import InputError
from rbdhw.frontend import alternatives
from rbdhw.frontend.algorithms import choose, longest_paths
from rbdhw.frontend.alternatives import DEFAULT, Algorithms, is_too_long
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, multiplications, operation_delay, prepare
from rbdhw.frontend.functions import trace
from rbdhw.robot.model import JointKind, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.graph_results import assert_graph_is_golden, prepared
from tests.support.mechanisms import mechanism
from tests.support.strategies import robots

PROPAGATED = Algorithms(forward="propagated")
DELAY = operation_delay(DEFAULT_DELAYS)


def assert_golden(robot: Robot, functions: Sequence[str] = ("fd",), seed: int = 0) -> None:
    assert_graph_is_golden(robot, seed, PROPAGATED, functions, within=1e-8)


@settings(max_examples=10)
@given(robots(max_bodies=7), st.integers(0, 100))
def test_random_trees(robot, seed):
    assert_golden(robot, seed=seed)


@pytest.mark.parametrize("name", ["toy", "iiwa14", "hyq"])
def test_bundled_robots(name):
    assert_golden(load_urdf(path(name)))


def test_rotors_and_friction():
    robot = load_urdf(path("iiwa14"))
    n = len(robot.bodies)
    bodies = [
        replace(body, joint=replace(body.joint, armature=(0.1 + 0.05 * k,), damping=(0.3 * k,)))
        for k, body in enumerate(robot.bodies)
    ]
    assert n == 7
    assert_golden(replace(robot, bodies=tuple(bodies)))


def test_beside_other_functions_and_in_steps():
    toy = load_urdf(path("toy"))
    assert_golden(toy, ("id", "fd", "dfd"))
    without_angles = mechanism([JointKind.PRISMATIC] * 3, (-1, 0, 1), seed=2)
    assert_golden(without_angles, ("fd", "step"))


@pytest.mark.parametrize(("name", "products", "nanoseconds"), [("iiwa14", 530, 265), ("hyq", 620, 105)])
def test_operations_stay_few(name, products, nanoseconds):
    graph = trace(prepared(load_urdf(path(name))), ("fd",), (), PROPAGATED)
    assert multiplications(graph) <= products
    assert longest_paths(graph, DELAY)["fd"] <= nanoseconds


def chain(links: int) -> Robot:
    return prepared(mechanism([JointKind.REVOLUTE] * links, range(-1, links - 1), seed=1))


@pytest.mark.verify
def test_long_chains_are_propagated():
    """The work grows with the links, and that of the inverse with their square and more."""
    assert choose(chain(8), ("fd",), (), DELAY, {}).algorithms.forward == "inverse"
    choice = choose(chain(20), ("fd",), (), DELAY, {"inverse": "paired_pivots"})
    assert choice.algorithms.forward == "propagated"
    propagated, inverse = (choice.costs["forward"][name] for name in ("propagated", "inverse"))
    assert 1.5 * propagated.multiplications < inverse.multiplications
    assert propagated.nanoseconds > inverse.nanoseconds


def test_chains_that_are_too_long_for_the_inverse(monkeypatch):
    """Many joints in a row are propagated without a look at the inverse, and other functions refused."""
    assert is_too_long(chain(84))
    assert not is_too_long(mechanism([JointKind.REVOLUTE] * 100, [-1] * 100, seed=1))
    monkeypatch.setattr(alternatives, "MOST_UPDATES", 50)
    robot = chain(6)
    assert choose(robot, ("fd",), (), DELAY, {}).algorithms.forward == "propagated"
    assert choose(robot, ("id",), (), DELAY, {}).costs.keys() <= {"axes"}
    with pytest.raises(InputError, match=r"too many in a row for the inverse.*minv"):
        prepare(robot, ("fd", "minv"))
    with pytest.raises(InputError, match="--core chain or --algorithm forward=propagated"):
        choose(robot, ("fd",), (), DELAY, {"forward": "inverse"})


def test_a_function_that_needs_the_inverse_leaves_no_choice():
    robot = chain(3)
    assert "forward" not in choose(robot, ("fd", "minv"), (), DELAY, {}).costs
    forced = choose(robot, ("fd", "minv"), (), DELAY, {"forward": "propagated"})
    assert forced.algorithms.forward == "propagated"
    assert list(forced.costs["forward"]) == ["propagated"]


def test_a_floating_robot_is_refused():
    robot = prepared(load_urdf(path("hyq")).with_floating_base())
    assert not replace(DEFAULT, forward="propagated").possible_for(robot)
    with pytest.raises(InputError, match="algorithm: forward=propagated cannot serve hyq"):
        choose(robot, ("fd",), (), DELAY, {"forward": "propagated"})
