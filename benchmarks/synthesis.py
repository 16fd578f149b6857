"""Synthesis of the designs that calibrate the estimates: the table of :mod:`rbdhw.estimate.calibration`."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import dropwhile
from pathlib import Path
from typing import Any

from benchmarks.durations import keep_work
from rbdhw.boards.tools import find_tool
from rbdhw.boards.yosys import FAMILIES, NETLIST, synthesis, synthesize_target
from rbdhw.design.replacement import VERILOG
from rbdhw.errors import InputError
from rbdhw.estimate.calibration import Calibration, Sample, calibration, fit_calibration, weigh
from rbdhw.estimate.resources import RESOURCES, Resources
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.explore.plan import Plan
from rbdhw.frontend.read import load_mounted
from rbdhw.options.build import BuildOptions
from rbdhw.progress import Progress
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.remarks import warn
from rbdhw.robot.mounting import Mounting
from rbdhw.robots import bundled
from rbdhw.rtl.shell import Accelerator
from rbdhw.rtl.verilog import to_verilog
from rbdhw.runtime.executor import execute
from rbdhw.target import Target
from rbdhw.target import target as find_target
from rbdhw.verilog_names import DEFAULT_NAME

ALL = DEFAULT_FUNCTIONS


NETLISTS = Path("build/timing")
"""The folder of netlists and placements, which are kept from run to run."""

DIGEST = 16
"""Characters of the Verilog digest that identifies a design."""


@dataclass(frozen=True)
class Subject:
    """A design of a bundled robot to synthesise, by default at the target's own clock."""

    robot: str
    functions: tuple[str, ...]
    ii: int
    width: int
    target: str
    tdata: int = 512
    number: str = "fixed"
    clock_mhz: float | None = None
    core: str = "pipeline"
    base: str = "fixed"

    def __str__(self) -> str:
        functions = "all" if self.functions == ALL else ",".join(self.functions)
        edge = "" if self.number == "fixed" else f" {self.number}"
        clock = "" if self.clock_mhz is None else f" at {self.clock_mhz:g} MHz"
        core = "" if self.core == "pipeline" else f" {self.core}"
        robot = self.robot if self.base == "fixed" else f"{self.robot} {self.base}"
        return f"{robot} {functions} II={self.ii} {self.width} bits{edge} {self.target}{clock}{core}"

    @property
    def options(self) -> BuildOptions:
        """The options of the build."""
        return BuildOptions(
            functions=self.functions,
            ii=self.ii,
            clock_mhz=self.clock_mhz,
            target=self.target,
            width=self.width,
            data_width=self.tdata,
            number=self.number,
            core=self.core,
            mounting=Mounting(self.base),
        )


def subjects() -> Iterable[Subject]:
    """Yield the designs of the table: small and larger ones at several intervals, fast ones, and arrays.

    They cover several robots, because the designs of each robot are estimated from those of the others, and
    both number formats.
    """
    for target, fast in (("ecp5-85", 90.0), ("xcvu9p", 250.0)):
        for ii in (1, 4, 16):
            yield Subject("toy", ("id",), ii, 18, target, 64)
            yield Subject("toy", ALL, ii, 18, target, 64)
            yield Subject("iiwa14", ("id",), ii, 18, target)
        yield Subject("toy", ("fd",), 2, 18, target, 64)
        yield Subject("toy", ("did",), 8, 18, target, 64)
        yield Subject("toy", ALL, 4, 27, target)
        yield Subject("iiwa14", ("id",), 8, 27, target, 128)
        yield Subject("hyq", ("id", "fd"), 4, 18, target)
        yield Subject("iiwa14", ALL, 16, 18, target)
        yield Subject("toy", ("id",), 4, 18, target, 64, "float32")
        yield Subject("toy", ALL, 4, 18, target, 64, "float32")
        yield Subject("iiwa14", ("id",), 4, 18, target, number="float32")
        yield Subject("toy", ALL, 2, 18, target, 64, clock_mhz=fast)
    yield Subject("hyq", ALL, 4, 18, "xcvu9p")
    yield Subject("iiwa14", ("difd",), 4, 18, "xcvu9p")
    yield Subject("iiwa14", ALL, 4, 18, "xcvu9p")
    yield Subject("iiwa14", ALL, 1, 18, "xcvu9p")
    yield Subject("atlas", ("id",), 16, 18, "xcvu9p", base="floating")
    for target in ("ecp5-85", "xcvu9p"):
        yield from _arrays(target)


def _arrays(target: str) -> Iterable[Subject]:
    """Yield designs with array cores, whose synthesis is slow."""
    for ii in (8, 16, 32):
        yield Subject("toy", ALL, ii, 18, target, 64, core="array")
    yield Subject("toy", ("id",), 8, 18, target, 64, core="array")
    for ii in (16, 32):
        yield Subject("iiwa14", ("id",), ii, 18, target, core="array")
    yield Subject("iiwa14", ALL, 32, 18, target, 128, core="array")


def select_subjects(text: str) -> list[Subject]:
    """Return the designs of the table whose description contains ``text``.

    Raises
    ------
    InputError
        If there is none.
    """
    chosen = [subject for subject in subjects() if text.casefold() in str(subject).casefold()]
    if not chosen:
        expected = "part of a line such as 'iiwa14 all II=1 18 bits xcvu9p'"
        raise InputError("only", f"no design's description contains '{text}'", expected)
    return chosen


def measure_subject(subject: Subject, version: str, earlier: Sample | None = None) -> Sample:
    """Return a design's structure and its resources as counted by Yosys.

    The counts of an ``earlier`` sample are kept if the Verilog and Yosys' ``version`` are the same.

    Raises
    ------
    InputError
        If Yosys is missing.
    ToolError
        If Yosys fails.
    """
    plan, verilog = planned(subject)
    family = find_target(subject.target).family
    digest = digest_of(verilog)
    same = earlier is not None and (earlier.verilog, earlier.yosys) == (digest, version)
    cells = plan.core.parts(plan.interface)
    return Sample(
        **asdict(subject),
        parts={
            name: (round(part.luts, 1), round(part.flip_flops, 1), round(part.block_rams, 1))
            for name, part in cells.items()
        },
        dsp_blocks=plan.core.dsp_blocks,
        verilog=digest,
        yosys=version,
        measured=earlier.measured if earlier and same else _count_cells(verilog, family),
    )


def digest_of(verilog: str) -> str:
    """Return a digest of a design's modules, without the comment above them."""
    lines = dropwhile(lambda line: not line or line.startswith("//"), verilog.split("\n"))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:DIGEST]


def planned(subject: Subject) -> tuple[Plan, str]:
    """Return a design's plan and its Verilog."""
    options = subject.options
    plan = make_plan(load_mounted(bundled()[subject.robot], options.mounting), options)
    component = plan.core.component(find_target(subject.target).primitive)
    return plan, to_verilog(Accelerator(cores=[component], interface=plan.interface))


def keep_netlist(files: Mapping[str, str], top: str, device: Target) -> Path:
    """Return the netlist of module ``top`` of Verilog files.

    It is kept in a folder for the first of them, the commands of Yosys and its program, since programs of one
    version do not map everything alike.
    """
    commands = synthesis(FAMILIES[device.family], top, tuple(files.values()))
    work = NETLISTS / digest_of("\n".join([find_tool("yosys"), *commands, next(iter(files.values()))]))

    def synthesize() -> None:
        work.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (work / name).write_text(text, encoding="utf-8")
        sources = tuple(work / name for name in files)
        synthesize_target(sources, top, FAMILIES[device.family], work, netlist=True)

    keep_work(work / NETLIST, synthesize)
    return work / NETLIST


def known_counts(subject: Subject, verilog: str) -> Resources | None:
    """Return a design's resources from the package's table; None if it is missing there or has changed."""
    digest = digest_of(verilog)
    designs = (design for design in calibration().designs if subject_of(design) == subject)
    return next((design.measured for design in designs if design.verilog == digest), None)


def _count_cells(verilog: str, family: str) -> Resources:
    """Return an accelerator's resources as counted by Yosys."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / VERILOG
        source.write_text(verilog, encoding="utf-8")
        return synthesize_target((source,), DEFAULT_NAME, FAMILIES[family], Path(folder) / "synthesis")


def calibrate(
    before: Calibration,
    keep: Callable[[Calibration], None],
    progress: Progress,
    designs: Iterable[Subject] | None = None,
    cluster: str | None = None,
) -> Calibration:
    """Return the table, measured again where the hardware or Yosys has changed.

    It can be interrupted at any time: remaining designs keep their entries, and measured designs are not
    synthesised again.

    Parameters
    ----------
    before
        The previous table.
    keep
        Receives the whole table after every design, to save it.
    designs
        The designs to measure, by default :func:`subjects`. Other designs keep their entries.
    cluster
        The address of a Dask scheduler, whose workers measure.

    Raises
    ------
    InputError
        If Yosys is missing.
    ToolError
        If Yosys fails.
    """
    version = yosys_version()
    chosen = tuple(subjects() if designs is None else designs)
    order = tuple(dict.fromkeys((*subjects(), *chosen)))
    known = {subject_of(design): design for design in before.designs if subject_of(design) in order}
    named = {str(subject): subject for subject in chosen}
    jobs = {name: (subject, version, known.get(subject)) for name, subject in named.items()}
    table = before

    def keep_sample(name: str, sample: Sample) -> None:
        nonlocal table
        known[named[name]] = sample
        table = fit_calibration([known[entry] for entry in order if entry in known])
        keep(table)

    def take(name: str, sample: Sample, done: int) -> None:
        progress(f"{done} of {len(jobs)} done, last {name}")
        keep_sample(name, sample)

    if cluster is not None:
        execute(_measure, jobs, cluster=cluster, told=take, warn=warn)
        return table
    for number, (name, job) in enumerate(jobs.items(), start=1):
        progress(f"{number} of {len(jobs)}: {name}")
        keep_sample(name, _measure(job))
    return table


def _measure(job: tuple[Subject, str, Sample | None]) -> Sample:
    return measure_subject(*job)


def subject_of(design: Sample) -> Subject:
    """Return the design of a sample."""
    return Subject(**{field.name: getattr(design, field.name) for field in fields(Subject)})


def yosys_version() -> str:
    """Return the version of Yosys."""
    text = subprocess.run([find_tool("yosys"), "-V"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"\d+\.\d+", text)
    return match[0] if match else text.strip()


def rows(table: Calibration) -> list[dict[str, Any]]:
    """Return each design with its estimated resources and those counted by Yosys."""
    lines = []
    for design in table.designs:
        said = weigh(design.cells(), design.dsp_blocks, table.weights[design.target][design.core])
        row: dict[str, Any] = {"design": str(subject_of(design))}
        for resource in RESOURCES:
            estimate, counted = getattr(said, resource), getattr(design.measured, resource)
            row[resource.replace("_", " ")] = f"{estimate:,} / {counted:,}"
        lines.append(row)
    return lines


def tables(table: Calibration) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of estimates and counts, and of their errors, by title."""
    return {
        f"Estimated / counted by Yosys {table.yosys}": rows(table),
        "Errors of estimates, median / largest, each robot by the others": error_rows(table),
    }


def error_rows(table: Calibration) -> list[dict[str, Any]]:
    """Return the errors of the estimates for each target and core.

    The designs of each robot are estimated from those of the other robots.
    """
    return [
        {
            "target": target,
            "core": core,
            **{resource.replace("_", " "): _error(resource, errors) for resource in RESOURCES},
        }
        for target, cores in table.errors.items()
        for core, errors in cores.items()
    ]


def _error(resource: str, errors: dict[str, dict[str, float]]) -> str:
    values: Sequence[float] = tuple(errors[resource].values())
    if resource in ("luts", "flip_flops"):
        return " / ".join(f"{error:.1%}" for error in values)
    return " / ".join(f"{error:g}" for error in values)
