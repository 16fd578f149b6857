"""The driver and problems that are solved together: whole groups, or an error; never a wrong answer."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import rbdhw
from rbdhw.design.folder import draft_design, write
from rbdhw.driver.library import Data
from rbdhw.errors import DriverError
from rbdhw.model.solver_codec import Asked, goal_words, group_words, plan_words
from rbdhw.protocol import GOAL, PLAN, SOLVE
from tests.support.exact_solvers import fixed, problem_of
from tests.support.marks import long, some
from tests.support.packet_link import DAMAGED, FORGOTTEN, NO_ANSWER, UNKNOWN, LinkEngine, link_fixtures
from tests.support.solver_link import SolverLink

TOGETHER = 3

KINDS = ("lost", "doubled", "late")

folder, model, engine = link_fixtures(lambda: fixed(together=TOGETHER).model, SolverLink)


def group(iterations=1, follow=None, size=TOGETHER):
    solver = fixed(together=TOGETHER)
    return [Asked(problem_of(solver, seed), iterations, follow) for seed in range(size)]


def assert_same(one, other):
    assert len(one) == len(other)
    for solution, expected in zip(one, other, strict=True):
        np.testing.assert_equal(solution, expected)


def rows(engine, command, words):
    names = [word.name for word in engine.design.interface.inputs(command)]
    return np.ascontiguousarray(np.array([words[name] for name in names]).T)


@pytest.mark.parametrize("size", [long(1), long(2), 3])
def test_groups_without_faults(engine, model, size):
    for asked in (group(2, None, size), group(1, 1, size), group(3, None, size)):
        assert_same(engine.solve(asked), model.solve(asked))
    counts = engine.statistics
    assert [counts[name] for name in ("retries", "timeouts", "damaged", "strays", "reloads")] == [0] * 5


@pytest.mark.parametrize(
    ("kind", "number"), some(((kind, number) for number in range(TOGETHER) for kind in KINDS), TOGETHER + 1)
)
def test_a_group_with_a_fault_ends_with_an_error_and_the_next_one_is_right(engine, model, kind, number):
    engine.solve(group())
    engine.link.begin(**{kind: number})
    with pytest.raises(DriverError, match=f"{DAMAGED}|{NO_ANSWER}|{FORGOTTEN}"):
        engine.solve(group(2))
    assert engine.statistics["retries"] == 0
    for asked in (group(2), group(1, 1)):
        assert_same(engine.solve(asked), model.solve(asked))


@pytest.mark.verify
def test_no_wrong_answer_passes(engine, model):
    rng, ends = np.random.default_rng(0), Counter()
    for k in range(60):
        asked = group(int(rng.integers(3)), None, int(rng.integers(1, TOGETHER + 1)))
        expected = model.solve(asked)
        kind = str(rng.choice([*KINDS, "none"]))
        engine.link.begin(**{kind: int(rng.integers(TOGETHER + 1))})
        if k % 9 == 8:
            engine.link.reset()
        try:
            assert_same(engine.solve(asked), expected)
            ends["right"] += 1
        except DriverError as error:
            ends[error.reason] += 1
    assert ends.keys() == {"right", DAMAGED, NO_ANSWER, FORGOTTEN}
    assert ends["right"] > 20


def test_after_a_failure_there_is_no_plan_until_another_solution(engine):
    engine.solve(group())
    engine.link.begin(lost=1)
    solver = fixed(together=TOGETHER)
    with pytest.raises(DriverError):
        engine.respond(SOLVE, group_words(solver, group()))
    with pytest.raises(DriverError, match=FORGOTTEN):
        engine.respond(PLAN, plan_words(solver, 0))
    assert not engine.respond(SOLVE, group_words(solver, group()))[0].any()
    assert not engine.respond(PLAN, plan_words(solver, 2))[0].any()


def test_an_accelerator_that_was_reset_has_its_goals_again(engine, model):
    """The group that finds it out ends with an error."""
    solver = fixed(together=TOGETHER)
    engine.solve(group())
    engine.link.reset()
    with pytest.raises(DriverError, match=DAMAGED):
        engine.respond(SOLVE, group_words(solver, group(2)))
    _, answers = engine.respond(SOLVE, group_words(solver, group(2)))
    model.solve(group())
    _, expected = model.session.respond(SOLVE, group_words(solver, group(2)))
    np.testing.assert_equal(answers, expected)


def test_what_the_driver_refuses(engine):
    solver = fixed(together=TOGETHER)
    words = goal_words(solver, solver.goal(problem_of(solver, 0)))
    mixed = words | {"problem": np.arange(len(words["row"])) % 2}
    beyond = words | {"problem": np.full(len(words["row"]), TOGETHER)}
    for wrong in (mixed, beyond):
        asked = rows(engine, GOAL, wrong)
        with pytest.raises(DriverError, match=UNKNOWN):
            engine.driver.load_rows(GOAL, len(asked), Data(words=asked))
    with pytest.raises(DriverError, match=UNKNOWN):
        engine.driver.submit(SOLVE, 0, Data(words=rows(engine, SOLVE, group_words(solver, group()))))


def test_a_window_has_room_for_a_group(folder):
    solver = fixed(together=8)
    write(draft_design(solver.model), folder.with_name("eight"))
    made = LinkEngine(rbdhw.load(folder.with_name("eight"))._engine.source, SolverLink)
    with pytest.raises(DriverError, match=UNKNOWN):
        made.library.open(made.link.transport(), made.link.options(window=8), "link")
    made.library.open(made.link.transport(), made.link.options(window=16), "link").close()
