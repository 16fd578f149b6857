"""Rollouts with costs: every bit in mixed streams, the cost beside the golden one, from Python and files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import rbdhw
from rbdhw.design.folder import read
from rbdhw.errors import InputError
from rbdhw.estimate.fabric import FABRICS
from rbdhw.front.run import run
from rbdhw.model.packets import MALFORMED, OUTSIDE
from rbdhw.model.rollouts.codec import prepare
from rbdhw.protocol import LOAD_COST, ROLLOUT
from rbdhw.rtl.preparation import preparation_cells, preparation_products
from rbdhw.sim.simulate import simulate
from rbdhw.verilator.simulator import Disturbance
from tests.support.bit_exact import draw_words
from tests.support.marks import long
from tests.support.rollouts import HORIZON, Stream, calm, first_states

COSTS = [long(("cost",)), ("samples", "cost")]


@pytest.fixture(scope="module", params=COSTS, ids="-".join)
def folder(request: pytest.FixtureRequest, rollout_folder: Callable[..., Path]) -> Path:
    """Return an accelerator of the toy whose rollouts have costs."""
    return rollout_folder(*request.param)


def weights(seed: int) -> dict[str, np.ndarray]:
    """Return random references and weights of each step."""
    rng = np.random.default_rng(seed)
    return {
        "x_ref": rng.uniform(-0.2, 0.2, (HORIZON, 4)),
        "Q": rng.uniform(0.0, 2.0, (HORIZON, 4)),
        "R": rng.uniform(0.0, 1e-3, (HORIZON, 2)),
    }


@pytest.mark.parametrize(("bubbles", "back_pressure"), [(0.0, 0.0), (0.4, 0.4), (0.0, 0.95)])
def test_costs_in_a_mixed_stream(folder: Path, bubbles: float, back_pressure: float) -> None:
    design, rng = read(folder), np.random.default_rng(1)
    stream = Stream(design)
    for turn in range(2):
        own = prepare(design, first_states(design, 1, seed=turn) | weights(turn), 0)
        stream.rows(own.rows)
        for tag in range(100 * turn, 100 * turn + 60, 3):
            tags, words = np.arange(tag, tag + 3), draw_words(design, ROLLOUT, False, 3, seed=tag)
            state = {name: np.abs(words[name]) if name == "seed" else words[name] for name in own.words}
            steps = int(rng.integers(0, HORIZON + 2))
            stream.rollouts(state, own.rows, steps, tag % 4, tags, states=bool(tag % 2))
            stream.tasks("id", tags, seed=tag)
    stream.check(folder, Disturbance(bubbles, back_pressure, seed=5, surplus=stream.surplus))


def test_rows_of_costs_are_limited_and_counted(folder: Path) -> None:
    """The largest errors and weights do not overflow; without rows of costs a rollout is refused."""
    design = read(folder)
    own = prepare(design, calm(design, 3, seed=3), 0)
    stream = Stream(design)
    stream.row(0, {name: int(row[0]) for name, row in own.rows.items()}, 1, 0)
    none = {name: row[:0] for name, row in own.rows.items()}
    stream.rollouts(dict(own.words), none, 1, 0, np.arange(3))
    inputs = {word.name: word for word in design.interface.inputs(LOAD_COST) if word.name != "row"}
    stream.row(1, dict.fromkeys(inputs, 0), 2, MALFORMED, LOAD_COST)
    largest = {name: word.format.highest for name, word in inputs.items()}
    limits = {
        name: word.format.highest if word.highest is None else word.highest for name, word in inputs.items()
    }
    stream.row(0, largest, 3, OUTSIDE if limits != largest else 0, LOAD_COST)
    rows = {name: np.array([limits.get(name, int(row[0]))]) for name, row in own.rows.items()}
    low = {word.name: np.full(3, word.lowest) for word in design.interface.inputs("step") if word.lowest}
    state = {name: low.get(name, words) if name[0] in "qv" else words for name, words in own.words.items()}
    stream.rollouts(state, rows, 1, 0, np.arange(10, 13), states=False)
    stream.check(folder, Disturbance())


def test_costs_are_those_of_the_golden_model(folder: Path) -> None:
    acc, golden = rbdhw.load(folder), rbdhw.load(folder, "golden")
    arrays = calm(read(folder), 20, seed=6) | weights(6)
    found, expected = acc.rollout(**arrays), golden.rollout(**arrays)
    assert found._fields == ("states", "cost", "first_flagged", "status")
    np.testing.assert_allclose(found.cost, expected.cost, rtol=2e-3)
    alone = acc.rollout(**arrays, states=False)
    assert (
        alone._fields == golden.rollout(**arrays, states=False)._fields == ("cost", "first_flagged", "status")
    )
    np.testing.assert_array_equal(alone.cost, found.cost)
    each = acc.rollout(**arrays, every=1)
    errors = expected.states[:, -1] - arrays["x_ref"][-1]
    by_hand = np.sum(arrays["Q"][-1] * errors**2, axis=1) + np.sum(arrays["R"][-1] * arrays["tau"][-1] ** 2)
    shorter = {name: arrays[name][:-1] for name in ("tau", "x_ref", "Q", "R")}
    last = expected.cost - golden.rollout(**arrays | shorter).cost
    np.testing.assert_allclose(last, by_hand, rtol=1e-9)
    np.testing.assert_array_equal(each.cost, found.cost)
    one = acc.rollout(
        arrays["q"][0], arrays["v"][0], np.zeros((2, 2)), 0.001, Q=np.ones(4), x_ref=np.zeros(4)
    )
    assert one.cost > 0.0
    assert acc.rollout(arrays["q"][0], arrays["v"][0], np.zeros((2, 2)), 0.001).cost == 0.0


@pytest.mark.parametrize("engine", [long("rtl"), "golden"])
def test_costs_from_a_file(folder: Path, tmp_path: Path, engine: str) -> None:
    arrays = calm(read(folder), 5, seed=8) | weights(8)
    np.savez(tmp_path / "x.npz", **arrays)
    assert run(folder, ROLLOUT, tmp_path / "x.npz", tmp_path / "y.npz", engine).ignored == ()
    with np.load(tmp_path / "y.npz") as found:
        cost = found["cost"]
    expected = rbdhw.load(folder).rollout(**arrays).cost
    np.testing.assert_allclose(cost, expected, rtol=0.0 if engine == "rtl" else 2e-3)
    if engine == "rtl":
        alone = rbdhw.load(folder, "rtl").rollout(**arrays, states=False)
        np.testing.assert_array_equal(alone.cost, expected)


def test_simulate_covers_costs(folder: Path) -> None:
    report = simulate(folder, 40, seed=3, bulk=True)
    assert report.rollouts is not None
    assert (report.mismatches, report.ok) == (0, True)
    assert report.rollouts.flagged < 20


def test_unusable_costs_are_refused(folder: Path) -> None:
    acc = rbdhw.load(folder, "numpy")
    q, tau, ref = np.zeros(2), np.zeros((2, 2)), np.zeros(4)
    for given, text in (
        ({"Q": np.ones(4)}, "array 'x_ref': missing; expected the state that is wanted"),
        ({"x_ref": ref, "Q": np.ones(2)}, r"array 'Q': shape \(2,\); expected \(2, 4\), or \(4,\) for all"),
        ({"x_ref": ref, "Q": -np.ones(4)}, "array 'Q', row 0, column 0: -1; expected 0 to 1e"),
        ({"R": np.array([0.0, np.inf])}, "array 'R', row 0, column 1: inf; expected finite"),
        ({"x_ref": ref + 1e6}, "array 'x_ref', row 0, column .: 1e.06; expected"),
    ):
        with pytest.raises(InputError, match=text):
            acc.rollout(q, q, tau, 0.01, **given)


def test_the_estimate_has_the_products(folder: Path) -> None:
    """Two for each of the four words of the state and the two forces, and two for each sample."""
    interface = read(folder).interface
    assert interface.rollout is not None
    samples = 2 * 2 * ("samples" in interface.rollout.parts)
    assert len(preparation_products(interface)) == 2 * 6 + samples
    for fabric in FABRICS.values():
        assert preparation_cells(interface, interface.rollout, fabric).luts > 500
