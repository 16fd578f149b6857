"""`solve` of accelerators that solve several problems together: batches, warm batches, and refusals."""

import numpy as np
import pytest

import rbdhw as package
from rbdhw.design.folder import draft_design, read, write
from rbdhw.errors import InputError
from rbdhw.model.solver_session import SolverSession
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import GOAL, PLAN, SOLVE
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate
from rbdhw.sim.solver_check import check_solutions
from rbdhw.solving import Solved
from tests.support.exact_solvers import fixed
from tests.support.marks import long

TOGETHER = 3
STEP = 0.01
COST = {"x_ref": [0.5, -0.3, 0.0, 0.0], "Q": [10.0, 10.0, 0.1, 0.1], "R": [1e-3, 1e-3]}
STARTS = np.array([[0.1, 0.2], [-0.4, 0.3], [0.3, -0.2], [0.7, 0.1], [0.0, -0.6]])
GOALS = np.array([[0.5, -0.3, 0.0, 0.0], [0.0, 0.3, 0.0, 0.0], [0.1, 0.1, 0.0, 0.0]])
STILL = np.zeros(2)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return a folder for each number of problems together, with the same number formats."""
    made = tmp_path_factory.mktemp("together")
    folders = {together: made / str(together) for together in (1, TOGETHER)}
    for together, folder in folders.items():
        write(draft_design(fixed(together=together).model), folder)
    return folders


@pytest.fixture
def acc(folders):
    return package.load(folders[TOGETHER])


@pytest.fixture
def one(folders):
    return package.load(folders[1])


@pytest.fixture
def sent(acc, monkeypatch):
    """Return the commands that are sent, and the numbers of their packets, call after call."""
    calls, converse = [], acc._engine.converse

    def counted(packets):
        calls.append([(command, len(next(iter(words.values())))) for command, words in packets])
        return converse(packets)

    monkeypatch.setattr(acc._engine, "converse", counted)
    return calls


def assert_same(solutions, *expected):
    """Compare the solutions of a batch with single ones, bit for bit."""
    for k, single in enumerate(expected):
        for name in single._fields:
            np.testing.assert_array_equal(getattr(solutions, name)[k], getattr(single, name), err_msg=name)


def test_the_folder_tells_how_many(folders):
    assert read(folders[TOGETHER]).interface.solver.problems == TOGETHER
    assert read(folders[TOGETHER]).manifest["stream"]["solver"]["problems"] == TOGETHER
    assert "problems" not in read(folders[1]).manifest["stream"]["solver"]


def test_a_batch_is_that_of_single_problems(acc, one, sent):
    solutions = acc.solve(STARTS, STILL, STEP, **COST, iterations=3)
    assert_same(solutions, *(one.solve(q, STILL, STEP, **COST, iterations=3) for q in STARTS))
    goal, knots = (GOAL, 6), 7
    assert sent == [
        [goal] * 3 + [(SOLVE, 3), (PLAN, 3 * knots)],
        [goal] * 2 + [(SOLVE, 2), (PLAN, 2 * knots)],
    ]


def test_a_batch_of_several_axes_and_goals(acc, one):
    starts, goals = STARTS[:4].reshape(2, 2, 2), GOALS[[0, 1, 2, 0]].reshape(2, 2, 1, 4)
    cost = COST | {"x_ref": np.repeat(goals, 7, axis=2)}
    solutions = acc.solve(starts, STILL, STEP, **cost, iterations=2)
    assert solutions.cost.shape == (2, 2)
    for k in range(4):
        single = one.solve(STARTS[k], STILL, STEP, **COST | {"x_ref": goals.reshape(4, 4)[k]}, iterations=2)
        np.testing.assert_array_equal(solutions.K.reshape(4, 6, 2, 4)[k], single.K)


def test_a_warm_batch_follows_its_last_one(acc, folders, sent):
    """Each problem has its own goal, one of which changes: only this one is loaded again."""
    goals = np.repeat(GOALS[:, np.newaxis], 7, axis=1)
    other = goals.copy()
    other[1, :, 0] = 0.1
    cost, later = COST | {"x_ref": goals}, COST | {"x_ref": other}
    first = acc.solve(STARTS[:3], STILL, STEP, **cost, iterations=2)
    x = first.states[:, 1]
    warm = acc.solve(x[:, :2], x[:, 2:], STEP, **later, warm=first, shift=1, iterations=1)
    again = acc.solve(x[:, :2], x[:, 2:], STEP, **later, warm=warm, iterations=1)
    assert [call.count((GOAL, 6)) for call in sent] == [3, 1, 0]
    for k in range(3):
        one = package.load(folders[1])
        begun = one.solve(STARTS[k], STILL, STEP, **COST | {"x_ref": goals[k]}, iterations=2)
        single = COST | {"x_ref": other[k]}
        followed = one.solve(x[k, :2], x[k, 2:], STEP, **single, warm=begun, shift=1, iterations=1)
        ended = one.solve(x[k, :2], x[k, 2:], STEP, **single, warm=followed, iterations=1)
        for batch, alone in ((first, begun), (warm, followed), (again, ended)):
            np.testing.assert_array_equal(batch.tau[k], alone.tau)
            np.testing.assert_array_equal(batch.cost[k], alone.cost)


def test_a_single_problem_follows_its_own_as_ever(acc, one, sent):
    for each in (acc, one):
        each.first = each.solve(STARTS[0], STILL, STEP, **COST, iterations=2)
        x = each.first.states[1]
        each.second = each.solve(x[:2], x[2:], STEP, **COST, warm=each.first, shift=1, iterations=1)
    np.testing.assert_array_equal(acc.second.tau, one.second.tau)
    assert sent[1] == [(SOLVE, 1), (PLAN, 7)]


@pytest.mark.parametrize(
    "bad", [long([0]), [1], long([2]), long([0, 1]), [0, 2], long([1, 2]), long([0, 1, 2])], ids=str
)
def test_numbers_that_are_not_finite_spoil_their_problems_alone(acc, one, bad):
    """Later solutions of these problems hold forces, and the others follow their own."""
    good = [k for k in range(3) if k not in bad]
    starts = STARTS[:3].copy()
    starts[bad] = np.nan
    first = acc.solve(starts, STILL, STEP, **COST, iterations=2)
    assert (first.status == Solved.NOT_FINITE).nonzero()[0].tolist() == bad
    assert np.isnan(first.cost[bad]).all()
    warm = acc.solve(STARTS[:3], STILL, STEP, **COST, warm=first, iterations=1)
    for k in bad:
        np.testing.assert_array_equal(
            warm.tau[k], one.solve(STARTS[k], STILL, STEP, **COST, iterations=1).tau
        )
    for k in good:
        begun = one.solve(STARTS[k], STILL, STEP, **COST, iterations=2)
        followed = one.solve(STARTS[k], STILL, STEP, **COST, warm=begun, iterations=1)
        np.testing.assert_array_equal(first.tau[k], begun.tau)
        np.testing.assert_array_equal(warm.tau[k], followed.tau)


@pytest.mark.parametrize("bad", [0, long(1), 2])
def test_a_problem_of_a_warm_batch_may_be_missing_once(acc, one, bad):
    """The others follow their solutions, whether it holds forces after that or follows an older one."""
    first = acc.solve(STARTS[:3], STILL, STEP, **COST, iterations=1)
    starts = STARTS[:3].copy()
    starts[bad] = np.nan
    second = acc.solve(starts, STILL, STEP, **COST, warm=first, iterations=1)
    third = acc.solve(STARTS[:3], STILL, STEP, **COST, warm=second, iterations=1)
    for k in range(3):
        solution = one.solve(STARTS[k], STILL, STEP, **COST, iterations=1)
        if k != bad:
            solution = one.solve(STARTS[k], STILL, STEP, **COST, warm=solution, iterations=1)
            np.testing.assert_array_equal(second.tau[k], solution.tau)
        if k != bad or bad == 2:
            solution = one.solve(STARTS[k], STILL, STEP, **COST, warm=solution, iterations=1)
        np.testing.assert_array_equal(third.tau[k], solution.tau)


def test_what_does_not_follow_is_refused(acc):
    text = "warm: is no solution that the accelerator keeps; expected the last solution of this object, and "
    first = acc.solve(STARTS, STILL, STEP, **COST, iterations=0)
    with pytest.raises(InputError, match=text + "its problems, 3 at most; leave warm out"):
        acc.solve(STARTS, STILL, STEP, **COST, warm=first)
    first = acc.solve(STARTS[:3], STILL, STEP, **COST, iterations=0)
    with pytest.raises(InputError, match=text):
        acc.solve(STARTS[:2], STILL, STEP, **COST, warm=first)
    first = acc.solve(STARTS[:3], STILL, STEP, **COST, iterations=0)
    acc.solve(STARTS[:3], STILL, STEP, **COST, iterations=0)
    with pytest.raises(InputError, match=text):
        acc.solve(STARTS[:3], STILL, STEP, **COST, warm=first)


def test_a_solver_of_one_problem_has_no_warm_batch(one):
    first = one.solve(STARTS[:2], STILL, STEP, **COST, iterations=0)
    with pytest.raises(InputError, match="the last solution of this object, and one problem; leave warm out"):
        one.solve(STARTS[:2], STILL, STEP, **COST, warm=first)


def test_engines_agree_bit_for_bit(folders, acc):
    other = package.load(folders[TOGETHER], "numpy")
    for each in (acc, other):
        each.first = each.solve(STARTS[:4], STILL, STEP, **COST, iterations=2)
        each.second = each.solve(STARTS[:2], STILL, STEP, **COST, iterations=2)
        each.third = each.solve(STARTS[:2], STILL, STEP, **COST, warm=each.second, shift=1, iterations=1)
    for name in acc.first._fields:
        for call in ("first", "second", "third"):
            np.testing.assert_array_equal(
                getattr(getattr(acc, call), name), getattr(getattr(other, call), name)
            )


def test_the_command_solves_a_batch(folders, acc, tmp_path, rbdhw):
    np.savez(tmp_path / "in.npz", q=STARTS, v=STILL, h=STEP, iterations=2, **COST)
    files = ("--input", tmp_path / "in.npz", "--output", tmp_path / "out.npz")
    assert rbdhw("run", folders[TOGETHER], "solve", *files)[0] == 0
    with np.load(tmp_path / "out.npz") as archive:
        np.testing.assert_array_equal(
            archive["tau"], acc.solve(STARTS, STILL, STEP, **COST, iterations=2).tau
        )


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    made = tmp_path_factory.mktemp("generated") / "toy"
    sizes = {"width": 27, "ii": 8, "knots": 4, "alphas": 2, "iterations": 8, "samples": 512}
    write(generate(path("toy"), BuildOptions(("solve", "id"), problems=TOGETHER, **sizes)), made)
    return made


@pytest.mark.parametrize("engine", [long("rtl", minutes=2), long("driver", minutes=2)])
def test_the_hardware_agrees_bit_for_bit(generated, engine):
    """Batches, warm ones, and those with a problem that is missing."""
    missing = STARTS[:3].copy()
    missing[1] = np.nan
    calls = (STARTS, STARTS[:3], None, missing, STARTS[:3], None)
    solutions = {}
    for name in ("model", engine):
        acc, last, solutions[name] = package.load(generated, name), None, []
        for k, q in enumerate(calls):
            if q is None:  # as the solution before leads on
                x = last.states[:, 1]
                last = acc.solve(x[:, :2], x[:, 2:], 0.02, **COST, warm=last, shift=1, iterations=1)
            else:
                last = acc.solve(q, STILL, 0.02, **COST, warm=last if k > 2 else None, iterations=2)
            solutions[name].append(last)
    for one, other in zip(*solutions.values(), strict=True):
        for name in one._fields:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.verify(minutes=2)
def test_simulate_has_groups(generated):
    report = simulate(generated, 20, 0)
    assert report.ok
    assert (report.solutions.tasks, report.solutions.mismatches) == (10, 0)


@pytest.mark.parametrize("wrong", [long(0), 1])
@pytest.mark.parametrize(("together", "tasks"), [long(1, 8), long(2, 10), (3, 10), long(4, 12)])
def test_simulated_groups_are_compared_with_the_model(together, tasks, wrong):
    """Here the model is in place of the Verilog, with one number that differs."""
    design = draft_design(fixed(together=together).model)
    sizes = []

    class Engine:
        def converse(self, packets):
            session = SolverSession(design)
            answers = [session.respond(*each) for each in packets]
            sizes.extend(len(words["warm"]) for command, words in packets if command == SOLVE)
            answers[together + 1][1]["plan.K[1,2]"][1] += wrong
            return answers

    report = check_solutions(design, Engine(), 0)
    assert (report.tasks, report.mismatches) == (tasks, wrong)
    assert set(sizes) == {together, (together + 1) // 2}
