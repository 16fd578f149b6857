"""Costs of rollouts: their rows, and the costs beside the golden ones."""

import numpy as np

import rbdhw
from rbdhw.design.folder import read
from rbdhw.front.run import run
from rbdhw.model.packets import MALFORMED, OUTSIDE
from rbdhw.model.rollouts.codec import prepare
from rbdhw.protocol import LOAD_COST, ROLLOUT
from rbdhw.verilator.simulator import Disturbance
from tests.support.rollouts import Stream, calm, weights


def test_rows_of_costs_are_limited_and_counted(parts_folder):
    """The largest errors and weights do not overflow; without rows of costs a rollout is refused."""
    design = read(parts_folder)
    rollouts = prepare(design, calm(design, 3, seed=3), 0)
    stream = Stream(design)
    stream.rows({name: row[:1] for name, row in rollouts.rows.items()}, but=LOAD_COST)
    none = {name: row[:0] for name, row in rollouts.rows.items()}
    stream.rollouts(dict(rollouts.words), none, 1, 0, np.arange(3))
    inputs = {word.name: word for word in design.interface.inputs(LOAD_COST) if word.name != "row"}
    stream.row(1, dict.fromkeys(inputs, 0), 2, MALFORMED, LOAD_COST)
    largest = {name: word.format.highest for name, word in inputs.items()}
    limits = {
        name: word.format.highest if word.highest is None else word.highest for name, word in inputs.items()
    }
    stream.row(0, largest, 3, OUTSIDE if limits != largest else 0, LOAD_COST)
    rows = {name: np.array([limits.get(name, int(row[0]))]) for name, row in rollouts.rows.items()}
    low = {word.name: np.full(3, word.lowest) for word in design.interface.inputs("step") if word.lowest}
    state = {
        name: low.get(name, words) if name[0] in "qv" else words for name, words in rollouts.words.items()
    }
    stream.rollouts(state, rows, 1, 0, np.arange(10, 13), states=False)
    stream.check(parts_folder, Disturbance())


def test_costs_are_those_of_the_golden_model(parts_folder):
    acc, golden = rbdhw.load(parts_folder), rbdhw.load(parts_folder, "golden")
    arrays = calm(read(parts_folder), 20, seed=6) | weights(6)
    results, expected = acc.rollout(**arrays), golden.rollout(**arrays)
    assert results._fields == ("states", "cost", "first_flagged", "status")
    np.testing.assert_allclose(results.cost, expected.cost, rtol=2e-3)
    alone = acc.rollout(**arrays, states=False)
    assert (
        alone._fields == golden.rollout(**arrays, states=False)._fields == ("cost", "first_flagged", "status")
    )
    np.testing.assert_array_equal(alone.cost, results.cost)
    each = acc.rollout(**arrays, every=1)
    errors = expected.states[:, -1] - arrays["x_ref"][-1]
    by_hand = np.sum(arrays["Q"][-1] * errors**2, axis=1) + np.sum(arrays["R"][-1] * arrays["tau"][-1] ** 2)
    shorter = {name: arrays[name][:-1] for name in ("tau", "x_ref", "Q", "R")}
    last = expected.cost - golden.rollout(**arrays | shorter).cost
    np.testing.assert_allclose(last, by_hand, rtol=1e-9)
    np.testing.assert_array_equal(each.cost, results.cost)
    one = acc.rollout(
        arrays["q"][0], arrays["v"][0], np.zeros((2, 2)), 0.001, Q=np.ones(4), x_ref=np.zeros(4)
    )
    assert one.cost > 0.0
    assert acc.rollout(arrays["q"][0], arrays["v"][0], np.zeros((2, 2)), 0.001).cost == 0.0


def test_a_last_state_beyond_its_word_is_flagged_and_explained(parts_folder, tmp_path):
    """No step follows that would flag it, and the cost counts the word."""
    design = read(parts_folder)
    word = next(word for word in design.interface.inputs("step") if word.name == "v[1]")
    fastest, strongest = (design.domain.bounds[name][1, 1] for name in ("v", "tau"))
    arrays = {"q": np.zeros((3, 2)), "v": np.zeros((3, 2)), "tau": np.array([[0.0, strongest]])}
    arrays |= {"h": np.full(3, design.domain.bounds["h"][0, 1])} | {
        name: array[:1] for name, array in weights(3).items()
    }
    arrays["v"][1, 1] = fastest
    speeds = rbdhw.load(parts_folder, "golden").rollout(**arrays).states[:, -1, 3]
    beyond = speeds > word.format.highest * word.format.step
    np.testing.assert_array_equal(beyond, [False, True, False])
    np.savez(tmp_path / "x.npz", **arrays)
    outcome = run(parts_folder, ROLLOUT, tmp_path / "x.npz", tmp_path / "y.npz")
    with np.load(tmp_path / "y.npz") as results:
        np.testing.assert_array_equal(results["first_flagged"], 1 * beyond)
        np.testing.assert_array_equal(results["status"], OUTSIDE * beyond)
    (cause,) = outcome.causes
    assert (cause.signal, cause.task, cause.step) == ("v[1] (joint 'elbow')", 1, 1)
    np.testing.assert_allclose(cause.value, speeds[1], rtol=1e-3)
