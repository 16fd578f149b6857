"""The driver at the pins of whole boards: what comes through their shells is what the model answers.

Boards with DMA are simulated as the scripts of their projects connect the block, with models of AMD's cells.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import count

import numpy as np
import pytest

import rbdhw
from rbdhw.design import folder
from rbdhw.driver.library import Data
from rbdhw.errors import DriverError
from rbdhw.options.arguments import asked_build
from rbdhw.pipeline import generate
from rbdhw.registers.map import CONTROL, INTERRUPTS, STATUS, Register
from rbdhw.robots import path
from tests.support import diagram_pins
from tests.support.board_pins import PINS, BoardPins
from tests.support.diagram_pins import DIAGRAMS, DiagramPins
from tests.support.driver_folder import OPTIONS
from tests.support.faulty_line import random_work
from tests.support.tcl import run_project

MANY, BATCH = 1000, 40
"""The tasks of `verify`, and of a batch."""

SMALL = {"functions": "id", "width": 18, "ii": 4, "max_error": 0.1}
"""The design of `make test`: what rollouts and loads send is the same on every board."""

WHOLE = OPTIONS | {"functions": "id,rollout"}

AGAIN = ("arty-a7-100t", "vcu118-uart", "vcu118")
"""Boards with the shell of another one and other pins, or with another diagram: a long case."""


def boards(names, options):
    """Return the cases of boards with a design."""
    marks = dict.fromkeys(AGAIN, pytest.mark.verify)
    return [pytest.param((name, options), id=name, marks=marks.get(name, ())) for name in names]


@pytest.fixture(scope="module")
def make_folder(tmp_path_factory):
    """Return the folder of a design for a board; those with narrow streams share one."""

    @cache
    def make(design, **stream):
        directory = tmp_path_factory.mktemp("shell") / "design"
        folder.write(generate(path("toy"), *asked_build(**dict(design), **stream)), directory)
        return directory

    def made(board, design):
        return make(tuple(design.items()), **({"board": board} if board in DIAGRAMS else {"tdata": 32}))

    return made


@pytest.fixture(scope="module")
def board(request, make_folder, tmp_path_factory):
    name, design = request.param
    if name == "vcu118":
        request.getfixturevalue("kernel")
    kind = DiagramPins if name in DIAGRAMS else BoardPins
    made = kind(name, make_folder(name, design), tmp_path_factory.mktemp("board") / "simulator")
    yield made
    made.close()


def assert_first_try(driver):
    """Check that every packet was answered, and once."""
    trouble = ("retries", "timeouts", "damaged", "strays", "reloads")
    assert [driver.statistics[name] for name in trouble] == [0] * len(trouble)


@pytest.mark.parametrize("board", boards((*PINS, *DIAGRAMS), SMALL), indirect=True)
def test_a_batch(board):
    """All answers are right; a line is busy with requests from the first one to the last answer."""
    q, v, a = np.random.default_rng(0).uniform(-0.9, 0.9, (3, BATCH, 2))
    tau = np.zeros((BATCH, 2))
    with board.open() as driver:
        begun, busy = (board.nanoseconds, board.wire_ns) if isinstance(board, BoardPins) else (0, (0, 0))
        driver.run("id", 0, BATCH, Data([q, v, a], [tau]))
        assert_first_try(driver)
        if isinstance(board, BoardPins):
            passed = board.nanoseconds - begun
            share = max(after - before for after, before in zip(board.wire_ns, busy, strict=True)) / passed
            assert 0.8 < share <= 1.0
    np.testing.assert_array_equal(tau, rbdhw.load(board.folder).id(q, v, a).tau)


@pytest.mark.verify
@pytest.mark.parametrize("board", boards((*PINS, *DIAGRAMS), WHOLE), indirect=True)
def test_tasks_rollouts_and_loads(board):
    work, counts = random_work(folder.read(board.folder)), Counter()
    with board.open() as driver:
        for seed in count(100):
            counts += work.run(driver, seed)
            if driver.statistics["tasks"] >= MANY:
                break
        assert set(counts) == {"right"}, counts
        assert_first_try(driver)


@pytest.mark.parametrize("board", boards(DIAGRAMS, SMALL), indirect=True)
def test_the_interrupt_arrives(board):
    """The end of a reset is a level at the host's line of the block, until it is cleared."""
    block, ended = board.block(), 1 << INTERRUPTS.index("reset_done")
    block.write(Register.INTERRUPT_ENABLE, ended)
    assert board.lines(block) == 0
    block.write(Register.CONTROL, 1 << CONTROL["soft_reset"] | 1 << CONTROL["enable"])
    while block.read(Register.STATUS) >> STATUS["resetting"][0] & 1:
        pass
    assert board.lines(block) == board.line
    block.write(Register.INTERRUPT_STATUS, ended)
    assert board.lines(block) == 0
    block.close()


@pytest.mark.verify
def test_a_reset_of_the_other_level_is_noticed(make_folder, tmp_path, monkeypatch):
    def other(project):
        return [
            tuple(word.replace("peripheral_reset", "peripheral_aresetn") for word in call)
            for call in run_project(project)
        ]

    monkeypatch.setattr(diagram_pins, "run_project", other)
    made = DiagramPins("kv260", make_folder("kv260", SMALL), tmp_path / "simulator")
    with pytest.raises(DriverError, match="no accelerator of rbdhw"), made.open():
        pass
