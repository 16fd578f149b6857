"""The cells of the registers."""

import pytest

from benchmarks.register_cells import register_cells, register_layout

MOST_LUTS = 800


@pytest.mark.verify
@pytest.mark.parametrize("family", ["ecp5", "xc7", "xcup"])
def test_registers_take_few_cells(family: str) -> None:
    cells = register_cells(family)
    assert 200 < cells.luts <= MOST_LUTS
    assert cells.block_rams == cells.dsp_blocks == 0
    assert register_layout([{"family": family, "cells": cells}])[0]["LUTs"] == str(cells.luts)
