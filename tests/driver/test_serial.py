"""A board on a serial line: a pseudo-terminal, and the Verilog behind it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil

import numpy as np
import pytest

import rbdhw
from rbdhw.cli.app import BAD_INPUT
from rbdhw.design.digests import seal
from rbdhw.errors import DriverError, InputError
from tests.support.answering import SimulatedBlock
from tests.support.driver_folder import run_at_a_board
from tests.support.far_ends import SerialBoard


@pytest.fixture
def far_end(loaded_folder):
    made = SerialBoard(SimulatedBlock(loaded_folder))
    yield made
    made.close()


def load(folder, far_end, **options):
    return rbdhw.load(folder, "board", transport=far_end.transport, **options)


def test_tasks_and_rollouts(loaded_folder, far_end):
    q, v, a = np.random.default_rng(0).uniform(-0.5, 0.5, (3, 40, 2))
    accelerators = rbdhw.load(loaded_folder), load(loaded_folder, far_end, timeout=20.0)
    tau, rows = np.zeros((8, 2)), {"std": [0.1, 0.1], "seed": np.arange(40)}
    for answers in zip(
        *((each.did(q, v, a), each.rollout(q, v, tau, 0.002, **rows)) for each in accelerators), strict=True
    ):
        for expected, answer in zip(*answers, strict=True):
            for one, other in zip(expected, answer, strict=True):
                np.testing.assert_array_equal(one, other)
    assert accelerators[1].statistics["retries"] == 0


def test_a_board_that_falls_silent(loaded_folder, far_end):
    board = load(loaded_folder, far_end, timeout=1.0, attempts=2)
    far_end.is_silent = True
    with pytest.raises(DriverError, match="no answer in time"):
        board.id(*np.zeros((3, 2)))
    assert board.statistics["timeouts"] == 2
    far_end.is_silent = False
    assert board.id(*np.zeros((3, 2))).status == 0


def test_a_port_that_goes_away_in_a_call(loaded_folder):
    far_end = SerialBoard(SimulatedBlock(loaded_folder))
    board = load(loaded_folder, far_end, timeout=20.0)
    far_end.is_silent = True
    pending = board.submit("id", *np.zeros((3, 2)))
    far_end.close()
    with pytest.raises(DriverError, match="the device failed in use"):
        pending.result()


def test_a_board_that_fails_in_the_command_line(loaded_folder, far_end, tmp_path, capsys):
    far_end.answers_left = 10
    (tmp_path / "out.npz").write_bytes(b"of before")
    assert run_at_a_board(loaded_folder, far_end.transport, tmp_path) == BAD_INPUT
    assert capsys.readouterr() == ("", f"rbdhw: {far_end.transport}: the device failed in use\n")
    assert (tmp_path / "out.npz").read_bytes() == b"of before"


def test_a_port_that_another_program_has(loaded_folder, far_end):
    other = os.open(far_end.path, os.O_RDWR | os.O_NOCTTY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(InputError, match="another program has the device"):
        load(loaded_folder, far_end)
    os.close(other)


def test_a_board_that_is_silent_at_first(loaded_folder, far_end):
    far_end.is_silent = True
    with pytest.raises(DriverError, match=f"serial:{far_end.path},115200: no answer in time"):
        load(loaded_folder, far_end, timeout=0.05, attempts=2)


def test_a_board_with_another_design(loaded_folder, far_end, tmp_path):
    shutil.copytree(loaded_folder, tmp_path / "other", ignore=shutil.ignore_patterns("build-*"))
    manifest = json.loads((tmp_path / "other" / "manifest.json").read_text())
    digests = manifest.pop("digests")
    manifest["identity"] = "0" * 64
    files = {name: (tmp_path / "other" / name).read_bytes() for name in digests if name != "manifest.json"}
    (tmp_path / "other" / "manifest.json").write_text(json.dumps(seal(manifest, files)))
    with pytest.raises(
        InputError, match="the accelerator has another design; expected a board with the design"
    ):
        load(tmp_path / "other", far_end)
