"""The table of chains on the array core."""

from __future__ import annotations

from rbdhw.bench.chain_builds import builds_layout, chain_builds


def test_rows_of_a_short_chain() -> None:
    (row,) = chain_builds([(2, 16)])
    assert (row["links"], row["ii"]) == (2, 16)
    assert 0 < row["multipliers"] <= row["dsp_blocks"] < 60
    assert 16 < row["latency"] < 400
    assert row["seconds"] > 0.0
    (line,) = builds_layout([row | {"latency": 1602, "verilog": 2_340_000, "seconds": 53.6}])
    assert line["core latency"] == "1,602 cycles"
    assert (line["Verilog"], line["`generate`, one core"]) == ("2.3 MB", "54 s")
