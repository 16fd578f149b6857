"""Costs of frames' positions in rollouts: every bit in mixed streams, golden costs, and what is refused."""

import numpy as np
import pytest

import rbdhw
from rbdhw.design.folder import read, write
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.errors import InputError
from rbdhw.golden.kinematics import placements
from rbdhw.golden.rollout import Positions, position_cost
from rbdhw.model.packets import OVERFLOW
from rbdhw.model.rollouts.arrays import neutral_state
from rbdhw.model.rollouts.codec import prepare
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import build_design, generate
from rbdhw.protocol import ROLLOUT
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robots import path
from rbdhw.rtl.step_products import preparation_products
from rbdhw.verilator.simulator import Disturbance
from tests.support.bit_exact import draw_words
from tests.support.headings import headings
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.rollouts import HORIZON, Stream, calm, feedback, first_states, model_answers, weights
from tests.support.row_costs import (
    COST_ROWS,
    FRAMES,
    check_engine,
    check_file,
    check_simulation,
    check_tables,
)
from tests.support.tracking import tracking

FLOATING, PLANAR = (JointKind.FLOATING, JointKind.REVOLUTE), (JointKind.PLANAR, JointKind.CONTINUOUS)


@pytest.fixture
def folder(parts_folder):
    return parts_folder


def positions(seed):
    """Return random poses of each step within reach, and weights of their positions."""
    rng = np.random.default_rng(seed)
    return {
        "placement_ref": rng.uniform(-1.0, 1.0, (HORIZON, 2, 4, 4)),
        "position_weight": rng.uniform(0.0, 3.0, (HORIZON, 2, 3)),
    }


def costs(seed):
    rng = np.random.default_rng(seed)
    rows = {"C": rng.normal(size=(1, 4)), "y": rng.uniform(-0.3, 0.3, 1), "W": np.ones(1)}
    return weights(seed) | rows | positions(seed)


def arrays_of(design, seed):
    return {"std": [0.1, 0.1], "seed": 5} | costs(seed) | feedback(design, seed)


@pytest.mark.parametrize(("bubbles", "back_pressure"), [(0.4, 0.4), long(0.0, 0.0), long(0.0, 0.95)])
def test_costs_of_frames_in_a_mixed_stream(folder, bubbles, back_pressure):
    """Also from states far outside the domain, in which positions overflow."""
    design, rng = read(folder), np.random.default_rng(1)
    stream, flagged = Stream(design), []
    for turn in range(2):
        rollouts = prepare(design, first_states(design, 1, seed=turn) | arrays_of(design, turn), 0)
        stream.rows(rollouts.rows)
        for tag in range(100 * turn, 100 * turn + 60, 3):
            tags, words = np.arange(tag, tag + 3), draw_words(design, ROLLOUT, False, 3, seed=tag)
            state = {
                name: rollouts.words[name][[0, 0, 0]] if tag % 2 else words[name] for name in rollouts.words
            }
            state["seed"] = np.abs(words["seed"])
            steps = int(rng.integers(1, HORIZON + 1))
            stream.rollouts(state, rollouts.rows, steps, tag % 4, tags, states=bool(tag % 2))
            flagged += model_answers(design, state, rollouts.rows, steps, 0)[1].status[:, 0].tolist()
            stream.tasks("id", tags, seed=tag)
            stream.tasks("step", tags, seed=tag)
    assert 0 in flagged
    assert any(status & OVERFLOW for status in flagged)
    stream.check(folder, Disturbance(bubbles, back_pressure, seed=5, surplus=stream.surplus))


def test_costs_are_those_of_the_golden_model(folder):
    """And those of the definition, of positions alone and beside others."""
    acc, golden, design = rbdhw.load(folder), rbdhw.load(folder, "golden"), read(folder)
    whole = calm(design, 20, seed=6) | costs(6)
    alone = calm(design, 20, seed=6) | positions(6)
    for arrays in (whole, alone):
        results, expected = acc.rollout(**arrays, every=1), golden.rollout(**arrays, every=1)
        assert not results.status.any()
        np.testing.assert_allclose(results.cost, expected.cost, rtol=2e-4)
    by_hand = np.zeros(20)
    for k in range(HORIZON):
        found = placements(design.robot, expected.states[:, k, :2])[:, :, :3, 3]
        error = found - alone["placement_ref"][k, :, :3, 3]
        by_hand += np.sum(alone["position_weight"][k] * error**2, axis=(1, 2))
    np.testing.assert_allclose(expected.cost, by_hand, rtol=1e-9)
    checked = Positions(alone["placement_ref"][..., :3, 3], alone["position_weight"])
    np.testing.assert_allclose(position_cost(design.robot, expected.states, checked), by_hand, rtol=1e-9)


def test_a_row_of_positions_serves_all_steps(folder):
    acc, design = rbdhw.load(folder), read(folder)
    one = {name: array[0] for name, array in positions(3).items()}
    all_steps = {name: np.tile(array, (HORIZON, *[1] * array.ndim)) for name, array in one.items()}
    results = [acc.rollout(**calm(design, 3, seed=1), **each).cost for each in (one, all_steps)]
    np.testing.assert_array_equal(*results)


def test_what_costs_nothing_may_be_anywhere(folder):
    acc, arrays, design = rbdhw.load(folder), positions(3), read(folder)
    arrays["position_weight"][:, 0] = 0.0
    before = acc.rollout(**calm(design, 3, seed=1), **arrays).cost
    arrays["placement_ref"][:, 0, :3, 3] = 1e9
    np.testing.assert_array_equal(acc.rollout(**calm(design, 3, seed=1), **arrays).cost, before)


def test_steps_answer_positions_behind_them(folder):
    acc, golden = rbdhw.load(folder), rbdhw.load(folder, "golden")
    task = [0.3, -0.2], [0.5, 1.0], [0.1, 0.2], 0.01
    found, expected = acc.step(*task), golden.step(*task)
    assert found.p_next.shape == (2, 3)
    np.testing.assert_allclose(found.p_next, expected.p_next, atol=1e-5)
    behind = placements(acc.robot, expected.x_next[np.newaxis, :2])[0, :, :3, 3]
    np.testing.assert_allclose(expected.p_next, behind, rtol=1e-12)


def test_software_has_the_same_costs(folder, tmp_path):
    rbdhw.generate(
        path("toy"), tmp_path / "c", target="c", functions="rollout", horizon=HORIZON, frames=list(FRAMES)
    )
    software, golden, design = rbdhw.load(tmp_path / "c"), rbdhw.load(folder, "golden"), read(folder)
    arrays = calm(design, 5, seed=6) | weights(6) | positions(6)
    arrays |= {"h": np.full(5, 0.01), "tau": np.clip(arrays["tau"], *np.array(design.domain.bounds["tau"]).T)}
    results = [each.rollout(**arrays).cost for each in (software, golden)]
    np.testing.assert_allclose(*results, rtol=1e-9)


def test_software_without_frames_refuses_them(tmp_path):
    rbdhw.generate(path("toy"), tmp_path / "c", target="c", functions="rollout", horizon=HORIZON)
    acc, q, tau = rbdhw.load(tmp_path / "c"), np.zeros(2), np.zeros((2, 2))
    text = "array 'placement_ref': this build has no frames; expected none; generate with --frames LINK"
    with pytest.raises(InputError, match=text):
        acc.rollout(q, q, tau, 0.01, placement_ref=REFERENCE, position_weight=ONES)


def test_positions_from_a_file(folder, tmp_path):
    check_file(folder, tmp_path, arrays_of(read(folder), 8))


@pytest.mark.parametrize("engine", ["rtl", long("driver", minutes=2)])
def test_engines_agree_bit_for_bit(folder, engine):
    """Positions are loaded again where they differ."""
    check_engine(folder, engine, positions)


def test_simulate_covers_positions(folder):
    check_simulation(folder)


def test_the_estimate_has_the_products(folder, parts_alone):
    """A coordinate has two, and a residual six."""
    interface, others = read(folder).interface, read(parts_alone).interface
    more = len(preparation_products(interface)) - len(preparation_products(others))
    assert more == 2 * 3 * 2 + COST_ROWS * (4 + 2)
    check_tables(interface, others)


REFERENCE, ONES = np.zeros((2, 4, 4)), np.ones((2, 3))
FAR = np.zeros((2, 2, 4, 4))
FAR[1, 0, 2, 3] = 5.0
REFUSED = {
    "array 'placement_ref': missing; expected one beside position_weight": {"position_weight": ONES},
    "array 'position_weight': missing; expected one beside placement_ref": {"placement_ref": REFERENCE},
    r"array 'position_weight': shape \(3,\); expected \(2, 2, 3\), or \(2, 3\) for all steps": {
        "placement_ref": REFERENCE,
        "position_weight": np.ones(3),
    },
    r"array 'placement_ref': shape \(2, 3\); expected \(2, 2, 4, 4\), or \(2, 4, 4\) for all steps": {
        "placement_ref": np.zeros((2, 3)),
        "position_weight": ONES,
    },
    "array 'position_weight', row 0, column 0: -1; expected 0 to 1e": {
        "placement_ref": REFERENCE,
        "position_weight": -ONES,
    },
    "array 'position_weight', row 0, column 0: 1e.13; expected 0 to 1e": {
        "placement_ref": REFERENCE,
        "position_weight": 1e13 * ONES,
    },
    "array 'position_weight', row 0, column 0: nan; expected finite": {
        "placement_ref": REFERENCE,
        "position_weight": np.nan * ONES,
    },
    "array 'placement_ref', step 2, z of frame 'tip': 5 m; expected -4 to 3.99999976 m": {
        "placement_ref": FAR,
        "position_weight": ONES,
    },
    "array 'placement_ref', step 1, x of frame 'tip': nan m": {
        "placement_ref": np.nan + REFERENCE,
        "position_weight": ONES,
    },
}


@pytest.mark.parametrize("text", REFUSED)
def test_unusable_arrays_are_refused(folder, text):
    q, tau = np.zeros(2), np.zeros((2, 2))
    with pytest.raises(InputError, match=text):
        rbdhw.load(folder, "numpy").rollout(q, q, tau, 0.01, **REFUSED[text])


def test_builds_without_frames_refuse_them(parts_alone):
    acc, q, tau = rbdhw.load(parts_alone, "numpy"), np.zeros(2), np.zeros((2, 2))
    text = "array 'placement_ref': the costs of this build have no frames; generate with --frames LINK"
    with pytest.raises(InputError, match=text):
        acc.rollout(q, q, tau, 0.01, placement_ref=REFERENCE, position_weight=ONES)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (
            ("tipp",),
            "frames: link 'tipp' is unknown; expected some of upper_arm, forearm, tip; the nearest is tip",
        ),
        (("base",), "frames: link 'base' does not move"),
    ],
)
def test_frames_that_are_not_of_the_robot_are_refused(names, text):
    options = BuildOptions(("rollout",), rollout=("cost",), mounting=Mounting(frames=names))
    with pytest.raises(InputError, match=text):
        generate(path("toy"), options)


@pytest.mark.parametrize("kinds", [(JointKind.SPHERICAL, JointKind.PRISMATIC), long(FLOATING), long(PLANAR)])
def test_robots_with_other_joints(kinds, tmp_path):
    """Their frames are of a joint of several degrees of freedom, and of one behind it."""
    robot = tracking(mechanism(kinds, (BASE, 0), seed=4), "b0@0.1:0.2:0.3", "b1")
    overrides = Overrides(default=JointBounds(position=1.0, velocity=2.0, effort=10.0))
    options = BuildOptions(("rollout",), rollout=("cost",), ii=16, width=30, samples=256, horizon=4)
    with headings():
        write(build_design(robot, options, overrides), tmp_path / "robot")
    acc, golden = rbdhw.load(tmp_path / "robot", "numpy"), rbdhw.load(tmp_path / "robot", "golden")
    rng, q = np.random.default_rng(0), neutral_state(robot)[: robot.nq]
    weights = {
        "placement_ref": rng.uniform(-0.5, 0.5, (2, 4, 4)),
        "position_weight": rng.uniform(0, 1, (2, 3)),
    }
    v, tau = rng.uniform(-0.3, 0.3, (5, robot.nv)), np.zeros((4, robot.nv))
    results, expected = (each.rollout(np.tile(q, (5, 1)), v, tau, 0.002, **weights) for each in (acc, golden))
    assert not results.status.any()
    np.testing.assert_allclose(results.cost, expected.cost, rtol=1e-4)
