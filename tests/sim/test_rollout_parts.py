"""Samples, costs and feedback in rollouts: every bit in mixed streams, files, and what is refused."""

import numpy as np
import pytest

import rbdhw
from rbdhw.design.folder import read
from rbdhw.errors import InputError
from rbdhw.estimate.fabric import FABRICS
from rbdhw.front.run import run
from rbdhw.model.rollouts.codec import prepare
from rbdhw.model.rollouts.samples import SEED
from rbdhw.protocol import ROLLOUT, ROLLOUT_PARTS
from rbdhw.rtl.preparation import preparation_cells
from rbdhw.rtl.step_products import preparation_products
from rbdhw.sim.simulate import simulate
from rbdhw.verilator.simulator import Disturbance
from tests.support.bit_exact import draw_words
from tests.support.marks import long
from tests.support.rollouts import HORIZON, Stream, calm, feedback, first_states, weights
from tests.support.row_costs import COST_ROWS

PARTS = [
    (*ROLLOUT_PARTS, "frames"),
    *map(long, (tuple(ROLLOUT_PARTS), *((part,) for part in ROLLOUT_PARTS), ("samples", "cost"))),
]
"""Parts of builds, and where there are frames, costs have these and rows."""


@pytest.fixture(scope="module", params=PARTS, ids="-".join)
def parts(request):
    return request.param


@pytest.fixture(scope="module")
def folder(parts, parts_folder, rollout_folder):
    """Return an accelerator of the toy whose rollouts have these parts."""
    if "frames" in parts:
        return parts_folder
    return rollout_folder(*parts)


def arrays_of(design, parts, seed, size=0.05, std=0.2):
    """Return the arrays of the parts: one seed, and deviations as a share of the largest forces."""
    largest = np.asarray(design.domain.bounds["tau"])[:, 1]
    arrays = {
        "samples": {"std": np.minimum(std * largest, largest), "seed": 5},
        "cost": weights(seed),
        "gains": feedback(design, seed, size),
        "frames": {},
    }
    return {name: array for part in parts for name, array in arrays[part].items()}


@pytest.mark.parametrize(("bubbles", "back_pressure"), [long(0.0, 0.0), (0.4, 0.4), long(0.0, 0.95)])
def test_parts_in_a_mixed_stream(folder, parts, bubbles, back_pressure):
    """Also with states beyond their words, gains that exceed the forces' bounds, and too few rows."""
    design, rng = read(folder), np.random.default_rng(1)
    stream = Stream(design)
    for turn in range(2):
        given = arrays_of(design, parts, turn, (0.1, 0.4)[turn], (0.1, 2.0)[turn])
        rollouts = prepare(design, first_states(design, 1, seed=turn) | given, 0)
        stream.rows(rollouts.rows)
        for tag in range(100 * turn, 100 * turn + 60, 3):
            tags, words = np.arange(tag, tag + 3), draw_words(design, ROLLOUT, False, 3, seed=tag)
            state = {name: words[name] for name in rollouts.words}
            if "samples" in parts:  # a seed below zero is refused
                state[SEED] = np.full(3, -1) if tag % 7 == 0 else np.abs(state[SEED])
            steps, states = int(rng.integers(0, HORIZON + 2)), "cost" not in parts or bool(tag % 2)
            stream.rollouts(state, rollouts.rows, steps, tag % 4, tags, states=states)
            stream.tasks("id", tags, seed=tag)
    stream.check(folder, Disturbance(bubbles, back_pressure, seed=5, surplus=stream.surplus))


@pytest.mark.parametrize("engine", [long("rtl"), "numpy", "golden"])
def test_parts_from_a_file(folder, parts, tmp_path, engine):
    design = read(folder)
    arrays = calm(design, 5, seed=8) | arrays_of(design, parts, 8, size=0.005, std=0.01)
    arrays |= {"seed": np.arange(5)} if "samples" in parts else {}
    np.savez(tmp_path / "x.npz", **arrays)
    assert run(folder, ROLLOUT, tmp_path / "x.npz", tmp_path / "y.npz", engine).ignored == ()
    with np.load(tmp_path / "y.npz") as stored:
        results = dict(stored)
    expected = rbdhw.load(folder).rollout(**arrays)
    near = 1e-2 if engine == "golden" else 0.0
    np.testing.assert_allclose(results["states"], expected.states, atol=near)
    if "cost" in parts:
        np.testing.assert_allclose(results["cost"], expected.cost, rtol=near)
    if engine == "rtl" and "cost" in parts:
        alone = rbdhw.load(folder, "rtl").rollout(**arrays, states=False)
        np.testing.assert_array_equal(alone.cost, expected.cost)


def test_simulate_covers_parts(folder):
    report = simulate(folder, 40, seed=3, bulk=True)
    assert (report.mismatches, report.ok) == (0, True)
    assert report.rollouts.flagged < 30


def test_the_estimate_has_the_products(folder, parts):
    """Costs have two for each of six words, samples two for each force, gains one for each of eight.

    A residual has one for each of four coefficients, a coordinate of a frame as many as its word.
    """
    interface = read(folder).interface
    products = {"samples": 2 * 2, "cost": 2 * 6, "gains": 2 * 4, "frames": COST_ROWS * (4 + 2) + 2 * 2 * 3}
    assert len(preparation_products(interface)) == sum(products[part] for part in parts)
    for fabric in FABRICS.values():
        assert preparation_cells(interface, interface.rollout, fabric).luts > 100


X = np.zeros(4)
REFUSED = {
    "array 'x_ref': missing; expected the state that is wanted": {"Q": np.ones(4)},
    r"array 'Q': shape \(2,\); expected \(2, 4\), or \(4,\) for all": {"x_ref": X, "Q": np.ones(2)},
    "array 'Q', row 0, column 0: -1; expected 0 to 1e": {"x_ref": X, "Q": -np.ones(4)},
    "array 'R', row 0, column 1: inf; expected finite": {"R": np.array([0.0, np.inf])},
    "array 'x_nominal': missing; expected the state without feedback": {"K": np.ones((2, 4))},
    r"array 'K': shape \(2, 2\); expected \(2, 2, 4\), or \(2, 4\) for": {
        "x_nominal": X,
        "K": np.ones((2, 2)),
    },
    "array 'K', row 0, column 0: nan; expected": {"x_nominal": X, "K": np.full((2, 4), np.nan)},
    "array 'K', step 0, force 0, element 0 of the state: a magnitude of 1e.09; expected": {
        "x_nominal": X,
        "K": np.full((2, 4), 1e9),
    },
    "array 'seed': missing; expected a seed for each rollout": {"std": np.zeros(2)},
    r"array 'std': shape \(3,\); expected \(2, 2\), or \(2,\)": {"std": np.zeros(3), "seed": 1},
    "array 'std', row 0, column 1: -1; expected 0 to": {"std": np.array([0.0, -1.0]), "seed": 1},
    "array 'std', row 0, column 1: nan; expected finite": {"std": np.array([0.0, np.nan]), "seed": 1},
    "array 'seed', row 0: -1; expected integers from 0 to 2147483647": {"seed": -1},
    "array 'seed', row 0: 0.5; expected integers": {"seed": 0.5},
}


@pytest.mark.parametrize("text", REFUSED)
def test_unusable_arrays_are_refused(parts_folder, text):
    q, tau = np.zeros(2), np.zeros((2, 2))
    with pytest.raises(InputError, match=text):
        rbdhw.load(parts_folder, "numpy").rollout(q, q, tau, 0.01, **REFUSED[text])


@pytest.mark.parametrize("engine", ["model", "golden"])
def test_references_and_first_states_outside_are_limited(parts_folder, engine):
    """Rollouts are flagged from the step on whose reference, or whose first state, was outside."""
    acc, q, tau = rbdhw.load(parts_folder, engine), np.zeros((3, 2)), np.zeros((2, 2))
    x_ref = np.zeros((2, 4))
    x_ref[1, 2] = 1e6
    q[1, 0], q[2, 1] = 1e6, np.nan
    rollouts = acc.rollout(q, np.zeros(2), tau, 0.001, x_ref=x_ref, Q=np.full(4, 1e-3))
    assert (rollouts.status.tolist(), rollouts.first_flagged.tolist()) == ([1, 1, 8], [2, 1, 1])
    q[1, 0], x_ref[1, 2] = acc._engine.source.content.domain.bounds["q"][0, 1], 0.0
    inside = acc.rollout(q[:2], np.zeros(2), tau, 0.001, x_ref=x_ref, Q=np.full(4, 1e-3))
    np.testing.assert_array_equal(rollouts.states[:2], inside.states)
    assert np.isnan(rollouts.states[2]).all()
    assert np.isnan(rollouts.cost[2])
    with pytest.raises(InputError, match=r"array 'x_ref', row 0, column 0: 1e.06; expected"):
        rbdhw.load(parts_folder, engine, outside="refuse").rollout(q[0], q[0], tau, 0.01, x_ref=x_ref + 1e6)


@pytest.mark.parametrize(
    ("given", "part"), [({"Q": np.ones(4)}, "cost"), ({"x_nominal": X, "K": np.ones((2, 4))}, "gains")]
)
def test_builds_without_a_part_refuse_its_arrays(rollout_folder, given, part):
    q = np.zeros(2)
    with pytest.raises(InputError, match=f"this build .*; generate with --rollout {part}"):
        rbdhw.load(rollout_folder(), "numpy").rollout(q, q, np.zeros((2, 2)), 0.01, **given)
