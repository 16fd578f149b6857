"""Crocoddyl's problems with steps of an engine: with a stand-in of its classes, and beside its own steps."""

import re
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

import rbdhw
from benchmarks.solver import problem_of, run_beside_crocoddyl
from rbdhw.errors import InputError
from rbdhw.frontend.read import load_mounted
from rbdhw.robot.mounting import Mounting
from rbdhw.robots import path
from tests.support import crocoddyl_stand_in
from tests.support.optimal_control import FEET, trot

PROGRAM = Path(crocoddyl_stand_in.__file__).with_name("crocoddyl_program.py")

KNOTS = 5
STEPS = 0.01 * np.arange(1, KNOTS + 1)


@pytest.fixture
def adapter(monkeypatch):
    """Import the adapter with Crocoddyl's stand-in."""
    monkeypatch.setitem(sys.modules, "crocoddyl", crocoddyl_stand_in)
    monkeypatch.delitem(sys.modules, "rbdhw.crocoddyl", raising=False)
    yield import_module("rbdhw.crocoddyl")
    sys.modules.pop("rbdhw.crocoddyl")


@pytest.fixture(scope="module")
def acc(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crocoddyl") / "toy"
    return rbdhw.generate(path("toy"), folder, target="c", functions="step,dstep").load("golden")


@pytest.fixture
def problem(adapter, acc):
    model = pin.buildModelFromUrdf(str(path("toy")))
    running = [crocoddyl_stand_in.action(model, h) for h in STEPS]
    terminal = adapter.ActionModel(None, KNOTS, crocoddyl_stand_in.action(model, 0.0))
    given = SimpleNamespace(x0=np.zeros(4), runningModels=running, terminalModel=terminal)
    return adapter.ShootingProblem(acc, given)


def trajectory():
    rng = np.random.default_rng(0)
    return list(rng.uniform(-1.0, 1.0, (KNOTS + 1, 4))), list(rng.uniform(-1.0, 1.0, (KNOTS, 2)))


def test_one_call_for_the_steps_and_one_for_their_derivatives(problem, acc):
    xs, us = trajectory()
    cost = sum(h * 0.5 * (x @ x + u @ u) for h, x, u in zip(STEPS, xs, us, strict=False))
    assert problem.calc(xs, us) == pytest.approx(cost + 0.5 * xs[-1] @ xs[-1])
    assert problem.horizon.calls == 1
    problem.calcDiff(xs, us)
    assert problem.horizon.calls == 2
    assert problem.nthreads == 1
    q, v = np.split(np.array(xs[:-1]), 2, axis=1)
    expected = acc.dstep(q, v, 2.0 * np.array(us) - 3.0 * q, STEPS)
    for k, data in enumerate(problem.runningDatas):
        assert data.xnext == pytest.approx(expected.x_next[k], abs=1e-14)
        springs = np.hstack([-3.0 * expected.B[k], np.zeros((4, 2))])
        assert data.Fx == pytest.approx(expected.A[k] + springs, abs=1e-12)
        assert data.Fu == pytest.approx(2.0 * expected.B[k], abs=1e-12)
        assert data.Lx == pytest.approx(STEPS[k] * xs[k])
    assert problem.terminalData.costs.Lx is xs[-1]


def test_a_pass_forward_computes_each_step_and_derivatives_only_what_changed(problem):
    xs, us = trajectory()
    problem.calc(xs, us)
    problem.calcDiff(xs, us)
    us[2] = us[2] + 0.1
    for model, data, x, u in zip(problem.runningModels, problem.runningDatas, xs, us, strict=False):
        model.calc(data, x, u)
    assert problem.horizon.calls == 3  # one for the step that is another one
    problem.calcDiff(xs, us)
    problem.calcDiff(xs, us)
    assert problem.horizon.calls == 4


def test_a_step_that_is_no_number_is_flagged(problem):
    xs, us = trajectory()
    us[1] = us[1] * np.nan
    problem.calc(xs, us)
    assert problem.horizon.flagged == 1
    assert np.isnan(problem.runningDatas[1].xnext).all()
    assert np.isfinite(problem.runningDatas[0].xnext).all()


def touching(name, gain=0.0, damping=1e-6):
    """Return an action with the contact of a frame."""
    frame, contact = SimpleNamespace(name=name), SimpleNamespace(id=0, nc=3, gains=(0.0, gain))
    item = {"contact": SimpleNamespace(active=True, contact=contact)}
    contacts = SimpleNamespace(contacts=SimpleNamespace(todict=lambda: item))
    model = SimpleNamespace(frames=[frame])
    return SimpleNamespace(
        differential=SimpleNamespace(pinocchio=model, contacts=contacts, JMinvJt_damping=damping)
    )


def test_contacts_are_those_of_the_same_names(adapter):
    robot = load_mounted(path("toy"), Mounting(contacts=(("forearm", "point"), ("tip", "point"))))
    free = SimpleNamespace(differential=SimpleNamespace())
    assert adapter._schedule(robot, [free, free]) is None
    schedule = adapter._schedule(robot, [touching("tip"), free, touching("forearm")])
    assert schedule.tolist() == [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
    for action, text in (
        (touching("hand"), "contact at frame 'hand': the build has none; expected one of forearm, tip"),
        (touching("tip", 1.0), "gains: (0.0, 1.0); expected the build's: (0.0, 0.0)"),
        (touching("tip", damping=0.0), "damping: 0.0; expected the build's: 1e-06"),
    ):
        with pytest.raises(InputError, match=re.escape(text)):
            adapter._schedule(robot, [action])


def test_loops_and_gains_by_task_are_refused(adapter):
    touched = {"contacts": (("tip", "point"),)}
    for more, where in (
        ({"loops": (("strut", "forearm", "base@0.5:0:1"),)}, "loops"),
        ({"contact_gains": "task"}, "contact-gains"),
    ):
        robot = load_mounted(path("toy"), Mounting(**touched, **more))
        with pytest.raises(InputError) as caught:
            adapter._schedule(robot, [touching("tip")])
        assert caught.value.where == where


def minimised(folder, robot, base, frame):
    """Return the archive of what Crocoddyl found for a problem by itself and with the steps of a folder."""
    source, target = folder.parent / "in.npz", folder.parent / "out.npz"
    mounted = load_mounted(path(robot), Mounting(base, frames=(frame,) if frame else ()))
    names = {"urdf": str(path(robot)), "floating": base == "floating", "frame": frame}
    np.savez(source, **problem_of(mounted), **names)
    run_beside_crocoddyl(PROGRAM, folder, source, target)
    return np.load(target)


@pytest.mark.verify(minutes=3)
@pytest.mark.parametrize(
    ("robot", "base", "frame"),
    [("toy", "fixed", "tip"), ("hyq", "floating", "")],
)
def test_the_minimiser_is_crocoddyls(robot, base, frame, tmp_path):
    folder = tmp_path / robot
    rbdhw.generate(path(robot), folder, target="c", functions="step,dstep", base=base)
    with minimised(folder, robot, base, frame) as comparison:
        assert comparison["costs_ours"] == pytest.approx(comparison["costs_theirs"], rel=1e-12)
        assert comparison["calls"] == 2
        assert comparison["differences"].max() < 1e-11
        assert comparison["iterations_ours"] == comparison["iterations_theirs"]
        assert comparison["states_ours"] == pytest.approx(comparison["states_theirs"], abs=1e-9)
        assert comparison["flagged"] == 0


@pytest.mark.verify(minutes=3)
def test_fixed_point_ends_at_the_same_minimiser(tmp_path):
    rbdhw.generate(path("toy"), tmp_path / "toy", functions="step,dstep", ii=4)
    with minimised(tmp_path / "toy", "toy", "fixed", "") as comparison:
        assert comparison["states_ours"] == pytest.approx(comparison["states_theirs"], abs=1e-2)
        assert 0 < comparison["differences"].max() < 1e-2


@pytest.mark.verify
@pytest.mark.parametrize("more", ["", ",centroidal"])
def test_a_trot_is_crocoddyls(more, tmp_path):
    """By our solver, and by Crocoddyl's on our steps and on its own; perhaps with a cost of momentum."""
    folder, knots = tmp_path / "trot", 24
    mounted = {"base": "floating", "contacts": FEET, "knots": knots}
    acc = rbdhw.generate(path("hyq"), folder, target="c", functions="solve" + more, **mounted).load()
    problem = trot(acc.robot, knots)
    if more:
        weights = np.tile([1e-3, 1e-3, 1e-2, 1.0, 1.0, 1.0], (knots + 1, 1))
        weights[-1] = 0.0  # Crocoddyl does not differentiate the momentum of the last knot
        problem |= {"momentum_weight": weights}
        problem |= {"momentum_ref": np.tile([25.0, 0.0, 0.0, 0.0, 0.0, 0.0], (knots + 1, 1))}
    first = acc.solve(**problem, iterations=0)
    plan = acc.solve(**problem, iterations=50, tolerance=1e-13)
    points = [contact.frame.name for contact in acc.robot.contacts.places]
    names = {"urdf": str(path("hyq")), "floating": True, "frame": "", "points": points}
    numbers = {"damping": acc.robot.contacts.damping, "planned": plan.tau[:, 6:]}
    source, target = tmp_path / "in.npz", tmp_path / "out.npz"
    np.savez(source, **problem | {"tau": first.tau[:, 6:]}, **names, **numbers)
    run_beside_crocoddyl(PROGRAM, folder, source, target)
    with np.load(target) as comparison:
        assert comparison["differences"].max() < 1e-9
        assert comparison["costs_ours"] == pytest.approx(comparison["costs_theirs"], rel=1e-10)
        assert comparison["cost_ours"] == pytest.approx(comparison["cost_theirs"], rel=1e-10)
        assert comparison["cost_planned"] == pytest.approx(comparison["cost_theirs"], rel=1e-10)
        assert comparison["states_theirs"] == pytest.approx(plan.states, abs=1e-5)
        assert plan.cost == pytest.approx(comparison["cost_theirs"], rel=1e-5)
