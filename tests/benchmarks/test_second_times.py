"""Times of second derivatives over the links: lines, and slopes that are powers of the links."""

from benchmarks.second_times import DIFFERENCES, FUNCTIONS, second_times_layout

POWERS = dict(zip((*FUNCTIONS, DIFFERENCES), (1, 2, 2.5, 3, 3), strict=True))


def test_slopes_are_powers_of_the_links():
    rows = [
        {"shape": shape, "links": links} | {name: 0.1 * links**power for name, power in POWERS.items()}
        for shape in ("chain", "binary tree")
        for links in (2, 4, 8)
    ]
    lines = second_times_layout(rows)
    assert [line[""] for line in lines[:4]] == ["chain of 2", "chain of 4", "chain of 8", "chain, slope"]
    assert lines[1]["did"] == "1.6 µs"
    assert lines[7] == {"": "binary tree, slope"} | {name: f"{power:.1f}" for name, power in POWERS.items()}
