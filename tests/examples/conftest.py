"""Examples at a small size, with the robot of two joints."""

import pytest

from rbdhw.robots import path
from tests.support.few_samples import few_samples

MOST_BYTES = 80_000
"""Of a picture in the documentation."""

QUICK = "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"
"""How make compiles what Verilator writes, unless the example says how: few cycles are simulated."""


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Run an example with the toy, check its picture, and return its results."""
    monkeypatch.setenv("MAKEFLAGS", QUICK)

    def example(module, *arguments):
        results = module.main(["--robot", str(path("toy")), "--output", str(tmp_path), *arguments])
        (picture,) = tmp_path.glob("*.png")
        assert 1000 < picture.stat().st_size < MOST_BYTES
        return results

    with few_samples():
        yield example
