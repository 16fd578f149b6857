"""Random rollouts of a simulation: most stay in the domain to their last step, and some leave it."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.design.folder import read, write
from rbdhw.domain.overrides import ParameterBounds
from rbdhw.domain.parameter_bounds import bound_parameters
from rbdhw.frontend.read import mount
from rbdhw.model.responses import respond
from rbdhw.model.rollouts.codec import prepare
from rbdhw.model.rollouts.draw import LEAVING, draw_plans
from rbdhw.model.rollouts.evaluate import compute
from rbdhw.model.rollouts.stream import draw_tasks
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import build_design
from rbdhw.robot.model import BASE, Inertia, JointKind
from rbdhw.robot.parameters import load_inertias
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.mechanisms import mechanism

pytestmark = pytest.mark.usefixtures("without_verilog")

BODY = Inertia(3.0, rotational=(0.1, 0.0, 0.0, 0.2, 0.0, 0.3))


def with_payload(robot):
    return bound_parameters(load_inertias(robot, ("forearm",), payload=True), ParameterBounds())


BUILDS = {
    "fixed": ("toy", {}),
    "payload": ("toy", {}),
    "parts": ("toy", {"rollout": ("samples", "cost", "gains")}),
    "any": ("toy", {"mounting": Mounting("any", gravity="task"), "fext": "all"}),
    "given": ("toy", {"mounting": Mounting("given"), "rollout": ("gains",)}),
    "kinds": ("kinds", {"rollout": ("gains", "samples")}),
}


LONG = ("kinds", "any", "given", "fixed", "parts")
"""Builds for `make verify`."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.verify if name in LONG else ()) for name in BUILDS]
)
def test_most_rollouts_stay_in_the_domain(name, tmp_path):
    source, settings = BUILDS[name]
    options = BuildOptions(functions=("step",), width=24, ii=4, samples=128, horizon=32, **settings)
    robot = mechanism((JointKind.SPHERICAL, JointKind.PLANAR, JointKind.CONTINUOUS), [BASE, 0, 1], 3)
    if source == "toy":
        robot = replace(load_urdf(path("toy")), base_inertia=BODY)
    robot = mount(robot, options.mounting)
    write(build_design(with_payload(robot) if name == "payload" else robot, options), tmp_path / "design")
    design, rng = read(tmp_path / "design"), np.random.default_rng(1)
    steps = rng.integers(1, 33, 64)
    plans = draw_plans(design, draw_tasks(design, 64, rng), steps, 32, rng)
    np.testing.assert_array_equal(np.concatenate([plan.numbers for plan in plans]), np.arange(64))
    first = []
    for plan in plans:
        rollouts = prepare(design, plan.arrays, 1)
        assert all(len(np.unique(row)) > 1 for key, row in rollouts.rows.items() if key.startswith("tau"))
        answered = compute(design, rollouts, lambda words: respond(design, "step", words))
        flagged = answered.first_flagged[np.arange(len(plan.numbers)), steps[plan.numbers] - 1]
        first.append(flagged)
    leaving = np.arange(64) % LEAVING == LEAVING - 1
    flags = np.concatenate(first) > 0
    assert np.count_nonzero(flags & ~leaving) <= 3
    assert np.count_nonzero(flags & leaving) >= 3
