"""Bit-exact means of samples in C: the bits of the model's answers to packets, and means of arrays."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.golden.kinematics import placements
from rbdhw.model.packets import NOT_FINITE, OUTSIDE
from rbdhw.model.rollouts.draw_means import draw_mean
from rbdhw.model.rollouts.mean_codec import decode_mean, mean_task
from rbdhw.protocol import LOAD_COST, LOAD_RESIDUAL, MEAN, MPPI
from rbdhw.robot.model import JointKind
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.software.exact import model_files
from rbdhw.software.exact_library import ExactMeans
from rbdhw.software.exact_means import model_means_files
from tests.support.compilers import COMPILATIONS, CPP, assert_it_ends, assert_no_warning
from tests.support.exact_means import (
    HORIZON,
    Both,
    check_any,
    check_loop,
    check_malformed,
    check_temperatures,
    mean_of_arrays,
    model_of,
    problem_of,
    script_of,
    session_of,
    toy,
)
from tests.support.marks import long, quick_among
from tests.support.mechanisms import mechanism
from tests.support.tracking import tracking

REFUSED = -1


@pytest.fixture
def script():
    return script_of(toy())


def test_means_that_follow_one_another(script):
    check_loop(script)


def test_samples_that_leave_the_domain_weigh_nothing(script):
    script.check_mppi_that_leaves()


def test_samples_that_leave_in_the_last_step_weigh_nothing(script):
    script.check_mppi_that_leaves_at_the_end(40)


def test_costs_and_temperatures_of_all_sizes(script):
    check_temperatures(script)


def test_malformed_packets(script):
    check_malformed(script)


@pytest.mark.parametrize("seed", range(3))
def test_any_rows_and_any_requests(script, seed):
    check_any(script, seed)


def test_a_tree():
    """Two limbs, one of which slides, and an angle without limits, which wraps."""
    kinds = [JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.REVOLUTE]
    model = model_of(mechanism(kinds, [-1, 0, 0], 2), ii=4, hold=4, horizon=9)
    assert any(model.domain.wraps)
    check_loop(script_of(model))
    check_any(script_of(model), 3)


@pytest.mark.verify
@pytest.mark.parametrize(
    "options",
    [
        {"width": 32},
        {"cost_rows": 7},
        {"number": "float32", "width": 16},
        {"hold": 1},
        {"cost_rows": 1, "number": "float32", "width": 28},
    ],
    ids=str,
)
def test_other_builds(options):
    """With 32 bits the sums of weighted forces exceed 64 bits."""
    model = toy(**options)
    check_loop(script_of(model))
    check_temperatures(script_of(model))
    check_any(script_of(model), 4)


@pytest.mark.verify(minutes=2)
def test_a_long_horizon_of_an_arm():
    """A mean around a plan that holds the arm near a state, and one a step later."""
    model = model_of(load_urdf(path("iiwa14")), width=24, horizon=64, hold=8)
    both, counted = Both(model), []
    for command, words in draw_mean(model, 140, np.random.default_rng(0)):
        _, answer = both.respond(command, words)
        counted += [int(answer["mppi.counted"][0])] if command == MPPI else []
    assert min(counted) > 100
    check_any(script_of(model), 5)


def check_arrays(model):
    """Compare means of problems in arrays with those of the model, converted by Python."""
    exact, session, horizon = ExactMeans(model), session_of(model), model.interface.rollout.horizon
    takes = ("h",) if model.robot.time_step is None else ()
    fast = {"v": np.array([100.0, 0.0])}
    for seed, follow, changed in (
        (0, None, {}),
        (1, 2, {}),
        (2, horizon - 1, {}),
        (3, None, fast),
        (4, 1, {}),
    ):
        problem, sampling = problem_of(model, seed)
        problem |= changed | ({} if takes else {"h": np.array(0.5)})
        problem["q"] = problem["q"] + 2.0 * np.pi * np.array(model.domain.wraps)
        asked = {name: problem[name] for name in problem if name != "h" or takes}
        task = mean_task(model, asked, **sampling)
        for command, rows in task.rows.items():
            kept = session.rows[command] if follow is not None else {}
            session.respond(
                command,
                {name: kept.get(name, values) if "tau[" in name else values for name, values in rows.items()},
            )
        _, answer = session.respond(MPPI, task.request | {"shift": np.array([follow or 0])})
        _, rows = session.respond(MEAN, {"row": np.arange(horizon)})
        expected = decode_mean(model, task, answer, rows)
        if model.robot.tracks:
            problem["position"] = placements(model.robot, problem["q"][np.newaxis])[0, :, :3, 3].copy()
        status, means = mean_of_arrays(exact, problem, sampling, follow, takes)
        assert status == (OUTSIDE if changed else 0)
        assert (expected["effective"] == 0.0) == bool(changed)
        for name, array in means.items():
            np.testing.assert_array_equal(array, expected[name], err_msg=name)


@pytest.mark.parametrize(
    ("number", "rows"), [("fixed", 2), ("float32", 0), long("fixed", 0), long("float32", 2)]
)
def test_problems_in_arrays(number, rows):
    check_arrays(toy(number=number, cost_rows=rows))


@pytest.mark.parametrize("rows", [0, long(2)])
@pytest.mark.parametrize("number", ["fixed", long("float32")])
def test_costs_of_frames(number, rows):
    """Of a point of the last link and of a frame whose position is almost constant."""
    robot = tracking(load_urdf(path("toy")), "tip@0:0:0.1", "upper_arm")
    model = model_of(robot, number=number, cost_rows=rows)
    check_loop(script_of(model))
    check_any(script_of(model), 4)
    check_arrays(model)


@pytest.mark.verify
def test_costs_of_frames_of_a_tree():
    kinds = [JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.CONTINUOUS]
    robot = tracking(mechanism(kinds, [-1, 0, 0], 2), "b1", "b2@0.1:0.2:0.3")
    check_loop(script_of(model_of(robot, ii=4, hold=4, horizon=9, cost_rows=1)))


def turning(folder):
    """Return the toy with joints without limits, whose angles and errors wrap."""
    (folder / "turning.urdf").write_text(path("toy").read_text().replace("revolute", "continuous"))
    return load_urdf(folder / "turning.urdf")


def stepping(_folder):
    """Return the toy with a fixed step in time."""
    return replace(load_urdf(path("toy")), time_step=0.01)


@pytest.mark.parametrize("made", [turning, long(stepping)])
def test_problems_in_arrays_of_other_robots(made, tmp_path):
    check_arrays(model_of(made(tmp_path)))


def test_a_whole_turn_costs_nothing(tmp_path):
    """Also in the first state, whose cost is not in words."""
    model = model_of(turning(tmp_path))
    exact, (problem, sampling) = ExactMeans(model), problem_of(model, 0)
    turned = problem | {"q": problem["q"] + 2.0 * np.pi}
    known = [mean_task(model, each, **sampling).known for each in (problem, turned)]
    least = [mean_of_arrays(exact, each, sampling)[1]["least"] for each in (problem, turned)]
    assert known[0] < least[0]
    np.testing.assert_allclose([known[1], least[1]], [known[0], least[0]], rtol=1e-5)


def test_samples_with_a_residual_beyond_its_format_weigh_nothing():
    """In the last step all errors are positive, and the largest constant comes on top."""
    script = script_of(toy(cost_rows=2))
    script.load(0)
    assert script.mppi(5, samples=40)[1]["mppi.counted"][0] == 40
    coefficients = {word.name: word for word in script.model.interface.inputs(LOAD_RESIDUAL)}
    largest = {name: np.array([word.highest]) for name, word in coefficients.items()}
    script.send(LOAD_RESIDUAL, largest | {"row": np.array([1])})
    row = {name: each[-1:] for name, each in script.session.rows[LOAD_COST].items()}
    words = {word.name: word for word in script.model.interface.inputs(LOAD_COST)}
    row |= {name: np.array([words[name].lowest // 2]) for name in row if name.startswith("x_ref")}
    for constant, counted in ((0, 40), (words["y[1]"].lowest, 0)):
        script.send(LOAD_COST, row | {"y[1]": np.array([constant]), "row": np.array([HORIZON - 1])})
        assert script.mppi(5, samples=40)[1]["mppi.counted"][0] == counted
        script.mean()


def test_problems_in_arrays_that_are_refused():
    """They change nothing, so a mean that follows is the same."""
    model = toy(cost_rows=2)
    exact, (problem, sampling) = ExactMeans(model), problem_of(model, 0)
    assert mean_of_arrays(exact, problem, sampling, follow=1)[0] == REFUSED  # there is no plan yet
    assert mean_of_arrays(exact, problem, sampling)[0] == 0
    _, expected = mean_of_arrays(exact, problem, sampling, follow=1)
    assert mean_of_arrays(exact, problem, sampling)[0] == 0
    wrong = [
        *({"Q": np.full_like(problem["Q"], number)} for number in (-1.0, np.nan, np.inf, 1e13)),
        {"Q": problem["Q"] * np.where(np.arange(HORIZON + 1) == 0, -1.0, 1.0)[:, np.newaxis]},
        {"R": -problem["R"]},
        *({"x_ref": problem["x_ref"] * number} for number in (np.nan, 1e3)),
        {"tau": problem["tau"] * np.nan},
        *({"C": problem["C"] * number} for number in (np.nan, np.inf, 1e14)),
        *({"y": problem["y"] * number} for number in (np.nan, 1e15)),
        *({"W": problem["W"] * number} for number in (-1.0, np.nan, 1e13)),
        {"W": problem["W"] * np.where(np.arange(HORIZON + 1) == 0, -1.0, 1.0)[:, np.newaxis]},
    ]
    for arrays in wrong:
        assert mean_of_arrays(exact, problem | arrays, sampling)[0] == REFUSED
    settings = [
        *({"temperature": number} for number in (0.0, -1.0, np.nan, 1e-9)),
        *({"samples": number} for number in (0, -1, (1 << 16) + 1)),
        *({"seed": number} for number in (-1, 1 << 31)),
        *({"std": sampling["std"] * number} for number in (-1.0, np.nan, 1e3)),
    ]
    for changed in settings:
        assert mean_of_arrays(exact, problem, sampling | changed)[0] == REFUSED
    for shift in (-1, HORIZON):
        assert mean_of_arrays(exact, problem, sampling, shift)[0] == REFUSED
    status, nothing = mean_of_arrays(exact, problem | {"v": np.full(2, np.nan)}, sampling)
    assert (status, float(nothing["effective"])) == (NOT_FINITE, 0.0)
    assert np.isnan(nothing["tau"]).all()
    assert np.isnan(nothing["least"])
    np.testing.assert_equal(mean_of_arrays(exact, problem, sampling, follow=1)[1], expected)


def test_forces_beyond_their_bounds_are_limited():
    exact, (problem, sampling) = ExactMeans(toy()), problem_of(toy(), 0)
    highest = np.array(toy().domain.bounds["tau"])[:, 1]
    still = sampling | {"std": 0.0 * sampling["std"]}
    status, mean = mean_of_arrays(exact, problem | {"tau": 0.0 * problem["tau"] + 1e6}, still)
    assert status == 0
    np.testing.assert_allclose(mean["tau"], np.tile(highest, (HORIZON, 1)), rtol=1e-4)


def test_what_is_null_is_not_written():
    exact, (problem, sampling) = ExactMeans(toy()), problem_of(toy(), 0)
    _, means = mean_of_arrays(exact, problem, sampling)
    status, nothing = mean_of_arrays(exact, problem, sampling, wanted=())
    assert (status, float(nothing["effective"])) == (0, -1.0)
    assert means["effective"] > 1.0


@pytest.mark.parametrize(
    ("rows", "compiler", "language"),
    quick_among(((rows, *way) for rows in (0, 2) for way in COMPILATIONS), (2, "clang", CPP)),
)
def test_no_compiler_warns(compiler, language, rows, tmp_path):
    model = toy(cost_rows=rows)
    for name, text in (model_files(model) | model_means_files(model)).items():
        (tmp_path / name).write_text(text)
    assert_no_warning(tmp_path, compiler, *language)


SANITIZED = """
from tests.support import exact_means as support
flags = "-fsanitize=undefined -fno-sanitize-recover=all -O1 -DRBDHW_LANES=1".split()
for sizes in SIZES:
    model = support.toy(**sizes)
    support.check_loop(support.script_of(model, flags))
    support.check_temperatures(support.script_of(model, flags))
    support.check_any(support.script_of(model, flags), 5)
exact = support.ExactMeans(model, flags)
problem, sampling = support.problem_of(model, 0)
for name, factor in (("Q", 1.0), ("C", 1e11), ("y", 1e11), ("tau", 1e9), ("v", 1e300), ("q", float("inf"))):
    arrays = {name: factor * problem[name]}
    support.mean_of_arrays(exact, problem | arrays, sampling)
"""


@pytest.mark.verify
@pytest.mark.parametrize("sizes", [[{"width": 32, "cost_rows": 2}], [{}, {"width": 32}, {"cost_rows": 2}]])
def test_nothing_is_undefined(sizes):
    assert_it_ends(SANITIZED.replace("SIZES", str(sizes)))


def test_other_builds_have_none():
    options = {"functions": ("rollout",), "rollout": ("samples", "cost")}
    assert model_means_files(model_of(load_urdf(path("toy")), **options)) == {}
