"""Whole designs of ordinary random trees: what is generated for them is read back as it was written."""

import numpy as np
import pytest

from rbdhw.design.folder import read, write
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import build_design
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.model import JointKind
from tests.support.designs import assert_same
from tests.support.marks import long
from tests.support.mechanisms import mechanism, random_parents, with_mimic

pytestmark = pytest.mark.usefixtures("without_verilog")

KINDS = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)


def tree(seed: int, bodies: int):
    """A tree of ordinary joints in skew places, the last of which follows another where it can."""
    rng = np.random.default_rng(seed)
    kinds = [KINDS[k] for k in rng.integers(len(KINDS), size=bodies)]
    robot = mechanism(kinds, random_parents(bodies, rng), seed)
    return with_mimic(robot, bodies - 1, 0, 0.7, 0.2) if seed % 2 else robot


@pytest.mark.parametrize(
    ("seed", "bodies", "options"),
    [
        long(0, 3, BuildOptions(DEFAULT_FUNCTIONS, ii=8, width=27, samples=64)),
        (1, 3, BuildOptions(("id", "minv"), ii=8, width=27, samples=64, number="float32")),
        (2, 3, BuildOptions(("id", "dfd"), ii=16, width=18, samples=64, core="array", fext="all")),
        (3, 3, BuildOptions(("fd", "did"), ii=3, width=18, samples=64, data_width=64)),
        long(4, 7, BuildOptions(DEFAULT_FUNCTIONS, ii=8, width=27, samples=64)),
    ],
)
def test_designs_are_read_as_they_were_written(tmp_path, seed, bodies, options):
    design = build_design(tree(seed, bodies), options)
    write(design, tmp_path / "design")
    assert_same(read(tmp_path / "design"), design)
