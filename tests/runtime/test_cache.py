"""A file of the user's cache is made once; a program remains executable."""

from __future__ import annotations

import os

from rbdhw.runtime.cache import find_or_make


def test_a_program_is_made_once_and_remains_executable(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folders = []

    def make(work):
        folders.append(work)
        program = work / "program"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        return program

    found = [find_or_make("program-1", make, tmp_path) for _ in range(2)]
    assert found == [tmp_path / "cache" / "rbdhw" / "program-1"] * 2
    assert os.access(found[0], os.X_OK)
    assert len(folders) == 1
    assert not folders[0].exists()
