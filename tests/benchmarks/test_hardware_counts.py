"""The tables of operations, cycles and resources."""

import pytest

from benchmarks import hardware_counts
from benchmarks.builds import ALL
from benchmarks.hardware_counts import operations, operations_layout


@pytest.mark.verify
def test_operations_beside_those_of_the_published_algorithms(monkeypatch):
    monkeypatch.setattr(hardware_counts, "BESIDE_PAPERS", ("toy",))
    rows = operations([("toy", "fixed")])
    built, published = operations_layout(rows)
    assert (built[""], published[""]) == ("toy", "toy, published algorithms")
    assert built["nv"] == published["nv"] == 2
    for function in ALL:
        assert int(published[function].replace(",", "")) >= int(
            built[function].split(" / ")[1].replace(",", "")
        )
