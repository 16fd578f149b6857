"""The driver and means of samples, each of which begins with the last one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from rbdhw.driver.library import Data
from rbdhw.errors import DriverError
from rbdhw.model.rollouts.mean_codec import mean_task
from rbdhw.protocol import LOAD, LOAD_COST, MEAN, MPPI, ROLLOUT
from tests.support.exact_means import HORIZON, problem_of, session_of, toy
from tests.support.mean_link import MeanLink
from tests.support.packet_link import DAMAGED, FORGOTTEN, NO_ANSWER, UNKNOWN, link_fixtures

FAULTS = ("lost", "unheard", "late")
ROWS = np.arange(HORIZON)

folder, model, engine = link_fixtures(toy, MeanLink)


@pytest.fixture
def session():
    return session_of(toy())


def task(seed=0):
    """Return the task of a random problem."""
    problem, sampling = problem_of(toy(), seed)
    numbers = (sampling[name] for name in ("std", "seed", "samples", "temperature"))
    return mean_task(toy(), problem, *numbers)


def request(seed=0, shift=1):
    return task(seed).request | {"shift": np.array([shift])}


def begun(engine, session):
    """Load rows and take a mean, on the link and in the model."""
    rows = list(task().rows.items())
    engine.converse(rows)
    for each in rows:
        session.respond(*each)
    taken(engine, session, 0, 0)


def taken(engine, session, seed=0, shift=1):
    """Take a mean on the link, and compare it with that of the model."""
    np.testing.assert_equal(
        engine.respond(MPPI, request(seed, shift)), session.respond(MPPI, request(seed, shift))
    )


def read(engine, session):
    """Read the means on the link, and compare them with those of the model."""
    np.testing.assert_equal(engine.respond(MEAN, {"row": ROWS}), session.respond(MEAN, {"row": ROWS}))


def rolled_out(engine, steps=HORIZON):
    """Return the results of a rollout with the rows that are there."""
    words = {"steps": [0], "every": [0]} | task(3).request
    names = [word.name for word in engine.design.interface.inputs(ROLLOUT)]
    asked = np.array([[words[name][0] for name in names]])
    results = np.zeros((1, len(engine.design.interface.outputs(ROLLOUT))), np.int64)
    engine.driver.rollout(0, 1, steps, 0, Data(words=asked, results=results, status=np.zeros(1, np.uint8)))
    return results


def assert_refused(engine, steps=HORIZON):
    """See that nothing follows the plan, nor reads it."""
    for _ in range(2):
        with pytest.raises(DriverError, match=FORGOTTEN):
            engine.respond(MPPI, request())
        with pytest.raises(DriverError, match=FORGOTTEN):
            engine.respond(MEAN, {"row": ROWS})
        with pytest.raises(DriverError, match=FORGOTTEN):
            rolled_out(engine, steps)


@pytest.mark.parametrize("kind", FAULTS)
def test_a_mean_is_not_asked_for_again(engine, session, kind):
    """A second time it would begin with its own result, if the first request or its answer was lost."""
    begun(engine, session)
    engine.link.begin(**{kind: 0})
    with pytest.raises(DriverError, match=NO_ANSWER):
        engine.respond(MPPI, request())
    assert engine.link.requests == 1
    assert engine.statistics["retries"] == 0
    assert len(engine.link.taken) == (2 if kind == "unheard" else 1)


@pytest.mark.parametrize("kind", FAULTS)
def test_after_a_failure_nothing_follows_the_plan(engine, session, kind):
    begun(engine, session)
    engine.link.begin(**{kind: 0})
    with pytest.raises(DriverError):
        engine.respond(MPPI, request())
    assert_refused(engine)
    if kind == "late":  # it comes behind the first row, and so may have moved it
        engine.converse(list(task().rows.items()))
        assert_refused(engine)
    begun(engine, session)
    taken(engine, session)
    read(engine, session)


def test_rows_of_a_part_of_the_horizon_begin_no_plan(engine, session):
    begun(engine, session)
    engine.link.begin(lost=0)
    with pytest.raises(DriverError):
        engine.respond(MPPI, request())
    rows = {name: words[:-1] for name, words in task().rows[LOAD].items()}
    engine.converse([(LOAD, rows), (LOAD_COST, task().rows[LOAD_COST])])
    assert_refused(engine, HORIZON - 1)


def test_a_mean_that_the_link_doubles_is_not_followed(engine, session):
    """The first answer is right, but the plan has moved twice."""
    begun(engine, session)
    engine.link.begin(doubled=0)
    taken(engine, session)
    assert_refused(engine)
    begun(engine, session)


def test_means_of_a_run_that_change_their_order_are_an_error(engine, session):
    begun(engine, session)
    run = {name: np.repeat(word, 3) for name, word in request().items()}
    np.testing.assert_equal(engine.respond(MPPI, run), session.respond(MPPI, run))
    engine.link.begin(late=1)
    with pytest.raises(DriverError, match=DAMAGED):
        engine.respond(MPPI, run)
    assert_refused(engine)


def test_rows_that_are_loaded_again_are_not_the_plan(engine, session):
    """A load that comes again makes the driver load all rows; they would take the place of the means."""
    begun(engine, session)
    row = {name: words[:1] for name, words in task().rows[LOAD].items()}
    engine.link.answer(LOAD, np.array([0xFFF0]), row)
    session.respond(LOAD, row)
    with pytest.raises(DriverError, match=DAMAGED):
        engine.respond(MPPI, request())
    assert_refused(engine)
    begun(engine, session)


@pytest.mark.parametrize("call", [MPPI, MEAN, ROLLOUT])
def test_an_accelerator_that_was_reset_has_no_plan(engine, session, call):
    """Its rows are loaded again, but the forces in them are not those of the last mean."""
    begun(engine, session)
    engine.link.reset()
    calls = {
        MPPI: lambda: engine.respond(MPPI, request()),
        MEAN: lambda: engine.respond(MEAN, {"row": ROWS}),
        ROLLOUT: lambda: rolled_out(engine),
    }
    with pytest.raises(DriverError, match=DAMAGED):
        calls[call]()
    with pytest.raises(DriverError, match=f"{DAMAGED}|{FORGOTTEN}"):
        engine.respond(MPPI, request())
    assert_refused(engine)
    begun(engine, session)


def test_rows_that_no_mean_has_moved_are_loaded_again(engine, session):
    rows = list(task().rows.items())
    engine.converse(rows)
    for each in rows:
        session.respond(*each)
    cost = rolled_out(engine)
    engine.link.reset()
    np.testing.assert_equal(rolled_out(engine), cost)
    taken(engine, session)


def test_no_wrong_answer_passes(engine, model):
    """In a loop of means that follow one another. After an error the next one sends a plan."""
    rng, ends = np.random.default_rng(0), Counter()
    model._last_mean = engine._last_mean = None
    for k in range(80):
        follow = None if k % 6 == 0 else 1
        engine.link.begin(**{str(rng.choice(["lost", "unheard", "doubled", "late", "none", "none"])): 0})
        if k % 19 == 18:
            engine.link.reset()
        asked = task(k // 6)
        asked.request["seed"][:] = k
        try:
            answer = engine.take_mean(asked, follow)
        except DriverError as error:
            ends[error.reason] += 1
            model._last_mean = None
            continue
        np.testing.assert_equal(answer, model.take_mean(asked, follow))
        ends["right"] += 1
    assert ends.keys() == {"right", DAMAGED, NO_ANSWER, FORGOTTEN}
    assert ends["right"] > 20


@pytest.mark.parametrize("command", [MPPI, MEAN])
def test_means_have_no_tickets(engine, command):
    asked = request() | {"row": np.array([0])}
    names = [word.name for word in engine.design.interface.inputs(command)]
    with pytest.raises(DriverError, match=UNKNOWN):
        engine.driver.submit(command, 0, Data(words=np.array([[asked[name][0] for name in names]])))
