"""Second derivatives in Verilator, bit for bit, mixed with functions of first order."""

import pytest

from rbdhw.design.folder import write
from rbdhw.domain.overrides import JointBounds, Overrides
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import build_design, generate
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robots import path
from rbdhw.sim.simulate import simulate
from tests.support.mechanisms import mechanism

SECOND = ("sid", "sfd", "hid", "hfd")


def assert_exact(design, folder, tasks):
    """Check that no bit differs, and that every function has a small error."""
    write(design, folder / "design")
    report = simulate(folder / "design", tasks, seed=29, bulk=True)
    assert (report.tasks, report.mismatches) == (tasks, 0)
    assert report.flagged <= 0.01 * tasks
    for function, own in report.functions.items():
        assert own.error_median is not None
        assert own.error_median < 5e-3, function


@pytest.mark.verify
@pytest.mark.parametrize(
    "options",
    [
        {"functions": ("id", "sid"), "ii": 8, "width": 22},
        {"functions": ("fd", "hfd"), "ii": 16, "core": "array", "width": 18, "number": "float32"},
    ],
    ids=["pipeline", "array"],
)
def test_toy(tmp_path, options):
    design = generate(path("toy"), BuildOptions(samples=512, data_width=128, **options))
    assert_exact(design, tmp_path, 300)


@pytest.mark.verify
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("core", "width"), [("pipeline", None), ("array", 18)])
def test_toy_with_every_function(tmp_path, core, width):
    every = (*DEFAULT_FUNCTIONS, *SECOND)
    options = BuildOptions(functions=every, ii=16, core=core, width=width, samples=4096)
    assert_exact(generate(path("toy"), options), tmp_path, 5000)


@pytest.mark.verify
@pytest.mark.timeout(1800)
def test_two_rotations_of_one_joint(tmp_path):
    robot = mechanism([JointKind.SPHERICAL, JointKind.REVOLUTE, JointKind.PLANAR], (BASE, 0, 0), seed=4)
    overrides = Overrides(default=JointBounds(velocity=2.0, effort=50.0))
    options = BuildOptions(functions=("id", "hid", "hfd", "sid"), ii=8, width=24, samples=1024)
    assert_exact(build_design(robot, options, overrides), tmp_path, 1000)


@pytest.mark.verify
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("own", [("hid", "hfd"), ("sid", "kin")], ids="-".join)
def test_iiwa14_mixed_with_the_seven(tmp_path, own):
    """Two builds, at widths that need no search: the two functions of each share most of their operations."""
    frames = Mounting(frames=("iiwa_link_7",) if "kin" in own else ())
    options = BuildOptions(functions=(*DEFAULT_FUNCTIONS, *own), ii=16, width=27, mounting=frames)
    assert_exact(generate(path("iiwa14"), options), tmp_path, 5_000)


@pytest.mark.verify
@pytest.mark.timeout(7200)
def test_hyq_on_a_floating_base(tmp_path):
    options = BuildOptions(functions=("fd", "hfd"), ii=8, mounting=Mounting(base="floating"))
    assert_exact(generate(path("hyq"), options), tmp_path, 10_000)
