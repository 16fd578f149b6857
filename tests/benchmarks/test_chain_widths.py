"""The table of the chain core's errors."""

from benchmarks.chain_widths import chain_widths, widths_layout


def test_errors_fall_with_the_width() -> None:
    (row,) = chain_widths([3], [18, 32])
    assert row["links"] == 3
    assert 0.0 < row["32 bits"]["median"] <= row["32 bits"]["max"] < 1e-3
    assert 16.0 * row["32 bits"]["median"] < row["18 bits"]["median"]
    assert widths_layout([{"links": 1024, "24 bits": {"median": 1e-5, "max": 2.54e-4}}]) == [
        {"links": "1,024", "24 bits": "1.0e-05 / 2.5e-04"}
    ]
