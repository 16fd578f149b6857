"""Graphs with inertial parameters as inputs, compared with the golden model at random parameters."""

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.sampling import sample
from rbdhw.frontend.alternatives import DEFAULT, Algorithms
from rbdhw.frontend.functions import trace
from rbdhw.protocol import DEFAULT_FUNCTIONS, PARAMETERS
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import (
    bounds_by_link,
    load_inertias,
    nominal_parameters,
    with_bounds,
    with_held_map,
)
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.graph_results import assert_results_are_golden, prepared
from tests.support.marks import long
from tests.support.mechanisms import every_kind
from tests.support.strategies import random_states

TASKS = 2


def with_free_parameters(robot: Robot) -> Robot:
    """Return the robot with bounds in which every parameter of the links varies."""
    wide = bounds_by_link(robot)
    slack = 0.05 * np.abs(nominal_parameters(robot)).max(axis=1)[:, None] * np.ones(10)
    slack[:, 1:4] = 0.05
    slack[:, 4:] *= 0.01
    return with_bounds(robot, wide + np.stack([-slack, slack], axis=-1))


def random_parameters(robot: Robot, seed: int) -> dict[str, np.ndarray]:
    drawn = sample(robot, input_domain(robot), TASKS, np.random.default_rng(seed))
    return {PARAMETERS: drawn[PARAMETERS]}


def assert_golden(robot: Robot, functions: tuple[str, ...], algorithms: Algorithms = DEFAULT) -> None:
    rewritten = prepared(robot)
    source = with_held_map(robot, rewritten)
    graph = trace(rewritten, functions, (), algorithms)
    assert any(name.startswith(PARAMETERS) for name in graph.inputs)
    arrays = random_states(source, TASKS, seed=1) | random_parameters(source, seed=2)
    del arrays["fext"]
    if "difd" in functions:
        arrays["Minv"] = golden.evaluate(source, "minv", arrays)["Minv"]
    assert_results_are_golden(graph, source, arrays, functions)


@pytest.mark.parametrize(
    ("links", "free"), [long(["iiwa_link_7"], True), (["iiwa_link_3", "iiwa_link_6"], False)]
)
def test_links_of_an_arm(links: list[str], free: bool) -> None:
    robot = load_inertias(load_urdf(path("iiwa14")), links)
    assert_golden(with_free_parameters(robot) if free else robot, DEFAULT_FUNCTIONS)


@pytest.mark.parametrize(
    "algorithms",
    [
        Algorithms(derivatives="columns", inverse="articulated", forward="propagated"),
        Algorithms(products="solves", gradient="repeated"),
        Algorithms(second="differentiated"),
    ],
    ids=lambda algorithms: "-".join(vars(algorithms).values()),
)
def test_every_algorithm(algorithms: Algorithms) -> None:
    robot = load_inertias(load_urdf(path("toy")), ["upper_arm", "forearm"])
    assert_golden(with_free_parameters(robot), (*DEFAULT_FUNCTIONS, "sid", "hfd", "dstep"), algorithms)


@pytest.mark.parametrize("base", [long("fixed"), long("floating"), "given"])
def test_every_kind_of_joint_and_a_mimic(base: str) -> None:
    robot = every_kind(base)
    assert_golden(load_inertias(robot, [robot.bodies[i].name for i in robot.links]), ("fd", "did"))
