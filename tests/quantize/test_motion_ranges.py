"""Formats of functions with forces fit the motions of the robot, and flag what is thrown beyond them."""

from functools import cache

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.domain.forces import Forces
from rbdhw.domain.overrides import Overrides
from rbdhw.domain.sampling import sample
from rbdhw.domain.strata import draw
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.model.diagnosis import diagnose
from rbdhw.model.packets import decode, encode
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path

TASKS = 1000


@cache
def arm(any_forces=False):
    """Return the model of forward dynamics of an arm at 18 bits."""
    options = BuildOptions(("fd",), width=18, samples=256)
    return make_plan(load_urdf(path("iiwa14")), options, Overrides(any_forces=any_forces)).accelerator


def errors(model, tasks):
    """Return the status and the error (rad/s^2) of tasks."""
    status, words = respond(model, "fd", encode(model, "fd", tasks))
    right = golden.evaluate(model.robot, "fd", tasks)["a"]
    return status, np.linalg.norm(decode(model, "fd", words)["a"] - right, axis=1)


def motions(model):
    """Return motions with accelerations of up to 4 rad/s^2 at up to 1 rad/s."""
    rng = np.random.default_rng(8)
    lower, upper = model.domain.bounds["q"].T
    v, a = (rng.uniform(-largest, largest, (TASKS, 7)) for largest in (1.0, 4.0))
    tasks = {"q": rng.uniform(lower, upper, (TASKS, 7)), "v": v, "a": a}
    return tasks | golden.evaluate(model.robot, "id", tasks)


@pytest.mark.verify
def test_ordinary_motions_err_by_a_thousandth_at_18_bits():
    """With formats for any forces they err thirty times as much."""
    tasks = motions(arm())
    status, off = errors(arm(), tasks)
    assert not status.any()
    assert np.median(off / np.linalg.norm(tasks["a"], axis=1)) < 2e-3
    assert np.median(errors(arm(True), tasks)[1]) > 15.0 * np.median(off)


@pytest.mark.parametrize("forces", ["held", "released"])
def test_a_robot_that_falls_is_not_flagged(forces):
    tasks = motions(arm())
    if forces == "released":
        tasks = tasks | {"tau": np.zeros((TASKS, 7))}
    assert np.count_nonzero(errors(arm(), tasks)[0]) <= TASKS / 100
    drawn = draw(arm().robot, arm().domain, TASKS, np.random.default_rng(9))
    assert np.count_nonzero(errors(arm(), drawn.arrays)[0]) <= TASKS / 100


def test_forces_that_throw_the_robot_are_flagged_with_the_remedy():
    tasks = sample(arm().robot, arm().domain, TASKS, np.random.default_rng(4), forces=Forces.ANY)
    assert errors(arm(), tasks)[0].mean() > 0.9
    remedies = {cause.remedy for cause in diagnose(arm(), "fd", tasks)}
    assert remedies == {"widen acceleration, or set any_forces = true, in generate's --domain file"}
    assert np.count_nonzero(errors(arm(True), tasks)[0]) <= TASKS / 100
