"""A file of the user's cache is made once, is whole, and comes from nobody but the user."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rbdhw.runtime import cache
from rbdhw.runtime.cache import find_or_make, log_file, user_cache


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """The folder of an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cache.process_folder.cache_clear()
    return tmp_path / "cache" / "rbdhw"


class Maker:
    """Makes a program, and counts how often."""

    def __init__(self):
        self.folders = []

    def __call__(self, work):
        self.folders.append(work)
        program = work / "program"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        return program


def test_a_program_is_made_once_and_remains_executable(folder):
    make = Maker()
    paths = [find_or_make("program-1", make) for _ in range(2)]
    assert paths == [folder / "program-1"] * 2
    assert os.access(paths[0], os.X_OK)
    assert len(make.folders) == 1
    assert not make.folders[0].exists()


def test_only_the_user_may_open_the_cache(folder):
    find_or_make("program-1", Maker())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)
    assert user_cache() == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(b"#!/bin/sh\nrm -rf .\n"),
        lambda file: os.truncate(file, 1),
        lambda file: file.with_name(file.name + cache.DIGEST).unlink(),
        lambda file: file.with_name(file.name + cache.DIGEST).write_bytes(b"\xff"),
    ],
)
def test_a_damaged_file_is_made_again(folder, damage):
    make = Maker()
    damage(find_or_make("program-1", make))
    program = find_or_make("program-1", make)
    assert (program, len(make.folders)) == (folder / "program-1", 2)
    assert program.read_text() == "#!/bin/sh\n"
    assert find_or_make("program-1", make) == program
    assert len(make.folders) == 2


def planted(target):
    """Write a program of another user, with its digest, to a folder."""
    (target.parent / "evil").write_text("evil")
    cache.keep(target.parent / "evil", target / "program-1")


def shared(folder, _monkeypatch):
    """Let everyone write to the cache."""
    planted(folder)
    folder.chmod(0o777)


def linked(folder, _monkeypatch):
    """Let the cache be a link to a folder of somebody else."""
    planted(folder.parent / "other")
    folder.symlink_to(folder.parent / "other")


def foreign(folder, monkeypatch):
    """Let somebody else own the cache."""
    planted(folder)
    folder.chmod(0o700)
    stranger = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: stranger)


@pytest.mark.parametrize("doubtful", [shared, linked, foreign])
def test_a_folder_to_which_others_may_write_is_not_used(folder, monkeypatch, doubtful):
    folder.parent.mkdir()
    doubtful(folder, monkeypatch)
    make = Maker()
    paths = [find_or_make("program-1", make) for _ in range(2)]
    assert paths[0] == paths[1]
    assert paths[0].read_text() == "#!/bin/sh\n"
    assert stat.S_IMODE(paths[0].parent.stat().st_mode) == 0o700
    assert not paths[0].is_relative_to(folder.parent)
    assert not log_file("tool.log").is_relative_to(folder.parent)
    assert len(make.folders) == 1


def test_a_folder_of_one_process_goes_with_it(tmp_path):
    script = "from rbdhw.runtime.cache import process_folder; print(process_folder())"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    made = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert Path(made.stdout.strip()).parent == tmp_path
    assert list(tmp_path.iterdir()) == []
