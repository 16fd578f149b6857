"""Traced kinematics of frames, compared with the golden model."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rbdhw.arrays import WordName
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, multiplications, optimise, prepare, trace_model
from rbdhw.frontend.functions import trace
from rbdhw.graph.graph import Graph
from rbdhw.passes.prune import prune
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.link_frames import choose_frames
from rbdhw.robot.model import FRAME_AXES, Frame, Placement, Robot
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.graph_results import assert_results_are_golden, prepared
from tests.support.strategies import ALL_KINDS, random_rotation, random_states, robots

TASKS = 2


def with_frames(robot: Robot, axes: str, seed: int = 0) -> Robot:
    """Return the robot with the frame of its last link, and with one fixed to its first link."""
    first, last = robot.bodies[0].name, robot.bodies[-1].name
    pose = Placement(random_rotation(np.random.default_rng(seed)), (0.1, -0.2, 0.3))
    return replace(robot, frames=(Frame(last, last), Frame("fixed", first, pose)), frame_axes=axes)


def assert_golden(robot: Robot, functions: tuple[str, ...], seed: int) -> None:
    """Check functions at random states, within 1e-8."""
    arrays, model = random_states(robot, TASKS, seed), prepared(robot)
    graph = trace(model, functions, model.links)
    assert_results_are_golden(graph, robot, arrays, functions, 1e-8, extended=True)


@pytest.mark.parametrize("axes", FRAME_AXES)
@pytest.mark.parametrize("base", ["fixed", "floating", "given"])
@pytest.mark.parametrize("name", ["iiwa14"])
def test_bundled_robots(name: str, base: str, axes: str) -> None:
    robot = replace(load_urdf(path(name)), base_given=base == "given")
    assert_golden(with_frames(robot.with_floating_base() if base == "floating" else robot, axes), ("kin",), 1)


@settings(max_examples=10)
@given(robots(max_bodies=5, kinds=ALL_KINDS, mimics=True), st.sampled_from(FRAME_AXES), st.integers(0, 2**16))
def test_random_trees(robot: Robot, axes: str, seed: int) -> None:
    assert_golden(with_frames(robot, axes, seed), ("kin",), seed)


def test_beside_other_functions() -> None:
    assert_golden(with_frames(load_urdf(path("toy")), "local"), ("id", "fd", "m", "kin"), 2)


def test_after_the_search_for_cheaper_frames() -> None:
    """The rewritten robot has other body frames, and the frames of links stay where they are."""
    model = prepare(choose_frames(load_urdf(path("iiwa14")), ["iiwa_link_7"], "local"), ("kin",))
    assert model.robot != elementary(model.source)
    arrays = random_states(model.source, TASKS, 3)
    graph = trace_model(model, ("kin",))
    assert_results_are_golden(graph, model.source, arrays, ("kin",), extended=True)


def test_joints_that_do_not_move_a_frame_have_no_words() -> None:
    robot = load_urdf(path("hyq"))
    foot = next(body.name for body in robot.bodies if body.name.startswith("rh_lower"))
    model = align_axes(elementary(choose_frames(robot, [foot], "local")))
    names = [WordName.parse(name) for name, _ in trace(model, ("kin",)).outputs]
    assert {name.array for name in names} == {*FUNCTIONS["kin"].outputs, *FUNCTIONS["kin"].optional_outputs}
    assert len({name.index[2] for name in names if name.array == "J"}) == 3
    assert {name.index[1] for name in names if name.array == "placement"} == {0, 1, 2}


MOST = {("J", "velocity", "placement"): 140, ("dv_dq",): 206, ("acceleration", "da_dq", "da_dv"): 495}
"""Bounds of the multiplications of the iiwa's last link, each including those before."""


def test_multiplications() -> None:
    robot = choose_frames(load_urdf(path("iiwa14")), ["iiwa_link_7"], "local")
    graph = trace_model(prepare(robot, ("kin",)), ("kin",))
    wanted: set[str] = set()
    for arrays, most in MOST.items():
        wanted.update(arrays)
        assert multiplications(optimise(_part(graph, wanted), DEFAULT_DELAYS)) <= most, arrays


def _part(graph: Graph, arrays: set[str]) -> Graph:
    outputs = [(name, edge) for name, edge in graph.outputs if WordName.parse(name).array in arrays]
    return prune(replace(graph, outputs=tuple(outputs)))
