"""The steps of a chain's links, beside the golden model."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from benchmarks.forward_dynamics import snake
from rbdhw.errors import InputError
from rbdhw.frontend.chain import CHAIN_FUNCTIONS, check_chain
from rbdhw.graph.check import check
from rbdhw.graph.graph import Op
from rbdhw.graph.sweeps import Constant, unroll
from rbdhw.robot.elementary import elementary
from rbdhw.robot.model import JointKind, Robot
from tests.support.chains import KINDS, TREES, TURN, chain, sweeps_of, tree
from tests.support.graph_results import results
from tests.support.marks import long, some
from tests.support.mechanisms import mechanism, with_mimic, with_random_drives
from tests.support.references import assert_close, references
from tests.support.strategies import random_states


def states_of(robot: Robot) -> dict[str, np.ndarray]:
    """Return random states without external forces."""
    states = random_states(robot, 4, seed=5)
    return {name: states[name] for name in ("q", "v", "a", "tau")}


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize(("links", "driven"), [(2, True), (5, False), long(2, False), long(5, True)])
@pytest.mark.parametrize("function", CHAIN_FUNCTIONS)
def test_all_steps_together_are_golden(function: str, kinds: str, links: int, driven: bool) -> None:
    robot = chain(links, kinds, seed=links)
    if driven:
        robot = with_random_drives(robot, seed=3)
    assert_golden(robot, function)


@pytest.mark.parametrize(
    ("branches", "kinds"), some(product(["two arms", "two roots", "a hand"], ["mixed", "turning"]), 2)
)
@pytest.mark.parametrize("function", CHAIN_FUNCTIONS)
def test_branches_are_golden(function: str, kinds: str, branches: str) -> None:
    assert_golden(with_random_drives(tree(TREES[branches], kinds, seed=4), seed=3), function)


def assert_golden(robot: Robot, function: str) -> None:
    graph = unroll(sweeps_of(robot, function))
    check(graph)
    states = states_of(robot)
    assert_close(results(graph, robot, states, [function])[function], references(robot, function, states))


def test_steps_do_not_grow_with_the_chain() -> None:
    short, long = (
        [len(sweep.step.nodes) for sweep in sweeps_of(chain(links, "mixed")).sweeps] for links in (6, 30)
    )
    assert short == long


def test_numbers_that_all_links_share_are_constants_of_the_step() -> None:
    """The links of a snake differ in the signs of their turns, and the last one carries no other."""
    sweeps = sweeps_of(snake(6))
    varying = {
        name.partition("[")[0] for name, source in sweeps.sources.items() if isinstance(source, Constant)
    }
    assert {name for name in varying if "rotation" in name} == {
        f"{sweep}_rotation_{k}" for sweep in ("motion", "gather", "release") for k in (5, 7)
    }
    assert not any("translation" in name or "mass" in name for name in varying)
    assert any(node.op is Op.SCALE for sweep in sweeps.sweeps for node in sweep.step.nodes)


def test_robots_that_are_refused() -> None:
    def refusal(robot):
        with pytest.raises(InputError) as refused:
            check_chain(elementary(robot))
        return str(refused.value)

    assert "has one link; expected two or more for the chain core" in refusal(chain(1))
    unsupported = "the chain core does not support mechanism; expected a fixed base, constant parameters"
    robot = chain(3)
    assert unsupported in refusal(with_mimic(robot, 2, 1, 0.5))
    assert unsupported in refusal(replace(robot, gravity_given=True))
    assert unsupported in refusal(robot.with_floating_base())
    assert unsupported in refusal(mechanism([TURN, JointKind.SPHERICAL], (-1, 0), seed=1))


def test_the_first_placement_is_free() -> None:
    """Where the first joint is does not matter, but how gravity meets it does."""
    robot = chain(3)
    first = robot.bodies[0]
    moved = replace(first.joint.placement, translation=(5.0, -3.0, 2.0))
    first = replace(first, joint=replace(first.joint, placement=moved))
    other = robot.with_bodies([first, *robot.bodies[1:]])
    states = states_of(robot)
    one, two = (
        results(unroll(sweeps_of(model)), model, states, ["fd"])["fd"]["a"] for model in (robot, other)
    )
    np.testing.assert_allclose(one, two, rtol=1e-12)
