"""What the kernels in CUDA take of a GPU, as NVIDIA's compiler reports it. Nothing runs on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rbdhw.bench.builds import ALL, software_of
from rbdhw.bench.rows import Row, Rows, robot_label
from rbdhw.software.float_library import REALS
from rbdhw.software.nvcc import find_nvcc, measure_kernels

ROBOTS = (("iiwa14", "fixed"), ("hyq", "floating"))
ARCHITECTURES = ("sm_80", "sm_90")


def kernel_rows(robots: Sequence[tuple[str, str]] = ROBOTS) -> Rows:
    """Return what each kernel takes, for all architectures and both types of numbers.

    Raises
    ------
    InputError
        nvcc is not installed.
    """
    find_nvcc()
    rows = []
    for name, base in robots:
        sources = software_of(name, base, "cuda").sources
        for architecture in ARCHITECTURES:
            for real, _ in REALS.values():
                used = measure_kernels(sources, architecture, [f"-DRBDHW_REAL={real}"])
                rows += [
                    {"robot": name, "base": base, "function": function}
                    | {"architecture": architecture, "real": real, **asdict(used[function])}
                    for function in ALL
                ]
    return rows


def kernel_layout(rows: Rows) -> Rows:
    """Return a line for each function: registers / bytes of stack / bytes of spill loads / kB of code."""
    lines: dict[str, Row] = {}
    for row in rows:
        label = f"{robot_label(row)}, {row['function']}"
        cell = f"{row['registers']} / {row['stack']:,} / {row['spill_loads']:,} / {row['code'] / 1e3:.0f}"
        lines.setdefault(label, {"": label})[f"{row['real']}, {row['architecture']}"] = cell
    return list(lines.values())
