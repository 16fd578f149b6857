"""Tasks of all strata: their contents, their bounds within the domain, and the error floors."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.forces import RELEASED
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.domain.strata import (
    ACCELERATION,
    BALANCED,
    BOX,
    MOTION,
    REST,
    SINGLE,
    SPEED,
    STRATA,
    draw,
    error_floors,
    ordinary_motions,
)
from rbdhw.frontend.read import mount
from rbdhw.options.build import Mounting
from rbdhw.robot.model import JointKind
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.mechanisms import mechanism

TASKS = 1600


def robot_of(name="iiwa14", base="fixed"):
    return mount(load_urdf(path(name)), Mounting(base))


@pytest.fixture(scope="module", params=[("iiwa14", "fixed"), ("hyq", "floating"), ("toy", "given")], ids=str)
def drawn(request):
    """Return a robot, its domain, and tasks with an external force on the last body."""
    robot = robot_of(*request.param)
    domain = input_domain(robot)
    return robot, domain, draw(robot, domain, TASKS, np.random.default_rng(1), [len(robot.bodies) - 1])


def test_strata_have_their_shares_in_random_order(drawn):
    *_, tasks = drawn
    assert STRATA == ("box", "motion", "rest", "balanced", "single")
    assert np.bincount(tasks.stratum).tolist() == [600, 400, 200, 200, 200]
    assert np.count_nonzero(np.diff(tasks.stratum)) > TASKS / 2
    assert tasks.first(30).stratum.tolist() == tasks.stratum[:30].tolist()
    assert {len(array) for array in tasks.first(30).arrays.values()} == {30}


@pytest.mark.parametrize(("tasks", "counts"), [(1, [1]), (2, [1, 1]), (16, [6, 4, 2, 2, 2])])
def test_few_tasks_begin_with_the_box(tasks, counts):
    robot = robot_of("toy")
    strata = draw(robot, input_domain(robot), tasks, np.random.default_rng(0)).stratum
    assert np.bincount(strata).tolist() == counts


def test_all_stay_within_the_domain(drawn):
    _, domain, tasks = drawn
    for name, array in tasks.arrays.items():
        bounds = np.pi * np.array([[-1, 1]]) if name == "fext" else domain.bounds[name]
        if name != "fext":
            finite = np.where(np.isfinite(bounds), bounds, [-np.pi, np.pi])
            assert ((array >= finite[:, 0]) & (array <= finite[:, 1])).all(), name


def test_nothing_moves_at_rest_and_balance_and_one_coordinate_alone(drawn):
    _, _, tasks = drawn
    still = np.isin(tasks.stratum, (REST, BALANCED))
    for name in ("v", "a", "base_v", "base_a"):
        if name in tasks.arrays:
            assert (tasks.arrays[name][still] == 0.0).all()
    assert (tasks.arrays["tau"][tasks.stratum == REST] == 0.0).all()
    single = tasks.stratum == SINGLE
    for name in ("v", "a"):
        assert (np.count_nonzero(tasks.arrays[name][single], axis=1) == 1).all()
    assert (tasks.arrays["fext"][still | single] == 0.0).all()
    assert (np.abs(tasks.arrays["fext"][tasks.stratum == MOTION]).max(axis=(1, 2)) > 0.0).all()


def test_forces_are_those_that_the_motion_needs(drawn):
    robot, _, tasks = drawn
    assert not tasks.clipped.any()
    mask = np.isin(tasks.stratum, (MOTION, BALANCED, SINGLE))
    moved = golden.evaluate(robot, "fd", tasks.arrays)["a"]
    size = np.abs(moved).max()
    assert np.abs(moved - tasks.arrays["a"])[mask].max() < 1e-9 * size
    box = tasks.stratum == BOX
    driven = (np.abs(moved - tasks.arrays["a"]).max(axis=1) < 1e-9 * size)[box]
    assert driven.mean() == pytest.approx(1.0 - RELEASED, abs=0.05)


def test_tasks_without_forces_have_motions_of_the_whole_domain():
    """HyQ's legs cannot accelerate as fast as the domain allows on a base that their forces do not move."""
    robot = robot_of("hyq", "floating")
    domain = input_domain(robot)
    tasks = draw(robot, domain, TASKS, np.random.default_rng(1))
    box = tasks.stratum == BOX
    for name in ("v", "a"):
        np.testing.assert_array_equal(tasks.free[name][box].max(axis=0), domain.bounds[name][:, 1])
    slower = (np.abs(tasks.arrays["a"]) < np.abs(tasks.free["a"])).any(axis=1)
    assert 0.02 < slower[box].mean() < 0.4
    assert tasks.of("fd") is tasks.arrays
    assert tasks.of("id") is tasks.free
    assert tasks.together(["id", "fd"]) is tasks.arrays


def test_tasks_are_clipped_where_the_domain_cannot_hold_the_robot():
    robot = robot_of()
    domain = input_domain(robot, Overrides(default=JointBounds(effort=20.0)))
    tasks = draw(robot, domain, TASKS, np.random.default_rng(1))
    shares = {name: tasks.clipped[tasks.stratum == k].mean() for k, name in enumerate(STRATA)}
    assert shares["box"] == shares["rest"] == 0.0
    assert all(shares[name] > 0.5 for name in ("motion", "balanced", "single")), shares
    np.testing.assert_array_equal(tasks.clipped_of("fd"), tasks.clipped)
    assert not tasks.clipped_of("id").any()
    accelerated = np.abs(golden.evaluate(robot, "fd", tasks.arrays)["a"]).max()
    fallen = np.abs(golden.evaluate(robot, "fd", tasks.arrays | {"tau": np.zeros((TASKS, 7))})["a"]).max()
    assert accelerated < 2.0 * fallen


def test_any_forces_are_drawn_only_over_the_whole_domain():
    robot = robot_of()
    domain = input_domain(robot)
    motions, thrown = (
        draw(robot, variant, TASKS, np.random.default_rng(1))
        for variant in (domain, replace(domain, any_forces=True))
    )
    box = thrown.stratum == BOX
    np.testing.assert_array_equal(thrown.arrays["tau"][box], thrown.free["tau"][box])
    np.testing.assert_array_equal(thrown.arrays["tau"][~box], motions.arrays["tau"][~box])


def test_motions_have_every_scale():
    robot = robot_of()
    domain = input_domain(robot)
    tasks = draw(robot, domain, 8000, np.random.default_rng(2))
    mask = tasks.stratum == MOTION
    sizes = np.abs(tasks.arrays["a"][mask] / domain.bounds["a"][:, 1]).max(axis=1)
    counts = np.histogram(np.log10(sizes), [-4, -2, -1, 0])[0]
    assert (counts > 200).all()
    ordinary = (np.abs(tasks.arrays["v"][mask]) <= SPEED).all(axis=1)
    ordinary &= (np.abs(tasks.arrays["a"][mask]) <= ACCELERATION).all(axis=1)
    assert ordinary.mean() > 0.5


def test_ordinary_motions_keep_to_a_domain_without_zero():
    robot = robot_of("toy")
    domain = input_domain(robot)
    fast = replace(domain, bounds=domain.bounds | {"v": np.array([[4.0, 5.0], [-2.0, 1.0]])})
    arrays = ordinary_motions(robot, fast, 300, np.random.default_rng(0))
    assert np.abs(arrays["v"][:, 0] - 4.0).max() < 1e-12
    assert [arrays["v"][:, 1].min(), arrays["v"][:, 1].max()] == pytest.approx([-2.0, 1.0], abs=0.05)


def test_floors_leave_out_tasks_that_the_domain_cannot_hold():
    """Where half of the motions are clipped, the rest has the results that it has without limits."""
    robot = robot_of("atlas", "floating")
    domain = input_domain(robot)
    floors = error_floors(robot, domain, ["id", "fd"], 5)
    efforts = np.stack([-1e6 * np.ones(robot.nv), 1e6 * np.ones(robot.nv)], axis=1)
    strong = error_floors(robot, replace(domain, bounds=domain.bounds | {"tau": efforts}), ["id", "fd"], 5)
    assert floors["id.tau"] == strong["id.tau"]
    assert 0.2 * strong["fd.a"] < floors["fd.a"] < strong["fd.a"]


def test_floors_are_a_quarter_of_the_results_of_ordinary_motions():
    robot = robot_of()
    domain = input_domain(robot)
    floors = error_floors(robot, domain, ["id", "fd", "did"], 5)
    assert floors == error_floors(robot, domain, ["id", "fd", "did"], 5)
    assert list(floors) == ["id.tau", "fd.a", "did.dtau_dq", "did.dtau_dv", "did.tau", "did.M"]
    arrays = ordinary_motions(robot, domain, 4000, np.random.default_rng(9))
    for part, floor in floors.items():
        function, array = part.split(".")
        results = golden.evaluate(robot, function, arrays, extended=True)[array]
        norms = np.linalg.norm(results.reshape(4000, -1), axis=1)
        assert floor == pytest.approx(0.25 * np.median(norms), rel=0.1)


def test_results_that_are_zero_but_for_rounding_have_the_largest_floor():
    """A joint by itself has no force that depends on its velocity: dtau_dv is zero, or a rounding error."""
    robot = mechanism([JointKind.REVOLUTE], [-1], 3)
    domain = input_domain(robot)
    arrays = ordinary_motions(robot, domain, 64, np.random.default_rng(0))
    assert np.abs(golden.evaluate(robot, "did", arrays)["dtau_dv"]).max() < 1e-12
    floors = error_floors(robot, domain, ["did"], 5)
    assert floors["did.dtau_dv"] == floors["did.dtau_dq"] > 0.0


def test_bases_that_tasks_may_hold():
    """Half of them float, a quarter moves as given, and a quarter is at rest."""
    robot = robot_of("hyq", "any")
    drawn = draw(robot, input_domain(robot), TASKS, np.random.default_rng(2))
    held, arrays = drawn.arrays["base_held"] == 1.0, drawn.arrays
    fixed = held & ~np.hstack([arrays[name][:, :6] for name in ("v", "a", "base_a")]).any(axis=1)
    assert held.sum() == pytest.approx(TASKS / 2, rel=0.1)
    assert fixed[drawn.stratum == BOX].sum() == pytest.approx(600 / 4, rel=0.2)
    assert not arrays["base_a"][~held].any()
    moving = held & (drawn.stratum == MOTION)
    np.testing.assert_array_equal(arrays["base_a"][moving], arrays["a"][moving, :6])
    computed = golden.evaluate(robot, "fd", arrays)["a"]
    size = np.abs(arrays["a"][moving]).max()
    assert np.abs(computed - arrays["a"])[moving].max() < 1e-6 * size
