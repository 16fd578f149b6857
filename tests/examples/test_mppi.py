"""MPPI on rollouts of an accelerator."""

import pytest

from examples.mppi import run


@pytest.mark.usefixtures("without_verilog")
def test_mppi(example):
    first, last, flagged = example(run, "--steps", "50", "--samples", "48")
    assert last.max() < first.max() / 4
    assert flagged < 50 * 48 / 10
