"""Incomplete files: those of killed processes are removed, others stay."""

import os
import signal
import subprocess
import sys

import pytest

from rbdhw.runtime.aside import ASIDE, aside, remove
from rbdhw.runtime.files import write_text

KILLED = """
import os, signal, sys
from pathlib import Path
from rbdhw.runtime.aside import aside
for suffix in ("", ".npz"):
    aside(Path(sys.argv[1]), suffix).write_text("half")
made = aside(Path(sys.argv[1]))
(made / "deep").mkdir(parents=True)
(made / "deep" / "file").write_text("half")
(made / "link").symlink_to(sys.argv[1])
(made / "deep").chmod(0o500)
os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def left(tmp_path):
    """A folder in which a killed process left two files and a folder."""
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 3
    return tmp_path


def test_what_a_killed_process_left_is_removed(left):
    (left / "mine").write_text("mine")
    write_text(left / "new", "")
    assert names(left) == ["mine", "new"]


def test_what_others_write_stays(left):
    """It is of a process that runs, of another machine, or of no process."""
    pid = str(os.getpid())
    stale = min(names(left))
    machine, dead = stale.split("-")[1:3]
    kept = [stale.replace(f"-{dead}-", f"-{pid}-"), stale.replace(machine, "00000000"), f"{ASIDE}1"]
    for name in kept:
        (left / name).write_text("")
    aside(left)
    assert names(left) == sorted(kept)


def test_what_another_user_left_stays(left, monkeypatch):
    before = names(left)
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    aside(left)
    assert names(left) == before


def test_a_removed_link_leaves_what_it_points_to(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    remove(tmp_path / "link")
    assert names(tmp_path) == ["there"]
