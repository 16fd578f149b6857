"""The tables of operations, cycles and resources."""

from __future__ import annotations

from benchmarks.builds import ALL
from benchmarks.hardware_counts import operations, others_layout


def test_operations_of_a_robot_that_published_algorithms_do_not_serve():
    rows = operations([("toy", "given")])
    assert [row["degrees of freedom"] for row in rows] == [2] * len(ALL)
    assert {row["multiplications by columns and articulated bodies"] for row in rows} == {None}
    shown = others_layout(rows)
    assert [row[""] for row in shown] == ["toy, base's motion given"]
    first = rows[0]
    alone = first["multiplications of the function alone"]
    assert shown[0]["id"] == f"{first['multiplications']:,} / {alone:,}"
    assert shown[0]["nv"] == 2
