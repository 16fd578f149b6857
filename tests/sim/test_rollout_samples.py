"""Rollouts with samples drawn on the chip: every bit in mixed streams, the forces from Python and files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import rbdhw
from rbdhw import golden
from rbdhw.design.folder import read
from rbdhw.errors import InputError
from rbdhw.front.run import run
from rbdhw.model.packets import OUTSIDE
from rbdhw.model.rollouts.codec import prepare
from rbdhw.model.rollouts.samples import SEED
from rbdhw.protocol import LOAD, ROLLOUT
from rbdhw.sim.simulate import simulate
from rbdhw.verilator.simulator import Disturbance
from tests.support.bit_exact import draw_words
from tests.support.marks import long
from tests.support.rollouts import HORIZON, Stream, calm, first_states

PARTS = [long(("samples",)), ("samples", "cost")]


@pytest.fixture(scope="module", params=PARTS, ids="-".join)
def folder(request: pytest.FixtureRequest, rollout_folder: Callable[..., Path]) -> Path:
    """Return an accelerator of the toy whose rollouts draw samples."""
    return rollout_folder(*request.param)


@pytest.mark.parametrize(("bubbles", "back_pressure"), [(0.0, 0.0), (0.4, 0.4), (0.0, 0.95)])
def test_samples_in_a_mixed_stream(folder: Path, bubbles: float, back_pressure: float) -> None:
    design, rng = read(folder), np.random.default_rng(1)
    stream, std = Stream(design), np.asarray(design.domain.bounds["tau"])[:, 1]
    for turn, scale in enumerate((0.1, 2.0)):
        arrays = first_states(design, 1, seed=turn) | {"std": np.minimum(scale * std, std), "seed": 5}
        own = prepare(design, arrays, 0)
        stream.rows(own.rows)
        for tag in range(100 * turn, 100 * turn + 60, 3):
            tags, words = np.arange(tag, tag + 3), draw_words(design, ROLLOUT, False, 3, seed=tag)
            state = {name: words[name] for name in own.words}
            state[SEED] = np.full(3, -1) if tag % 7 == 0 else np.abs(state[SEED])  # the first is refused
            stream.rollouts(state, own.rows, int(rng.integers(0, HORIZON + 2)), tag % 4, tags)
            stream.tasks("id", tags, seed=tag)
    stream.check(folder, Disturbance(bubbles, back_pressure, seed=5, surplus=stream.surplus))


def test_deviations_are_limited_when_they_are_loaded(folder: Path) -> None:
    design = read(folder)
    own = prepare(design, calm(design, 2, seed=3) | {"seed": np.array([3, 4])}, 0)
    bounds = {word.name: word for word in design.interface.inputs(LOAD) if word.name.startswith("std")}
    far = {name: int(row[0]) for name, row in own.rows.items()}
    far |= {name: word.format.highest for name, word in bounds.items()}
    stream = Stream(design)
    stream.rows({name: row[:1] for name, row in own.rows.items()})
    stream.row(0, far, 1, OUTSIDE)
    limited = {name: np.array([bounds[name].highest if name in bounds else far[name]]) for name in own.rows}
    stream.rollouts(dict(own.words), limited, 1, 0, np.arange(2))
    stream.check(folder, Disturbance())


def test_a_rollout_takes_the_forces_of_its_seed(folder: Path) -> None:
    """The forces of a seed can be computed again, and each rollout takes those of its own."""
    acc, design = rbdhw.load(folder), read(folder)
    arrays, seeds = calm(design, 1, seed=6), np.arange(40, 48)
    q, v, tau, h = arrays["q"][0], arrays["v"][0], arrays["tau"], arrays["h"][0]
    std = 0.1 * np.asarray(design.domain.bounds["tau"])[:, 1]
    found = acc.rollout(q, v, tau, h, every=1, std=std, seed=seeds)
    forces = acc.rollout_forces(tau, std, seeds)
    assert forces.shape == (8, HORIZON, 2)
    np.testing.assert_array_equal(forces[3], acc.rollout_forces(tau, std, 43))
    ideal = rbdhw.load(folder, "golden").rollout_forces(tau, std, seeds)
    step = max(word.format.step for word in design.interface.inputs(LOAD) if word.name.startswith("tau"))
    np.testing.assert_allclose(forces, ideal, atol=6 * step)
    q, v = (np.tile(array, (8, 1)) for array in (q, v))
    for k in range(HORIZON):
        one = acc.step(q, v, forces[:, k], h)
        np.testing.assert_array_equal(found.states[:, k], one.x_next)
        q, v = one.x_next[:, :2], one.x_next[:, 2:]
    plain = acc.rollout(arrays["q"], arrays["v"], tau, h)
    assert not np.array_equal(plain.states[0, 0], found.states[0, -1])
    np.testing.assert_array_equal(acc.rollout_forces(tau, 0 * std, 1), acc.rollout_forces(tau, 0 * std, 2))


def test_golden_rollouts_take_the_models_samples(folder: Path) -> None:
    acc, design = rbdhw.load(folder, "golden"), read(folder)
    arrays, seeds = calm(design, 3, seed=7), np.array([1, 1, 2])
    q, v, tau, h = (arrays[name] for name in ("q", "v", "tau", "h"))
    std = np.full((HORIZON, 2), 0.3)
    found = acc.rollout(q, v, tau, h, std=std, seed=seeds)
    forces = acc.rollout_forces(tau, std, seeds)
    for k in range(HORIZON):
        after = golden.evaluate(acc.robot, "step", {"q": q, "v": v, "h": h, "tau": forces[:, k]})["x_next"]
        q, v = after[:, :2], after[:, 2:]
    np.testing.assert_array_equal(found.states[:, 0], after)


@pytest.mark.parametrize("engine", [long("rtl"), "golden"])
def test_samples_from_a_file(folder: Path, tmp_path: Path, engine: str) -> None:
    arrays = calm(read(folder), 5, seed=8) | {"std": np.array([0.2, 0.1]), "seed": np.arange(5)}
    np.savez(tmp_path / "x.npz", **arrays)
    assert run(folder, ROLLOUT, tmp_path / "x.npz", tmp_path / "y.npz", engine).ignored == ()
    with np.load(tmp_path / "y.npz") as found:
        states = found["states"]
    expected = rbdhw.load(folder).rollout(**arrays)
    assert states.shape == expected.states.shape == (5, 1, 4)
    np.testing.assert_allclose(states, expected.states, atol=0.0 if engine == "rtl" else 1e-2)


def test_simulate_covers_samples(folder: Path) -> None:
    report = simulate(folder, 40, seed=3, bulk=True)
    assert report.rollouts is not None
    assert (report.mismatches, report.ok) == (0, True)
    assert report.rollouts.flagged < 20


def test_unusable_samples_are_refused(folder: Path) -> None:
    acc = rbdhw.load(folder, "numpy")
    q, tau = np.zeros(2), np.zeros((2, 2))
    for given, text in (
        ({"std": np.zeros(2)}, "array 'seed': missing; expected a seed for each rollout"),
        ({"std": np.zeros(3), "seed": 1}, r"array 'std': shape \(3,\); expected \(2, 2\), or \(2,\)"),
        ({"std": np.array([0.0, -1.0]), "seed": 1}, "array 'std', row 0, column 1: -1; expected 0 to"),
        ({"std": np.array([0.0, np.nan]), "seed": 1}, "array 'std', row 0, column 1: nan; expected finite"),
        ({"seed": -1}, "array 'seed', row 0: -1; expected integers from 0 to 2147483647"),
        ({"seed": 0.5}, "array 'seed', row 0: 0.5; expected integers"),
        ({"seed": np.zeros((2, 2))}, "array 'seed': shape"),
    ):
        with pytest.raises(InputError, match=text):
            acc.rollout(q, q, tau, 0.01, **given)
