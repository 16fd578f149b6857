"""ΔFD divided between a host and an accelerator.

The partitions are those of B. Plancher et al., "Accelerating robot dynamics gradients on a CPU, GPU, and
FPGA", 2021, for tasks that bring forces instead of accelerations:

- ``split``: the accelerator computes ΔID, the host before it FD and M⁻¹, and after it the products.
- ``fused``: the accelerator computes ΔFD at the accelerations that the host has computed by FD, with an M⁻¹
  of the host or with its own.
- ``complete``: the accelerator computes everything.

The host runs the C in single precision, on one core, and for the largest batch also on all. Packets carry
singles, so the host converts nothing. The link is that of :data:`benchmarks.linked.PCI_EXPRESS`. Link and
accelerator overlap; the host's work before and after them does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from benchmarks.builds import software_of, tasks_of
from benchmarks.linked import PCI_EXPRESS, design_of, paced
from benchmarks.rows import Row, Rows
from benchmarks.timing import TimedLibrary, timed_software
from rbdhw.software.arrays import Array
from rbdhw.software.float_library import FLAGS

SIZES = (16, 128, 1024, 4096)
"""The tasks of a batch; the C divides only the last among cores."""

ALL_CORES = "all cores"

PRODUCT = "product"
"""The host's products by M⁻¹, in ``product.h``."""


NUMBER = "float32"
"""The number format of packets."""

_SOURCE = "product.h"

_MATRICES = ("Minv", "dtau_dq", "dtau_dv"), ("da_dq", "da_dv")


@dataclass(frozen=True)
class Partition:
    """What the host and the accelerator compute.

    Parameters
    ----------
    name
        The name for readers.
    host
        The functions of the host, with :data:`PRODUCT` last.
    function
        The accelerator's function, or None if the host computes everything.
    extended
        Whether requests bring M⁻¹.
    """

    name: str
    host: tuple[str, ...]
    function: str | None = None
    extended: bool = False


PARTITIONS = (
    Partition("host alone", ("dfd",)),
    Partition("split", ("fd", "minv", PRODUCT), "did"),
    Partition("fused, M⁻¹ given", ("fd", "minv"), "difd", extended=True),
    Partition("fused", ("fd",), "difd"),
    Partition("complete", (), "dfd"),
)


def partition_rows(name: str = "iiwa14", sizes: Sequence[int] = SIZES) -> Rows:
    """Return the bytes, the resources and the microseconds of batches of all partitions."""
    software = software_of(name, "fixed")
    hosts = [
        (timed_software(software, "float32", threads=threads), timed_product(software.robot.nv, threads))
        for threads in (False, True)
    ]
    tasks = tasks_of(name, "fixed", max(sizes))
    matrix = np.ones((max(sizes), software.robot.nv, software.robot.nv))
    inputs = tasks | dict.fromkeys(_MATRICES[0], matrix)

    def host_microseconds(partition: Partition, count: int, threads: bool = False) -> float:
        host, products = hosts[threads]
        return sum(
            1e6 * (products if function == PRODUCT else host).seconds(function, inputs, count)
            for function in partition.host
        )

    rows = []
    for partition in PARTITIONS:
        row: Row = {"partition": partition.name, "host": partition.host, "accelerator": partition.function}
        row |= _accelerator_figures(name, partition, sizes)
        for count in sizes:
            row[f"host, {count}"] = host_microseconds(partition, count)
        rows.append(row | {ALL_CORES: host_microseconds(partition, max(sizes), threads=True)})
    return rows


def _accelerator_figures(name: str, partition: Partition, sizes: Sequence[int]) -> Row:
    """Return the bytes of a task, the accelerator's resources and its microseconds with the link."""
    if partition.function is None:
        return {f"accelerator and link, {count}": 0.0 for count in sizes}
    estimate = design_of(name, partition.function, NUMBER).manifest["estimate"]
    run = paced(name, partition.function, NUMBER, partition.extended)
    times = {count: run.linked_microseconds(count, PCI_EXPRESS) for count in sizes}
    return {
        "bytes in": run.bytes_in,
        "bytes out": run.bytes_out,
        "link a task (ns)": 1e3 * PCI_EXPRESS.microseconds(max(run.bytes_in, run.bytes_out)),
        "latency (cycles)": int(run.cycles[0]),
        "cycles a task": run.cycles_per_task,
        "DSP blocks": estimate["dsp_blocks"],
        "share": estimate["shares"]["dsp_blocks"],
    } | {f"accelerator and link, {count}": time for count, time in times.items()}


def partition_layout(rows: Rows) -> Rows:
    """Return a line for each partition; of a batch the sum, and in brackets the host's part."""
    sizes = [int(key.removeprefix("host, ")) for key in rows[0] if key.startswith("host, ")]
    return [
        {
            "": row["partition"],
            "host": ", ".join(row["host"]) or "-",
            "accelerator": row["accelerator"] or "-",
            **(_figures(row) if row["accelerator"] else dict.fromkeys(_HEADINGS, "-")),
        }
        | {f"{count:,} tasks": _sum(row, count, row[f"host, {count}"]) for count in sizes}
        | {f"{sizes[-1]:,} tasks, {ALL_CORES}": _sum(row, sizes[-1], row[ALL_CORES])}
        for row in rows
    ]


_HEADINGS = ("bytes in", "bytes out", "link a task", "cycles", "cycles a task", "DSP blocks")


def _figures(row: Row) -> Row:
    """Return the cells of an accelerator."""
    cells = (
        str(row["bytes in"]),
        str(row["bytes out"]),
        f"{row['link a task (ns)']:.0f} ns",
        str(row["latency (cycles)"]),
        f"{row['cycles a task']:g}",
        f"{row['DSP blocks']:,} ({row['share']:.1%})",
    )
    return dict(zip(_HEADINGS, cells, strict=True))


def _sum(row: Row, count: int, host: float) -> str:
    rest = row[f"accelerator and link, {count}"]
    return f"{host + rest:.1f} µs ({host:.1f})"


def timed_product(nv: int, threads: bool = False) -> TimedLibrary:
    """Return the host's products of matrices with ``nv`` rows, with a clock around them."""
    inputs, outputs = (tuple(Array(name, (nv, nv), optional=False) for name in side) for side in _MATRICES)
    text = files("benchmarks").joinpath(_SOURCE).read_text(encoding="utf-8")
    flags = ["-O3", *FLAGS, f"-DNV={nv}", *["-fopenmp"] * threads]
    arrays = {PRODUCT: (inputs, outputs)}
    return TimedLibrary({_SOURCE: text}, _SOURCE, arrays, "float32", flags, threads=threads)
