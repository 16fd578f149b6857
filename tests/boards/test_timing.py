"""Generated accelerators, placed and routed, reach the requested clock or the default one."""

from pathlib import Path

import pytest

from rbdhw.boards.synthesize import synthesize
from rbdhw.design.folder import write
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robots import path
from tests.support.example_robots import EXAMPLES

UR10 = next(file for file in EXAMPLES if file.name == "ur10_robot.urdf")


@pytest.mark.verify(minutes=6)
@pytest.mark.parametrize(
    ("name", "functions", "clock_mhz", "data_width"),
    [("toy", ("id",), 100.0, 32), ("toy", DEFAULT_FUNCTIONS, 95.0, 64), ("iiwa14", ("id",), 100.0, 64)],
)
def test_designs_on_ecp5_keep_their_clock(
    tmp_path: Path, name: str, functions: tuple[str, ...], clock_mhz: float, data_width: int
) -> None:
    """A missed clock would raise an error; the number of DSP blocks is that of the manifest."""
    options = BuildOptions(
        functions, ii=8, target="ecp5-85", clock_mhz=clock_mhz, width=18, data_width=data_width
    )
    design = generate(path(name), options)
    write(design, tmp_path / "design")
    report = synthesize(tmp_path / "design", seed=1, tries=1)
    assert report["clock_mhz_achieved"] >= report["clock_mhz_target"] == clock_mhz
    assert report["dsp_blocks"] == design.manifest["dsp_blocks"]


@pytest.mark.verify(minutes=12)
@pytest.mark.parametrize(("urdf", "data_width"), [(path("toy"), 32), (UR10, 64)], ids=["toy", "ur10"])
def test_default_designs_on_ecp5_keep_the_default_clock(tmp_path: Path, urdf: Path, data_width: int) -> None:
    """The first placement suffices: the target's default clock has a margin."""
    write(generate(urdf, BuildOptions(("id",), ii=8, target="ecp5-85", data_width=data_width)), tmp_path)
    report = synthesize(tmp_path, tries=1)
    assert report["clock_mhz_achieved"] >= report["clock_mhz_target"] == 40.0
