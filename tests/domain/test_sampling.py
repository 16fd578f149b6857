"""Samples of the domain: within the bounds, to their ends, and reproducible."""

import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rbdhw import golden
from rbdhw.domain.bounds import input_domain, with_time_step
from rbdhw.domain.forces import OVERSHOOT, Forces
from rbdhw.domain.overrides import JointBounds, Overrides, ParameterBounds
from rbdhw.domain.parameter_bounds import bound_parameters
from rbdhw.domain.sampling import EXTREMES, sample
from rbdhw.model.arrays import check_parameters
from rbdhw.robot.model import JointKind
from rbdhw.robot.parameters import load_inertias, unphysical
from rbdhw.robot.pinocchio import UNIT_SLACK
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.designs import rail
from tests.support.strategies import robots


def test_forces_do_not_throw_the_robot_out_of_its_domain():
    robot = load_urdf(path("iiwa14"))
    domain = with_time_step(input_domain(robot), robot, None)
    drawn, limited = (
        sample(robot, domain, 400, np.random.default_rng(1), forces=forces)
        for forces in (Forces.ANY, Forces.STEPS)
    )
    changed = drawn["tau"] != limited["tau"]
    assert changed.any(axis=1).mean() > 0.2
    assert not changed.all(axis=1).all()
    for name in ("q", "v", "h"):
        np.testing.assert_array_equal(drawn[name], limited[name])
    most = (1.0 + OVERSHOOT) * domain.bounds["v"][:, 1]
    within = (np.abs(limited["tau"]) < domain.bounds["tau"][:, 1]).all(axis=1)
    after = golden.evaluate(robot, "step", limited)["x_next"][:, robot.nq :]
    assert (np.abs(after[within]) <= most + 1e-9).all()


def test_other_functions_have_any_forces():
    robot = load_urdf(path("toy"))
    domain = input_domain(robot)
    plain = sample(robot, domain, 50, np.random.default_rng(1), forces=Forces.ANY)
    stepping = with_time_step(domain, robot, None)
    steps = sample(robot, stepping, 50, np.random.default_rng(1), forces=Forces.ANY)
    np.testing.assert_array_equal(plain["tau"], steps["tau"])
    assert "h" not in plain
    fixed = replace(robot, time_step=0.004)
    drawn = sample(fixed, with_time_step(domain, fixed, None), 50, np.random.default_rng(1))
    assert (drawn["h"] == 0.004).all()


def test_attitudes_and_gravity_are_drawn_on_the_sphere():
    robot = replace(rail(1).with_floating_base(), gravity_given=True)
    arrays = sample(robot, input_domain(robot), 500, np.random.default_rng(3))
    lengths = np.linalg.norm(arrays["q"][:, 3:7], axis=1)
    assert abs(lengths - 1.0).max() <= UNIT_SLACK
    assert np.unique(lengths).size > 400
    np.testing.assert_allclose(np.linalg.norm(arrays["gravity"], axis=1), 9.81)


@given(robots(max_bodies=5), st.integers(0, 2**16))
def test_samples_stay_within_the_bounds_and_reach_them(robot, seed):
    domain = input_domain(robot)
    arrays = sample(robot, domain, 400, np.random.default_rng(seed), range(robot.nv), Forces.ANY)
    bounded = ~np.array(domain.wraps)
    for name in ("q", "v", "a", "tau"):
        assert arrays[name].shape == (400, robot.nv)
        kept = bounded if name == "q" else np.ones(robot.nv, bool)
        np.testing.assert_array_equal(arrays[name].min(axis=0)[kept], domain.bounds[name][kept, 0])
        np.testing.assert_array_equal(arrays[name].max(axis=0)[kept], domain.bounds[name][kept, 1])
    assert 5 <= (~arrays["v"].any(axis=1)).sum() <= 60
    assert (arrays["fext"] >= domain.bounds["fext"][:, 0]).all()
    assert (arrays["fext"] <= domain.bounds["fext"][:, 1]).all()


def test_angles_that_wrap_are_anywhere_but_at_exactly_half_a_turn():
    body = rail().bodies[0]
    limits = replace(body.joint.limits[0], lower=-math.inf, upper=math.inf)
    joint = replace(body.joint, kind=JointKind.CONTINUOUS, limits=(limits,))
    robot = rail().with_bodies([replace(body, joint=joint)])
    angles = sample(robot, input_domain(robot), 4000, np.random.default_rng(0))["q"][:, 0]
    assert 3.1 < np.abs(angles).max() < math.pi
    assert np.histogram(angles, 8, (-math.pi, math.pi))[0].min() > 400
    assert (angles == 0.0).any()


def test_positions_of_some_tasks_are_as_close_to_zero_as_possible():
    robot = rail(2)
    domain = input_domain(robot, Overrides(joints={"rail_1": JointBounds(position=(0.1, 0.5))}))
    q = sample(robot, domain, 2400, np.random.default_rng(0))["q"]
    near = (q == [0.0, 0.1]).all(axis=1)
    assert 70 <= np.count_nonzero(near) <= 130
    np.testing.assert_array_equal(q[:, 0] == 0.0, near)


def test_a_task_at_rest_stays_within_bounds_that_exclude_rest():
    robot = rail(2)
    domain = input_domain(robot, Overrides(joints={"rail_1": JointBounds(velocity=(0.5, 2.0))}))
    arrays = sample(robot, domain, 400, np.random.default_rng(0))
    assert arrays["v"][:, 1].min() == 0.5
    assert (arrays["v"][:, 0] == 0.0).any()


def test_only_the_given_bodies_have_a_force():
    robot = load_urdf(path("iiwa14"))
    arrays = sample(robot, input_domain(robot), 50, np.random.default_rng(0), (2, 6))
    assert arrays["fext"][:, [2, 6]].all()
    assert not np.delete(arrays["fext"], [2, 6], axis=1).any()


def test_samples_reach_the_extremes_of_the_domain():
    robot = load_urdf(path("iiwa14"))
    domain = input_domain(robot)
    tasks = sample(robot, domain, 50 * EXTREMES, np.random.default_rng(2), forces=Forces.ANY)
    limits = {name: np.isin(tasks[name], domain.bounds[name]).all(axis=1) for name in ("q", "v", "a", "tau")}
    fast = limits["v"] & limits["a"] & limits["tau"]
    assert 20 < np.count_nonzero(fast & limits["q"]) < 100
    assert 20 < np.count_nonzero(fast & (tasks["q"] == 0.0).all(axis=1)) < 100
    assert np.count_nonzero(fast & ~limits["q"]) > 50
    assert np.count_nonzero((tasks["v"] == 0.0).all(axis=1)) > 30


def test_samples_are_reproducible():
    robot = load_urdf(path("hyq"))
    first, second = (sample(robot, input_domain(robot), 20, np.random.default_rng(3), (1,)) for _ in range(2))
    for name, array in first.items():
        np.testing.assert_array_equal(second[name], array)


def test_random_parameters_of_a_payload_are_those_of_a_body():
    """The forearm is a slender rod, whose inertia is next to those that no body has."""
    robot = load_inertias(load_urdf(path("toy")), ("forearm",), payload=True)
    robot = bound_parameters(robot, ParameterBounds())
    parameters = sample(robot, input_domain(robot), 500, np.random.default_rng(0))["parameters"]
    assert [problem for problem in map(unphysical, parameters[:, 0]) if problem] == []
    check_parameters(robot, parameters)
    assert np.ptp(parameters[:, 0, 0]) > 0.2
