"""The driver at the pins of whole boards: what comes through their shells is what the model answers.

Boards with DMA are simulated as the scripts of their projects connect the block, with models of AMD's cells.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest

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
from tests.support.marks import long
from tests.support.tcl import run_project

FEW, MANY = 8, 1000
"""The tasks of the suite, and those of `verify`."""

BATCH = 60

FEWER = OPTIONS | {"functions": "id,rollout"}

AGAIN = ("vcu118-uart", "vcu118")
"""Boards with the shell of another one and other pins, or with another diagram: a long case."""

LINES, BOTH_DIAGRAMS = ([long(name) if name in AGAIN else name for name in kind] for kind in (PINS, DIAGRAMS))


@pytest.fixture(scope="module")
def make_folder(tmp_path_factory):
    """Return the folder of the driver's design for a board; those with narrow streams share one."""

    @cache
    def make(**options):
        directory = tmp_path_factory.mktemp("shell") / "design"
        folder.write(generate(path("toy"), *asked_build(**FEWER, **options)), directory)
        return directory

    return lambda board: make(board=board) if board in DIAGRAMS else make(tdata=32)


@pytest.fixture(scope="module")
def board(request, make_folder, tmp_path_factory):
    if request.param == "vcu118":
        request.getfixturevalue("kernel")
    kind = DiagramPins if request.param in DIAGRAMS else BoardPins
    made = kind(request.param, make_folder(request.param), tmp_path_factory.mktemp("board") / "simulator")
    yield made
    made.close()


@pytest.fixture(scope="module")
def work(board):
    return random_work(folder.read(board.folder))


def compute(board, work, tasks, seed):
    """Do random work of at least so many tasks; all of it must be right, at the first try."""
    counts = Counter()
    with board.open() as driver:
        while driver.statistics["tasks"] < tasks:
            counts += work.run(driver, seed)
            seed += 1
        assert set(counts) == {"right"}, counts
        trouble = ("retries", "timeouts", "damaged", "strays", "reloads")
        assert [driver.statistics[name] for name in trouble] == [0] * len(trouble)


@pytest.mark.parametrize("board", [*LINES, *BOTH_DIAGRAMS], indirect=True)
def test_some_tasks(board, work):
    compute(board, work, FEW, 0)


@pytest.mark.verify
@pytest.mark.parametrize("board", [*PINS, *DIAGRAMS], indirect=True)
def test_tasks_rollouts_and_loads(board, work):
    compute(board, work, MANY, 100)


@pytest.mark.parametrize("board", LINES, indirect=True)
def test_the_wire_is_full(board):
    """The requests of a batch keep the wire busy, from the first one to the last answer."""
    with board.open() as driver:
        begun, busy = board.nanoseconds, board.wire_ns
        tasks = Data([*np.random.default_rng(0).uniform(-0.9, 0.9, (3, BATCH, 2))], [None])
        driver.run("id", 0, BATCH, tasks)
        passed = board.nanoseconds - begun
    share = max(after - before for after, before in zip(board.wire_ns, busy, strict=True)) / passed
    assert 0.8 < share <= 1.0


@pytest.mark.parametrize("board", BOTH_DIAGRAMS, indirect=True)
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
    made = DiagramPins("kv260", make_folder("kv260"), tmp_path / "simulator")
    with pytest.raises(DriverError, match="no accelerator of rbdhw"), made.open():
        pass
