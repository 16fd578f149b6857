"""Forces of random tasks: those of motions within the domain, or any that the domain has."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.domain.bounds import input_domain, with_time_step
from rbdhw.domain.forces import OVERSHOOT, PACES, RELEASED, Forces, drive, random_shares
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.domain.sampling import sample
from rbdhw.frontend.read import mount
from rbdhw.options.build import Mounting
from rbdhw.robot.model import JointKind
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.mechanisms import mechanism, with_random_drives

TASKS = 600


def drawn_of(robot, domain, tasks=TASKS, fext=()):
    """Return tasks over the whole domain, with any forces."""
    return sample(robot, domain, tasks, np.random.default_rng(1), fext, Forces.ANY)


def accelerations(robot, tasks):
    return golden.evaluate(robot, "fd", tasks)["a"]


def weak(robot, effort, **others):
    """Return a domain with small forces."""
    return input_domain(robot, Overrides(default=JointBounds(effort=effort, **others)))


def test_forces_of_an_arm_give_the_accelerations_of_the_domain():
    """Forces anywhere within their bounds accelerate its last joint 300 times as much."""
    robot = load_urdf(path("iiwa14"))
    domain = input_domain(robot)
    arrays = drawn_of(robot, domain)
    driven, clipped = drive(robot, domain, arrays)
    assert not clipped.any()
    np.testing.assert_allclose(accelerations(robot, driven), arrays["a"], atol=1e-9)
    largest = domain.bounds["a"][:, 1]
    assert np.median(np.abs(accelerations(robot, arrays) / largest).max(axis=1)) > 200.0
    sampled = sample(robot, domain, 4 * TASKS, np.random.default_rng(2))
    beyond = (np.abs(accelerations(robot, sampled)) > 1.001 * largest).any(axis=1)
    assert 0.25 * RELEASED < beyond.mean() < RELEASED
    assert (np.abs(accelerations(robot, sampled)) < 5.0 * largest).all()


@pytest.mark.parametrize(
    ("name", "base"), [("hyq", "floating"), ("hyq", "any"), ("toy", "given"), ("tiago", "fixed")]
)
def test_forces_and_motions_stay_within_the_domain_and_fit_each_other(name, base):
    robot = mount(load_urdf(path(name)), Mounting(base))
    domain = input_domain(robot)
    arrays = drawn_of(robot, domain, fext=(len(robot.bodies) - 1,))
    driven, clipped = drive(robot, domain, arrays)
    assert not clipped.any()
    for array in ("v", "a", "tau", "base_v", "base_a"):
        for values in (rows for rows in [driven.get(array)] if rows is not None):
            assert (values >= domain.bounds[array][:, 0]).all(), array
            assert (values <= domain.bounds[array][:, 1]).all(), array
    computed = accelerations(robot, driven)
    assert np.abs(computed - driven["a"]).max() < 1e-6 * np.abs(computed).max()


@pytest.mark.parametrize("kind", [JointKind.REVOLUTE, JointKind.PRISMATIC])
def test_motions_that_need_too_much_are_slowed_down_to_the_largest_pace_that_fits(kind):
    robot = with_random_drives(mechanism([kind] * 3, (-1, 0, 1), seed=3), seed=2)
    arrays = drawn_of(robot, input_domain(robot), fext=(2,))
    needed = golden.evaluate(robot, "id", arrays)["tau"]
    held = golden.evaluate(robot, "id", {n: np.zeros_like(x) if n != "q" else x for n, x in arrays.items()})
    domain = weak(robot, float(max(1.2 * np.abs(held["tau"]).max(), np.median(np.abs(needed).max(axis=1)))))
    driven, clipped = drive(robot, domain, arrays)
    assert not clipped.any()
    fits = (np.abs(needed) <= domain.bounds["tau"][:, 1]).all(axis=1)
    assert 0.05 < fits.mean() < 0.95
    pace = driven["a"][:, 0] / arrays["a"][:, 0]
    np.testing.assert_array_equal(pace == 1.0, fits)
    assert np.isin(np.round(np.sqrt(pace), 12), np.round(PACES, 12)).all()
    moving = arrays["v"] != 0.0
    np.testing.assert_allclose((driven["v"] ** 2)[moving], (pace[:, None] * arrays["v"] ** 2)[moving])
    np.testing.assert_allclose(driven["fext"][:, 2], pace[:, None] * arrays["fext"][:, 2])
    np.testing.assert_allclose(
        driven["tau"], golden.evaluate(robot, "id", driven)["tau"], rtol=1e-9, atol=1e-9
    )
    faster = np.sqrt(pace) + PACES[-1]
    quick = {
        **arrays,
        "v": faster[:, None] * arrays["v"],
        "a": faster[:, None] ** 2 * arrays["a"],
        "fext": faster[:, None, None] ** 2 * arrays["fext"],
    }
    above = (np.abs(golden.evaluate(robot, "id", quick)["tau"]) > domain.bounds["tau"][:, 1]).any(axis=1)
    assert above[~fits].all()


def test_a_robot_that_its_forces_cannot_hold_falls_no_faster_than_without_them():
    robot = load_urdf(path("iiwa14"))
    domain = weak(robot, 20.0)
    arrays = drawn_of(robot, domain)
    driven, clipped = drive(robot, domain, arrays)
    assert 0.3 < clipped.mean() < 1.0
    assert not driven["v"][clipped].any()
    gravity = golden.evaluate(robot, "id", {**driven, "a": np.zeros_like(driven["a"])})["tau"]
    share = 20.0 / np.abs(gravity).max(axis=1, keepdims=True)
    np.testing.assert_allclose(driven["tau"][clipped], (share * gravity)[clipped], atol=1e-9)
    assert (share[clipped] < 1.0).all()
    assert np.abs(driven["tau"][clipped]).max(axis=1) == pytest.approx(20.0)
    without = accelerations(robot, {**driven, "tau": np.zeros_like(driven["tau"])})
    with_forces = accelerations(robot, driven)
    assert (np.linalg.norm(with_forces, axis=1) < np.linalg.norm(without, axis=1) + 1e-6)[clipped].all()


def test_a_share_of_the_forces_lets_the_robot_fall():
    robot = load_urdf(path("toy"))
    domain = input_domain(robot)
    arrays = drawn_of(robot, domain, fext=(1,))
    whole, half = (drive(robot, domain, arrays, share)[0] for share in (1.0, 0.5))
    for name in ("tau", "fext"):
        np.testing.assert_allclose(half[name], 0.5 * whole[name])
    shares = random_shares(8000, np.random.default_rng(0))
    assert (shares < 1.0).mean() == pytest.approx(RELEASED, rel=0.15)
    assert shares.min() < 0.01


def test_rates_stay_within_a_domain_without_zero():
    robot = load_urdf(path("toy"))
    domain = weak(robot, 1.0)
    moving = replace(domain, bounds=domain.bounds | {"v": np.array([[4.0, 5.0], [-2.0, 1.0]])})
    driven, _ = drive(robot, moving, drawn_of(robot, moving))
    assert driven["v"][:, 0].min() == 4.0


def test_a_held_base_moves_as_the_task_says():
    robot = mount(load_urdf(path("hyq")), Mounting("any"))
    domain = input_domain(robot)
    driven, _ = drive(robot, domain, drawn_of(robot, domain))
    held = driven["base_held"] == 1.0
    np.testing.assert_array_equal(driven["base_a"][held], driven["a"][held, :6])
    assert not driven["base_a"][~held].any()
    assert driven["base_a"][held].any(axis=1).mean() == pytest.approx(0.5, abs=0.1)


def test_the_domain_file_may_ask_for_any_forces():
    robot = load_urdf(path("iiwa14"))
    whole = input_domain(robot, Overrides(any_forces=True))
    thrown = sample(robot, whole, TASKS, np.random.default_rng(1))
    np.testing.assert_array_equal(thrown["tau"], drawn_of(robot, whole)["tau"])


@pytest.mark.parametrize("forces", [Forces.STEPS, Forces.MOTIONS])
def test_forces_do_not_throw_the_robot_out_of_its_domain_within_a_step(forces):
    """Accelerations of 1000 rad/s^2 would, in 20 ms."""
    robot = load_urdf(path("iiwa14"))
    fast = input_domain(robot, Overrides(default=JointBounds(acceleration=1000.0)))
    domain = with_time_step(fast, robot, None)
    limited = sample(robot, domain, 400, np.random.default_rng(1), forces=forces)
    most = (1.0 + OVERSHOOT) * domain.bounds["v"][:, 1]
    within = (np.abs(limited["tau"]) < domain.bounds["tau"][:, 1]).all(axis=1)
    after = golden.evaluate(robot, "step", limited)["x_next"][:, robot.nq :]
    assert (np.abs(after[within]) <= most + 1e-9).all()
    longest = np.abs(
        domain.bounds["h"][0, 1] * accelerations(robot, sample(robot, fast, 400, np.random.default_rng(1)))
    )
    assert (longest > 2.0 * most).any(axis=1).mean() > 0.1
