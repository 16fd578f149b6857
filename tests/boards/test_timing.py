"""Generated accelerators keep the clock that was asked for, placed and routed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rbdhw.artifact import write
from rbdhw.boards.synthesize import synthesize
from rbdhw.config import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.robots import path


@pytest.mark.verify
@pytest.mark.timeout(1800)
def test_inverse_dynamics_of_the_toy_on_ecp5(tmp_path: Path) -> None:
    """A missed clock would raise; DSP blocks are as many as the manifest tells."""
    options = BuildOptions(functions=("id",), ii=8, target="ecp5-85", clock_mhz=90.0, width=18, data_width=32)
    design = generate(path("toy"), options)
    write(design, tmp_path / "design")
    report = synthesize(tmp_path / "design", seed=1)
    assert report["clock_mhz_achieved"] >= report["clock_mhz_target"] == 90.0
    assert report["dsp_blocks"] == design.manifest["dsp_blocks"]
