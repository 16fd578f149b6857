"""Bases that each task may hold: joints as on Pinocchio's fixed, free or given base."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.protocol import DEFAULT_FUNCTIONS, FUNCTIONS, functions_with
from rbdhw.robot.link_frames import choose_contacts
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.marks import long
from tests.support.references import assert_close, references
from tests.support.strategies import random_states

TASKS = 2
SPLIT = {"q": 7, "v": 6, "a": 6, "tau": 6}
"""The entries of the base in each array."""


@pytest.fixture(scope="module")
def fixed():
    return load_urdf(path("hyq"))


@pytest.fixture(scope="module")
def robot(fixed):
    return replace(fixed.with_floating_base(), base_chosen=True)


@pytest.fixture
def states(robot):
    return random_states(robot, TASKS, seed=3)


def of_joints(arrays):
    """Return the arrays without the entries of the base."""
    alone = {name: arrays[name][:, first:] for name, first in SPLIT.items()}
    return alone | {"fext": arrays["fext"][:, 1:]}


def check(robot, function, states, expected):
    """Check that the joints' part is as expected, and what an acceleration does not change is zero."""
    results = golden.evaluate(robot, function, states)
    assert_close(
        {name: x[(slice(None), *[slice(6, None)] * (x.ndim - 1))] for name, x in results.items()}, expected
    )
    if function in ("minv", "dfd", "difd"):
        for matrix in results.values():
            assert not matrix[:, :6].any()
            assert not matrix[:, :, :6].any()
    if function == "fd":
        np.testing.assert_array_equal(results["a"][:, :6], states["base_a"])


@pytest.mark.parametrize("function", DEFAULT_FUNCTIONS)
def test_a_base_that_is_held_at_rest_is_fixed(robot, fixed, states, function):
    states["q"][:, :7] = [0.3, -0.2, 0.5, 0.0, 0.0, 0.0, 1.0]
    states |= {"base_held": np.ones(TASKS), "base_a": np.zeros((TASKS, 6))}
    for name in ("v", "a"):
        states[name][:, :6] = 0.0
    check(robot, function, states, references(fixed, function, of_joints(states)))


@pytest.mark.parametrize("function", DEFAULT_FUNCTIONS)
def test_a_base_that_is_held_moves_as_a_given_one(robot, fixed, states, function):
    turned = np.array([0.6, 0.0, 0.0, 0.8])
    states["q"][:, 3:7] = turned
    states["base_held"] = np.ones(TASKS)
    down = [0.0, -9.81 * 2 * 0.6 * 0.8, -9.81 * (0.8**2 - 0.6**2)]
    motion = {"base_v": states["v"][:, :6], "gravity": np.tile(down, (TASKS, 1))}
    motion["base_a"] = states["base_a"] if function in ("fd", "dfd") else states["a"][:, :6]
    given = replace(fixed, base_given=True, gravity_given=True)
    check(robot, function, states, references(given, function, of_joints(states) | motion))


@pytest.mark.parametrize(
    "function",
    [
        long(function) if function in ("drk4", "dcstep") else function
        for function in functions_with(lambda entry: entry.integrates)
    ],
)
def test_a_step_on_a_base_that_is_held_at_rest(robot, fixed, states, function):
    """The base stays where it is, and its motion before the step moves no joint."""
    states["q"][:, :7] = [0.3, -0.2, 0.5, 0.0, 0.0, 0.0, 1.0]
    states["v"][:, :6] = 0.0
    states |= {"base_held": np.ones(TASKS), "base_a": np.zeros((TASKS, 6))}
    if FUNCTIONS[function].touches:
        robot, fixed = (choose_contacts(one, [("lf_lowerleg", "point")]) for one in (robot, fixed))
    results = golden.evaluate(robot, function, states)
    expected = golden.evaluate(fixed, function, of_joints(states) | {"h": states["h"]})
    base, joints = np.arange(6), np.arange(6, robot.nv)
    both = np.concatenate([joints, robot.nv + joints])
    x, nq = results["x_next"], robot.nq
    np.testing.assert_allclose(x[:, :7], states["q"][:, :7], atol=1e-14)
    assert not x[:, nq : nq + 6].any()
    np.testing.assert_allclose(np.delete(x, [*range(7), *(nq + base)], axis=1), expected["x_next"], rtol=1e-9)
    if "A" in results:
        A, B = results["A"], results["B"]
        np.testing.assert_allclose(A[:, both[:, None], both], expected["A"], atol=1e-9)
        np.testing.assert_allclose(B[:, both[:, None], joints], expected["B"], atol=1e-9)
        assert not A[:, both[:, None], np.concatenate([base, robot.nv + base])].any()
        assert not B[:, :, base].any()


@pytest.mark.parametrize("function", [long("sfd"), "hfd"])
def test_second_derivatives_on_a_base_that_is_held(robot, fixed, states, function):
    """They are those on a base whose motion is given; those of the base, and by its motion, are zero."""
    states["q"][:, 3:7] = np.array([0.6, 0.0, 0.0, 0.8])
    states["base_held"] = np.ones(TASKS)
    down = [0.0, -9.81 * 2 * 0.6 * 0.8, -9.81 * (0.8**2 - 0.6**2)]
    motion = {"base_v": states["v"][:, :6], "base_a": states["base_a"], "gravity": np.tile(down, (TASKS, 1))}
    motion["lambda_a"] = states["lambda_a"][:, 6:]
    given = replace(fixed, base_given=True, gravity_given=True)
    results = golden.evaluate(robot, function, states)
    expected = golden.evaluate(given, function, of_joints(states) | motion)
    for name, x in results.items():
        joints = (slice(None), *[slice(6, None)] * (x.ndim - 1))
        scale = np.abs(expected[name]).max()
        assert scale > 1e-3
        np.testing.assert_allclose(x[joints], expected[name], rtol=0, atol=1e-9 * scale)
        alone = x.copy()
        alone[joints] = 0.0
        assert not alone.any(), name


@pytest.mark.parametrize("function", ["step", "rk4"])
def test_a_step_of_a_base_that_moves(robot, states, function):
    """Its velocity changes by its acceleration, whatever the forces are."""
    states["base_held"] = np.ones(TASKS)
    x = golden.evaluate(robot, function, states)["x_next"]
    expected = states["v"][:, :6] + states["h"][:, None] * states["base_a"]
    np.testing.assert_allclose(x[:, robot.nq : robot.nq + 6], expected, rtol=1e-12)


@pytest.mark.parametrize("function", DEFAULT_FUNCTIONS)
def test_other_bases_float(robot, states, function):
    states["base_held"] = np.array([0.0, 1.0])
    results = golden.evaluate(robot, function, states)
    expected = references(replace(robot, base_chosen=False), function, states)
    assert_close(
        {name: x[::2] for name, x in results.items()}, {name: x[::2] for name, x in expected.items()}
    )
