"""Batches of all sizes: their figures and their cells."""

import numpy as np
import pytest

from benchmarks import batches, timing
from benchmarks.batches import SIZES, batch_layout, batch_rows
from benchmarks.builds import plan_of
from benchmarks.linked import PCI_EXPRESS, Paced
from benchmarks.pinocchio_cpp import Figures
from rbdhw.design.folder import draft_design


@pytest.mark.verify
def test_rows_of_a_small_robot(monkeypatch):
    run = Paced(125.0, 60, 240, 40 + 4 * np.arange(32))
    asked = []

    def measured(*arguments):
        asked.append(len(arguments[3]["q"]))
        return {"did": Figures("rnea", "native", 500.0, 1e6)}

    design = draft_design(plan_of("toy", ("did",)).accelerator)
    monkeypatch.setattr(timing, "ROUND_SECONDS", 0.0)
    monkeypatch.setattr(batches, "paced", lambda *_: run)
    monkeypatch.setattr(batches, "design_of", lambda *_: design)
    monkeypatch.setattr(batches, "measure", measured)
    one, many = batch_rows("toy", {"did": (1, 32)})
    assert asked == [timing.FEW, 32]
    assert one["Pinocchio, one core"] == pytest.approx(0.5)
    assert many["Pinocchio, one core"] == pytest.approx(32.0)
    assert many["accelerator"] == run.microseconds(32)
    assert many["accelerator and link"] == run.linked_microseconds(32, PCI_EXPRESS)
    assert all(row[key] > 0.0 for row in (one, many) for key in row if key.split()[0] in ("C", "bit-exact"))
    first, _ = batch_layout([one, many])
    assert first[""] == "did, 1"
    assert first["Pinocchio, one core"] == "0.50 µs (2.00)"


def test_digits_of_microseconds():
    row = {"function": "dfd", "tasks": 65_536, "some": 9.876, "more": 98.76, "most": 9876.5}
    assert batch_layout([row]) == [
        {
            "": "dfd, 65,536",
            "some": "9.88 µs (6635.88)",
            "more": "98.8 µs (663.59)",
            "most": "9,876 µs (6.64)",
        }
    ]


@pytest.mark.parametrize("sizes", SIZES.values())
def test_sizes_rise(sizes):
    assert list(sizes) == sorted(set(sizes))
