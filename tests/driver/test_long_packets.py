"""Packets longer than a datagram, or than a read of XDMA: the tasks of a robot with many numbers."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import rbdhw
from rbdhw.design import folder
from rbdhw.model.packets import encode
from rbdhw.options.arguments import asked_build
from rbdhw.pipeline import generate
from rbdhw.robots import path
from tests.support.answering import KnownAnswers
from tests.support.driver_folder import change_source
from tests.support.far_ends import UdpBoard, XdmaBoard
from tests.support.marks import long

TASKS = 40

OF_TOY = {"functions": "did", "ii": 8, "tdata": 32, "width": 24, "max_error": 0.5}
SMALL = "toy", OF_TOY, ("q", "v", "a"), 16
FRAMES = ",".join(f"iiwa_link_{k}" for k in range(1, 8))
OPTIONS = {"functions": "kin", "frames": FRAMES, "ii": 16, "tdata": 32, "number": "float32", "max_error": 0.5}
WIDE = "iiwa14", OPTIONS, ("q", "v", "a"), 1472
"""A robot, its build, arrays, and the bytes of a datagram, and at most of a page: answers take several."""

pytestmark = pytest.mark.usefixtures("without_verilog", "kernel")


@pytest.fixture(scope="module", params=[SMALL, long(WIDE)], ids=["small", "wide"])
def case(request, without_verilog, tmp_path_factory):  # noqa: ARG001 - it comes first
    """Return a design's folder, its function, tasks, and the bytes that are sent at once."""
    robot, options, given, limit = request.param
    directory = tmp_path_factory.mktemp(robot) / "design"
    folder.write(generate(path(robot), *asked_build(**options)), directory)
    design = folder.read(directory)
    rng = np.random.default_rng(0)
    arrays = dict(zip(given[:3], rng.uniform(-0.5, 0.5, (3, TASKS, design.robot.nv)), strict=True))
    arrays |= {"h": np.full(TASKS, 0.002)} if "h" in given else {}
    return design, directory, options["functions"], arrays, limit


def block_of(case):
    design, _, function, arrays, limit = case
    extended = design.interface.words(function).extensible
    block = KnownAnswers(design, function, encode(design, function, arrays, extended), extended)
    assert block.answer_bytes > limit
    return block


def assert_answered_at_once(case, far_end):
    design, directory, function, arrays, _ = case
    options = {"extended": True} if design.interface.words(function).extensible else {}
    board = rbdhw.load(directory, "board", transport=far_end.transport, timeout=20.0)
    expected = getattr(rbdhw.load(directory), function)(*arrays.values(), **options)
    for one, other in zip(expected, getattr(board, function)(*arrays.values(), **options), strict=True):
        np.testing.assert_array_equal(one, other)
    assert board.statistics["retries"] == 0
    del board
    gc.collect()


@pytest.mark.verify
def test_udp(case, monkeypatch):
    change_source(monkeypatch, "frames.h", "RBDHW_DATAGRAM = 1472", f"RBDHW_DATAGRAM = {case[-1]}")
    far_end = UdpBoard(block_of(case), longest=case[-1])
    try:
        assert_answered_at_once(case, far_end)
    finally:
        far_end.close()


def test_xdma(case, tmp_path, monkeypatch):
    change_source(monkeypatch, "xdma.c", "PAGE = 4096", f"PAGE = {1 << case[-1].bit_length() - 1}")
    far_end = XdmaBoard(tmp_path, block_of(case))
    try:
        assert_answered_at_once(case, far_end)
    finally:
        far_end.close()
