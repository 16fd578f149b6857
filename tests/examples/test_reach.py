"""An arm that reaches by the solver on an accelerator, as in double precision."""

import numpy as np
import pytest

from examples.reach import run


@pytest.mark.verify
@pytest.mark.usefixtures("without_verilog")
def test_reach(example):
    """What remains at the goal is due to the robot's other inertias."""
    (joints, goals, _), (exact, _, _) = (
        example(run, "--steps", "40", "--knots", "12", "--engine", engine) for engine in ("model", "golden")
    )
    assert np.abs(joints[-1] - goals[-1]).max() < 0.05
    assert 0 < np.abs(joints - exact).max() < 0.01
