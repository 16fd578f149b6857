"""Graphs with inertial parameters as inputs, compared with the golden model at random parameters."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.sampling import sample
from rbdhw.frontend.alternatives import DEFAULT, Algorithms
from rbdhw.frontend.functions import trace
from rbdhw.protocol import DEFAULT_FUNCTIONS, PARAMETERS
from rbdhw.robot.elementary import elementary
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import BASE, JointKind, Robot
from rbdhw.robot.parameters import (
    bounds_by_link,
    load_inertias,
    nominal_parameters,
    with_bounds,
    with_held_map,
)
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.graph_results import results
from tests.support.mechanisms import mechanism, with_mimic
from tests.support.strategies import random_states

TASKS = 6


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
    rewritten = regroup_inertias(align_axes(elementary(robot)))
    source = with_held_map(robot, rewritten)
    graph = trace(rewritten, functions, (), algorithms)
    assert any(name.startswith(PARAMETERS) for name in graph.inputs)
    arrays = random_states(source, TASKS, seed=1) | random_parameters(source, seed=2)
    del arrays["fext"]
    if "difd" in functions:
        arrays["Minv"] = golden.evaluate(source, "minv", arrays)["Minv"]
    for function, found in results(graph, source, arrays, functions).items():
        for name, expected in golden.evaluate(source, function, arrays).items():
            actual = found.get(name, np.zeros_like(expected))
            if name == "x_next":  # its angles are in turns
                actual, expected = actual[:, source.nq :], expected[:, source.nq :]
            largest = max(1.0, float(np.abs(expected).max()))
            np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9 * largest, err_msg=function)


@pytest.mark.parametrize("links", [["iiwa_link_7"], ["iiwa_link_3", "iiwa_link_6"]])
@pytest.mark.parametrize("free", [False, True])
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
    ids=lambda own: "-".join(vars(own).values()),
)
def test_every_algorithm(algorithms: Algorithms) -> None:
    robot = load_inertias(load_urdf(path("toy")), ["upper_arm", "forearm"])
    assert_golden(with_free_parameters(robot), (*DEFAULT_FUNCTIONS, "sid", "hfd", "dstep"), algorithms)


@pytest.mark.parametrize("base", ["fixed", "floating", "given"])
def test_every_kind_of_joint_and_a_mimic(base: str) -> None:
    kinds = [kind for kind in JointKind if kind is not JointKind.FLOATING]
    robot = with_mimic(mechanism(kinds, [BASE, 0, 1, 0, 3, 4, 3, 0, 7], seed=3), 3, 2, 0.6, 0.1)
    robot = robot.with_floating_base() if base == "floating" else replace(robot, base_given=base == "given")
    assert_golden(load_inertias(robot, [robot.bodies[i].name for i in robot.links]), ("id", "fd", "did", "m"))
