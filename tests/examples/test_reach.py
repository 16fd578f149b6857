"""An arm that reaches by the solver on an accelerator, as in double precision."""

import numpy as np
import pytest

from examples.reach import run


@pytest.mark.usefixtures("without_verilog")
def test_reach(example):
    """What remains at a goal is due to the robot's other inertias."""
    (joints, goals, _), (exact, _, _) = (
        example(run, "--steps", "80", "--knots", "12", "--engine", engine) for engine in ("model", "golden")
    )
    for step in (39, 79):
        assert np.abs(joints[step] - goals[step]).max() < 0.05
    assert 0 < np.abs(joints - exact).max() < 0.01
