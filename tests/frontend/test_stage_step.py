"""One stage of Runge-Kutta, taken four times, beside the golden model."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rbdhw.frontend.algorithms import AlgorithmChoice
from rbdhw.frontend.alternatives import DEFAULT
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, Model
from rbdhw.frontend.functions import trace
from rbdhw.frontend.stage_step import record_loop
from rbdhw.graph.graph import Op
from rbdhw.graph.sweeps import Carried, Sweeps, unroll
from rbdhw.robot.model import JointKind, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.graph_results import assert_results_are_golden, prepared, results
from tests.support.marks import long
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.strategies import ALL_KINDS, random_states, robots

TASKS = 2
TOLERANCE = 1e-7


def loop_of(robot: Robot, function: str) -> Sweeps:
    """Return the stages of a function, with forces on every link."""
    bodies = tuple(range(len(robot.bodies)))
    model = Model(robot, prepared(robot), (), bodies, AlgorithmChoice(DEFAULT, {}))
    return record_loop(model, function, DEFAULT_DELAYS)


def assert_golden(robot: Robot, functions: tuple[str, ...] = ("rk4", "drk4"), seed: int = 0) -> None:
    """Check functions at random states."""
    arrays = random_states(robot, TASKS, seed)
    for function in functions:
        graph = unroll(loop_of(robot, function))
        assert_results_are_golden(graph, robot, arrays, [function], TOLERANCE)


@pytest.mark.parametrize("kind", [kind if kind is JointKind.HELICAL else long(kind) for kind in JointKind])
def test_every_kind_of_joint(kind: JointKind) -> None:
    assert_golden(mechanism([kind, JointKind.PRISMATIC], [-1, 0], seed=3), ("drk4",))


def test_a_base_that_each_task_may_hold() -> None:
    robot = mechanism([JointKind.REVOLUTE], [-1], seed=6).with_floating_base()
    assert_golden(replace(robot, base_chosen=True), ("drk4",))


def test_mimics_and_a_base_that_moves() -> None:
    chain = mechanism([JointKind.REVOLUTE, JointKind.REVOLUTE, JointKind.PRISMATIC], [-1, 0, 1], seed=5)
    assert_golden(with_mimic(chain, 1, 0, 0.7, 0.1), ("drk4",))
    assert_golden(replace(load_urdf(path("toy")), base_given=True, gravity_given=True))


def test_a_fixed_time_step_is_a_constant_of_the_stage() -> None:
    robot = replace(load_urdf(path("toy")), time_step=0.004)
    assert "h" not in loop_of(robot, "rk4").sources
    assert_golden(robot)


@pytest.mark.parametrize("kind", [JointKind.SPHERICAL, long(JointKind.FLOATING)])
def test_quaternions_of_any_length_are_those_of_stages_side_by_side(kind: JointKind) -> None:
    """The last stage alone brings a quaternion to unit length."""
    robot = mechanism([kind, JointKind.REVOLUTE], [-1, 0], seed=3)
    arrays = random_states(robot, TASKS, 1)
    (quaternion,) = [body.joint.kind.quaternion for body in robot.bodies[:1]]
    arrays["q"][:, quaternion] *= np.linspace(0.99, 1.01, TASKS)[:, np.newaxis]
    model = prepared(robot)
    loop, whole = unroll(loop_of(robot, "rk4")), trace(model, ["rk4"], model.links)
    computed, expected = (results(graph, robot, arrays, ["rk4"])["rk4"]["x_next"] for graph in (loop, whole))
    np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize(("examples", "bodies"), [long(3, 2), long(40, 4)])
def test_random_trees(examples: int, bodies: int) -> None:
    @settings(max_examples=examples, phases=[Phase.explicit, Phase.generate])
    @given(robots(max_bodies=bodies, kinds=ALL_KINDS, mimics=True), st.integers(0, 100))
    def check(robot: Robot, seed: int) -> None:
        assert_golden(robot, seed=seed)

    check()


@pytest.mark.parametrize("function", ["rk4", long("drk4")])
def test_one_stage_has_the_results_of_all(function: str) -> None:
    """Elements that are zero or one in all stages are neither computed nor handed on."""
    robot = mechanism([JointKind.REVOLUTE] * 4, [-1, 0, -1, 2], seed=2)
    loop, whole = loop_of(robot, function), trace(prepared(robot), [function], prepared(robot).links)
    (sweep,) = loop.sweeps
    results_of = {name for name, _ in sweep.step.outputs if loop.is_result(name)}
    assert results_of == {name for name, _ in whole.outputs}
    assert 3 * sweep.step.count(Op.MULTIPLY) < whole.count(Op.MULTIPLY)
    carried = {name for name, source in loop.sources.items() if isinstance(source, Carried)}
    assert not any("moved[0,2]" in name or "pushed[3,1]" in name for name in carried)
