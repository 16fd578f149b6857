"""A board behind UDP: a socket, and the Verilog behind it."""

from __future__ import annotations

import socket
from collections import Counter

import numpy as np
import pytest

import rbdhw
from rbdhw.design.folder import read
from rbdhw.driver import transports
from rbdhw.driver.library import Library
from rbdhw.errors import InputError
from tests.support.answering import SimulatedBlock
from tests.support.driver_folder import change_source
from tests.support.far_ends import UdpBoard
from tests.support.marks import long

ROUNDS = {1472: 2, 40: 1}
"""By the most bytes of a datagram: small ones are many."""


@pytest.fixture(params=[40, long(1472)])
def far_end(request, loaded_folder, monkeypatch):
    """Return a board, which like the driver has datagrams of so many bytes at most."""
    change_source(monkeypatch, "frames.h", "RBDHW_DATAGRAM = 1472", f"RBDHW_DATAGRAM = {request.param}")
    made = UdpBoard(SimulatedBlock(loaded_folder), longest=request.param)
    yield made
    made.close()


def test_tasks(loaded_folder, far_end):
    q, v, a = np.random.default_rng(0).uniform(-0.5, 0.5, (3, 40, 2))
    board = rbdhw.load(loaded_folder, "board", transport=far_end.transport, timeout=20.0)
    for expected, answer in zip(rbdhw.load(loaded_folder).did(q, v, a), board.did(q, v, a), strict=True):
        np.testing.assert_array_equal(expected, answer)
    assert board.statistics["retries"] == 0
    assert far_end.seen == min(far_end.longest, 70)


def test_datagrams_that_are_lost_doubled_and_reordered(loaded_folder, far_end, work):
    library = Library(read(loaded_folder))
    device = transports.parse(far_end.transport, library)
    options = device.options(timeout=100_000_000, attempts=20, window=16)
    driver = library.open(device.transport(), options, "UDP")
    far_end.one_in = 40
    counts = sum((work.run(driver, seed) for seed in range(ROUNDS[far_end.longest])), Counter())
    driver.close()
    device.close()
    assert counts["right"] > 0.8 * sum(counts.values()), counts
    assert all(far_end.happened), far_end.happened


def test_nobody_listens(loaded_folder):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        other.connect(("127.0.0.1", port))  # takes datagrams of its own alone, and keeps the port from others
        with pytest.raises(InputError, match=rf"^udp:127\.0\.0\.1:{port}: no such device"):
            rbdhw.load(loaded_folder, "board", transport=f"udp:127.0.0.1:{port}")


def test_a_host_without_an_address(loaded_folder):
    with pytest.raises(InputError, match=r"^udp:none\.invalid:21072: no such device"):
        rbdhw.load(loaded_folder, "board", transport="udp:none.invalid:21072")
