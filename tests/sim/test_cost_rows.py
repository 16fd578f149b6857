"""Residuals of costs in rollouts: every bit in mixed streams, the golden costs, and what is refused."""

import numpy as np
import pytest

import rbdhw
from rbdhw.design.folder import read, write
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.errors import InputError
from rbdhw.fixed.cost import weighted_residuals
from rbdhw.fixed.rollout import rollout_residuals
from rbdhw.golden.rollout import Costs, Residuals, cost
from rbdhw.model.packets import MALFORMED, OUTSIDE, OVERFLOW
from rbdhw.model.rollouts.codec import prepare
from rbdhw.model.rollouts.cost import tangent_rows
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import build_design, generate
from rbdhw.protocol import LOAD_RESIDUAL, ROLLOUT, ROLLOUT_PARTS
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robots import path
from rbdhw.rtl.step_products import preparation_products
from rbdhw.verilator.simulator import Disturbance
from tests.support.bit_exact import draw_words
from tests.support.headings import headings
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.rollouts import HORIZON, Stream, calm, feedback, first_states, model_answers, weights
from tests.support.row_costs import COST_ROWS, check_engine, check_file, check_simulation, check_tables
from tests.support.shared import shared_folder

OTHERS = (tuple(ROLLOUT_PARTS), ("cost",))
"""The parts of builds whose costs have no frames."""


def options_of(parts, **options):
    sizes = {"width": 24, "samples": 512, "data_width": 128, "horizon": HORIZON, "cost_rows": COST_ROWS}
    return BuildOptions(("id", "rollout"), **(sizes | options), rollout=parts)


@pytest.fixture(scope="session", params=[(*ROLLOUT_PARTS, "frames"), *map(long, OTHERS)], ids="-".join)
def parts(request):
    return request.param


@pytest.fixture(scope="session")
def folder(parts, parts_folder, tmp_path_factory):
    """Return an accelerator of the toy whose costs have three residuals."""
    if "frames" in parts:
        return parts_folder
    design = options_of(parts)
    name = "-".join(("rows", *parts))
    return shared_folder(tmp_path_factory, name, lambda made: write(generate(path("toy"), design), made))


def residuals(seed, rows=COST_ROWS, size=1.0):
    """Return random residuals of each step."""
    rng = np.random.default_rng(seed)
    return {
        "C": size * rng.normal(size=(rows, 4)),
        "y": size * rng.uniform(-0.3, 0.3, (HORIZON, rows)),
        "W": rng.uniform(0.0, 3.0, (HORIZON, rows)) / size**2,
    }


def arrays_of(design, parts, seed):
    arrays = {"samples": {"std": [0.1, 0.1], "seed": 5}, "cost": weights(seed) | residuals(seed)}
    arrays |= {"gains": feedback(design, seed), "frames": {}}
    return {name: array for part in parts for name, array in arrays[part].items()}


def coefficients(design, shares):
    """Return the words (K,) of coefficients (rows, 4), as shares of the largest."""
    words = design.interface.inputs(LOAD_RESIDUAL)[:-1]
    return {
        word.name.replace("C[", f"C[{k},"): np.full(HORIZON, int(share * word.highest))
        for k, row in enumerate(shares)
        for word, share in zip(words, row, strict=True)
    }


@pytest.mark.parametrize(("bubbles", "back_pressure"), [long(0.0, 0.0), (0.4, 0.4), long(0.0, 0.95)])
def test_residuals_in_a_mixed_stream(folder, parts, bubbles, back_pressure):
    """Also with coefficients of any size: some of these residuals exceed their formats."""
    design, rng = read(folder), np.random.default_rng(1)
    stream, flagged = Stream(design), []
    for turn in range(2):
        rollouts = prepare(design, first_states(design, 1, seed=turn) | arrays_of(design, parts, turn), 0)
        rows = dict(rollouts.rows)
        if turn:
            rows |= coefficients(design, rng.uniform(-1.0, 1.0, (COST_ROWS, 4)))
        stream.rows(rows)
        for tag in range(100 * turn, 100 * turn + 60, 3):
            tags, words = np.arange(tag, tag + 3), draw_words(design, ROLLOUT, False, 3, seed=tag)
            state = {
                name: rollouts.words[name][[0, 0, 0]] if tag % 2 else words[name] for name in rollouts.words
            }
            state |= {"seed": np.abs(words["seed"])} if "samples" in parts else {}
            steps = int(rng.integers(1, HORIZON + 1))
            stream.rollouts(state, rows, steps, tag % 4, tags, states=bool(tag % 2))
            flagged += model_answers(design, state, rows, steps, 0)[1].status[:, 0].tolist()
            stream.tasks("id", tags, seed=tag)
    assert 0 in flagged
    assert any(status & OVERFLOW for status in flagged)
    stream.check(folder, Disturbance(bubbles, back_pressure, seed=5, surplus=stream.surplus))


def test_a_residual_beyond_its_format_flags_its_own_step(folder, parts):
    """A constant and coefficients add up to more than one in the third step alone."""
    design = read(folder)
    arrays = calm(design, 1, seed=3) | arrays_of(design, parts, 3)
    arrays |= {"C": np.zeros((COST_ROWS, 4)), "h": np.full(1, design.domain.bounds["h"][0, 0])}
    rollouts = prepare(design, arrays, 0)
    rows = dict(rollouts.rows) | coefficients(design, np.outer([0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]))
    word = next(word for word in design.interface.inputs("step") if word.name == "q[0]")
    rows["x_ref[0]"] = np.full(HORIZON, word.lowest)
    state = dict(rollouts.words) | {"q[0]": np.array([word.highest // 2])}
    rows["y[1]"] = np.where(np.arange(HORIZON) == 2, -(1 << 26) + 1, 0)
    stream = Stream(design)
    stream.rows(rows)
    for tag, steps in enumerate((2, 3, HORIZON)):
        stream.rollouts(state, rows, steps, 0, np.array([tag]), states=False)
        answered = model_answers(design, state, rows, steps, 1)[1]
        first = np.where(np.arange(1, steps + 1) >= 3, 3, 0)
        np.testing.assert_array_equal(answered.first_flagged[0], first)
        np.testing.assert_array_equal(answered.status[0], OVERFLOW * (first > 0))
    stream.check(folder, Disturbance(0.1, 0.1, seed=2))


def test_residuals_are_loaded_once_and_counted(folder, parts):
    """A rollout needs all of them; loads that leave gaps, or are none of them, are refused."""
    design = read(folder)
    rollouts = prepare(design, calm(design, 3, seed=3) | arrays_of(design, parts, 3), 0)
    words = design.interface.inputs(LOAD_RESIDUAL)
    lowest = {word.name: word.format.lowest for word in words if word.name != "row"}
    stream, rows = Stream(design), dict(rollouts.rows)
    none = {name: row[:0] for name, row in rows.items()}
    stream.rows(rows, but=LOAD_RESIDUAL)
    stream.row(1, lowest, 1, MALFORMED, LOAD_RESIDUAL)
    for k in range(COST_ROWS):
        stream.rollouts(dict(rollouts.words), none, 1, 0, np.arange(10 * k, 10 * k + 3))
        stream.row(k, lowest, 2 + k, OUTSIDE, LOAD_RESIDUAL)
    for number in (-1, COST_ROWS):
        stream.row(number, lowest, 9, MALFORMED, LOAD_RESIDUAL)
    rows |= coefficients(design, np.full((COST_ROWS, 4), -1.0))
    for steps in (1, HORIZON):
        stream.rollouts(dict(rollouts.words), rows, steps, 0, np.arange(50 * steps, 50 * steps + 3))
    stream.check(folder, Disturbance())


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e6])
def test_costs_are_those_of_the_golden_model(folder, size):
    """Whatever the size of coefficients; and those of the definition, alone and beside others."""
    acc, golden, design = rbdhw.load(folder), rbdhw.load(folder, "golden"), read(folder)
    arrays = calm(design, 20, seed=6) | weights(6) | residuals(6, size=size)
    results, expected = acc.rollout(**arrays, every=1), golden.rollout(**arrays, every=1)
    assert not results.status.any()
    np.testing.assert_allclose(results.cost, expected.cost, rtol=2e-3)
    states, forces = expected.states, np.broadcast_to(arrays["tau"], (20, HORIZON, 2))
    terms = arrays["x_ref"], arrays["Q"], arrays["R"]
    whole = Costs(*terms, Residuals(arrays["C"], arrays["y"], arrays["W"]))
    np.testing.assert_allclose(expected.cost, cost(states, forces, whole, np.zeros(2, bool)), rtol=1e-9)
    alone = {name: array for name, array in arrays.items() if name not in ("Q", "R")}
    alone |= {"C": arrays["C"][:1], "y": arrays["y"][0, :1], "W": [2.0 / size**2]}
    by_hand = (states - arrays["x_ref"]) @ alone["C"][0] - alone["y"][0]
    by_hand = 2.0 / size**2 * np.sum(by_hand**2, axis=1)
    np.testing.assert_allclose(golden.rollout(**alone).cost, by_hand, rtol=1e-9)
    np.testing.assert_allclose(acc.rollout(**alone).cost, by_hand, rtol=2e-3)
    free = {name: array for name, array in alone.items() if name != "y"}
    np.testing.assert_allclose(acc.rollout(**free).cost, golden.rollout(**free).cost, rtol=2e-3)


@pytest.mark.parametrize("reach", [-1.0, 1.0])
def test_no_state_within_its_words_exceeds_a_residual(folder, reach):
    """The largest errors of all elements add up, with the largest constant on top."""
    design = read(folder)
    step = {word.name: word for word in design.interface.inputs("step")}
    bounds = np.concatenate([design.domain.bounds["q"], design.domain.bounds["v"]])
    ends = bounds[:, 0] if reach > 0.0 else bounds[:, 1]
    arrays = calm(design, 1, seed=1) | {"x_ref": ends, "y": [-reach, reach, 0.0], "W": np.ones(COST_ROWS)}
    arrays["C"] = np.array([np.ones(4), [1.0, -1.0, 1.0, -1.0], [3e-3, 1.0, 7e-5, 0.0]])
    rollouts = prepare(design, arrays, 0)
    rows, terms = rollouts.row(0), rollout_residuals(design.interface.step, design.interface.rollout)
    for low in (False, True):
        formats = {name: word.format for name, word in step.items() if name[0] in "qv"}
        values = {
            name: np.array([each.lowest if low == (reach > 0.0) else each.highest])
            for name, each in formats.items()
        }
        assert not weighted_residuals(terms, values, rows)[1].any()


def test_residuals_from_a_file(folder, parts, tmp_path):
    check_file(folder, tmp_path, arrays_of(read(folder), parts, 8))


@pytest.mark.parametrize("engine", ["rtl", long("driver", minutes=2)])
def test_engines_agree_bit_for_bit(folder, engine):
    """Residuals are loaded again where they differ."""
    check_engine(folder, engine, residuals)


def test_simulate_covers_residuals(folder):
    check_simulation(folder)


@pytest.mark.verify
@pytest.mark.parametrize("parts", OTHERS, ids="-".join, indirect=True)
def test_the_estimate_has_the_products(folder, parts, rollout_folder):
    """A residual has one for each of four coefficients, and two for its square."""
    others = read(rollout_folder(*parts)).interface
    interface = read(folder).interface
    more = len(preparation_products(interface)) - len(preparation_products(others))
    assert more == COST_ROWS * (4 + 2)
    check_tables(interface, others)


X = np.zeros(4)
ONE, C = {"x_ref": X, "W": np.ones(1)}, np.ones((1, 4))
REFUSED = {
    "array 'x_ref': missing; expected the state that is wanted": {"C": C, "W": np.ones(1)},
    "array 'C': missing; expected one beside W": ONE,
    "array 'C': missing; expected one beside y": {"x_ref": X, "y": np.ones(1)},
    "array 'W': missing; expected one beside C": {"x_ref": X, "C": C},
    r"array 'C': shape \(4,\); expected \(rows, 4\)": ONE | {"C": np.ones(4)},
    r"array 'C': shape \(1, 3\); expected \(rows, 4\)": ONE | {"C": np.ones((1, 3))},
    "array 'C': has 4 rows, and the costs of this build 3; generate with --cost-rows 4": {
        "x_ref": X,
        "C": np.ones((4, 4)),
        "W": np.ones(4),
    },
    "array 'C', row 0, column 0: nan; expected finite": ONE | {"C": np.nan * C},
    "array 'C': a magnitude of 1e.13; expected at most 1e.12": ONE | {"C": -1e13 * C},
    r"array 'y': shape \(2,\); expected \(2, 1\), or \(1,\) for all": ONE | {"C": C, "y": np.ones(2)},
    "array 'y', row 0, column 0: 1e.13; expected -1e": ONE | {"C": C, "y": np.full(1, 1e13)},
    "array 'W', row 0, column 0: -1; expected 0 to 1e": {"x_ref": X, "C": C, "W": -np.ones(1)},
    "array 'W', row 0, column 0: nan; expected finite": {"x_ref": X, "C": C, "W": np.full(1, np.nan)},
}


@pytest.mark.parametrize("text", REFUSED)
def test_unusable_arrays_are_refused(folder, text):
    q, tau = np.zeros(2), np.zeros((2, 2))
    with pytest.raises(InputError, match=text):
        rbdhw.load(folder, "numpy").rollout(q, q, tau, 0.01, **REFUSED[text])


def test_builds_without_residuals_refuse_them(parts_alone):
    acc, q, tau = rbdhw.load(parts_alone, "numpy"), np.zeros(2), np.zeros((2, 2))
    text = "array 'C': has 1 rows, and the costs of this build none; generate with --cost-rows 1"
    with pytest.raises(InputError, match=text):
        acc.rollout(q, q, tau, 0.01, **ONE, C=C)


def test_rows_of_joints_with_quaternions():
    """Velocities and simple coordinates have rows; coordinates of orientations have none."""
    robot = mechanism([JointKind.SPHERICAL, JointKind.REVOLUTE], (BASE, 0), seed=4)
    rows = np.diag(np.arange(8.0))[3:]
    np.testing.assert_array_equal(tangent_rows(robot, rows)[:, 4:], rows[:, 3:])
    np.testing.assert_array_equal(tangent_rows(robot, rows)[:, :4], 0.0)
    with pytest.raises(InputError, match="array 'C', column 1: takes a coordinate of an orientation"):
        tangent_rows(robot, np.diag(np.arange(8.0)))


def test_a_robot_with_a_quaternion(tmp_path):
    robot = mechanism([JointKind.SPHERICAL, JointKind.CONTINUOUS], (BASE, 0), seed=4)
    overrides = Overrides(default=JointBounds(velocity=2.0, effort=10.0))
    sizes = {"ii": 16, "width": 30, "samples": 256, "horizon": 4, "cost_rows": 1}
    options = BuildOptions(("rollout",), rollout=("cost",), **sizes)
    with headings():
        write(build_design(robot, options, overrides), tmp_path / "robot")
    acc, golden = rbdhw.load(tmp_path / "robot", "numpy"), rbdhw.load(tmp_path / "robot", "golden")
    q = np.array([0.0, 0.0, 0.0, 1.0, 3.1])
    x_ref = np.concatenate([q, np.zeros(4)])
    x_ref[4] -= 6.2  # a turn is not part of the error
    C = np.zeros((1, 8))
    C[0, 3:] = (1.0, -0.5, 0.2, 0.1, 0.7)
    asked = {"x_ref": x_ref, "C": C, "W": [3.0], "y": [0.1]}
    results, expected = (
        each.rollout(q, np.full(4, 0.3), np.zeros((4, 4)), 0.002, **asked) for each in (acc, golden)
    )
    assert results.status == 0
    np.testing.assert_allclose(results.cost, expected.cost, rtol=5e-3)
