"""iLQR with a design, and in double precision."""

import numpy as np
import pytest

from examples.ilqr import run
from tests.support.marks import long


@pytest.mark.parametrize(("engine", "error"), [("c", 1e-5), long("model", 1e-3)])
@pytest.mark.usefixtures("without_verilog")
def test_ilqr(example, engine, error):
    (states, costs), (exact, exact_costs), goal = example(run, "--steps", "30", "--engine", engine)
    assert len(costs) > 1
    assert costs[-1] < costs[0]
    assert costs[-1] == pytest.approx(exact_costs[-1], rel=1e-3)
    assert 0 < np.abs(states - exact).max() < error
    assert np.abs(states[-1] - np.hstack([goal, 0.0 * goal])).max() < 0.05
