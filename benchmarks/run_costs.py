"""Time and memory of the generator and of the simulation on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.rows import NAMES, Row, Rows
from rbdhw.robots import bundled

SIMULATED_TASKS = 200_000


def generator() -> Rows:
    """Return processor time and memory of `rbdhw generate`, including the start of Python."""
    rows = []
    for name, ii in (("iiwa14", 1), ("atlas", 32)):
        with tempfile.TemporaryDirectory() as folder:
            design = f"{folder}/design"
            taken = _run(["generate", str(bundled()[name]), "-o", design, "--ii", str(ii), "--width", "18"])
        rows.append({"what": f"`generate` {NAMES.get(name, name)}, all functions, II {ii}, 18 bits"} | taken)
    return rows


def simulation() -> Rows:
    """Return time and memory of `rbdhw simulate --bulk`, with and without Verilator's build."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        design = f"{folder}/design"
        _run(["generate", str(bundled()["iiwa14"]), "-o", design, "--functions", "did"])
        for state in ("with the build", "once built"):
            taken = _run(["simulate", design, "--bulk", "--tasks", str(SIMULATED_TASKS)])
            what = f"`simulate --bulk` iiwa14 ΔID, II 1, {SIMULATED_TASKS:,} tasks, {state}"
            rows.append({"what": what} | taken)
    return rows


def costs() -> Rows:
    """Return the run time and memory of the generator and of the simulation on this machine."""
    return generator() + simulation()


def _run(arguments: Sequence[str]) -> Row:
    """Run an rbdhw command in a process of its own; return its time and its peak memory."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "rbdhw", *arguments], stdout=subprocess.DEVNULL, start_new_session=True
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"rbdhw {' '.join(arguments)} exited with {process.returncode}")
    return {
        "seconds": round(time.perf_counter() - start),
        "seconds of processor": round(usage.ru_utime + usage.ru_stime),
        "memory (GB)": f"{usage.ru_maxrss / 2**20:.1f}",
    }
