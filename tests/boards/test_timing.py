"""Generated accelerators, placed and routed, reach the requested clock or the default one."""

from pathlib import Path

import pytest

from rbdhw.boards.synthesize import synthesize
from rbdhw.design.folder import write
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robots import path


@pytest.mark.verify(minutes=6)
def test_a_design_on_ecp5_keeps_its_clock(tmp_path: Path) -> None:
    """A missed clock would raise an error; the number of DSP blocks is that of the manifest."""
    options = BuildOptions(DEFAULT_FUNCTIONS, ii=8, target="ecp5-85", clock_mhz=95.0, width=18, data_width=64)
    design = generate(path("toy"), options)
    write(design, tmp_path / "design")
    report = synthesize(tmp_path / "design", seed=1, tries=3)
    assert report["clock_mhz_achieved"] >= report["clock_mhz_target"] == 95.0
    assert report["dsp_blocks"] == design.manifest["dsp_blocks"]


@pytest.mark.verify(minutes=4)
def test_a_default_design_on_ecp5_keeps_the_default_clock(tmp_path: Path) -> None:
    """The first placement suffices: the target's default clock has a margin."""
    write(generate(path("toy"), BuildOptions(("id",), ii=8, target="ecp5-85", data_width=32)), tmp_path)
    report = synthesize(tmp_path, tries=1)
    assert report["clock_mhz_achieved"] >= report["clock_mhz_target"] == 40.0
