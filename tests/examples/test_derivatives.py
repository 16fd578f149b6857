"""Derivatives beside Pinocchio."""

import pytest

from examples.derivatives import run


@pytest.mark.verify
@pytest.mark.usefixtures("without_verilog")
def test_derivatives(example):
    errors, times = example(run, "--tasks", "16")
    assert set(errors) == {"did.dtau_dq", "did.dtau_dv", "dfd.da_dq", "dfd.da_dv"}
    assert all(0 < values.max() < 1e-3 for values in errors.values())
    assert all(min(ways.values()) > 0 for ways in times.values())
