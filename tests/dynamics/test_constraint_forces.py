"""Forward dynamics by constraint forces, compared with the golden model."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw.dynamics import velocity_scan
from rbdhw.errors import InputError
from rbdhw.frontend.algorithms import choose, cost_of
from rbdhw.frontend.alternatives import BY_CONSTRAINT_FORCES, DEFAULT, Algorithms
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, operation_delay
from rbdhw.frontend.functions import trace
from rbdhw.robot.model import Inertia, JointKind, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.graph_results import assert_graph_is_golden, prepared
from tests.support.marks import long
from tests.support.mechanisms import mechanism, with_random_drives
from tests.support.strategies import robots

DELAY = operation_delay(DEFAULT_DELAYS)

HAND_ON_ARM = (-1, 0, 1, 2, 1, 4, 1)
"""The parents of an arm of two bodies that carries fingers of two, two and one."""


def assert_golden(robot: Robot, way: str, functions: Sequence[str] = ("fd",), seed: int = 0) -> None:
    assert_graph_is_golden(robot, seed, Algorithms(forward=way), functions, within=1e-8)


def chain(links: int) -> Robot:
    return mechanism([JointKind.REVOLUTE, JointKind.PRISMATIC] * (links // 2), range(-1, links - 1), seed=1)


@pytest.mark.parametrize("way", [long("eliminated"), "reduced"])
@settings(max_examples=4)
@given(robots(max_bodies=6), st.integers(0, 100))
def test_random_trees(way, robot, seed):
    if Algorithms(forward=way).possible_for(prepared(robot)):
        assert_golden(robot, way, seed=seed)


@pytest.mark.parametrize("way", ["eliminated", long("reduced")])
def test_chains_branches_and_rotors(way):
    assert_golden(chain(4), way)
    hand = mechanism([JointKind.REVOLUTE] * 7, HAND_ON_ARM, seed=2)
    assert_golden(with_random_drives(hand, seed=3), way)
    assert_golden(mechanism([JointKind.REVOLUTE] * 4, (-1, 0, 0, 0), seed=4), way)  # three side by side
    assert_golden(load_urdf(path("toy")), way, ("id", "fd"))
    assert_golden(mechanism([JointKind.PRISMATIC] * 3, (-1, 0, 1), seed=2), way, ("fd", "step"))


@pytest.mark.parametrize("segment", [2, long(3)])
def test_velocities_by_segments(monkeypatch, segment):
    """Segments of segments, and segments that begin at branches."""
    monkeypatch.setattr(velocity_scan, "SERIAL", segment)
    monkeypatch.setattr(velocity_scan, "SEGMENT", segment)
    assert_golden(chain(8), "reduced")
    parents = [-1, 0, 1, 2, 3, 2, 5, 6, 4, 8, 9, 0]
    assert_golden(mechanism([JointKind.REVOLUTE, JointKind.PRISMATIC] * 6, parents, seed=5), "reduced")


@pytest.mark.verify
@pytest.mark.parametrize("way", BY_CONSTRAINT_FORCES)
def test_long_chains_and_many_branches(way):
    assert_golden(chain(64), way)
    assert_golden(chain(160), "reduced")
    branches = [(i - 1) // 2 if i else -1 for i in range(32)]
    assert_golden(mechanism([JointKind.REVOLUTE] * 32, branches, seed=4), way)


@pytest.mark.verify
def test_the_path_grows_with_the_logarithm_and_the_work_with_the_links():
    costs = [
        cost_of(trace(prepared(chain(n)), ("fd",), (), Algorithms(forward="reduced")), DELAY) for n in (8, 16)
    ]
    assert costs[1].nanoseconds < 1.4 * costs[0].nanoseconds
    assert costs[1].multiplications < 2.8 * costs[0].multiplications


def test_they_compete_by_the_same_cost():
    choice = choose(prepared(chain(4)), ("fd",), (), DELAY, {})
    assert list(choice.costs["forward"]) == ["inverse", "propagated", *BY_CONSTRAINT_FORCES]
    chosen = choice.costs["forward"][choice.algorithms.forward].total
    assert all(chosen <= cost.total for cost in choice.costs["forward"].values())


def test_bodies_that_cannot_be_moved_by_themselves():
    """The inertia before a regrouping counts, and a body without any has none that could be inverted."""
    robot = prepared(chain(4))
    assert robot.bodies[2].inertia.mass == 0.0
    assert replace(DEFAULT, forward="reduced").possible_for(robot)
    rod, wire = ((0.04 + thin, 0.0, 0.0, 0.04 + thin, 0.0, thin) for thin in (0.0, 1e-9))
    for inertia in (Inertia(), *(Inertia(1.0, (0.0, 0.0, 0.1), about) for about in (rod, wire))):
        last = replace(chain(4).bodies[3], inertia=inertia)
        light = prepared(replace(chain(4), bodies=(*chain(4).bodies[:3], last)))
        assert not replace(DEFAULT, forward="reduced").possible_for(light)
        with pytest.raises(InputError, match="algorithm: forward=reduced cannot serve mechanism"):
            choose(light, ("fd",), (), DELAY, {"forward": "reduced"})
