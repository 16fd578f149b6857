"""Pinocchio's batch call gives the same results as one call for each task."""

from __future__ import annotations

import numpy as np
import pytest

from rbdhw.config import Mounting
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.sampling import sample
from rbdhw.frontend.base import mount
from rbdhw.golden.pinocchio import Reference
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path

TASKS = 32


@pytest.mark.parametrize(("function", "drive"), [("id", "a"), ("fd", "tau")])
@pytest.mark.parametrize(("name", "base"), [("iiwa14", "fixed"), ("hyq", "floating"), ("tiago", "fixed")])
def test_a_batch_has_the_results_of_single_calls(name, base, function, drive):
    robot = mount(load_urdf(path(name)), Mounting(base))
    free = Reference.read(path(name), robot).free
    arrays = sample(robot, input_domain(robot), TASKS, np.random.default_rng(0))
    tasks = list(zip(arrays["q"], arrays["v"], arrays[drive], strict=True))
    run = free.batch(function, [free.convert_task(*task) for task in tasks])
    assert run is not None
    (output,) = FUNCTIONS[function].outputs
    for column, task in zip(run().T, tasks, strict=True):
        expected = free.task(function, *task)[output]
        assert np.allclose(free.reduce(column), expected, rtol=1e-9, atol=1e-9)


def test_rates_are_of_batches_where_there_are_some():
    robot = load_urdf(path("toy"))
    reference = Reference.read(path("toy"), robot)
    arrays = sample(robot, input_domain(robot), TASKS, np.random.default_rng(0))
    rates = {function: reference.rate(function, arrays) for function in FUNCTIONS}
    assert [function for function, rate in rates.items() if rate.batch] == ["id", "fd"]
    assert all(rate.tasks_per_second > 0.0 for rate in rates.values())
