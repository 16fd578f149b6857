"""Stamps of tables whose figures depend on the machine: of which generated code they are.

Such a table cannot be measured again elsewhere and compared. Its stamp has the commit at which it was
measured and a digest of the code that was: the C of functions and solvers, the bit-exact C of accelerators,
and their Verilog. A table whose code has changed since is stale.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.batches import SIZES
from benchmarks.builds import plan_of, software_of
from benchmarks.calls import CALLED
from benchmarks.casadi_steps import SECOND_ROBOTS, software_of_second, software_of_steps
from benchmarks.chain_runs import TIMED_LINKS, ways
from benchmarks.chain_runs import software as software_of_chain
from benchmarks.contacts import contact_software, legged
from benchmarks.gradients import FUNCTIONS, ROBOTS
from benchmarks.host import NUMBERS, plan_for
from benchmarks.linked import design_of
from benchmarks.partitions import NUMBER, PARTITIONS
from benchmarks.processors import ROBOTS as COMPARED
from benchmarks.published import plan_small
from benchmarks.regressors import software_of_regressor
from benchmarks.second_times import FORWARD, INVERSE, code_of
from benchmarks.solver import (
    HOLDS,
    PROBLEMS,
    model_of_mean,
    software_of_account,
    software_of_mean,
    software_of_problem,
)
from benchmarks.thread_scaling import subjects
from rbdhw.design.folder import Design
from rbdhw.errors import InputError
from rbdhw.explore.plan import Plan
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.progress import Progress
from rbdhw.runtime.files import write_text
from rbdhw.software.exact import model_files
from rbdhw.software.exact_means import model_means_files
from rbdhw.software.folder import Software

ROOT = Path(__file__).resolve().parent.parent
STAMPS = Path(__file__).with_name("stamps.json")

VERSION = version("rbdhw")

ARM, FIXED = "iiwa14", "fixed"

Code = Software | Plan | Design | AcceleratorModel

MEASURED: dict[str, Callable[[], Iterable[Code]]] = {
    "pinocchio": lambda: [plan_small()],
    "processors": lambda: [software_of(name, base) for name, base in COMPARED],
    "contact-speeds": lambda: [contact_software(each) for each in legged()],
    "beside": lambda: [plan_of(ARM, width=None, ii=1), software_of(ARM, FIXED)],
    "calls": lambda: [plan_of(ARM, CALLED, None, 1), software_of(ARM, FIXED, functions=CALLED)],
    "solver": lambda: [software_of_problem(*problem) for problem in PROBLEMS],
    "iterations": lambda: [software_of_problem(ARM, FIXED, "")],
    "casadi": lambda: [software_of_steps()],
    "account": lambda: [software_of_account(*problem) for problem in PROBLEMS],
    "mppi": lambda: [software_of_mean(), *map(model_of_mean, HOLDS)],
    "host": lambda: [plan_for(ARM, number) for number in NUMBERS],
    "batches": lambda: [
        software_of(ARM, FIXED),
        *(design_of(ARM, name, number) for name in SIZES for number in ("fixed", "float32")),
    ],
    "partitions": lambda: [
        software_of(ARM, FIXED),
        *(design_of(ARM, part.function, NUMBER) for part in PARTITIONS if part.function),
    ],
    "power": lambda: [plan_of(ARM, ii=4), software_of(ARM, FIXED)],
    "second-code": lambda: [software_of_second(name) for name in SECOND_ROBOTS],
    "regressors": lambda: [software_of_regressor(*robot) for robot in COMPARED],
    "threads": lambda: [each.software for each in subjects()],
    "second-times": lambda: code_of(INVERSE),
    "second-forward": lambda: code_of(FORWARD),
    "chain-times": lambda: [software_of_chain(links, way) for links in TIMED_LINKS for way in ways(links)],
    "gradients": lambda: [software_of(name, base, functions=FUNCTIONS) for name, base in ROBOTS],
}
"""The code that a table measures, by the table's name.

The other tables that depend on the machine have no stamp. Their code takes long to make again.
"""


@dataclass(frozen=True)
class Stamp:
    """When a table was measured: the commit, and the digest of the code."""

    commit: str
    code: str


def stamps() -> dict[str, Stamp]:
    """Return the stamps by table; none if there is no file."""
    entries = json.loads(STAMPS.read_text(encoding="utf-8")) if STAMPS.exists() else {}
    return {name: Stamp(**entry) for name, entry in entries.items()}


def stamp(name: str) -> None:
    """Keep a stamp of a table that has just been measured, if it measures code."""
    if name in MEASURED:
        known = stamps() | {name: Stamp(_commit(), digest(MEASURED[name]()))}
        entries = {table: asdict(entry) for table, entry in sorted(known.items())}
        write_text(STAMPS, json.dumps(entries, indent=1) + "\n")


def stale(progress: Progress, only: str = "") -> dict[str, str]:
    """Return the tables that are older than the code they measure, with the commits of their stamps.

    Parameters
    ----------
    only
        A table's name; all if it is empty.

    Raises
    ------
    InputError
        If there is no table of that name.
    """
    if only and only not in MEASURED:
        raise InputError(f"table '{only}'", "has no stamp", f"one of {', '.join(MEASURED)}")
    tables, known = {}, stamps()
    for name in [only] if only else MEASURED:
        progress(name)
        if name not in known:
            tables[name] = "never stamped"
        elif known[name].code != digest(MEASURED[name]()):
            tables[name] = known[name].commit
    return tables


def digest(measured: Iterable[Code]) -> str:
    """Return a digest of code, without the version that headings name."""
    joined = hashlib.sha256()
    for code in measured:
        for name, text in sorted(_texts(code).items()):
            joined.update(f"{name}\0{text.replace(VERSION, '')}\0".encode())
    return joined.hexdigest()[:16]


def _texts(code: Code) -> Mapping[str, str]:
    match code:
        case Software():
            return code.sources
        case Plan():
            return {**model_files(code.accelerator), "latency": repr(code.latency)}
        case Design():
            return {"verilog": code.verilog}
        case AcceleratorModel():
            return {**model_files(code), **model_means_files(code)}


def _commit() -> str:
    command = ("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout.strip() or "unknown"
