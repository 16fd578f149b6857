"""Boards behind XDMA, AXI DMA and a serial line: files in place of the devices, with the Verilog behind."""

from __future__ import annotations

import ctypes
import fcntl
import gc

import numpy as np
import pytest

import rbdhw
from rbdhw.cli.process import BAD_INPUT
from rbdhw.errors import DriverError, InputError
from rbdhw.registers.map import Register
from tests.support.answering import SimulatedBlock
from tests.support.driver_folder import run_at_a_board
from tests.support.far_ends import SerialBoard, UioBoard, XdmaBoard
from tests.support.marks import long


@pytest.fixture(params=[XdmaBoard, UioBoard, SerialBoard])
def far_end(request, kernel, loaded_folder, tmp_path):
    arguments = () if request.param is SerialBoard else (tmp_path,)
    made = request.param(*arguments, SimulatedBlock(loaded_folder))
    yield made
    gc.collect(1)  # closes the driver, for which the devices have to be there
    made.close()
    assert ctypes.c_int.in_dll(kernel, "fake_aio_abandoned").value == 0


def load(folder, far_end, **options):
    return rbdhw.load(folder, "board", transport=far_end.transport, **options)


def test_tasks_and_rollouts(loaded_folder, far_end):
    q, v, a = np.random.default_rng(0).uniform(-0.5, 0.5, (3, 24, 2))
    accelerators = rbdhw.load(loaded_folder), load(loaded_folder, far_end, timeout=20.0)
    tau, rows = np.zeros((8, 2)), {"std": [0.1, 0.1], "seed": np.arange(24), "every": 3}
    for answers in zip(
        *((each.did(q, v, a), each.rollout(q, v, tau, 0.002, **rows)) for each in accelerators), strict=True
    ):
        for expected, answer in zip(*answers, strict=True):
            for one, other in zip(expected, answer, strict=True):
                np.testing.assert_array_equal(one, other)
    assert accelerators[1].statistics["retries"] == 0


@pytest.mark.parametrize("far_end", [long(XdmaBoard), UioBoard, long(SerialBoard)], indirect=True)
def test_a_device_that_falls_silent(loaded_folder, far_end):
    board = load(loaded_folder, far_end, timeout=1.5, attempts=2)
    far_end.is_silent = True
    with pytest.raises(DriverError, match="no answer in time"):
        board.id(*np.zeros((3, 2)))
    assert board.statistics["timeouts"] == 2
    far_end.is_silent = False
    assert board.id(*np.zeros((3, 2))).status == 0


def test_a_device_that_fails_in_a_call(loaded_folder, far_end):
    board = load(loaded_folder, far_end, timeout=20.0)
    far_end.is_silent = True
    pending = board.submit("id", *np.zeros((3, 2)))
    far_end.die()
    with pytest.raises(DriverError, match="the device failed in use"):
        pending.result()


def test_a_device_that_fails_in_the_command_line(loaded_folder, far_end, tmp_path, capsys):
    far_end.answers_left = 10
    (tmp_path / "out.npz").write_bytes(b"of before")
    assert run_at_a_board(loaded_folder, far_end.transport, tmp_path) == BAD_INPUT
    assert capsys.readouterr() == ("", f"rbdhw: {far_end.transport}: the device failed in use\n")
    assert (tmp_path / "out.npz").read_bytes() == b"of before"


@pytest.mark.parametrize("far_end", [XdmaBoard], indirect=True)
def test_a_device_that_takes_nothing(loaded_folder, far_end, kernel):
    holds, tasks = ctypes.c_int.in_dll(kernel, "fake_aio_holds"), np.zeros((3, 40, 2))
    board = load(loaded_folder, far_end, timeout=1.5, attempts=2)
    holds.value = 1
    with pytest.raises(DriverError, match="no answer in time"):
        board.id(*tasks)
    holds.value = 0
    assert not board.id(*tasks).status.any()


@pytest.mark.parametrize("far_end", [UioBoard], indirect=True)
def test_a_device_that_another_program_has(loaded_folder, far_end):
    with far_end.paths[0].open("r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another program has the device"):
            load(loaded_folder, far_end)


@pytest.mark.parametrize("far_end", [UioBoard], indirect=True)
@pytest.mark.parametrize("size", [64, 128])  # half of it holds no request, or a request and no answer
def test_a_buffer_that_is_too_small(loaded_folder, far_end, tmp_path, size):
    (tmp_path / "size").write_text(f"{size}\n")
    with pytest.raises(InputError, match="no such device, or it cannot be opened"):
        load(loaded_folder, far_end)


@pytest.mark.parametrize("far_end", [XdmaBoard, UioBoard], indirect=True)
def test_another_design(loaded_folder, far_end):
    far_end.registers[0x20] ^= 1
    with pytest.raises(InputError, match="the accelerator has another design; expected a board with"):
        load(loaded_folder, far_end)


@pytest.mark.parametrize("far_end", [XdmaBoard, UioBoard], indirect=True)
@pytest.mark.parametrize("register", [Register.MAGIC, Register.MAP_VERSION])
def test_no_accelerator(loaded_folder, far_end, register):
    far_end.registers[register] = 0
    with pytest.raises(InputError, match=r"what answers is no accelerator of rbdhw"):
        load(loaded_folder, far_end)


@pytest.mark.parametrize("far_end", [XdmaBoard], indirect=True)
def test_a_card_that_is_gone(loaded_folder, far_end):
    """A bus without it reads as ones."""
    far_end.registers[Register.MAGIC] = 0xFFFFFFFF
    with pytest.raises(DriverError, match="the device failed in use"):
        load(loaded_folder, far_end)
