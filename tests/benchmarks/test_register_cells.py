"""The cells of the registers."""

import pytest

from benchmarks.register_cells import register_cells, register_layout

MOST_LUTS = 800


@pytest.mark.verify
@pytest.mark.parametrize("family", ["ecp5", "xc7", "xcup"])
def test_registers_take_few_cells(family: str) -> None:
    found = register_cells(family)
    assert 200 < found.luts <= MOST_LUTS
    assert found.block_rams == found.dsp_blocks == 0
    assert register_layout([{"family": family, "cells": found}])[0]["LUTs"] == str(found.luts)
