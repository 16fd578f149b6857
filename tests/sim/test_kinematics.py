"""The kinematics of frames in the hardware and its models, beside other functions."""

from functools import cache
from pathlib import Path

import numpy as np

import rbdhw
from rbdhw import golden
from rbdhw.design.folder import Design, write
from rbdhw.domain.sampling import sample
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate
from rbdhw.protocol import FUNCTIONS
from rbdhw.robots import path
from tests.support.headings import headings

BUDGET = 1e-3

FRAMES = Mounting(frames=("tip", "forearm"), frame_axes="world")


OPTIONS = BuildOptions(("id", "dfd", "kin"), ii=4, max_error=BUDGET, samples=1024, mounting=FRAMES)


@cache
def built() -> Design:
    """Return the accelerator without Verilog."""
    with headings():
        return generate(path("toy"), OPTIONS)


def test_each_result_keeps_to_the_budget(tmp_path: Path) -> None:
    """An optional result has an error floor of its own, and errors relative to it."""
    design = built()
    write(design, tmp_path / "design")
    arrays = sample(design.robot, design.domain, 400, np.random.default_rng(4))
    given = {name: arrays[name] for name in ("q", "v", "a")}
    results = rbdhw.load(tmp_path / "design").kin(**given, extended=True)
    expected = golden.evaluate(design.robot, "kin", given, extended=True)
    entry = FUNCTIONS["kin"]
    assert (*expected, "status") == results._fields == (*entry.outputs, *entry.optional_outputs, "status")
    good = results.status == 0
    for name, array in expected.items():
        error = np.abs(getattr(results, name) - array)[good].max()
        assert error <= BUDGET * np.abs(array).max(), name
    np.testing.assert_array_equal(results.placement[:, :, 3], np.tile([0.0, 0.0, 0.0, 1.0], (400, 2, 1)))


def test_the_manifest_names_the_frames() -> None:
    manifest = built().manifest
    assert (manifest["robot"]["frames"], manifest["robot"]["frame_axes"]) == (["tip", "forearm"], "world")
    words = {word["name"]: word["unit"] for word in manifest["outputs"]["kin"]}
    assert words["kin.placement[0,0,3]"] == "m"
    assert words["kin.J[1,0,0]"] == "m/rad"
    assert "kin.placement[0,3,3]" not in words
    optional = {word["name"]: word["unit"] for word in manifest["optional_outputs"]["kin"]}
    assert optional["kin.da_dq[0,2,0]"] == "m/(rad s^2)"
