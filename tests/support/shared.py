"""Folders that several workers of a run use: one makes them, the others wait."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def shared_folder(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder of this name of the whole run, which ``make`` has filled."""
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder, whole = root / name / "design", root / name / "whole"
    folder.parent.mkdir(exist_ok=True)
    with (root / name / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            make(folder)
            whole.touch()
    return folder
