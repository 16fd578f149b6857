"""The picture of latencies and rates."""

from benchmarks.pictures import LABELS, SERIES, draw_beside


def test_equal_rows_give_equal_pictures(tmp_path):
    rows = [
        {"function": function}
        | {f"{series}, latency (µs)": 0.1 * (k + 1) for k, series in enumerate(SERIES)}
        | {f"{series} (tasks/s)": 1e6 * (k + 1) for k, series in enumerate(SERIES)}
        for function in ("id", "fd")
    ]
    drawn = []
    for name in ("one.svg", "two.svg"):
        draw_beside(rows, tmp_path / name)
        drawn.append((tmp_path / name).read_bytes())
    assert drawn[0] == drawn[1]
    assert drawn[0].startswith(b"<?xml")
    changed = [rows[0] | {"C float (tasks/s)": 9e6}, rows[1]]
    draw_beside(changed, tmp_path / "three.svg")
    assert (tmp_path / "three.svg").read_bytes() != drawn[0]
    assert LABELS.keys() == SERIES.keys()
