"""A board on a serial line: a pseudo-terminal, and the Verilog behind it."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import shutil
import threading
import tty

import numpy as np
import pytest

import rbdhw
from rbdhw.boards.serial_link import CODE_BITS, CODE_MASK, FrameDecoder, encode_frame
from rbdhw.design.digests import seal
from rbdhw.driver import simulated
from rbdhw.driver.library import DriverError
from rbdhw.errors import InputError

_SEND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
_RECEIVE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.c_uint64,
)

_READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32))
_WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)

ANSWER_BYTES, MICROSECONDS = 4096, 50_000


class Board:
    """A thread at the far end of a pseudo-terminal, with an accelerator."""

    def __init__(self, folder):
        self.host, far = os.openpty()
        tty.setraw(far)
        self.path, self._far = os.ttyname(far), far
        self._simulation = simulated.Simulation(simulated.build(folder))
        self._made = self._simulation.transport()
        self.is_silent, self._ends = False, False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        decoder = FrameDecoder()
        send, receive = _SEND(self._made.send), _RECEIVE(self._made.receive)
        room, size = ctypes.create_string_buffer(ANSWER_BYTES), ctypes.c_size_t()
        while not self._ends:
            if not select.select([self.host], [], [], 0.01)[0]:
                continue
            for packet in decoder.feed(os.read(self.host, 4096)):
                if self.is_silent:
                    continue
                if int.from_bytes(packet[:4], "little") & CODE_MASK == CODE_BITS:
                    os.write(self.host, encode_frame(self._access(packet)))
                else:
                    assert send(self._made.self, packet, len(packet)) == 0
            while receive(self._made.self, room, ANSWER_BYTES, ctypes.byref(size), MICROSECONDS) == 0:
                os.write(self.host, encode_frame(room.raw[: size.value]))

    def _access(self, packet):
        """Do an access to a register, and return its answer."""
        address, word = int.from_bytes(packet[4:8], "little"), ctypes.c_uint32()
        if len(packet) == 12:
            _WRITE(self._made.write)(self._made.self, address, int.from_bytes(packet[8:], "little"))
        else:
            _READ(self._made.read)(self._made.self, address, ctypes.byref(word))
        return packet[:4] + word.value.to_bytes(4, "little")

    def close(self):
        self._ends = True
        self._thread.join()
        self._simulation.close()
        os.close(self.host)
        os.close(self._far)


@pytest.fixture
def far_end(loaded_folder):
    made = Board(loaded_folder)
    yield made
    made.close()


def load(folder, far_end, **options):
    return rbdhw.load(folder, "board", transport=f"serial:{far_end.path},115200", **options)


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
    board = load(loaded_folder, far_end, timeout=0.3, attempts=2)
    far_end.is_silent = True
    with pytest.raises(DriverError, match="no answer in time"):
        board.id(*np.zeros((3, 2)))
    assert board.statistics["timeouts"] == 2
    far_end.is_silent = False
    assert board.id(*np.zeros((3, 2))).status == 0


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
