"""A board on a serial line, a pseudo-terminal: what others cannot do; ``test_boards.py`` has the rest."""

from __future__ import annotations

import fcntl
import json
import os
import shutil

import pytest

import rbdhw
from rbdhw.design.digests import seal
from rbdhw.errors import DriverError, InputError
from tests.support.answering import SimulatedBlock
from tests.support.far_ends import SerialBoard


@pytest.fixture
def far_end(loaded_folder):
    made = SerialBoard(SimulatedBlock(loaded_folder))
    yield made
    made.close()


def load(folder, far_end, **options):
    return rbdhw.load(folder, "board", transport=far_end.transport, **options)


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
