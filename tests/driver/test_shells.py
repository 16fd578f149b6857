"""The driver at the pins of whole boards: what comes through their shells is what the model answers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from rbdhw.design import folder
from rbdhw.driver.library import Data
from rbdhw.options.arguments import asked_build
from rbdhw.pipeline import generate
from rbdhw.robots import path
from tests.support.board_pins import PINS, BoardPins
from tests.support.driver_folder import OPTIONS
from tests.support.faulty_line import random_work

FEW, MANY = 30, 1000
"""The tasks of the suite, and those of `verify`."""

BATCH = 200


@pytest.fixture(scope="module")
def narrow_folder(tmp_path_factory):
    """Return the folder of the driver's design with the streams of a board."""
    directory = tmp_path_factory.mktemp("narrow") / "design"
    folder.write(generate(path("toy"), *asked_build(**OPTIONS, tdata=32)), directory)
    return directory


@pytest.fixture(scope="module")
def work(narrow_folder):
    return random_work(folder.read(narrow_folder))


@pytest.fixture(scope="module", params=PINS)
def board(request, narrow_folder, tmp_path_factory):
    made = BoardPins(request.param, narrow_folder, tmp_path_factory.mktemp("board") / "simulator")
    yield made
    made.close()


def compute(board, work, tasks, seed):
    """Do random work of at least so many tasks; all of it must be right, at the first try."""
    driver, counts = board.open(), Counter()
    while driver.statistics["tasks"] < tasks:
        counts += work.run(driver, seed)
        seed += 1
    assert set(counts) == {"right"}, counts
    trouble = ("retries", "timeouts", "damaged", "strays", "reloads")
    assert [driver.statistics[name] for name in trouble] == [0] * len(trouble)
    driver.close()


def test_some_tasks(board, work):
    compute(board, work, FEW, 0)


@pytest.mark.verify
def test_tasks_rollouts_and_loads(board, work):
    compute(board, work, MANY, 100)


def test_the_wire_is_full(board):
    """The requests of a batch keep the wire busy, from the first one to the last answer."""
    driver = board.open()
    begun, busy = board.nanoseconds, board.wire_ns
    driver.run("id", 0, BATCH, Data([*np.random.default_rng(0).uniform(-0.9, 0.9, (3, BATCH, 2))], [None]))
    passed = board.nanoseconds - begun
    share = max(after - before for after, before in zip(board.wire_ns, busy, strict=True)) / passed
    driver.close()
    assert 0.8 < share <= 1.0
