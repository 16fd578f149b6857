"""What comes late, or damaged, changes no result: answers to requests that were given up, and old loads."""

from __future__ import annotations

import ctypes
from functools import partial

import numpy as np
import pytest

import rbdhw
from rbdhw.arrays import WordName
from rbdhw.design.folder import read
from rbdhw.driver import simulated
from rbdhw.driver.library import Data, Library, Transport
from rbdhw.errors import DriverError
from rbdhw.header import HEADER, HEADER_BITS
from rbdhw.protocol import ROLLOUT
from tests.support.packet_link import OK, RECEIVE, SEND, TIMEOUT

LOST, WINDOW = 6, 8


class Late:
    """A transport that keeps an answer back, and gives it before each other; repeats or loses requests.

    The next answer of the function with the code ``damages`` has some bits ``turned``. If it is ``lost``,
    the device fails once.
    """

    def __init__(self, simulation):
        made = simulation.transport()
        self.transport = Transport(made.open, made.close, made.read, made.write, made.send)
        self.transport.self = made.self
        self._receive, self._ours = RECEIVE(made.receive), RECEIVE(self.receive)
        self.transport.receive = ctypes.cast(self._ours, ctypes.c_void_p)
        self._send, self._our_send = SEND(made.send), SEND(self.send)
        self.transport.send = ctypes.cast(self._our_send, ctypes.c_void_p)
        self.sent: list[bytes] = []
        self.keeps, self.kept, self.gives, self.is_deaf = False, b"", False, False
        self.damages, self.turned, self.lost = -1, 0, False

    def receive(self, board, packet, room, size, wait):
        if self.lost:
            self.lost = False
            return LOST
        if self.gives:
            ctypes.memmove(packet, self.kept, len(self.kept))
            size[0], self.gives = len(self.kept), False
            return OK
        code = self._receive(board, packet, room, size, wait)
        if code == OK and self.keeps:
            self.kept, self.keeps = ctypes.string_at(packet, size[0]), False
            return TIMEOUT
        came = ctypes.string_at(packet, size[0]) if code == OK else b""
        if came and came[2] & 31 == self.damages:
            bits = int.from_bytes(came, "little") ^ self.turned
            ctypes.memmove(packet, bits.to_bytes(len(came), "little"), len(came))
            self.damages = -1
        return code

    def send(self, board, packet, size):
        self.sent.append(ctypes.string_at(packet, size))
        return OK if self.is_deaf else self._send(board, packet, size)

    def repeat(self, packets):
        """Let old requests come to the board again."""
        for packet in packets:
            kept = ctypes.create_string_buffer(packet, len(packet))
            assert self._send(self.transport.self, kept, len(packet)) == OK


def test_a_load_that_comes_again(loaded_folder, work):
    """Old rows overwrite later ones. The answers to them tell the driver, which loads all again."""
    simulation = simulated.Simulation(simulated.build(loaded_folder))
    late, design = Late(simulation), read(loaded_folder)
    driver = Library(design).open(late.transport, simulation.options(quiet=1), "late")
    driver.load_parameters(0, Data(words=np.array([*work.parameters[0].values()], np.int64)))
    late.sent.clear()
    assert work.roll_out(driver, 0, 0)
    codes = {design.interface.codes[name] for name in design.interface.row_commands}
    loads = [packet for packet in late.sent if packet[2] & 31 in codes]
    assert len(loads) > len(codes)
    for _ in range(3):
        reloads = driver.statistics["reloads"]
        assert work.roll_out(driver, 0, 1, before=partial(late.repeat, loads))
        assert driver.statistics["reloads"] > reloads
    # What could not be loaded again is loaded with the next call.
    late.repeat(loads[:1])
    late.is_deaf = True
    with pytest.raises(DriverError, match="no answer in time"):
        work.run_one(driver)
    late.is_deaf, reloads = False, driver.statistics["reloads"]
    work.run_one(driver)
    assert driver.statistics["reloads"] > reloads
    driver.close()
    simulation.close()


def test_a_late_answer(loaded_folder):
    simulation = simulated.Simulation(simulated.build(loaded_folder))
    late = Late(simulation)
    options = simulation.options(quiet=1, window=WINDOW, attempts=1, timeout=100_000)
    driver = Library(read(loaded_folder)).open(late.transport, options, "late")
    tasks = np.random.default_rng(0).uniform(-0.5, 0.5, (3, 3 * WINDOW, 2))
    expected = rbdhw.load(loaded_folder).id(*tasks).tau
    late.keeps, tau = True, np.zeros((1, 2))
    with pytest.raises(DriverError, match="late: no answer in time"):
        driver.run("id", 0, 1, Data([array[:1] for array in tasks], [tau]))
    for k in range(1, 3 * WINDOW):
        late.gives = True
        driver.run("id", 0, 1, Data([array[k : k + 1] for array in tasks], [tau]))
        np.testing.assert_array_equal(tau[0], expected[k])
    assert driver.statistics["strays"] == 3 * WINDOW - 1
    driver.close()
    simulation.close()


@pytest.mark.parametrize(
    ("field", "bit", "counts"), [("options", 0, [1, 0, 1, 1]), ("status", 4, [0, 1, 0, 1])]
)
def test_a_header_that_says_what_cannot_be(loaded_folder, work, field, bit, counts):
    """Optional arrays that were not asked for, or a status that there is not: the task is sent again."""
    simulation = simulated.Simulation(simulated.build(loaded_folder))
    late, design = Late(simulation), read(loaded_folder)
    options = simulation.options(quiet=1, timeout=100_000)
    driver = Library(design).open(late.transport, options, "late")
    late.damages, late.turned = design.interface.codes["id"], 1 << HEADER[field][0] + bit
    work.run_one(driver)
    assert [driver.statistics[name] for name in ("strays", "damaged", "timeouts", "retries")] == counts
    driver.close()
    simulation.close()


def test_an_answer_of_a_step_behind_the_last_one(loaded_folder, work):
    simulation = simulated.Simulation(simulated.build(loaded_folder))
    late, design = Late(simulation), read(loaded_folder)
    driver = Library(design).open(late.transport, simulation.options(quiet=1), "late")
    driver.load_parameters(0, Data(words=np.array([*work.parameters[0].values()], np.int64)))
    words = list(design.interface.outputs(ROLLOUT))
    index = [WordName.parse(word.name).array for word in words].index("step")
    first = HEADER_BITS + sum(word.format.width for word in words[:index])
    every, behind = work.rollouts[0].every, work.rollouts[0].every * (len(work.rollouts[0].sent) + 1)
    late.damages, late.turned = design.interface.codes[ROLLOUT], (every ^ behind) << first
    assert work.roll_out(driver, 0, 0)
    assert driver.statistics["damaged"] == 1
    driver.close()
    simulation.close()


def test_a_device_that_fails_while_it_is_opened(loaded_folder):
    """It is not used, also if it works again at once."""
    simulation = simulated.Simulation(simulated.build(loaded_folder))
    late = Late(simulation)
    late.lost = True
    with pytest.raises(DriverError, match="late: the device failed in use"):
        Library(read(loaded_folder)).open(late.transport, simulation.options(quiet=1), "late")
    assert not late.sent
    simulation.close()


@pytest.mark.parametrize(("way", "beats"), [("request", "request_beats"), ("answer", "response_beats")])
def test_a_link_is_filled_and_no_more(loaded_folder, way, beats):
    """As many tasks are on their way as its room holds."""
    simulation, design = simulated.Simulation(simulated.build(loaded_folder)), read(loaded_folder)
    late, function = Late(simulation), design.interface.words("id")
    bytes_of_one = getattr(design.interface, beats)(function, False) * design.interface.data_width // 8
    setattr(late.transport, f"{way}_room", 3 * bytes_of_one)
    driver = Library(design).open(late.transport, simulation.options(quiet=1), "late")
    late.is_deaf = True
    late.sent.clear()
    for _ in range(WINDOW):
        driver.submit("id", 0, Data([np.zeros((1, 2))] * 3))
    assert len(late.sent) == 3
    driver.close()
    simulation.close()


def test_tasks_that_nobody_collects_leave_a_place_for_loads(loaded_folder, work):
    simulation = simulated.Simulation(simulated.build(loaded_folder))
    options = simulation.options(quiet=1, window=WINDOW)
    driver = Library(read(loaded_folder)).open(simulation.transport(), options, "simulation")
    one = Data([np.zeros((1, 2))] * 3)
    for _ in range(WINDOW - 1):
        driver.submit("id", 0, one)
    with pytest.raises(DriverError, match="nobody collects"):
        driver.submit("id", 0, one)
    driver.load_parameters(0, Data(words=np.array([*work.parameters[0].values()], np.int64)))
    driver.close()
    simulation.close()


@pytest.mark.parametrize("window", [4, 12, 8192])
def test_windows_that_cannot_be(loaded_folder, window):
    """They are powers of two, so that a tag says its place, and leave room for loads and for generations."""
    simulation = simulated.Simulation(simulated.build(loaded_folder))
    options = simulation.options(quiet=1, window=window)
    with pytest.raises(DriverError, match="no such function, set, row, step or array"):
        Library(read(loaded_folder)).open(simulation.transport(), options, "simulation")
    simulation.close()
