"""Batches of all sizes on processors and on accelerators, as the papers compare them.

The sizes of ``difd`` are those of B. Plancher et al., "Accelerating robot dynamics gradients on a CPU, GPU,
and FPGA", 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.builds import software_of, tasks_of
from benchmarks.linked import PCI_EXPRESS, design_of, paced
from benchmarks.pinocchio_cpp import BATCH, measure
from benchmarks.processors import timed_model
from benchmarks.rows import Rows, microseconds_text
from benchmarks.timing import FEW, Arrays, timed_software
from rbdhw.robots import bundled

SIZES: Mapping[str, Sequence[int]] = {
    "difd": (16, 128),
    "dfd": (1, 16, 64, 256, 1024, 4096, 16_384),
}
"""The functions, and the tasks of their batches."""


def batch_rows(name: str = "iiwa14", sizes: Mapping[str, Sequence[int]] = SIZES) -> Rows:
    """Return the microseconds of batches, with the link of :data:`PCI_EXPRESS` before accelerators."""
    one, every = (
        timed_software(software_of(name, "fixed"), "float32", threads=threads) for threads in (False, True)
    )
    rows = []
    for function, counts in sizes.items():
        tasks = tasks_of(name, "fixed", max(*counts, BATCH))
        model = timed_model(design_of(name, function, "fixed"), function)
        packed, singles = (paced(name, function, number) for number in ("fixed", "float32"))
        rows += [
            {
                "function": function,
                "tasks": count,
                "Pinocchio, one core": 1e6 * _pinocchio_seconds(name, function, tasks, count),
                "C float, one core": 1e6 * one.seconds(function, tasks, count),
                "C float, all cores": 1e6 * every.seconds(function, tasks, count),
                "bit-exact C, one core": 1e6 * model.seconds(function, tasks, count),
                "accelerator": packed.microseconds(count),
                "accelerator and link": packed.linked_microseconds(count, PCI_EXPRESS),
                "accelerator and link, float32": singles.linked_microseconds(count, PCI_EXPRESS),
            }
            for count in counts
        ]
    return rows


def _pinocchio_seconds(name: str, function: str, tasks: Arrays, count: int) -> float:
    """Return the time of a batch in Pinocchio, and of a call that is repeated if the batch is one task."""
    states = {key: array[: FEW if count == 1 else count] for key, array in tasks.items()}
    figures = measure(bundled()[name], "fixed", (function,), states)[function]
    return 1e-9 * figures.nanoseconds if count == 1 else count / figures.tasks_per_second


def batch_layout(rows: Rows) -> Rows:
    """Return a line for each batch: microseconds, and in brackets millions of tasks a second."""
    return [
        {"": f"{row['function']}, {row['tasks']:,}"}
        | {name: _cell(row["tasks"], time) for name, time in row.items() if name not in ("function", "tasks")}
        for row in rows
    ]


def _cell(tasks: int, microseconds: float) -> str:
    return f"{microseconds_text(microseconds)} ({tasks / microseconds:.2f})"
