"""Feedback of rollouts: its rows, and the forces beside the golden ones and Pinocchio's difference."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import rbdhw
from rbdhw.design.folder import Design, read, write
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.errors import InputError
from rbdhw.golden.integrators import integrate
from rbdhw.golden.tasks import with_unit_quaternions
from rbdhw.model.packets import MALFORMED, OUTSIDE
from rbdhw.model.rollouts.codec import prepare
from rbdhw.model.rollouts.gains import tangent_of
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import build_design, generate
from rbdhw.protocol import LOAD_GAINS
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate
from rbdhw.verilator.simulator import Disturbance
from tests.support.headings import headings
from tests.support.mechanisms import mechanism
from tests.support.oracle import pinocchio_model, to_pinocchio_q
from tests.support.rollouts import HORIZON, Stream, calm, feedback


def turning_design() -> Design:
    """Return an accelerator whose state has a quaternion, with all parts of rollouts."""
    robot = mechanism([JointKind.SPHERICAL], (BASE,), seed=4)
    overrides = Overrides(default=JointBounds(velocity=2.0, effort=10.0))
    options = BuildOptions(
        functions=("rollout",),
        ii=16,
        width=30,
        samples=256,
        horizon=HORIZON,
        rollout=("samples", "cost", "gains"),
    )
    return build_design(robot, options, overrides)


@pytest.fixture(scope="module")
def turning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of :func:`turning_design` without Verilog."""
    folder = tmp_path_factory.mktemp("turning") / "robot"
    with headings():
        write(turning_design(), folder)
    return folder


def test_gains_are_limited_and_counted(parts_folder):
    """A rollout needs the gains of every force; loads that leave gaps or have no force are refused."""
    design = read(parts_folder)
    rollouts = prepare(design, calm(design, 3, seed=3) | feedback(design, 3), 0)
    names = [word.name for word in design.interface.inputs(LOAD_GAINS) if word.name.startswith("gain")]
    step = {name: int(row[0]) for name, row in rollouts.rows.items()}
    first = {name: step[name.replace("gain[", "gain[0,")] for name in names} | {"coordinate": 0}
    lowest = dict.fromkeys(names, -(1 << 17)) | {"coordinate": 1}
    rows = {name: row[:1] for name, row in rollouts.rows.items()}
    none = {name: row[:0] for name, row in rollouts.rows.items()}
    stream = Stream(design)
    stream.rows(rows, but=LOAD_GAINS)
    stream.row(0, first, 2, 0, LOAD_GAINS)
    stream.rollouts(dict(rollouts.words), none, 1, 0, np.arange(3))  # the second force has no gains
    stream.row(1, lowest, 3, MALFORMED, LOAD_GAINS)
    stream.row(0, first | {"coordinate": -1}, 4, MALFORMED, LOAD_GAINS)
    stream.row(0, lowest, 5, OUTSIDE, LOAD_GAINS)
    limited = {f"gain[1,{k}]": np.array([1 - (1 << 17)]) for k in range(len(names))}
    stream.rollouts(dict(rollouts.words), rows | limited, 1, 0, np.arange(10, 13))
    stream.check(parts_folder, Disturbance())


def test_feedback_is_that_of_the_golden_model(parts_folder):
    acc, golden, design = rbdhw.load(parts_folder), rbdhw.load(parts_folder, "golden"), read(parts_folder)
    arrays = calm(design, 20, seed=6)
    nominal = np.hstack([arrays["q"], arrays["v"]])[:HORIZON] * 0.5
    given = feedback(design, 6, 0.05) | {"x_nominal": nominal}
    rollouts, expected = acc.rollout(**arrays, **given, every=1), golden.rollout(**arrays, **given, every=1)
    without = golden.rollout(**arrays, every=1)
    assert rollouts._fields == ("states", "cost", "first_flagged", "status")
    assert not rollouts.status.any()
    error = np.abs(rollouts.states - expected.states).max()
    assert error < 1e-3 < 0.1 * np.abs(expected.states - without.states).max()
    same = acc.rollout(**arrays, **given | {"K": np.zeros((2, 4))}, every=1)
    np.testing.assert_array_equal(same.states, acc.rollout(**arrays, every=1).states)


def test_gains_act_on_pinocchios_difference() -> None:
    """Near the nominal state, errors of the elements become the difference in the tangent space."""
    kinds = [JointKind.FLOATING, JointKind.PLANAR, JointKind.SPHERICAL, JointKind.REVOLUTE]
    robot = mechanism(kinds, (BASE, 0, 1, 2), seed=2)
    model, rng = pinocchio_model(robot), np.random.default_rng(5)
    q = rng.normal(size=(1, robot.nq))
    q = with_unit_quaternions(robot, q)
    moved = 1e-6 * rng.normal(size=(1, 2 * robot.nv))
    near = np.hstack([integrate(robot, q, moved[:, : robot.nv]), moved[:, robot.nv :]])
    nominal = np.hstack([q, np.zeros((1, robot.nv))])
    difference = tangent_of(robot, nominal)[0] @ (near - nominal)[0]
    np.testing.assert_allclose(difference, moved[0], atol=1e-10)
    start, end = (to_pinocchio_q(robot, configuration[0]) for configuration in (q, near[:, : robot.nq]))
    theirs = pin.difference(model, start, end)
    smooth = [k for k, kind in enumerate(np.repeat(kinds, [6, 3, 3, 1])) if kind is not JointKind.PLANAR]
    np.testing.assert_allclose(difference[smooth], theirs[smooth], atol=1e-10)


def test_both_quaternions_of_an_orientation_are_one(turning: Path) -> None:
    """Costs and feedback are the same, and states come with the sign of the first one."""
    design, acc = read(turning), rbdhw.load(turning)
    golden = rbdhw.load(turning, "golden")
    nq, nv = design.robot.nq, design.robot.nv
    arrays = calm(design, 6, seed=2) | feedback(design, 2, 0.02) | {"seed": np.arange(6), "std": np.ones(nv)}
    turn = np.ones(nq)
    turn[:4] = -1.0
    arrays |= {"q": arrays["q"] / np.linalg.norm(arrays["q"][:, :4], axis=1, keepdims=True)}
    arrays |= {"x_ref": arrays["x_nominal"][::-1], "Q": np.ones(nq + nv), "R": np.zeros(nv)}
    nominal, reference = arrays["x_nominal"].copy(), arrays["x_ref"].copy()
    nominal[2:, :nq] *= turn
    reference[:3, :nq] *= turn
    other = arrays | {"q": arrays["q"] * turn, "x_nominal": nominal, "x_ref": reference}
    for engine in (acc, golden):
        rollouts, same = engine.rollout(**arrays, every=1), engine.rollout(**other, every=1)
        np.testing.assert_allclose(same.states[..., :nq] * turn, rollouts.states[..., :nq], atol=1e-5)
        np.testing.assert_allclose(same.states[..., nq:], rollouts.states[..., nq:], atol=1e-4)
        np.testing.assert_allclose(same.cost, rollouts.cost, rtol=1e-4)
    rollouts, fine = acc.rollout(**arrays), acc.rollout(**arrays).status == 0
    assert np.count_nonzero(fine) >= 3
    np.testing.assert_allclose(rollouts.cost[fine], golden.rollout(**arrays).cost[fine], rtol=2e-3)


def test_states_of_feedback_have_unit_quaternions(turning: Path) -> None:
    design, acc = read(turning), rbdhw.load(turning, "numpy")
    arrays = calm(design, 3, seed=2) | feedback(design, 2)
    nominal = np.array(arrays["x_nominal"], np.float64)
    nominal[1, :4] *= 1.01
    text = r"array 'x_nominal', row 1: the quaternion of joint '.*' has length 1\.01; expected 1 within"
    with pytest.raises(InputError, match=text):
        acc.rollout(**arrays | {"x_nominal": nominal})


def test_forces_of_a_robot_with_quaternions(turning: Path) -> None:
    for engine in ("numpy", "golden"):
        forces = rbdhw.load(turning, engine).rollout_forces(np.zeros((2, 3)), np.zeros(3), np.arange(4))
        np.testing.assert_array_equal(forces, np.zeros((4, 2, 3)))


@pytest.mark.usefixtures("only_heading")
def test_a_clock_that_a_product_without_registers_cannot_follow_is_refused() -> None:
    """The pipeline has registers in its products at this clock; what lies between two steps has none."""
    options = BuildOptions(functions=("rollout",), width=18, samples=64, clock_mhz=250.0)
    assert generate(path("toy"), options).manifest["clock_mhz"] == 250.0
    with pytest.raises(InputError, match=r"clock: 250 MHz is too fast .* expected at most 217 MHz"):
        generate(path("toy"), replace(options, rollout=("gains",)))


@pytest.mark.verify
def test_a_state_with_a_quaternion_in_verilator(tmp_path):
    write(turning_design(), tmp_path / "robot")
    report = simulate(tmp_path / "robot", 40, seed=3, bulk=True)
    assert (report.mismatches, report.ok) == (0, True)
