"""The design of the driver's tests, how another process of theirs finds its folder, and other sources."""

import pytest

from rbdhw.driver import library

FOLDER = "DRIVER_TEST_FOLDER"
"""The variable with the folder."""

OPTIONS = {
    "functions": "id,did,rollout",
    "width": 18,
    "ii": 4,
    "max_error": 0.1,
    "horizon": 8,
    "rollout": "samples,cost,gains",
    "parameters": "payload",
    "parameters_by": "load",
    "parameter_sets": 2,
}


def change_source(patch: pytest.MonkeyPatch, name: str, text: str, other: str) -> None:
    """Compile the driver with another text in one of its files."""
    texts = library.sources()
    assert text in texts[name]
    patch.setattr(library, "sources", lambda: texts | {name: texts[name].replace(text, other)})
