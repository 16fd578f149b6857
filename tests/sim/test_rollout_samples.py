"""Samples of rollouts drawn on the chip: the forces that a seed gives."""

import numpy as np
import pytest

import rbdhw
from rbdhw import golden
from rbdhw.design.folder import read
from rbdhw.errors import InputError
from rbdhw.fixed.normal import normal_samples
from rbdhw.model.packets import OUTSIDE
from rbdhw.model.rollouts.codec import prepare
from rbdhw.protocol import LOAD
from rbdhw.verilator.simulator import Disturbance
from tests.support.rollouts import HORIZON, Stream, calm


def test_deviations_are_limited_when_they_are_loaded(parts_folder):
    design = read(parts_folder)
    rollouts = prepare(design, calm(design, 2, seed=3) | {"seed": np.array([3, 4])}, 0)
    bounds = {word.name: word for word in design.interface.inputs(LOAD) if word.name.startswith("std")}
    far = {name: int(row[0]) for name, row in rollouts.rows.items()}
    far |= {name: word.format.highest for name, word in bounds.items()}
    stream = Stream(design)
    stream.rows({name: row[:1] for name, row in rollouts.rows.items()})
    stream.row(0, far, 1, OUTSIDE)
    limited = {
        name: np.array([bounds[name].highest if name in bounds else far[name]]) for name in rollouts.rows
    }
    stream.rollouts(dict(rollouts.words), limited, 1, 0, np.arange(2))
    stream.check(parts_folder, Disturbance())


def test_a_rollout_takes_the_forces_of_its_seed(parts_folder):
    """The forces of a seed can be computed again, and each rollout takes those of its own."""
    acc, design = rbdhw.load(parts_folder), read(parts_folder)
    arrays, seeds = calm(design, 1, seed=6), np.arange(40, 48)
    q, v, tau, h = arrays["q"][0], arrays["v"][0], arrays["tau"], arrays["h"][0]
    std = 0.1 * np.asarray(design.domain.bounds["tau"])[:, 1]
    rollouts = acc.rollout(q, v, tau, h, every=1, std=std, seed=seeds)
    forces = acc.rollout_forces(tau, std, seeds)
    assert forces.shape == (8, HORIZON, 2)
    np.testing.assert_array_equal(forces[3], acc.rollout_forces(tau, std, 43))
    ideal = rbdhw.load(parts_folder, "golden").rollout_forces(tau, std, seeds)
    step = max(word.format.step for word in design.interface.inputs(LOAD) if word.name.startswith("tau"))
    np.testing.assert_allclose(forces, ideal, atol=6 * step)
    drawn = normal_samples(seeds, np.arange(HORIZON) // 2, 2)  # the build holds samples for two steps
    np.testing.assert_allclose(forces, tau + std * drawn, atol=6 * step)
    q, v = (np.tile(array, (8, 1)) for array in (q, v))
    for k in range(HORIZON):
        one = acc.step(q, v, forces[:, k], h)
        np.testing.assert_array_equal(rollouts.states[:, k], one.x_next)
        q, v = one.x_next[:, :2], one.x_next[:, 2:]
    plain = acc.rollout(arrays["q"], arrays["v"], tau, h)
    assert not np.array_equal(plain.states[0, 0], rollouts.states[0, -1])
    np.testing.assert_array_equal(acc.rollout_forces(tau, 0 * std, 1), acc.rollout_forces(tau, 0 * std, 2))


@pytest.mark.parametrize("engine", ["numpy", "golden"])
def test_samples_are_held_as_the_build_holds_them(parts_folder, engine):
    acc, q, tau = rbdhw.load(parts_folder, engine), np.zeros(2), np.zeros((4, 2))
    held = acc.rollout(q, q, tau, 0.01, std=[1.0, 1.0], seed=3, hold=2)
    np.testing.assert_array_equal(held.states, acc.rollout(q, q, tau, 0.01, std=[1.0, 1.0], seed=3).states)
    with pytest.raises(
        InputError, match="hold: 4 steps; expected 2, as the build has; generate with --hold 4"
    ):
        acc.rollout(q, q, tau, 0.01, std=[1.0, 1.0], seed=3, hold=4)


def test_golden_rollouts_take_the_models_samples(parts_folder):
    acc, design = rbdhw.load(parts_folder, "golden"), read(parts_folder)
    arrays, seeds = calm(design, 3, seed=7), np.array([1, 1, 2])
    q, v, tau, h = (arrays[name] for name in ("q", "v", "tau", "h"))
    std = np.full((HORIZON, 2), 0.3)
    rollouts = acc.rollout(q, v, tau, h, std=std, seed=seeds)
    forces = acc.rollout_forces(tau, std, seeds)
    for k in range(HORIZON):
        after = golden.evaluate(acc.robot, "step", {"q": q, "v": v, "h": h, "tau": forces[:, k]})["x_next"]
        q, v = after[:, :2], after[:, 2:]
    np.testing.assert_array_equal(rollouts.states[:, 0], after)
