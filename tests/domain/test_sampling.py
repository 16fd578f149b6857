"""Random tasks of integrators stay near the domain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rbdhw import golden
from rbdhw.domain.bounds import input_domain, with_time_step
from rbdhw.domain.sampling import OVERSHOOT, sample
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path


def test_forces_do_not_throw_the_robot_out_of_its_domain():
    robot = load_urdf(path("iiwa14"))
    domain = with_time_step(input_domain(robot), robot, None)
    drawn, limited = (
        sample(robot, domain, 400, np.random.default_rng(1), limited=limited) for limited in (False, True)
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
    plain = sample(robot, domain, 50, np.random.default_rng(1))
    steps = sample(robot, with_time_step(domain, robot, None), 50, np.random.default_rng(1), limited=False)
    np.testing.assert_array_equal(plain["tau"], steps["tau"])
    assert "h" not in plain
    fixed = replace(robot, time_step=0.004)
    own = sample(fixed, with_time_step(domain, fixed, None), 50, np.random.default_rng(1))
    assert (own["h"] == 0.004).all()
