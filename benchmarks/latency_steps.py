"""Where the latency of an accelerator goes: the cycles in which each step of the algorithms computes."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.rows import Row, Rows
from rbdhw.options.build import BuildOptions
from rbdhw.page.figures import grouped
from rbdhw.pipeline import generate
from rbdhw.robots import bundled

ROBOT, FUNCTION, WIDTH = "iiwa14", "difd", 18

STEPS = {
    "sines and cosines": ("trigonometry",),
    "velocities, accelerations, forces": ("rnea_forward", "rnea_backward"),
    "their derivatives": ("derivatives", "columns_forward", "columns_backward"),
    "M⁻¹": ("composite", "factorization", "inverse"),
    "its product": ("inverse_product", "solve"),
}
"""The steps of the paper, and the names of their submodules."""


def latency_rows(intervals: Iterable[int] = (1, 4)) -> Rows:
    """Return the first and the last cycle of each step, by interval, and those of each of its joints."""
    rows = []
    for ii in intervals:
        options = BuildOptions((FUNCTION,), ii=ii, width=WIDTH)
        manifest = generate(bundled()[ROBOT], options).description
        spans = grouped(manifest.parts[0].timeline[FUNCTION])
        missing = spans.keys() - {name for names in STEPS.values() for name in names}
        assert not missing, f"steps without a row: {missing}"
        for step, names in STEPS.items():
            joints = sorted(span for name in names for span in spans.get(name, ()))
            first, last = min(first for first, _ in joints), max(last for _, last in joints)
            rows.append({"ii": ii, "step": step, "first": first, "last": last, "joints": joints})
    return rows


def latency_layout(rows: Rows) -> Rows:
    """Return a line for each step: its first and last cycle at each interval."""
    lines: dict[str, Row] = {}
    for row in rows:
        line = lines.setdefault(row["step"], {"": row["step"]})
        line[f"II {row['ii']}"] = f"{row['first']} to {row['last']}"
    return list(lines.values())
