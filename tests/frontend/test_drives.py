"""Rotor inertia and viscous friction in traced graphs, compared with the golden model."""

from dataclasses import replace

import pytest

from rbdhw.errors import InputError
from rbdhw.frontend.algorithms import choose
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, operation_delay, prepare
from rbdhw.frontend.functions import trace
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import BASE, JointKind, Robot
from tests.support.graph_results import assert_graph_is_golden
from tests.support.marks import long
from tests.support.mechanisms import every_kind_driven, mechanism, with_random_drives

TURN, SHIFT = JointKind.REVOLUTE, JointKind.PRISMATIC


def plain() -> Robot:
    """Return a driven robot with a branch that every algorithm supports."""
    return with_random_drives(mechanism([TURN, SHIFT, TURN], (BASE, 0, 0), seed=1), seed=2)


@pytest.mark.parametrize("base", [long("fixed"), long("floating"), "given"])
def test_every_kind_of_joint_and_a_mimic(base: str) -> None:
    assert_graph_is_golden(every_kind_driven(base), 5, functions=("fd", "did", "bias"))


@pytest.mark.parametrize(
    "algorithms",
    [
        Algorithms(derivatives="columns", gradient="repeated"),
        Algorithms(inverse="articulated", forward="propagated"),
        Algorithms(inverse="block_pivots", products="solves"),
    ],
    ids=lambda algorithms: "-".join(vars(algorithms).values()),
)
def test_every_algorithm(algorithms: Algorithms) -> None:
    assert_graph_is_golden(plain(), 6, algorithms)


@pytest.mark.parametrize("second", ["columns", long("differentiated")])
def test_second_derivatives_and_steps(second: str) -> None:
    functions = ("sid", "sfd", "hid", "hfd", "dstep", "rk4")
    assert_graph_is_golden(plain(), 7, Algorithms(second=second), functions, within=1e-8)


def test_symbols_are_only_for_joints_without_friction() -> None:
    robot = align_axes(plain())
    rotors = robot.with_bodies([replace(b, joint=replace(b.joint, damping=())) for b in robot.bodies])
    symbols = Algorithms(rates="symbols")
    assert symbols.possible_for(rotors)
    assert not symbols.possible_for(robot)
    with pytest.raises(InputError, match="rates=symbols cannot serve mechanism"):
        choose(robot, ("sfd",), (), operation_delay(DEFAULT_DELAYS), {"rates": "symbols"})


def test_only_the_driven_joints_cost_operations() -> None:
    bare = mechanism([TURN, TURN, TURN], (BASE, 0, 1), seed=8)
    joint = replace(bare.bodies[1].joint, armature=(0.3,), damping=(0.2,))
    driven = bare.with_bodies([bare.bodies[0], replace(bare.bodies[1], joint=joint), bare.bodies[2]])
    graphs = [trace(prepare(robot, ("id",)).robot, ("id",)) for robot in (bare, driven)]
    regions = {node.region for node in graphs[1].nodes} - {node.region for node in graphs[0].nodes}
    assert {(region.step, region.joint) for region in regions} == {("drives", 1)}
