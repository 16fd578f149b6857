"""The table of stages: each way to share the hardware of one, and the one that is chosen."""

from __future__ import annotations

from benchmarks.stages import stage_layout, stage_rows


def test_each_way_and_the_chosen_one() -> None:
    rows = stage_rows([("toy", "rk4")], [2, 4])
    assert [(row["ii"], row["in_turn"]) for row in rows] == [
        (2, "nothing"),
        (2, "stages"),
        (4, "nothing"),
        (4, "stages"),
        (4, "stages in a loop"),
    ]
    alone, *shared = rows[2:]
    for row in shared:
        assert row["luts"] < alone["luts"]
        assert row["dsp_blocks"] <= alone["dsp_blocks"]
        assert 0.0 < row["median"] <= row["max"] < 1e-2
    assert [sum(row["chosen"] for row in rows if row["ii"] == ii) for ii in (2, 4)] == [1, 1]
    line = stage_layout([rows[-1] | {"chosen": True, "median": 1e-5, "max": 2.54e-4, "latency": 88}])[0]
    assert (line["core latency"], line["chosen"]) == ("88 cycles", "yes")
    assert line["errors, median / largest"] == "1.0e-05 / 2.5e-04"
