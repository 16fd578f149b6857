"""Reading a URDF text as a file."""

import pytest

from rbdhw.robot.urdf import load_urdf


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Loads a text, or bytes, as the file robot.urdf."""
    monkeypatch.chdir(tmp_path)

    def load(text, **options):
        (tmp_path / "robot.urdf").write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_urdf("robot.urdf", **options)

    return load
