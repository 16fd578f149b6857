"""MPPI on rollouts of an accelerator."""

import pytest

from examples.mppi import run
from tests.support.marks import long


@pytest.mark.parametrize("engine", ["c", long("model")])
@pytest.mark.usefixtures("without_verilog")
def test_mppi(example, engine):
    first, last, distances, _ = example(
        run, "--steps", "80", "--samples", "48", "--radius", "0.03", "--engine", engine
    )
    assert last.max() < first.max() / 3
    assert distances.min() > 0.0
