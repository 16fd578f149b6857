"""The table of chains on the array core and on the chain core."""

import pytest

from benchmarks.chain_builds import WAYS, builds_layout, chain_builds, chain_latencies, latencies_layout
from tests.support.marks import long


@pytest.mark.parametrize(("function", "core"), [long("fd", "array"), long("fd", "chain"), ("id", "chain")])
def test_rows_of_a_short_chain(function: str, core: str) -> None:
    (row,) = chain_builds([(function, core, 2, 16)])
    assert (row["function"], row["core"], row["links"], row["ii"]) == (function, core, 2, 16)
    assert 0 < row["multipliers"] <= row["dsp_blocks"] < 200
    assert 16 < row["latency"] < 400
    assert 0.0 < row["median"] <= row["max"]
    assert row["seconds"] > 0.0
    (line,) = builds_layout([row | {"latency": 1602, "verilog": 2_340_000, "seconds": 53.6}])
    assert line["core latency"] == "1,602 cycles"
    assert (line["Verilog"], line["`generate`, one core"]) == ("2.3 MB", "54 s")


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
