"""The table of chains on the array core and on the chain core."""

import pytest

from benchmarks.chain_builds import WAYS, builds_layout, chain_builds, chain_latencies, latencies_layout


@pytest.mark.verify
@pytest.mark.parametrize(("function", "core"), [("fd", "array"), ("fd", "chain"), ("id", "chain")])
def test_rows_of_a_short_chain(function: str, core: str) -> None:
    (row,) = chain_builds([(function, core, 2, 16)])
    assert (row["function"], row["core"], row["links"], row["ii"]) == (function, core, 2, 16)
    assert 0 < row["multipliers"] <= row["dsp_blocks"] < 200
    assert 16 < row["latency"] < 400
    assert 0.0 < row["median"] <= row["max"]
    assert row["seconds"] > 0.0
    assert builds_layout([row])[0]["core"] == core


def test_layout_of_builds() -> None:
    hardware = {"ii": 16, "multipliers": 9, "dsp_blocks": 18, "luts": 12_345, "flip_flops": 6789}
    figures = {"latency": 1602, "median": 1.2e-5, "max": 3.4e-4, "verilog": 2_340_000, "seconds": 53.6}
    assert builds_layout([{"function": "id", "core": "chain", "links": 64} | hardware | figures]) == [
        {
            "": "id",
            "links": "64",
            "core": "chain",
            "II": "16",
            "multipliers": "9",
            "DSP blocks": "18",
            "LUTs, by estimate": "12,345",
            "flip-flops": "6,789",
            "core latency": "1,602 cycles",
            "errors, median / largest": "1.2e-05 / 3.4e-04",
            "Verilog": "2.3 MB",
            "`generate`, one core": "54 s",
        }
    ]


@pytest.mark.verify
def test_ways_of_a_short_chain_on_a_pipeline() -> None:
    rows = chain_latencies({3: 4})
    assert [(row["links"], row["way"], row["ii"]) for row in rows] == [(3, way, 4) for way in WAYS]
    solved, propagated, reduced = rows
    assert reduced["multipliers"] > propagated["multipliers"]
    assert 0 < solved["latency"] < propagated["latency"]
    line = latencies_layout(rows)[0]
    assert (line["links"], line["way"], line["core latency"]) == (
        "3",
        "solves",
        f"{solved['latency']} cycles",
    )
