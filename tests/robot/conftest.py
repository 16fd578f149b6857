"""A fixture that reads a URDF given as text."""

import pytest

from rbdhw.robot.urdf import load_urdf


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that writes text or bytes to robot.urdf and loads the file."""
    monkeypatch.chdir(tmp_path)

    def load(text, **options):
        (tmp_path / "robot.urdf").write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_urdf("robot.urdf", **options)

    return load
