"""Rollouts: the hardware in mixed streams, every bit; the model is a loop of steps; from Python and files."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rbdhw
from rbdhw import golden
from rbdhw.design.folder import Design, read, write
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.errors import InputError
from rbdhw.estimate.fabric import FABRICS
from rbdhw.fixed.rollout import RolloutShape, state_words
from rbdhw.model.packets import MALFORMED, OUTSIDE
from rbdhw.model.program_interface import program_interface
from rbdhw.model.rollouts.codec import prepare
from rbdhw.model.rollouts.draw import LEAVING
from rbdhw.options.arguments import asked_build
from rbdhw.options.build import DEFAULT_HORIZON, BuildOptions, CoreRequest, Mounting
from rbdhw.options.checks import check_options
from rbdhw.pipeline import build_design, generate, generate_software
from rbdhw.protocol import LOAD, ROLLOUT
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robots import path
from rbdhw.rtl.edge_cells import CorePort, edge_cells
from rbdhw.sim.simulate import simulate
from rbdhw.verilator.simulator import Disturbance
from tests.support.bit_exact import draw_words
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.rollouts import HORIZON, Stream, calm, first_states


@pytest.fixture(scope="module")
def folder(rollout_folder: Callable[..., Path]) -> Path:
    """Return an accelerator of the toy with rollouts and another function."""
    return rollout_folder()


@pytest.mark.parametrize(("bubbles", "back_pressure"), [long(0.0, 0.0), (0.4, 0.4), (0.0, 0.95)])
def test_rollouts_in_a_mixed_stream(folder: Path, bubbles: float, back_pressure: float) -> None:
    """Rows, rollouts of any length, refused ones and other tasks: the rows of one do not reach another."""
    design, rng = read(folder), np.random.default_rng(1)
    stream, tag = Stream(design), 0
    loaded: dict[str, list[int]] = {}
    for turn in range(4):
        rollouts = prepare(design, first_states(design, 1, seed=turn), 0)
        names = list(rollouts.rows)
        for k in range((3, HORIZON, HORIZON, 2)[turn]):
            stream.row(k, {name: int(rollouts.rows[name][k]) for name in names}, k, 0)
            for name in names:
                row = loaded.setdefault(name, [])
                row[k : k + 1] = [int(rollouts.rows[name][k])]
        rows = {name: np.array(row) for name, row in loaded.items()}
        if turn == 0:
            stream.row(5, dict.fromkeys(names, 0), 99, MALFORMED)  # leaves a gap
        for _ in range(12):
            tags, tag = np.arange(tag, tag + 3), tag + 3
            kind = rng.choice(["id", "step", ROLLOUT, ROLLOUT])
            if kind != ROLLOUT:
                stream.tasks(kind, tags, seed=tag)
                continue
            words = draw_words(design, ROLLOUT, False, 3, seed=tag)
            state = {name: words[name] for name in rollouts.words}
            steps, every = int(rng.integers(0, HORIZON + 2)), int(rng.integers(0, 4))
            stream.rollouts(state, rows, steps, every, tags)
    stream.check(folder, Disturbance(bubbles, back_pressure, seed=5, surplus=stream.surplus))


def test_forces_are_limited_when_they_are_loaded(folder: Path) -> None:
    design = read(folder)
    rollouts = prepare(design, first_states(design, 2, seed=3), 0)
    bounds = {word.name: word for word in design.interface.inputs(LOAD) if word.name in rollouts.rows}
    far = {name: word.format.highest for name, word in bounds.items()}
    assert all(far[name] > word.highest for name, word in bounds.items())
    stream = Stream(design)
    stream.row(0, far, 1, OUTSIDE)
    limited = {name: np.array([word.highest]) for name, word in bounds.items()}
    stream.rollouts(dict(rollouts.words), limited, 1, 0, np.arange(2))
    stream.check(folder, Disturbance())


def test_one_step_a_cycle_and_a_share_for_others(folder: Path) -> None:
    """A full core starts a step in every cycle; foreign tasks take as much as they need."""
    design, tasks = read(folder), 120
    words = prepare(design, first_states(design, tasks, seed=4), 0)
    stream = Stream(design)
    for k in range(HORIZON):
        stream.row(k, {name: int(row[k]) for name, row in words.rows.items()}, k, 0)
    stream.rollouts(dict(words.words), words.rows, HORIZON, 0, np.arange(tasks))
    taken = stream.check(folder, Disturbance())
    assert taken[-1] - taken[HORIZON - 1] <= 1.1 * tasks * HORIZON + 60


def test_a_state_goes_back_without_losing_a_bit(folder: Path) -> None:
    """The words of a state have all the fraction bits of the results: the format rule of accumulators."""
    design = read(folder)
    step = design.interface.words("step")
    for state_word in state_words(step, design.robot.nq):
        assert state_word.place is not None
        assert state_word.word.format.binary_point >= step.outputs[state_word.place].format.binary_point


@pytest.mark.parametrize("engine", ["model", "numpy"])
def test_a_rollout_is_a_loop_of_steps(folder: Path, engine: str) -> None:
    acc = rbdhw.load(folder, engine)
    arrays = calm(read(folder), 8, seed=6)
    q, v, tau, h = (arrays[name] for name in ("q", "v", "tau", "h"))
    rollouts = acc.rollout(q, v, tau, h, every=1)
    last = acc.rollout(q[0], v[0], tau, h[0])
    assert rollouts._fields == ("states", "first_flagged", "status")
    assert (rollouts.states.shape, last.states.shape) == ((8, HORIZON, 4), (1, 4))
    np.testing.assert_array_equal(last.states[0], rollouts.states[0, -1])
    assert not rollouts.status.any()
    assert not rollouts.first_flagged.any()
    for k, force in enumerate(tau):
        one = acc.step(q, v, force, h)
        np.testing.assert_array_equal(rollouts.states[:, k], one.x_next)
        q, v = one.x_next[:, :2], one.x_next[:, 2:]


def test_golden_rollouts_are_pinocchios_steps(folder: Path) -> None:
    acc, arrays = rbdhw.load(folder, "golden"), calm(read(folder), 3, seed=7)
    q, v, tau, h = (arrays[name] for name in ("q", "v", "tau", "h"))
    far = np.vstack([tau[:2], np.full((1, 2), 1e5)])
    rollouts = acc.rollout(q, v, far, h, every=2)
    limits = read(folder).domain.bounds["tau"]
    for force in np.clip(far, limits[:, 0], limits[:, 1]):
        given = {"q": q, "v": v, "h": h, "tau": np.tile(force, (3, 1))}
        after = golden.evaluate(acc.robot, "step", given)["x_next"]
        q, v = after[:, :2], after[:, 2:]
    np.testing.assert_array_equal(rollouts.states[:, -1], after)
    assert rollouts.states.shape == (3, 2, 4)


def test_the_step_in_which_a_state_leaves_its_domain_is_named(folder: Path) -> None:
    acc, design = rbdhw.load(folder, "numpy"), read(folder)
    limits = design.domain.bounds
    q, v = np.zeros(2), limits["v"][:, 1] * 0.98
    rollouts = acc.rollout(q, v, np.tile(limits["tau"][:, 1], (HORIZON, 1)), 0.02, every=1)
    assert rollouts.status & OUTSIDE
    assert 1 < rollouts.first_flagged <= HORIZON
    fine = acc.rollout(q, v, np.tile(limits["tau"][:, 1], (int(rollouts.first_flagged) - 1, 1)), 0.02)
    assert (fine.status, fine.first_flagged) == (0, 0)
    assert acc.rollout(q, v, np.zeros((2, 2)), 0.03).first_flagged == 1


def test_simulate_covers_rollouts(folder: Path) -> None:
    report = simulate(folder, 40, seed=4, bulk=True)
    assert report.rollouts is not None
    assert report.json()["rollouts"] == vars(report.rollouts)
    assert (report.rollouts.tasks, report.mismatches, report.ok) == (40, 0, True)
    assert report.rollouts.steps >= 40
    assert 0 < report.rollouts.flagged <= 40 // LEAVING
    assert {cause.function for cause in report.causes} == {ROLLOUT}
    assert sum(cause.tasks for cause in report.causes) >= report.rollouts.flagged
    assert report.warnings == ()
    lost = replace(report, rollouts=replace(report.rollouts, flagged=40))
    assert lost.warnings[0].startswith("every rollout is flagged (40), so")
    wrong = replace(report, rollouts=replace(report.rollouts, mismatches=2))
    assert wrong.mismatches == 2
    assert wrong.failures == ["rollout: responses that differ from the model's: 2; expected 0"]


def test_the_estimate_has_the_queues_and_rows(folder: Path) -> None:
    model = read(folder)
    port = CorePort({"id": 9, "step": 11}, 1, sum(model.interface.slots[:9]))
    luts, rams = [], []
    for horizon in (None, 6, 2048):
        shape = None if horizon is None else RolloutShape(horizon, 2, "step")
        interface = program_interface(model.programs, 128, rollout=shape)
        parts = edge_cells(interface, [port], FABRICS["ecp5"])
        luts.append(sum(part.luts for part in parts.values()))
        rams.append(sum(part.block_rams for part in parts.values()))
    assert luts[1] > 1.2 * luts[0]
    assert rams[2] > rams[1]


def test_a_gpu_has_no_rollouts() -> None:
    options = BuildOptions(functions=("step",), horizon=HORIZON, target="cuda")
    with pytest.raises(InputError, match="functions: --target cuda has no rollouts"):
        generate_software(path("toy"), options)


def test_rollouts_of_a_robot_without_contacts_take_none(folder: Path) -> None:
    acc, q = rbdhw.load(folder, "numpy"), np.zeros(2)
    with pytest.raises(InputError, match="array 'contact': no contacts are built"):
        acc.rollout(q, q, np.zeros((2, 2)), 0.01, contact=np.ones((2, 1)))


def test_the_horizon_is_checked() -> None:
    known = ("id", "step")
    for options, text in (
        (BuildOptions(functions=("step",), horizon=1), "horizon: 1 is not possible; expected 2 to 4096"),
        (BuildOptions(horizon=8), "horizon: the build has no rollouts; use --functions rollout"),
        (BuildOptions(functions=("step",), horizon=8, copies=2), "cores: rollouts return to one core"),
        (
            BuildOptions(functions=("step",), horizon=8, streams=2),
            "streams: rollouts return to the only pair of streams; leave --streams out, or use step",
        ),
        (BuildOptions(functions=known, horizon=8, mix={"id": 1.0}), "mix: does not choose cores"),
    ):
        with pytest.raises(InputError, match=text):
            check_options(options)


def test_options_of_rollouts() -> None:
    """The command line names rollouts; cores compute their steps."""
    options, _ = asked_build(functions="id,rollout")
    assert (options.functions, options.horizon) == (("id", "step"), DEFAULT_HORIZON)
    options, _ = asked_build(cores="rollout,step:2 id", horizon=9)
    assert [core.functions for core in options.cores] == [("step",), ("id",)]
    assert [core.horizon for core in options.each_core()] == [9, None]
    same = BuildOptions(
        functions=("id", "rollout"), cores=(CoreRequest(("rollout",), 2), CoreRequest(("id",), 1))
    )
    assert (same.functions, same.horizon) == (("id", "step"), DEFAULT_HORIZON)
    assert [core.functions for core in same.cores] == [("step",), ("id",)]
    with pytest.raises(InputError, match="horizon: the build has no rollouts"):
        asked_build(functions="step", horizon=9)


def assert_exact(design: Design, folder: Path, tasks: int, foreign: str) -> None:
    """Check rollouts mixed with other tasks under random traffic."""
    write(design, folder / "design")
    design = read(folder / "design")
    rollouts = prepare(design, calm(design, tasks, seed=9), 0)
    stream = Stream(design)
    for k in range(HORIZON):
        stream.row(k, {name: int(row[k]) for name, row in rollouts.rows.items()}, k, 0)
    for start in range(0, tasks, 5):
        words = {name: values[start : start + 5] for name, values in rollouts.words.items()}
        tags = np.arange(start, min(start + 5, tasks))
        stream.rollouts(words, rollouts.rows, 1 + start % HORIZON, start % 4, tags)
        stream.tasks(foreign, tags, seed=start)
    stream.check(folder / "design", Disturbance(0.3, 0.3, seed=2, surplus=stream.surplus))


@pytest.mark.verify
def test_beside_another_core(tmp_path: Path) -> None:
    """Tasks wait in the queue of the core, which also shares it with steps."""
    cores = (CoreRequest(("id",), 1), CoreRequest(("step", "m"), 3))
    options = BuildOptions(
        functions=("id", "step", "m"), width=24, samples=256, data_width=128, horizon=HORIZON, cores=cores
    )
    robot = mechanism([JointKind.REVOLUTE], (BASE,), seed=4)
    assert_exact(build_design(robot, options), tmp_path, 60, "m")


@pytest.mark.verify(minutes=2)
def test_rotations_of_three_axes(tmp_path: Path) -> None:
    robot = mechanism([JointKind.SPHERICAL, JointKind.REVOLUTE, JointKind.PLANAR], (BASE, 0, 0), seed=4)
    overrides = Overrides(default=JointBounds(velocity=2.0, effort=50.0))
    options = BuildOptions(functions=("id", "step"), ii=8, width=24, samples=512, horizon=HORIZON)
    assert_exact(build_design(robot, options, overrides), tmp_path, 100, "id")


@pytest.mark.verify(minutes=5)
def test_a_floating_quadruped(tmp_path: Path) -> None:
    options = BuildOptions(
        functions=("rollout",),
        ii=4,
        width=24,
        samples=512,
        horizon=HORIZON,
        mounting=Mounting("floating"),
        rollout=("samples", "cost", "gains"),
    )
    write(generate(path("hyq"), options), tmp_path / "design")
    report = simulate(tmp_path / "design", 200, seed=5, bulk=True)
    assert report.rollouts is not None
    assert (report.mismatches, report.ok) == (0, True)
