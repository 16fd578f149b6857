"""A domain file from a recorded trajectory: the ranges are those of the log, and the file is read again."""

from itertools import product

import numpy as np
import pytest

from rbdhw.domain.bounds import input_domain
from rbdhw.domain.overrides import read_overrides
from rbdhw.domain.recorded import domain_text
from rbdhw.domain.sampling import sample
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path


@pytest.mark.parametrize(("name", "floats"), [*product(["toy"], [False, True]), ("tiago", False)])
def test_recorded_tasks_are_inside_with_the_margin(tmp_path, name, floats):
    robot = load_urdf(path(name))
    robot = robot.with_floating_base() if floats else robot
    drawn = sample(robot, input_domain(robot), 40, np.random.default_rng(0))
    arrays = {array: 0.3 * drawn[array] if array != "q" else drawn[array] for array in ("q", "v", "a", "tau")}
    arrays["v"][:, -1] = 0.0
    (tmp_path / "log.toml").write_text(domain_text(robot, arrays | {"h": np.full(40, 0.01)}, 0.2))
    overrides = read_overrides(tmp_path / "log.toml")
    assert overrides.integration.time_step == pytest.approx((0.008, 0.012))
    domain, default = input_domain(robot, overrides), input_domain(robot)
    for array in ("v", "a", "tau"):
        lowest, highest = domain.bounds[array].T
        assert ((arrays[array] >= lowest) & (arrays[array] <= highest)).all()
    joint = next(k for k, body in enumerate(robot.bodies) if body.joint.kind.nq == 1 and not body.joint.mimic)
    (rate,), (coordinate,) = (range(robot.nv)[robot.v_of[joint]], range(robot.nq)[robot.q_of[joint]])
    low, high = min(arrays["v"][:, rate].min(), 0.0), max(arrays["v"][:, rate].max(), 0.0)
    room = 0.2 * (high - low)
    assert domain.bounds["v"][rate] == pytest.approx([low - room, high + room])
    span = np.ptp(arrays["q"][:, coordinate])
    assert np.diff(domain.bounds["q"][coordinate]) == pytest.approx(1.4 * span)
    assert domain.bounds["v"][-1] == pytest.approx(default.bounds["v"][-1])  # it did not move
