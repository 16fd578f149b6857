"""`mppi` of a folder of an accelerator: its engines, its warm starts, its refusals, and the command."""

import subprocess

import numpy as np
import pytest

import rbdhw as package
from rbdhw import golden
from rbdhw.design.folder import read, write
from rbdhw.errors import InputError
from rbdhw.golden.kinematics import placements
from rbdhw.model.responses import respond
from rbdhw.model.rollouts.mean_codec import scale_words
from rbdhw.model.rollouts.mean_session import MeanSession
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate
from rbdhw.robots import path
from rbdhw.sim.mean_check import PLANS, SAMPLES, check_means
from rbdhw.sim.simulate import simulate
from rbdhw.software.compiler import find_compiler
from tests.support.compilers import WARNINGS
from tests.support.headings import folders, headings
from tests.support.marks import long

HORIZON, HOLD = 12, 2
COST = {"x_ref": [0.5, -0.3, 0.0, 0.0], "Q": [10.0, 10.0, 0.1, 0.1], "R": [1e-3, 1e-3]}
SAMPLED = {"std": [2.0, 1.0], "samples": 64, "temperature": 0.5}
CALM = {"std": [0.2, 0.1], "temperature": 1e6}
START = ([0.1, 0.2], [0.0, 0.0], 0.02)

TOOL = "iiwa_link_7@0:0:0.1"

SIZES = {"width": 22, "horizon": HORIZON, "hold": HOLD, "samples": 512, "data_width": 128}

folder, hardware = folders("toy", BuildOptions(("mppi", "id"), **SIZES))


@pytest.fixture
def acc(folder):
    return package.load(folder)


def test_a_mean_is_near_that_of_double_precision(folder, acc):
    """Weights differ as far as costs do, which have a few parts in 100,000."""
    ideal = package.load(folder, "golden").mppi(*START, **SAMPLED, **COST)
    mean = acc.mppi(*START, **SAMPLED, **COST)
    assert mean.tau.shape == (HORIZON, 2)
    assert mean.least == pytest.approx(ideal.least, rel=1e-4)
    assert mean.effective == pytest.approx(ideal.effective, rel=5e-3)
    assert mean.tau == pytest.approx(ideal.tau, abs=4e-3)
    assert np.isnan(mean.cost)
    assert np.isnan(mean.states).all()
    hot, ideal = (
        package.load(folder, engine).mppi(*START, **(SAMPLED | CALM), **COST)
        for engine in ("model", "golden")
    )
    assert hot.effective == pytest.approx(64.0, rel=1e-3)
    assert hot.tau == pytest.approx(ideal.tau, abs=1e-4)


def test_each_turn_begins_with_the_last_mean(folder, acc):
    """What follows is the same whether the forces stay on the chip or are sent again."""
    first = acc.mppi(*START, **SAMPLED, **COST)
    kept = acc.mppi(*START, **SAMPLED, **COST, warm=first, shift=1, seed=64)
    later = np.concatenate([first.tau[1:], first.tau[-1:]])
    sent = package.load(folder).mppi(*START, **SAMPLED, **COST, tau=later, seed=64)
    np.testing.assert_array_equal(kept.tau, sent.tau)
    other = {**COST, "R": [2e-3, 1e-3]}
    moved = acc.mppi(*START, **SAMPLED, **other, warm=kept, shift=2, seed=128)
    later = np.concatenate([kept.tau[2:], kept.tau[-1:], kept.tau[-1:]])
    sent = package.load(folder).mppi(*START, **SAMPLED, **other, tau=later, seed=128)
    np.testing.assert_array_equal(moved.tau, sent.tau)
    assert acc.mppi(*START, **SAMPLED, **COST, warm=first).tau.shape == first.tau.shape


def test_a_batch_is_answered_in_turn(acc):
    starts = np.array([[0.1, 0.2], [np.nan, 0.0], [0.3, -0.2]])
    means = acc.mppi(starts, np.zeros(2), 0.02, **SAMPLED, **COST)
    assert means.tau.shape == (3, HORIZON, 2)
    assert np.isnan(means.tau[1]).all()
    assert means.effective[1] == 0.0
    alone = acc.mppi(starts[2], np.zeros(2), 0.02, **SAMPLED, **COST, seed=128)
    np.testing.assert_array_equal(means.tau[2], alone.tau)


@pytest.mark.parametrize("engine", ["model", "golden"])
def test_no_problem_has_no_mean(folder, engine):
    means = package.load(folder, engine).mppi(np.zeros((0, 2)), *START[1:], **SAMPLED, **COST)
    assert means.tau.shape == (0, HORIZON, 2)
    assert means.effective.shape == (0,)


def test_seeds_wrap_alike(folder, acc):
    """The samples behind the last seed are those of the first ones, in double precision, too."""
    ideal = package.load(folder, "golden").mppi(*START, **SAMPLED, **COST, seed=2**31 - 3)
    mean = acc.mppi(*START, **SAMPLED, **COST, seed=2**31 - 3)
    assert mean.least == pytest.approx(ideal.least, rel=1e-4)
    assert mean.tau == pytest.approx(ideal.tau, abs=4e-3)


def test_a_first_state_outside_is_limited_and_said(acc):
    for reference in (COST["x_ref"], None):
        mean = acc.mppi([0.1, 0.2], [50.0, 0.0], 0.02, **SAMPLED, **(COST | {"x_ref": reference}))
        assert (mean.effective, np.isnan(mean.least)) == (0.0, True)
        assert np.isfinite(mean.tau).all()


@pytest.mark.verify
def test_it_controls_as_well_as_double_precision(folder, acc, tmp_path):
    """A loop at 50 Hz with means of 64 samples, from rest to a goal, beside software's."""
    package.generate(path("toy"), tmp_path / "c", target="c", functions="mppi", knots=HORIZON)
    lowest, highest = read(folder).domain.bounds["tau"].T
    settings = SAMPLED | COST | {"hold": HOLD, "tau_min": lowest, "tau_max": highest}

    def travelled(controller):
        x, mean, total = np.array([0.1, 0.2, 0.0, 0.0]), None, 0.0
        for k in range(60):
            mean = controller.mppi(
                x[:2], x[2:], 0.02, **settings, warm=mean, shift=1 if k else 0, seed=64 * k
            )
            task = {"q": x[:2], "v": x[2:], "tau": mean.tau[0], "h": np.array(0.02)}
            tasks = {name: array[np.newaxis] for name, array in task.items()}
            x = golden.evaluate(acc.robot, "step", tasks)["x_next"][0]
            total += float(np.sum(np.array(COST["Q"]) * (x - COST["x_ref"]) ** 2))
        return total, np.abs(x[:2] - COST["x_ref"][:2]).max()

    (cost, away), (ideal, far) = map(travelled, (acc, package.load(tmp_path / "c")))
    assert cost == pytest.approx(ideal, rel=0.05)
    assert max(away, far) < 0.12


@pytest.mark.verify(minutes=2)
@pytest.mark.parametrize("frames", [None, TOOL])
def test_an_arm_is_controlled_as_well_as_in_double_precision(frames, tmp_path):
    """A second at 100 Hz, with means of 256 samples whose noise all joints feel alike.

    The goal is one of all joints, or also of a tool.
    """
    steps, h = 24, 0.01
    arm = {"functions": "mppi", "width": 24, "horizon": steps, "hold": 4, "frames": frames}
    package.generate(path("iiwa14"), tmp_path / "chip", **arm)
    package.generate(path("iiwa14"), tmp_path / "c", target="c", functions="mppi", knots=steps, frames=frames)
    chip, c = package.load(tmp_path / "chip"), package.load(tmp_path / "c")
    lowest, highest = read(tmp_path / "chip").domain.bounds["tau"].T
    start = np.array([0.1, 0.4, -0.2, -1.2, 0.1, 0.6, 0.0])
    goal = np.concatenate([start + np.array([0.3, -0.2, 0.2, 0.3, -0.2, 0.2, 0.3]), np.zeros(7)])
    rest = {"q": start[np.newaxis], "v": np.zeros((1, 7)), "a": np.zeros((1, 7))}
    held = golden.evaluate(chip.robot, "id", rest)["tau"]
    mobility = np.diagonal(golden.evaluate(chip.robot, "minv", rest)["Minv"][0])
    weights = np.repeat([100.0, 2.0], 7)
    settings = {"std": 0.1 / (mobility * 4 * h), "samples": 256, "hold": 4, "temperature": 5.0}
    settings |= {"x_ref": goal, "Q": weights, "R": [1e-4] * 7, "tau_min": lowest, "tau_max": highest}
    if frames:
        wanted = placements(chip.robot, goal[np.newaxis, :7])[0]
        settings |= {"placement_ref": wanted, "position_weight": np.full((1, 3), 100.0)}

    def travelled(controller):
        x, total, follow = np.concatenate([start, np.zeros(7)]), 0.0, {"tau": np.tile(held, (steps, 1))}
        for k in range(100):
            mean = controller.mppi(x[:7], x[7:], h, **settings, **follow, seed=256 * k)
            follow = {"warm": mean, "shift": 1}
            task = {"q": x[:7], "v": x[7:], "tau": mean.tau[0], "h": np.array(h)}
            tasks = {name: array[np.newaxis] for name, array in task.items()}
            x = golden.evaluate(chip.robot, "step", tasks)["x_next"][0]
            total += float(weights @ (x - goal) ** 2)
            if frames:
                away = placements(chip.robot, x[np.newaxis, :7])[0, 0, :3, 3] - wanted[0, :3, 3]
                total += 100.0 * float(away @ away)
        return total, 0.0 if frames is None else float(np.linalg.norm(away))

    (cost, near), (ideal, _) = travelled(chip), travelled(c)
    assert cost == pytest.approx(ideal, rel=5e-3)
    assert near < 0.25


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"hold": 4}, "hold: 4 steps; expected 2, as the build has; generate with --hold 4"),
        ({"correlation": 0.5}, "correlation: accelerators do not filter samples; expected 0"),
        ({"samples": 1 << 17}, "samples: 131072; expected 1 to 65536 on an accelerator"),
        ({"temperature": 1e-9}, "temperature: is below .* of itself"),
        ({"temperature": 0.0}, "temperature: 0; expected a positive number"),
        ({"tau_ref": np.ones(2)}, "means of samples does not take its tau_ref"),
        ({"limit_weight": np.ones(4)}, "means of samples does not take its limit_weight"),
        ({"tau_max": [1.0, 1.0]}, "means of samples does not take its tau_max"),
        ({"Q": [-1.0, 1.0, 0.1, 0.1]}, "array 'Q': -1 is a negative weight"),
        ({"std": [2.0, 1e3]}, "array 'std'"),
        ({"x_ref": [9.0, 0.0, 0.0, 0.0]}, "array 'x_ref', row 1: is outside the domain"),
        ({"seed": -1}, "seed: -1; expected integers"),
        (
            {"C": np.ones((2, 4)), "W": [1.0, 0.0]},
            "array 'C': has 2 rows, .* none; generate with --cost-rows",
        ),
        ({"C": np.ones((1, 4))}, "array 'W': missing; expected one beside C"),
    ],
)
def test_what_an_accelerator_does_not_take_is_refused(acc, arguments, text):
    with pytest.raises(InputError, match=text):
        acc.mppi(*START, **(SAMPLED | COST | arguments))


ROWS = {
    "C": np.array([[1.0, -1.0, 0.1, 0.0], [0.0, 1.0, 0.0, 0.2]]),
    "y": np.linspace(-0.5, 0.5, 2 * (HORIZON + 1)).reshape(-1, 2),
    "W": [5.0, 2.0],
}


@pytest.fixture(scope="module")
def with_rows(tmp_path_factory):
    """Return the folder of an accelerator with three rows of costs, without Verilog."""
    made = tmp_path_factory.mktemp("rows") / "toy"
    sizes = {"width": 22, "horizon": HORIZON, "hold": HOLD, "samples": 512, "cost_rows": 3}
    with headings():
        write(generate(path("toy"), BuildOptions(("mppi",), **sizes)), made)
    return made


def test_means_with_residuals_are_near_those_of_double_precision(with_rows):
    """Of fewer residuals than the build has; the first knot has its cost, too."""
    acc, ideal = package.load(with_rows), package.load(with_rows, "golden")
    mean, expected = (each.mppi(*START, **SAMPLED, **COST, **ROWS) for each in (acc, ideal))
    assert mean.least == pytest.approx(expected.least, rel=1e-4)
    assert mean.effective == pytest.approx(expected.effective, rel=5e-3)
    assert mean.tau == pytest.approx(expected.tau, abs=4e-3)
    without = acc.mppi(*START, **SAMPLED, **COST)
    assert without.least < mean.least
    assert np.abs(without.tau - mean.tau).max() > 0.05
    first = {**ROWS, "W": np.where(np.arange(HORIZON + 1) == 0, 2.0, 0.0)[:, np.newaxis] * np.ones(2)}
    known = acc.mppi(*START, **SAMPLED, **COST, **first)
    residual = ROWS["C"] @ (np.concatenate(START[:2]) - COST["x_ref"]) - ROWS["y"][0]
    assert known.least - without.least == pytest.approx(np.sum(residual**2), rel=1e-6)
    np.testing.assert_array_equal(known.tau, without.tau)
    later = acc.mppi(*START, **SAMPLED, **COST, **ROWS, warm=mean, shift=1, seed=64)
    plan = np.concatenate([mean.tau[1:], mean.tau[-1:]])
    sent = package.load(with_rows, "numpy").mppi(*START, **SAMPLED, **COST, **ROWS, tau=plan, seed=64)
    np.testing.assert_array_equal(later.tau, sent.tau)


POSES = np.tile(np.eye(4), (HORIZON + 1, 1, 1, 1))
POSES[:, 0, :3, 3] = np.linspace([0.2, 0.1, 0.9], [0.6, 0.0, 0.3], HORIZON + 1)
POSITIONS = {"placement_ref": POSES, "position_weight": [[5.0, 2.0, 8.0]]}


@pytest.fixture(scope="module")
def with_frame(tmp_path_factory):
    """Return the folder of an accelerator with costs of a frame and a residual, without Verilog."""
    made = tmp_path_factory.mktemp("frame") / "toy"
    sizes = {"width": 22, "horizon": HORIZON, "hold": HOLD, "samples": 512, "cost_rows": 1}
    with headings():
        write(
            generate(path("toy"), BuildOptions(("mppi",), **sizes, mounting=Mounting(frames=("tip",)))), made
        )
    return made


@pytest.mark.parametrize(
    "others", [long({}), {"C": ROWS["C"][:1], "y": ROWS["y"][:, :1], "W": [5.0]}], ids=len
)
def test_means_with_costs_of_a_frame_are_near_those_of_double_precision(with_frame, others):
    """Alone, and beside a residual; the first knot has its cost, too."""
    acc, ideal = package.load(with_frame), package.load(with_frame, "golden")
    asked = SAMPLED | COST | others | POSITIONS
    mean, expected = (each.mppi(*START, **asked) for each in (acc, ideal))
    assert mean.least == pytest.approx(expected.least, rel=1e-4)
    assert mean.effective == pytest.approx(expected.effective, rel=5e-3)
    assert mean.tau == pytest.approx(expected.tau, abs=4e-3)
    without = acc.mppi(*START, **SAMPLED, **COST, **others)
    assert np.abs(without.tau - mean.tau).max() > 0.05
    weights = np.where(np.arange(HORIZON + 1) == 0, 2.0, 0.0)[:, np.newaxis, np.newaxis] * np.ones((1, 3))
    known = acc.mppi(*START, **(asked | {"position_weight": weights}))
    at = golden.evaluate(acc.robot, "position", {"q": np.array(START[:1])})["position"][0, 0]
    error = at - POSES[0, 0, :3, 3]
    assert known.least - without.least == pytest.approx(np.sum(error**2), rel=1e-6)
    np.testing.assert_array_equal(known.tau, without.tau)
    later = acc.mppi(*START, **asked, warm=mean, shift=1, seed=64)
    plan = np.concatenate([mean.tau[1:], mean.tau[-1:]])
    sent = package.load(with_frame, "numpy").mppi(*START, **asked, tau=plan, seed=64)
    np.testing.assert_array_equal(later.tau, sent.tau)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"position_weight": np.ones((1, 3))}, "array 'placement_ref': missing; expected one beside pos"),
        ({**POSITIONS, "position_weight": -np.ones((1, 3))}, "array 'position_weight': -1 is a negative"),
        ({**POSITIONS, "placement_ref": 100.0 * POSES}, "step 1, x of frame 'tip': .* m; expected -"),
        (
            {"placement_ref": POSES, "orientation_weight": [1.0]},
            "does not take its orientation_weight; expected costs of Q, W, R and position_weight alone",
        ),
    ],
)
def test_unusable_costs_of_frames_are_refused(with_frame, arguments, text):
    with pytest.raises(InputError, match=text):
        package.load(with_frame).mppi(*START, **SAMPLED, **COST, **arguments)


def test_builds_without_frames_refuse_their_costs(acc):
    text = "array 'p.*': this build has no frames; expected none; generate with --frames LINK"
    with pytest.raises(InputError, match=text):
        acc.mppi(*START, **SAMPLED, **COST, **POSITIONS)


@pytest.mark.usefixtures("only_heading")
def test_other_folders_refuse_means(tmp_path):
    parts = ("samples", "cost")
    options = BuildOptions(("rollout",), width=18, samples=128, horizon=4, rollout=parts)
    write(generate(path("toy"), options), tmp_path / "toy")
    with pytest.raises(InputError, match="takes no means of samples; expected them; generate with"):
        package.load(tmp_path / "toy").mppi(*START, **SAMPLED, **COST)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rollout": ("gains",)}, "the samples of mppi have no feedback, and gains are asked for"),
        (
            {"mounting": Mounting("any")},
            "base: mppi has the same robot in all steps; expected fixed",
        ),
        ({"streams": 2}, "streams: rollouts return to the only pair"),
        ({"copies": 2}, "rollouts return to one core"),
    ],
)
def test_builds_that_cannot_take_means_are_refused(options, text):
    with pytest.raises(InputError, match=text):
        generate(path("toy"), BuildOptions(("mppi",), width=18, horizon=4, **options))


def test_costs_become_exponents():
    assert scale_words(0.0) == (0, 63)
    for inverse in (1e-12, 1.0, 1e3, 1e6):
        scale, exponent = scale_words(inverse)
        rate = inverse / np.log(2.0) * 2.0**-14
        assert scale / 2.0**exponent == pytest.approx(rate, rel=2.0**-17, abs=2.0**-63)
    with pytest.raises(InputError, match="temperature"):
        scale_words(1e12)


def test_the_command(folder, acc, tmp_path, rbdhw):
    np.savez(tmp_path / "in.npz", q=START[0], v=START[1], h=START[2], **SAMPLED, **COST)
    files = ("--input", tmp_path / "in.npz", "--output", tmp_path / "out.npz")
    assert rbdhw("run", folder, "mppi", *files)[0] == 0
    with np.load(tmp_path / "out.npz") as archive:
        np.testing.assert_array_equal(archive["tau"], acc.mppi(*START, **SAMPLED, **COST).tau)


HOST = """
#include <stdio.h>
#include "model_mppi.h"
static struct rbdhw_sampler sampler;
int main(void)
{
    double q[] = {0.1, 0.2}, v[] = {0.0, 0.0}, x_ref[RBDHW_HORIZON + 1][4], Q[RBDHW_HORIZON + 1][4];
    double R[RBDHW_HORIZON][2], plan[RBDHW_HORIZON][2], std[RBDHW_HORIZON][2], tau[RBDHW_HORIZON][2];
    double least, effective;
    for (int k = 0; k <= RBDHW_HORIZON; k++)
        for (int i = 0; i < 4; i++) {
            x_ref[k][i] = i == 0 ? 0.5 : i == 1 ? -0.3 : 0.0;
            Q[k][i] = i < 2 ? 10.0 : 0.1;
        }
    for (int k = 0; k < RBDHW_HORIZON; k++)
        for (int i = 0; i < 2; i++) {
            R[k][i] = 1e-3;
            plan[k][i] = 0.0;
            std[k][i] = i ? 1.0 : 2.0;
        }
    struct rbdhw_sampling asked
        = {q, v, 0.02, x_ref[0], Q[0], R[0], plan[0], std[0], .temperature = 0.5, .seed = 0, .samples = 64};
    const struct rbdhw_mean mean = {tau[0], &least, &effective};
    for (int turn = 0; turn < 3; turn++) {
        const int status = rbdhw_mppi(&sampler, &asked, turn > 0, turn > 0, &mean);
        if (status)
            return status;
        fwrite(tau, sizeof tau, 1, stdout);
        fwrite(&least, sizeof least, 1, stdout);
        fwrite(&effective, sizeof effective, 1, stdout);
        asked.seed += 64;
    }
    return 0;
}
"""


def test_a_program_in_c_has_the_same_controller(folder, acc, tmp_path):
    """It has a state, goals and deviations, and takes forces in turns that follow one another."""
    (tmp_path / "main.c").write_text(HOST)
    sources = [tmp_path / "main.c", folder / "model.c", folder / "model_mppi.c"]
    options = ["-std=c11", "-O1", *WARNINGS, "-ffp-contract=off", "-DRBDHW_OMIT_ID", f"-I{folder}"]
    subprocess.run([*find_compiler(), *options, *sources, "-lm", "-o", tmp_path / "main"], check=True)
    printed = subprocess.run([tmp_path / "main"], capture_output=True, check=True).stdout
    rows, mean = np.frombuffer(printed).reshape(3, -1), None
    for turn, row in enumerate(rows):
        warm = {} if mean is None else {"warm": mean, "shift": 1}
        mean = acc.mppi(*START, **SAMPLED, **COST, seed=64 * turn, **warm)
        np.testing.assert_array_equal(row, [*mean.tau.ravel(), mean.least, mean.effective])
    assert np.abs(np.diff(rows, axis=0)).min() > 0.0


@pytest.mark.parametrize(
    "engine", [long("numpy", minutes=0.5), long("rtl", minutes=2), long("driver", minutes=2)]
)
def test_engines_agree_bit_for_bit(hardware, acc, engine):
    other = package.load(hardware, engine)
    for each in (acc, other):
        each.first = each.mppi(*START, **SAMPLED, **COST)
        each.second = each.mppi(*START, **SAMPLED, **COST, warm=each.first, shift=1, seed=64)
        each.rollout(START[0], START[1], np.zeros((3, 2)), START[2])  # its rows replace those of the mean
        each.third = each.mppi(*START, **(SAMPLED | {"samples": 7}), **COST, warm=each.second, shift=1)
    for name in acc.first._fields:
        for mean in ("first", "second", "third"):
            one, same = (getattr(getattr(each, mean), name) for each in (acc, other))
            np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("wrong", [long(0), 1])
def test_simulated_means_are_compared_with_the_model(folder, wrong):
    """Here the model is in place of the Verilog, with one number that differs."""
    design = read(folder)

    class Engine:
        def converse(self, packets):
            session = MeanSession(design, lambda words: respond(design, "step", words))
            answers = [session.respond(*each) for each in packets]
            answers[3][1]["mean.tau[1]"][1] += wrong
            return answers

    report = check_means(design, Engine(), 0)
    assert (report.tasks, report.mismatches, report.samples) == (2 * PLANS, wrong, 2 * PLANS * SAMPLES)
    assert report.counted > report.samples // 2


@pytest.mark.verify(minutes=2)
def test_simulate_has_means(hardware):
    report = simulate(hardware, 20, 0)
    assert report.ok
    assert (report.means.tasks, report.means.mismatches) == (2 * PLANS, 0)


@pytest.mark.verify(minutes=5)
@pytest.mark.parametrize("options", [{}, {"mounting": Mounting(frames=(TOOL,)), "cost_rows": 2}], ids=len)
def test_an_arm_takes_means_as_the_model_does(options, tmp_path):
    sizes = {"width": 24, "horizon": 16, "hold": 4, "samples": 512, "data_width": 512}
    write(generate(path("iiwa14"), BuildOptions(("mppi",), **sizes, **options)), tmp_path / "arm")
    report = simulate(tmp_path / "arm", 20, 0)
    assert (report.means.tasks, report.means.mismatches) == (2 * PLANS, 0)
    assert report.means.counted > report.means.samples // 2
