"""The driver and solutions, which follow one another: each is asked for once, and no wrong answer passes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from rbdhw.driver.library import Data
from rbdhw.errors import DriverError
from rbdhw.model.packets import OUTSIDE
from rbdhw.model.solver_codec import Asked, goal_words, plan_words, task_words
from rbdhw.protocol import GOAL, PLAN, SOLVE
from tests.support.exact_solvers import fixed, problem_of
from tests.support.marks import long
from tests.support.packet_link import DAMAGED, FORGOTTEN, NO_ANSWER, UNKNOWN, link_fixtures
from tests.support.solver_link import SolverLink

FAULTS = {"lost": NO_ANSWER, "unheard": NO_ANSWER, "late": NO_ANSWER}


folder, model, engine = link_fixtures(lambda: fixed().model, SolverLink)


def asked(iterations=2, follow=None, seed=0):
    return [Asked(problem_of(fixed(), seed), iterations, follow)]


def task(iterations, follow):
    return task_words(fixed(), problem_of(fixed(), 0), iterations, follow)


def solved(engine, iterations=1, follow=None):
    """Return the words of the answer to a task, whose goal is loaded."""
    status, words = engine.respond(SOLVE, task(iterations, follow))
    assert not status.any()
    return words


def begun(engine, model):
    """Load a goal and solve, on the link and in the model."""
    for each in (engine, model):
        each.converse([(GOAL, goal_words(fixed(), fixed().goal(problem_of(fixed(), 0))))])
    np.testing.assert_equal(solved(engine), solved_by(model))


def solved_by(model, iterations=1, follow=None):
    return model.session.respond(SOLVE, task(iterations, follow))[1]


@pytest.mark.parametrize("follow", [None, 1], ids=["cold", "warm"])
@pytest.mark.parametrize("kind", FAULTS)
def test_a_solution_is_not_asked_for_again(engine, model, kind, follow):
    """A second time it would follow its own result, if the first request or its answer was lost."""
    begun(engine, model)
    engine.link.begin(**{kind: 0})
    with pytest.raises(DriverError, match=FAULTS[kind]):
        engine.respond(SOLVE, task(1, follow))
    assert engine.link.requests == 1
    assert engine.statistics["retries"] == 0
    assert len(engine.link.taken) == (2 if kind == "unheard" else 1)


@pytest.mark.parametrize("kind", ["lost", long("unheard"), long("late")])
def test_after_a_failure_nothing_follows_the_last_solution(engine, model, kind):
    begun(engine, model)
    engine.link.begin(**{kind: 0})
    with pytest.raises(DriverError):
        engine.respond(SOLVE, task(1, 1))
    for _ in range(2):
        with pytest.raises(DriverError, match=FORGOTTEN):
            engine.respond(PLAN, plan_words(fixed()))
        with pytest.raises(DriverError, match=FORGOTTEN):
            engine.respond(SOLVE, task(1, 1))
    for follow in (None, 1):
        np.testing.assert_equal(solved(engine, 2, follow), solved_by(model, 2, follow))
    np.testing.assert_equal(
        engine.respond(PLAN, plan_words(fixed()))[1], model.session.respond(PLAN, plan_words(fixed()))[1]
    )


def test_a_solution_that_the_link_doubles_is_not_followed(engine, model):
    """The first answer is right, but the accelerator has solved twice."""
    begun(engine, model)
    engine.link.begin(doubled=0)
    np.testing.assert_equal(solved(engine, 1, 1), solved_by(model, 1, 1))
    with pytest.raises(DriverError, match=FORGOTTEN):
        engine.respond(PLAN, plan_words(fixed()))
    with pytest.raises(DriverError, match=FORGOTTEN):
        solved(engine, 1, 1)
    for follow in (None, 1):
        np.testing.assert_equal(solved(engine, 2, follow), solved_by(model, 2, follow))


def test_solutions_of_a_run_that_change_their_order_are_an_error(engine, model):
    begun(engine, model)
    run = {name: np.repeat(word, 3) for name, word in task(1, 1).items()}
    np.testing.assert_equal(engine.respond(SOLVE, run)[1], model.session.respond(SOLVE, run)[1])
    engine.link.begin(late=1)
    with pytest.raises(DriverError, match=DAMAGED):
        engine.respond(SOLVE, run)


@pytest.mark.verify
def test_no_wrong_answer_passes(engine, model):
    """In a loop of warm solutions. After an error the next one is cold: the engine has forgotten the last."""
    rng, ends = np.random.default_rng(0), Counter()
    for k in range(80):
        group = asked(int(rng.integers(3)), None if k % 5 == 0 else 1, k // 3)
        if k % 9 == 8:
            engine.link.reset()
        engine.link.begin(**{str(rng.choice(["lost", "unheard", "doubled", "late", "none", "none"])): 0})
        try:
            answer = engine.solve(group)
        except DriverError as error:
            ends[error.reason] += 1
            model._goals = {}
            continue
        np.testing.assert_equal(answer, model.solve(group))
        ends["right"] += 1
    assert {"right", NO_ANSWER, FORGOTTEN} <= ends.keys() <= {"right", DAMAGED, NO_ANSWER, FORGOTTEN}
    assert ends["right"] > 20


def test_an_accelerator_that_was_reset_has_its_goal_again(engine, model):
    """The call that finds it out ends with an error."""
    begun(engine, model)
    engine.link.reset()
    with pytest.raises(DriverError, match=DAMAGED):
        solved(engine, 1, 1)
    np.testing.assert_equal(solved(engine, 2), solved_by(model, 2))


def loaded(engine, model, seed):
    """Load another goal, on the link and in the model."""
    words = goal_words(fixed(), fixed().goal(problem_of(fixed(), seed)))
    for each in (engine, model):
        each.converse([(GOAL, words)])


def test_an_accelerator_that_was_reset_before_a_goal_does_not_follow(engine, model):
    """Nothing is refused, but the solution holds forces: it says so, and that is an error."""
    begun(engine, model)
    engine.link.reset()
    loaded(engine, model, 1)
    with pytest.raises(DriverError, match=FORGOTTEN):
        solved(engine, 1, 1)
    with pytest.raises(DriverError, match=FORGOTTEN):
        solved(engine, 1, 1)
    for follow in (None, 1):
        np.testing.assert_equal(solved(engine, 2, follow), solved_by(model, 2, follow))


def test_in_python_a_goal_that_changes_does_not_hide_a_reset(engine, model):
    problems = [problem_of(fixed(), seed) for seed in range(2)]
    assert not engine.solve([Asked(problems[0], 2)])[0]["followed"]
    assert engine.solve([Asked(problems[1], 1, 1)])[0]["followed"]
    engine.link.reset()
    with pytest.raises(DriverError, match=FORGOTTEN):
        engine.solve([Asked(problems[0], 1, 1)])
    model.solve([Asked(problems[0], 2)])
    (answer,), (expected,) = (each.solve([Asked(problems[0], 2)]) for each in (engine, model))
    np.testing.assert_equal(answer, expected)


@pytest.mark.parametrize("failing", [{"iterations": 0}, {"v[0]": None}], ids=["no iterations", "outside"])
def test_a_solution_behind_one_without_gains_follows_nothing(engine, model, failing):
    """The answer says so, and it is no error: also if the accelerator was reset since, no gains are lost."""
    begun(engine, model)
    word = next(word for word in fixed().shape.step.inputs if word.name == "v[0]")
    others = {
        name: np.array([word.highest + 1 if number is None else number]) for name, number in failing.items()
    }
    for each in (engine, model.session):
        status, words = each.respond(SOLVE, task(1, 0) | others)
        assert (status[0] & OUTSIDE, words["solve.followed"][0]) == ("v[0]" in failing, 1)
    for _ in range(2):
        words = solved(engine, 1, 1)
        np.testing.assert_equal(words, solved_by(model, 1, 1))
    assert words["solve.followed"][0] == 1


def test_solutions_have_no_tickets(engine):
    names = [word.name for word in engine.design.interface.inputs(SOLVE)]
    words = np.array([[task(1, None)[name][0] for name in names]])
    with pytest.raises(DriverError, match=UNKNOWN):
        engine.driver.submit(SOLVE, 0, Data(words=words))
