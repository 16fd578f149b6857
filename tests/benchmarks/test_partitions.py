"""ΔFD divided between a host and an accelerator: what each computes, and the sums of the table."""

import ctypes

import numpy as np
import pytest

from benchmarks import partitions, timing
from benchmarks.builds import ALL, robot_of, tasks_of
from benchmarks.linked import PCI_EXPRESS, Paced
from benchmarks.partitions import PARTITIONS, PRODUCT, partition_layout, partition_rows, timed_product
from rbdhw import golden
from rbdhw.protocol import FUNCTIONS


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize(("tasks", "threads"), [(1, False), (64, False), (100, False), (2100, True)])
def test_the_hosts_products(tasks, threads, columns):
    given = np.random.default_rng(0).normal(size=(3, tasks, 5, 5)).astype(np.float32)
    expected = -given[0] @ given[1], -given[0] @ given[2]
    arrays = np.ascontiguousarray(np.moveaxis(given, 1, -1)) if columns else given
    products = np.zeros((2, *arrays.shape[1:]), np.float32)
    call = timed_product(5, threads)._library[f"host_{PRODUCT}{'_columns' * columns}"]
    call(
        *[ctypes.c_size_t(tasks)] * (1 + columns),
        *(ctypes.c_void_p(array.ctypes.data) for array in (*arrays, *products)),
    )
    rows = np.moveaxis(products, -1, 1) if columns else products
    np.testing.assert_allclose(rows, expected, rtol=1e-4, atol=1e-5)


def test_every_partition_computes_the_same():
    """Host and accelerator together give ΔFD, by the golden model."""
    robot, tasks = robot_of("toy"), tasks_of("toy", "fixed", 3)
    expected = golden.evaluate(robot, "dfd", tasks)
    given = tasks | golden.evaluate(robot, "fd", tasks) | golden.evaluate(robot, "minv", tasks)
    derivatives = golden.evaluate(robot, "did", given)
    split = {f"da_d{by}": -given["Minv"] @ derivatives[f"dtau_d{by}"] for by in "qv"}
    supplied = golden.evaluate(robot, "difd", given)
    fused = golden.evaluate(robot, "difd", {name: array for name, array in given.items() if name != "Minv"})
    for results in (split, supplied, fused):
        for name, array in expected.items():
            np.testing.assert_allclose(results[name], array, rtol=1e-9, atol=1e-9)


def test_partitions_have_what_their_parts_need():
    for partition in PARTITIONS:
        assert set(partition.host) <= {*ALL, PRODUCT}
        entry = FUNCTIONS[partition.function or "dfd"]
        assert entry.takes_force or "fd" in partition.host
        assert ("minv" in partition.host) == (partition.extended or PRODUCT in partition.host)
        assert entry.takes_inverse or not partition.extended


def test_the_times_of_a_batch_add_up(monkeypatch):
    run = Paced(125.0, 100, 400, 40 + 6 * np.arange(16))
    monkeypatch.setattr(timing, "ROUND_SECONDS", 0.0)
    monkeypatch.setattr(partitions, "paced", lambda *_: run)
    estimate = {"dsp_blocks": 1234, "shares": {"dsp_blocks": 0.5}}
    monkeypatch.setattr(
        partitions, "design_of", lambda *_: type("D", (), {"manifest": {"estimate": estimate}})
    )
    rows = partition_rows("toy", (8, 16))
    alone, *others = partition_layout(rows)
    assert alone["accelerator"] == alone["bytes in"] == "-"
    assert rows[0]["host, 16"] > 0.0 == rows[0]["accelerator and link, 16"]
    for row, line in zip(rows[1:], others, strict=True):
        rest = run.linked_microseconds(16, PCI_EXPRESS)
        assert row["accelerator and link, 16"] == rest
        assert (line["cycles"], line["cycles a task"], line["bytes out"]) == ("40", "6", "400")
        assert line["DSP blocks"] == "1,234 (50.0%)"
        assert line["16 tasks"] == f"{row['host, 16'] + rest:.1f} µs ({row['host, 16']:.1f})"
        assert line["16 tasks, all cores"] == f"{row['all cores'] + rest:.1f} µs ({row['all cores']:.1f})"
    assert rows[-1]["host, 8"] == rows[-1]["all cores"] == 0.0
