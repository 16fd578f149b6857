"""The URDF files of the package example-robot-data."""

from importlib.metadata import files
from pathlib import Path

_FILES = files("example-robot-data") or ()

EXAMPLES = tuple(sorted(Path(str(file.locate())).resolve() for file in _FILES if file.suffix == ".urdf"))
