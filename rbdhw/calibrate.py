"""Designs synthesised anew, to which estimates are held: the table of :mod:`rbdhw.estimate.calibration`."""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rbdhw.boards.shell import ACCELERATOR
from rbdhw.boards.tools import find_tool
from rbdhw.boards.yosys import FAMILIES, synthesize_target
from rbdhw.config import BuildOptions
from rbdhw.estimate.calibration import RESOURCES, Calibration, Measured, Sample, calibrated, weighed
from rbdhw.estimate.model import blocks, parts
from rbdhw.formats import draft_design
from rbdhw.pipeline import accelerator, edge_of, planned
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from rbdhw.rtl.shell import to_verilog
from rbdhw.target import target as find_target

ALL = tuple(FUNCTIONS)

Progress = Callable[[str], None]

DIGEST = 16
"""Characters of a digest of Verilog that tell designs apart."""


@dataclass(frozen=True)
class Subject:
    """A design to synthesise: of a bundled robot."""

    robot: str
    functions: tuple[str, ...]
    ii: int
    width: int
    target: str
    tdata: int = 512

    def __str__(self) -> str:
        functions = "all" if self.functions == ALL else ",".join(self.functions)
        return f"{self.robot} {functions} II={self.ii} {self.width} bits {self.target}"


def subjects() -> Iterable[Subject]:
    """The designs of the table: small ones at several intervals, larger ones at some."""
    for target in ("ecp5-85", "xcvu9p"):
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


def sample(subject: Subject, earlier: Sample | None = None) -> Sample:
    """What a design's structure says, and what Yosys counts in it, or counted ``earlier`` if it is the same.

    Raises
    ------
    ToolError
        Where Yosys is missing or fails.
    """
    device = find_target(subject.target)
    options = BuildOptions(
        functions=subject.functions,
        ii=subject.ii,
        target=subject.target,
        width=subject.width,
        data_width=subject.tdata,
    )
    plan = planned(load_urdf(bundled()[subject.robot]), options)
    draft = draft_design(plan.model, plan.domain, plan.program, options)
    verilog = to_verilog(accelerator(draft, plan.bound, device))
    digest = hashlib.sha256(verilog.encode()).hexdigest()[:DIGEST]
    known = earlier is not None and earlier.verilog == digest
    cells = parts(plan.program, plan.bound, edge_of(draft), device)
    return Sample(
        **asdict(subject),
        parts={
            name: (round(part.luts, 1), round(part.flip_flops, 1), round(part.block_rams, 1))
            for name, part in cells.items()
        },
        dsp_blocks=blocks(plan.program, plan.bound, device),
        verilog=digest,
        measured=earlier.measured if earlier and known else _counted(verilog, device.family),
    )


def _counted(verilog: str, family: str) -> Measured:
    """What Yosys counts in an accelerator."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{ACCELERATOR}.v"
        source.write_text(verilog, encoding="utf-8")
        counted = synthesize_target((source,), ACCELERATOR, FAMILIES[family], Path(folder) / "synthesis")
    return Measured(**asdict(counted))


def calibrate(
    before: Calibration,
    keep: Callable[[Calibration], None],
    progress: Progress,
    designs: Iterable[Subject] | None = None,
) -> Calibration:
    """The table, measured anew where the hardware or Yosys has changed.

    Parameters
    ----------
    before
        The table as it was.
    keep
        Given the table after every design, so that what was measured is not lost.
    designs
        Those to measure; by default :func:`subjects`.

    Raises
    ------
    ToolError
        Where Yosys is missing or fails.
    """
    version = yosys_version()
    wanted = tuple(subjects() if designs is None else designs)
    found = {subject_of(design): design for design in before.designs if subject_of(design) in wanted}
    for subject in wanted:
        progress(str(subject))
        earlier = found.get(subject) if before.yosys == version else None
        found[subject] = sample(subject, earlier)
        keep(calibrated(version, [found[own] for own in wanted if own in found]))
    return calibrated(version, [found[own] for own in wanted])


def subject_of(design: Sample) -> Subject:
    """What was synthesised."""
    own = (design.robot, design.functions, design.ii, design.width, design.target, design.tdata)
    return Subject(*own)


def yosys_version() -> str:
    """The version of Yosys that measures."""
    text = subprocess.run([find_tool("yosys"), "-V"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d+\.\d+", text)
    return found[0] if found else text.strip()


def rows(table: Calibration) -> list[dict[str, Any]]:
    """Each design with its estimate beside what Yosys counted."""
    found = []
    for design in table.designs:
        said = weighed(design.cells(), design.dsp_blocks, table.weights[design.target])
        row: dict[str, Any] = {"design": str(subject_of(design))}
        for resource in RESOURCES:
            estimate, counted = getattr(said, resource), getattr(design.measured, resource)
            row[resource.replace("_", " ")] = f"{estimate:,} / {counted:,}"
        found.append(row)
    return found


def tables(table: Calibration) -> dict[str, list[dict[str, Any]]]:
    """Estimates beside Yosys' counts, and their errors, by title."""
    return {
        f"Estimated / counted by Yosys {table.yosys}": rows(table),
        "Errors of estimates, median / largest, each design by the others": error_rows(table),
    }


def error_rows(table: Calibration) -> list[dict[str, Any]]:
    """The errors of each target's estimates, each design by the others."""
    return [
        {"target": target, **{resource.replace("_", " "): _error(resource, errors) for resource in RESOURCES}}
        for target, errors in table.errors.items()
    ]


def _error(resource: str, errors: dict[str, dict[str, float]]) -> str:
    own: Sequence[float] = tuple(errors[resource].values())
    if resource in ("luts", "flip_flops"):
        return " / ".join(f"{error:.1%}" for error in own)
    return " / ".join(f"{error:g}" for error in own)
