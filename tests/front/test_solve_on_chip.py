"""`solve` of a folder of an accelerator: its engines, its warm starts, its refusals, and the command."""

import numpy as np
import pytest

import rbdhw as package
from rbdhw.design.folder import read, write
from rbdhw.errors import InputError
from rbdhw.model.solver_session import SolverSession
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import build_design, generate
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate
from rbdhw.sim.solver_check import check_solutions
from rbdhw.solving import Solved
from tests.support.headings import folders
from tests.support.marks import long
from tests.support.mechanisms import mechanism

KNOTS = 4
COST = {"x_ref": [0.5, -0.3, 0.0, 0.0], "Q": [10.0, 10.0, 0.1, 0.1], "R": [1e-3, 1e-3]}
START = (np.array([0.1, 0.2]), np.zeros(2), 0.02)

SIZES = {"width": 27, "ii": 8, "knots": KNOTS, "alphas": 2, "iterations": 8, "samples": 512}

folder, hardware = folders("toy", BuildOptions(("solve", "id"), **SIZES))


@pytest.fixture
def acc(folder):
    return package.load(folder)


def test_a_solution_is_near_that_of_double_precision(folder, acc):
    golden = package.load(folder, "golden").solve(*START, **COST)
    solved = acc.solve(*START, **COST, iterations=4)
    assert (solved.status, solved.iterations, golden.status) == (Solved.ITERATIONS, 4, Solved.CONVERGED)
    assert solved.cost == pytest.approx(golden.cost, rel=1e-3)
    assert solved.tau == pytest.approx(golden.tau, abs=0.02)
    assert solved.states == pytest.approx(golden.states, abs=0.03)
    assert pytest.approx(golden.K, abs=1e-2) == solved.K
    assert np.isnan(solved.decrease)
    assert repr(solved).startswith("4 steps of 2 forces: iterations after 4 iterations, cost 8.56")


def test_the_manifest_has_the_sweep(folder):
    entry = read(folder).manifest["solver"]
    assert (entry["width"], entry["problems"]) == (27, 1)
    assert entry["first_cycles"] < entry["iteration_cycles"]


def test_forces_keep_to_limits(folder, acc):
    limits = {"tau_min": [-np.inf, -1.0], "tau_max": [30.0, 0.8]}
    golden = package.load(folder, "golden").solve(*START, **COST, **limits)
    solved = acc.solve(*START, **COST, **limits, iterations=6)
    assert golden.tau[:, 1].min() == -1.0
    assert golden.tau[:, 1].max() == 0.8
    np.testing.assert_allclose(solved.tau, golden.tau, rtol=0.0, atol=0.02)


def test_the_last_solution_is_kept_and_the_goal_may_change(acc):
    first = acc.solve(*START, **COST, iterations=4)
    x, goal = first.states[1], {**COST, "x_ref": [0.4, -0.3, 0.0, 0.0]}
    warm = acc.solve(x[:2], x[2:], 0.02, **goal, warm=first, shift=1, iterations=1)
    assert (first.followed, warm.followed) == (False, True)
    cold = acc.solve(x[:2], x[2:], 0.02, **goal, iterations=1)
    assert warm.cost <= cold.cost
    with pytest.raises(InputError, match="warm: is no solution that the accelerator keeps"):
        acc.solve(x[:2], x[2:], 0.02, **goal, warm=first)


def test_a_batch_is_solved_in_turn_and_a_number_that_is_not_finite_spoils_its_problem_alone(acc):
    starts = np.array([[0.1, 0.2], [np.nan, 0.0], [0.3, -0.2]])
    solved = acc.solve(starts, np.zeros(2), 0.02, **COST, iterations=2)
    assert solved.status.tolist() == [Solved.ITERATIONS, Solved.NOT_FINITE, Solved.ITERATIONS]
    assert np.isnan(solved.tau[1]).all()
    for k in (0, 2):
        alone = acc.solve(starts[k], np.zeros(2), 0.02, **COST, iterations=2)
        np.testing.assert_array_equal(solved.tau[k], alone.tau)


def test_references_that_count_are_within_the_domain(acc):
    """They would be limited, and the solution would be that of another problem."""
    reached = COST | {"x_ref": [np.pi / 2, -0.3, 0.0, 1e3], "Q": [10.0, 10.0, 0.1, 0.0]}
    assert acc.solve(*START, **reached).status == Solved.ITERATIONS
    for name, element, far in (("x_ref", 3, {"Q": COST["Q"]}), ("tau_ref", 1, {"tau_ref": [0.0, 1e3]})):
        with pytest.raises(InputError) as refusal:
            acc.solve(*START, **reached | far)
        assert str(refusal.value) == (
            f"array '{name}', row {int(name == 'x_ref')}, element {element}: is outside the domain; expected "
            "references within the domain, on an accelerator; widen the domain"
        )


def test_a_first_state_outside_without_a_reference_is_said(acc):
    weights = {name: COST[name] for name in ("Q", "R")}
    assert acc.solve(START[0], [1e3, 0.0], 0.02, **weights).status == Solved.NOT_FINITE


@pytest.mark.parametrize("engine", ["model", "golden"])
def test_no_problem_has_no_solution(folder, engine):
    found = package.load(folder, engine).solve(np.zeros((0, 2)), *START[1:], **COST)
    assert found.tau.shape == (0, KNOTS, 2)
    assert found.status.shape == found.followed.shape == (0,)


@pytest.mark.parametrize("h", [0.0, 1e-9])
def test_a_time_step_that_rounds_to_zero_is_refused(acc, h):
    with pytest.raises(InputError, match=r"array .h.: .* s, which rounds to zero"):
        acc.solve(*START[:2], h, **COST)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"iterations": 9}, "iterations: 9; expected 0 to 8; generate with a larger --iterations"),
        ({"Q": [-1.0, 1.0, 0.1, 0.1]}, "array 'Q': -1 is a negative weight"),
        ({"Q": [1e9, 1.0, 0.1, 0.1]}, "weights: x_slope\\[0\\]: .* is too large; smaller weights"),
        ({"limit_weight": np.ones(4)}, "a solver on words does not take its limit_weight"),
        ({"tau_min": [1.0, 1.0], "tau_max": [0.0, 2.0]}, "array 'tau_min': above tau_max"),
        ({"tau": np.arange(8.0).reshape(4, 2)}, "arrays 'tau' and 'K': are those of a trajectory"),
        ({"x_ref": [np.inf, 0.0, 0.0, 0.0]}, "array 'x_ref'"),
        ({"placement_ref": np.eye(4)}, "array 'placement_ref': this build has no frames"),
    ],
)
def test_what_an_accelerator_does_not_take_is_refused(acc, arguments, text):
    with pytest.raises(InputError, match=text):
        acc.solve(*START, **(COST | arguments))


def test_a_solver_takes_no_means_of_samples(acc):
    with pytest.raises(InputError, match="takes no means of samples; expected them; generate with"):
        acc.mppi(*START, std=[1.0, 1.0], **COST)


def test_the_command(folder, acc, tmp_path, rbdhw):
    np.savez(tmp_path / "in.npz", q=START[0], v=START[1], h=START[2], iterations=2, **COST)
    files = ("--input", tmp_path / "in.npz", "--output", tmp_path / "out.npz")
    assert rbdhw("run", folder, "solve", *files)[0] == 0
    with np.load(tmp_path / "out.npz") as archive:
        np.testing.assert_array_equal(archive["tau"], acc.solve(*START, **COST, iterations=2).tau)


@pytest.mark.parametrize(
    "engine", [long("numpy", minutes=0.5), long("rtl", minutes=3), long("driver", minutes=3)]
)
def test_engines_agree_bit_for_bit(hardware, acc, engine):
    other = package.load(hardware, engine)
    for each in (acc, other):
        each.first = each.solve(*START, **COST, iterations=3)
        x = each.first.states[1]
        each.second = each.solve(x[:2], x[2:], 0.02, **COST, warm=each.first, shift=1, iterations=1)
    for name in acc.first._fields:
        np.testing.assert_array_equal(getattr(acc.first, name), getattr(other.first, name))
        np.testing.assert_array_equal(getattr(acc.second, name), getattr(other.second, name))


def test_robots_without_a_solver_are_refused():
    options = BuildOptions(("solve",), mounting=Mounting("any"), width=18, samples=128, knots=2)
    with pytest.raises(InputError, match="base: solve has the same robot in all steps; expected fixed"):
        generate(path("toy"), options)


@pytest.mark.usefixtures("only_heading")
def test_a_fixed_time_step(tmp_path):
    options = BuildOptions(("solve",), mounting=Mounting(time_step=START[2]), **SIZES)
    write(generate(path("toy"), options), tmp_path / "toy")
    exact, golden = package.load(tmp_path / "toy"), package.load(tmp_path / "toy", "golden")
    one, other = (each.solve(*START[:2], **COST, iterations=4) for each in (exact, golden))
    assert one.tau == pytest.approx(other.tau, abs=0.02)
    with pytest.raises(InputError, match="'h'"):
        exact.solve(*START, **COST)


@pytest.mark.parametrize("wrong", [long(0), 1])
def test_simulated_solutions_are_compared_with_the_model(folder, wrong):
    """Here the model is in place of the Verilog, with one number that differs."""
    design = read(folder)

    class Engine:
        def converse(self, packets):
            session = SolverSession(design)
            answers = [session.respond(*each) for each in packets]
            answers[2][1]["plan.K[1,2]"][1] += wrong
            return answers

    report = check_solutions(design, Engine(), 0)
    assert (report.tasks, report.mismatches, report.unsolved) == (8, wrong, 0)


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory):
    """Return the folder of a small accelerator with its Verilog."""
    made = tmp_path_factory.mktemp("pendulum") / "pendulum"
    sizes = {"width": 18, "ii": 64, "knots": 2, "alphas": 2, "iterations": 4, "samples": 64}
    robot = mechanism([JointKind.REVOLUTE], [BASE], seed=1)
    write(build_design(robot, BuildOptions(("solve",), **sizes)), made)
    return made


@pytest.mark.parametrize("robot", ["pendulum", long("hardware", minutes=1)])
def test_simulate_has_solutions(robot, request):
    report = simulate(request.getfixturevalue(robot), 20, 0)
    assert report.ok
    assert (report.solutions.tasks, report.solutions.mismatches) == (8, 0)
    assert report.json()["solutions"] == {"tasks": 8, "mismatches": 0, "unsolved": 0}


STEPS_64 = {"knots": 64, "alphas": 8}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("ii", "sweep_ii", "others"),
    [
        long(64, 680, {"knots": 2, "alphas": 2, "core": "array"}, minutes=2),
        long(16, None, STEPS_64, minutes=8),
        long(4, 52, STEPS_64, minutes=8),
        long(1, 15, STEPS_64 | {"blocks": 4}, minutes=8),
        long(1, 16, STEPS_64 | {"problems": 4}, minutes=8),
        long(64, 680, STEPS_64 | {"core": "array", "target": "xck26"}, minutes=8),
    ],
)
def test_an_arm_solves(ii, sweep_ii, others, tmp_path):
    """The Verilog is simulated beside the model, with an iteration or two for each solution."""
    options = BuildOptions(("solve",), width=27, samples=256, ii=ii, sweep_ii=sweep_ii, **others)
    write(generate(path("iiwa14"), options), tmp_path / "arm")
    report = simulate(tmp_path / "arm", 16, 0)
    assert report.ok
    together = 12 if "problems" in others else 8
    assert (report.solutions.tasks, report.solutions.mismatches) == (together, 0)
    assert report.solutions.unsolved <= 2


@pytest.mark.verify(minutes=15)
@pytest.mark.timeout(5400)
def test_a_floating_quadruped_solves(tmp_path):
    """The Verilog is simulated beside the model; base forces do not change, and their gains have no words."""
    sizes = {"knots": 6, "alphas": 2, "iterations": 4, "ii": 32, "sweep_ii": 1200}
    options = BuildOptions(("solve",), width=27, samples=256, mounting=Mounting("floating"), **sizes)
    write(generate(path("hyq"), options), tmp_path / "hyq")
    report = simulate(tmp_path / "hyq", 8, 0)
    assert report.ok
    assert (report.solutions.tasks, report.solutions.mismatches) == (8, 0)
