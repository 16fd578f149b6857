"""Examples at a small size, with the robot of two joints."""

import pytest

from rbdhw.robots import path

MOST_BYTES = 80_000
"""Of a picture in the documentation."""


@pytest.fixture
def example(tmp_path):
    """Run an example with the toy, check its picture, and return its results."""

    def example(module, *arguments):
        results = module.main(["--robot", str(path("toy")), "--output", str(tmp_path), *arguments])
        (picture,) = tmp_path.glob("*.png")
        assert 1000 < picture.stat().st_size < MOST_BYTES
        return results

    return example
