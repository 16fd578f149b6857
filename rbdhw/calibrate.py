"""Designs synthesised anew, to which estimates are held: the table of :mod:`rbdhw.estimate.calibration`."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rbdhw.boards.shell import ACCELERATOR
from rbdhw.boards.tools import find_tool
from rbdhw.boards.yosys import FAMILIES, Resources, synthesize_target
from rbdhw.config import BuildOptions
from rbdhw.estimate.calibration import RESOURCES, Calibration, Measured, Sample, calibrated, weighed
from rbdhw.estimate.core import dsp_blocks
from rbdhw.estimate.model import parts
from rbdhw.formats import draft_design
from rbdhw.pipeline import accelerator, edge_of, planned
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import bundled
from rbdhw.rtl.shell import to_verilog
from rbdhw.target import target as find_target

ALL = tuple(FUNCTIONS)

Progress = Callable[[str], None]


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


def sample(subject: Subject) -> Sample:
    """What a design's structure says, and what Yosys counts in it.

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
    with tempfile.TemporaryDirectory() as folder:
        verilog = Path(folder) / f"{ACCELERATOR}.v"
        verilog.write_text(to_verilog(accelerator(draft, plan.bound)), encoding="utf-8")
        work = Path(folder) / "synthesis"
        counted = synthesize_target(verilog, ACCELERATOR, FAMILIES[device.family], work)
    cells = parts(plan.program, plan.bound, edge_of(draft), device)
    return Sample(
        **asdict(subject),
        parts={
            name: (round(part.luts, 1), round(part.flip_flops, 1), round(part.block_rams, 1))
            for name, part in cells.items()
        },
        dsp_blocks=dsp_blocks(plan.program, plan.bound, device),
        measured=_measured(counted),
    )


def _measured(counted: Resources) -> Measured:
    return Measured(**asdict(counted))


def calibrate(progress: Progress, designs: Iterable[Subject] | None = None) -> Calibration:
    """The table, measured anew.

    Raises
    ------
    ToolError
        Where Yosys is missing or fails.
    """
    samples = []
    for subject in subjects() if designs is None else designs:
        progress(str(subject))
        samples.append(sample(subject))
    return calibrated(yosys_version(), samples)


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
        subject = Subject(
            design.robot, design.functions, design.ii, design.width, design.target, design.tdata
        )
        row: dict[str, Any] = {"design": str(subject)}
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
