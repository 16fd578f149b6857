"""The table of stages: each way to share the hardware of one, and the one that is chosen."""

from benchmarks.stages import stage_layout, stage_rows


def test_each_way_and_the_chosen_one() -> None:
    rows = stage_rows([("toy", "rk4", 4)])
    assert [(row["ii"], row["shared"]) for row in rows] == [(4, "nothing"), (4, "stages")]
    alone, loop = rows
    assert loop["luts"] < alone["luts"]
    assert loop["dsp_blocks"] <= alone["dsp_blocks"]
    assert 0.0 < loop["median"] <= loop["max"] < 1e-2
    assert [row["chosen"] for row in rows] == [False, True]
    line = stage_layout([rows[-1] | {"chosen": True, "median": 1e-5, "max": 2.54e-4, "latency": 88}])[0]
    assert (line["core latency"], line["chosen"]) == ("88 cycles", "yes")
    assert line["errors, median / largest"] == "1.0e-05 / 2.5e-04"
