"""Contacts by propagation: graphs against golden, and the hardware and C of them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rbdhw
from rbdhw import golden
from rbdhw.errors import InputError
from rbdhw.frontend.algorithms import check_used, choose
from rbdhw.frontend.alternatives import Algorithms
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, multiplications, operation_delay
from rbdhw.frontend.functions import trace
from rbdhw.frontend.read import load_mounted
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.robot.link_frames import choose_loops
from rbdhw.robot.model import BASE, JointKind, Robot
from rbdhw.robot.mounting import Mounting
from rbdhw.robots import path
from tests.support.contacts import with_contacts
from tests.support.graph_results import assert_graph_is_golden, assert_results_are_golden, prepared, results
from tests.support.marks import long
from tests.support.mechanisms import mechanism, with_random_drives
from tests.support.same_bits import assert_hardware_and_c_are_the_program
from tests.support.strategies import random_states, robots

PROPAGATED = Algorithms(forward="propagated", contacts="propagated")

FUNCTIONS = ("cfd", "impulse", "cinertia", "cstep")

FEET = tuple((f"{leg}_lowerleg@0.346:0:0", "point") for leg in ("lf", "lh", "rf", "rh"))

DELAY = operation_delay(DEFAULT_DELAYS)


def assert_golden(robot: Robot, *functions: str, algorithms: Algorithms = PROPAGATED) -> None:
    assert algorithms.possible_for(prepared(robot))
    assert_graph_is_golden(robot, 2, algorithms, functions, within=1e-6)


@pytest.mark.parametrize("axes", ["local", long("world")])
@settings(max_examples=10)
@given(robots(max_bodies=5), st.integers(1, 3), st.sampled_from(FUNCTIONS), st.booleans())
def test_random_trees(axes, robot, count, function, floating):
    robot = robot.with_floating_base() if floating else robot
    assert_golden(with_contacts(robot, count, axes), function)


@pytest.mark.parametrize("base", ["fixed", long("floating")])
def test_rotors_and_friction(base):
    """A rotor takes a share of the wrenches that pass its joint."""
    robot = mechanism([JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.REVOLUTE], (-1, 0, 1), seed=2)
    robot = robot if base == "fixed" else robot.with_floating_base()
    assert_golden(with_contacts(with_random_drives(robot, seed=3), 2, "local"), *FUNCTIONS)


@pytest.mark.parametrize("base", ["fixed", long("floating")])
@pytest.mark.parametrize("axes", [long("turning"), "shared"])
def test_hyq(base, axes):
    robot = load_mounted(path("hyq"), Mounting(base, contacts=FEET))
    robot = replace(robot, contacts=replace(robot.contacts, damping=1e-2))
    assert_golden(robot, "fd", *FUNCTIONS, algorithms=replace(PROPAGATED, axes=axes))


@pytest.mark.verify
def test_every_mask_is_that_of_the_golden_model():
    robot = load_mounted(path("hyq"), Mounting("floating", contacts=FEET))
    masks = np.array([*product((0.0, 1.0), repeat=len(FEET))])
    arrays = random_states(robot, len(masks), seed=4) | {"contact": masks}
    del arrays["fext"]
    graph = trace(prepared(robot), ("cfd",), (), PROPAGATED)
    solution = results(graph, robot, arrays, ("cfd",))["cfd"]
    for name, expected in golden.evaluate(robot, "cfd", arrays).items():
        np.testing.assert_allclose(solution[name], expected, rtol=0, atol=1e-7 * np.abs(expected).max())
    assert not solution["contact_force"][masks == 0.0].any()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_tasks_bring_damping_and_gains(function):
    robot = with_contacts(mechanism([JointKind.REVOLUTE] * 3, [BASE, 0, 1], seed=1), 2, "world")
    robot = replace(robot, contacts=replace(robot.contacts, by_task=True))
    arrays = random_states(robot, 2, seed=2) | {"holding": np.array([[1e-2, 3.0, 0.0], [0.1, 0.0, 0.0]])}
    elements = prepared(robot)
    graph = trace(elements, (function,), elements.links, PROPAGATED)
    assert_results_are_golden(graph, robot, arrays, (function,), 1e-6)


def test_factors_serve_where_a_function_has_them():
    robot = with_contacts(mechanism([JointKind.REVOLUTE] * 3, [BASE, 0, 0], seed=1), 2, "world")
    assert_golden(robot, "cfd", "dcfd")
    held = choose_loops(robot, [("rod", "b1@0.1:0:0", "b2@0:0.1:0")])
    assert not PROPAGATED.possible_for(prepared(held))


def test_robots_that_do_not_propagate():
    floating = with_contacts(
        mechanism([JointKind.FLOATING, JointKind.REVOLUTE], [BASE, 0], seed=1), 1, "world"
    )
    assert PROPAGATED.possible_for(prepared(floating))
    for other in (
        replace(floating, base_chosen=True),
        replace(floating, gravity_given=True),
    ):
        assert not PROPAGATED.possible_for(prepared(other))
    check_used(("cfd",), {"contacts": "propagated", "inverse": "single_pivots"})
    with pytest.raises(InputError, match="contacts=propagated has no effect: cfd, dcfd do not contain"):
        check_used(("cfd", "dcfd"), {"contacts": "propagated"})
    with pytest.raises(InputError, match="contacts=propagated cannot serve mechanism"):
        choose(prepared(replace(floating, base_chosen=True)), ("cfd",), (), DELAY, {"contacts": "propagated"})


def atlas() -> Robot:
    feet = (("l_foot", "surface"), ("r_foot", "surface"))
    return prepared(load_mounted(path("atlas"), Mounting("floating", contacts=feet, contact_axes="local")))


@pytest.mark.verify
def test_atlas_takes_fewer_products():
    """Rows of the factors grow with the square of a leg's joints, propagated ones with their number."""
    robot, ways = atlas(), (Algorithms("shared", products="solves"), replace(PROPAGATED, axes="shared"))
    solved, propagated = (multiplications(trace(robot, ("cfd",), (), way)) for way in ways)
    assert 1.2 * propagated < solved


@pytest.mark.verify
def test_the_cheaper_way_is_chosen():
    assert choose(atlas(), ("cfd",), (), DELAY, {}).algorithms.contacts == "propagated"
    hyq = prepared(load_mounted(path("hyq"), Mounting("floating", contacts=FEET)))
    assert choose(hyq, ("cfd",), (), DELAY, {}).algorithms.contacts == "factored"


@pytest.mark.parametrize("function", [long("cfd"), long("impulse")])
def test_hardware_and_c_are_the_program(function):
    robot = with_contacts(mechanism([JointKind.REVOLUTE] * 2, [BASE, 0], seed=1), 1, "world")
    forced = {"contacts": "propagated"}
    options = BuildOptions((function,), width=12, ii=4, core="pipeline", samples=64, algorithms=forced)
    assert_hardware_and_c_are_the_program(plan_build(robot, options))


def test_software_propagates(tmp_path):
    asked = {"functions": "cfd", "target": "c", "contacts": "tip:point"}
    rbdhw.generate(path("toy"), tmp_path / "c", algorithm=["contacts=propagated"], **asked)
    robot = load_mounted(path("toy"), Mounting(contacts=(("tip", "point"),)))
    arrays = random_states(robot, 3, seed=5)
    del arrays["fext"]
    task = {name: arrays[name] for name in ("q", "v", "tau", "contact")}
    solution, expected = rbdhw.load(tmp_path / "c").cfd(**task), golden.evaluate(robot, "cfd", arrays)
    for name in ("a", "contact_force"):
        scale = np.abs(expected[name]).max()
        np.testing.assert_allclose(getattr(solution, name), expected[name], rtol=0, atol=1e-9 * scale)
