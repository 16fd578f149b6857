"""The table of bases: what it costs in multiplications that each task chooses its base."""

from __future__ import annotations

from rbdhw.bench.builds import graph_of
from rbdhw.bench.hardware_counts import products
from rbdhw.bench.rows import Row, Rows
from rbdhw.emit.manifest import function_counts

FUNCTIONS = ("id", "fd", "minv", "dfd", "difd")
"""The functions that are counted, each built alone."""

BASES = ("fixed", "floating", "any")


def base_costs() -> Rows:
    """Return the multiplications of functions of HyQ on each base."""
    return [_row(base) for base in BASES]


def _row(base: str) -> Row:
    row: Row = {"base": base}
    for function in FUNCTIONS:
        row[function] = products(function_counts(graph_of("hyq", (function,), base), function))
    return row


def base_layout(rows: Rows) -> Rows:
    """Return a line for each base."""
    return [
        {"base": f"`{row['base']}`"} | {function: f"{row[function]:,}" for function in FUNCTIONS}
        for row in rows
    ]
