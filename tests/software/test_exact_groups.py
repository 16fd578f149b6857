"""Problems that are solved together: slots and groups of the model, and the same bits in C."""

import ctypes

import numpy as np
import pytest

from rbdhw.model.packets import MALFORMED
from rbdhw.model.solver_codec import Asked, goal_words, group_words, joined, plan_words, task_words
from rbdhw.protocol import GOAL, PLAN, SOLVE
from rbdhw.software.exact import model_files
from rbdhw.software.exact_solver import model_solver_files
from rbdhw.solving import Solved
from tests.support.compilers import COMPILATIONS, CPP, assert_no_warning
from tests.support.exact_solvers import (
    KNOTS,
    Both,
    check_any,
    check_ends,
    fixed,
    problem_of,
    solve_arrays,
)
from tests.support.marks import long, quick_among

TOGETHER = 3


@pytest.fixture(scope="module")
def alone():
    """Return the answers to one problem of a solver that has one."""
    known = {}

    def answer(seed, iterations):
        if (seed, iterations) not in known:
            both = Both(fixed())
            both.send(GOAL, goal_words(both.solver, both.solver.goal(problem_of(both.solver, seed))))
            task = task_words(both.solver, problem_of(both.solver, seed), iterations, None)
            _, solved = both.send(SOLVE, task, extended=True)
            _, plan = both.send(PLAN, plan_words(both.solver))
            known[seed, iterations] = row_of(solved, 0), plan
        return known[seed, iterations]

    return answer


@pytest.fixture
def both():
    """Return solvers with the goals of problems 0, 1 and 2 in their slots."""
    made = Both(fixed(together=TOGETHER))
    for slot in range(TOGETHER):
        load(made, slot, slot)
    return made


def load(both, seed, slot):
    rows = goal_words(both.solver, both.solver.goal(problem_of(both.solver, seed)), slot)
    assert not both.send(GOAL, rows)[0].any()


def row_of(words, k):
    """Return the words of one answer of several."""
    return {name: int(numbers[k]) for name, numbers in words.items()}


def tasks(both, *asked):
    """Return the words of a group: the seed of each problem, its iterations, and the solution it follows."""
    group = [Asked(problem_of(both.solver, seed), taken, follow) for seed, taken, follow in asked]
    return group_words(both.solver, group)


def solve(both, words):
    """Return the statuses of tasks and the words of the answer to each."""
    status, answers = both.send(SOLVE, words, extended=True)
    return status.tolist(), [row_of(answers, k) for k in range(len(status))]


def plan(both, slot):
    """Return the words of a slot's last solution."""
    status, words = both.send(PLAN, plan_words(both.solver, slot))
    assert not status.any()
    return words


def changed(words, **numbers):
    """Return the words of tasks with others: for each name the place of a task, and its number."""
    words = {name: column.copy() for name, column in words.items()}
    for name, (k, number) in numbers.items():
        words[name][k] = number
    return words


def test_a_group_solves_as_single_problems_do(both, alone):
    words = tasks(both, (0, 2, None), (1, 3, None), (2, 1, None))
    assert words["more"].tolist() == [1, 1, 0]
    assert words["problem"].tolist() == [0, 1, 2]
    status, answers = solve(both, words)
    assert status == [0, 0, 0]
    for slot, iterations in enumerate((2, 3, 1)):
        solved, knots = alone(slot, iterations)
        assert answers[slot] == solved
        np.testing.assert_equal(plan(both, slot), knots)


def test_slots_count_from_the_first_after_the_last_and_after_a_task_without_more(both, alone):
    """All ``more`` of seven tasks but one are set; the goals show which slots the tasks have."""
    seeds = (0, 1, 2, 0, 1, 0, 1)
    words = tasks(both, *((seed, 1, None) for seed in seeds))
    words["more"][:] = [1, 1, 1, 1, 0, 1, 0]
    words["problem"][:] = seeds
    status, answers = solve(both, words)
    assert status == [0] * 7
    assert answers == [alone(seed, 1)[0] for seed in seeds]


def test_a_call_begins_with_the_first_slot(both, alone):
    for _ in range(2):
        words = changed(tasks(both, (0, 1, None)), more=(0, 1))
        assert solve(both, words)[1] == [alone(0, 1)[0]]


def test_each_slot_follows_its_own_solution(both):
    """Slots that are not in a group keep their goals and solutions."""
    solve(both, tasks(both, (0, 1, None), (1, 1, None), (2, 1, None)))
    before = [plan(both, slot) for slot in range(TOGETHER)]
    solve(both, tasks(both, (0, 2, 1), (1, 0, 0)))
    np.testing.assert_equal(plan(both, 2), before[2])
    assert not np.array_equal(plan(both, 0)["plan.x[0]"], before[0]["plan.x[0]"])
    np.testing.assert_array_equal(plan(both, 1)["plan.x[0]"], before[1]["plan.x[0]"])
    _, (*_, followed) = solve(both, tasks(both, (0, 1, 0), (1, 1, 0), (2, 3, 0)))
    _, (*_, cold) = solve(both, tasks(both, (0, 1, None), (1, 1, None), (2, 1, None)))
    assert followed["solve.cost"] < cold["solve.cost"]


def test_a_goal_belongs_to_its_slot(both, alone):
    """One that is not whole leaves the slot's last goal, and that of other slots."""
    solve(both, tasks(both, (0, 1, None), (1, 1, None), (2, 1, None)))
    load(both, 4, slot=1)
    rows = goal_words(both.solver, both.solver.goal(problem_of(both.solver, 5)), 0)
    both.send(GOAL, {name: numbers[: KNOTS - 1] for name, numbers in rows.items()})
    answers = solve(both, tasks(both, (0, 1, None), (4, 1, None), (2, 1, None)))[1]
    assert answers == [alone(seed, 1)[0] for seed in (0, 4, 2)]


@pytest.mark.parametrize(
    "wrong",
    [
        *({"iterations": 256}, {"problem": TOGETHER}),
        *map(long, ({"more": 2}, {"more": -1}, {"problem": 0}, {"problem": 1}, {"problem": -1})),
        *map(long, ({"iterations": -1}, {"warm": 2}, {"shift": KNOTS})),
    ],
    ids=str,
)
def test_a_task_that_is_refused_takes_no_slot(both, alone, wrong):
    """It ends the group before it, and the next task is that of the first slot."""
    seeds = (0, 1, 2, 0, 1, 2)
    words = tasks(both, *((seed, 1, None) for seed in seeds))
    words["more"][:], words["problem"][:] = [1, 1, 1, 1, 1, 0], seeds
    words = changed(words, **{name: (2, number) for name, number in wrong.items()})
    status, answers = solve(both, words)
    assert status == [0, 0, MALFORMED, 0, 0, 0]
    assert not any(answers.pop(2).values())
    assert answers == [alone(seed, 1)[0] for seed in (0, 1, 0, 1, 2)]


@pytest.mark.parametrize(
    "sent", [(0, 2), (1, 0, 2), *map(long, ((0, 1, 1, 2), (0, 0, 1, 2), (1, 2)))], ids=str
)
def test_after_a_task_that_is_missing_doubled_or_late_all_are_refused(both, alone, sent):
    """Until one is that of slot 0: a client that goes on has no answer of another problem."""
    words = tasks(both, (0, 1, None), (1, 1, None), (2, 1, None))
    words = {name: column[list(sent)] for name, column in words.items()}
    status, answers = solve(both, joined([words, tasks(both, (0, 2, None), (1, 1, None))]))
    turn, expected = 0, []
    for problem in sent:
        expected.append(0 if problem == turn else MALFORMED)
        turn = turn + 1 if problem == turn else 0
    assert MALFORMED in expected
    assert status[: len(sent)] == expected
    for problem, state, answer in zip(sent, status, answers, strict=False):
        assert state == MALFORMED or answer == alone(problem, 1)[0]
    assert status[len(sent) :] == [0, 0]
    assert answers[len(sent) :] == [alone(0, 2)[0], alone(1, 1)[0]]


def test_a_slot_without_a_goal_refuses_its_task(alone):
    both = Both(fixed(together=TOGETHER))
    load(both, 0, slot=0)
    load(both, 2, slot=2)
    words = changed(tasks(both, (0, 1, None), (1, 1, None), (0, 1, None)), problem=(2, 0))
    status, answers = solve(both, words)
    assert status == [0, MALFORMED, 0]
    assert answers[0] == answers[2] == alone(0, 1)[0]


def test_problems_out_of_range_are_malformed(both):
    solve(both, tasks(both, (0, 1, None), (1, 1, None), (2, 1, None)))
    rows = goal_words(both.solver, both.solver.goal(problem_of(both.solver, 0)))
    reads = joined([plan_words(both.solver, slot) for slot in (-1, TOGETHER)])
    assert (both.send(PLAN, reads)[0] == MALFORMED).all()
    for slot in (-1, TOGETHER):
        assert (both.send(GOAL, rows | {"problem": np.full(KNOTS, slot)})[0] == MALFORMED).all()
    empty = Both(fixed(together=TOGETHER))
    assert (empty.send(PLAN, plan_words(empty.solver, 1))[0] == MALFORMED).all()  # before a solution


@pytest.mark.verify
def test_every_end_of_a_solution_and_any_words():
    check_ends(Both(fixed(together=TOGETHER)))
    for seed in range(3):
        check_any(Both(fixed(together=TOGETHER)), seed)


@pytest.mark.verify
def test_singles():
    both = Both(fixed("float32", together=TOGETHER))
    for slot in range(TOGETHER):
        load(both, slot, slot)
    for follow in (None, 1):
        status, answers = solve(both, tasks(both, (0, 2, follow), (1, 1, follow), (2, 3, follow)))
        assert status == [0, 0, 0]
        assert [answer["solve.solved"] for answer in answers] == [Solved.ITERATIONS] * TOGETHER
        for slot in range(TOGETHER):
            plan(both, slot)


def test_the_solver_of_one_problem_takes_arrays(both, alone):
    """In C it takes the first solver, or any other."""
    solver = both.solver
    one, other = Both(fixed()), problem_of(solver, 4)
    expected = solve_arrays(one.exact, other, 2)
    solve(both, tasks(both, (0, 1, None), (1, 1, None), (2, 1, None)))
    exact = both.exact
    memory, size = exact.memory, exact.library.rbdhw_size()
    assert len(memory) == TOGETHER * size
    exact.memory = ctypes.byref(memory, 2 * size)
    np.testing.assert_equal(solve_arrays(exact, other, 2), expected)
    exact.memory = memory
    for slot in range(2):
        np.testing.assert_equal(exact.respond(PLAN, plan_words(solver, slot))[1], alone(slot, 1)[1])
    np.testing.assert_array_equal(
        exact.respond(PLAN, plan_words(solver, 2))[1]["plan.tau[0]"][:-1],
        one.exact.respond(PLAN, plan_words(one.solver))[1]["plan.tau[0]"][:-1],
    )


@pytest.mark.parametrize(("compiler", "language"), quick_among(COMPILATIONS, ("clang", CPP)))
def test_no_compiler_warns(compiler, language, tmp_path):
    model = fixed(together=TOGETHER).model
    files = model_files(model) | model_solver_files(model)
    assert f"RBDHW_PROBLEMS = {TOGETHER}," in files["model_solver.h"]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert_no_warning(tmp_path, compiler, *language)


def test_the_c_of_one_problem_has_no_word_of_others():
    for text in model_solver_files(fixed().model).values():
        assert "PROBLEMS" not in text
        assert "solvers" not in text
