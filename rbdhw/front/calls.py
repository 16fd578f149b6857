"""What the functions of :mod:`rbdhw` and the commands of the same names do."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from rbdhw import pipeline
from rbdhw.control.candidates import parse_formats
from rbdhw.control.study import Settings, task_of
from rbdhw.control.table import STUDY
from rbdhw.design import folder as design_folder
from rbdhw.design.folder import Design
from rbdhw.design.manifest import read_manifest
from rbdhw.design.replacement import check_output
from rbdhw.domain.overrides import Overrides
from rbdhw.domain.recorded import domain_text
from rbdhw.errors import InputError, told_apart, unknown
from rbdhw.explore.plot import check_plotting, plot
from rbdhw.front.accelerator import Accelerator
from rbdhw.front.results import Description, Generated, Powered, Simulated, Studied
from rbdhw.front.robot_description import describe
from rbdhw.frontend.read import load_mounted
from rbdhw.model.arrays import as_whole, check_arrays
from rbdhw.options.build import BEST_RATE, PROCESSORS, BuildOptions
from rbdhw.progress import Progress, show_progress
from rbdhw.remarks import warn
from rbdhw.runtime.archive import read_archive
from rbdhw.runtime.files import check_file, check_folder, write_text
from rbdhw.software import folder as software_folder

LOGGED = ("q", "v", "a", "tau", "fext", "base_v", "base_a", "h")
"""The arrays of a recorded trajectory."""

LARGEST_MARGIN = 10.0
"""The largest margin of a domain file, as a share of recorded ranges."""

_Number = TypeVar("_Number", int, float)

CHECKS = ("warn", "refuse")
"""What follows from a clock that the timing check does not confirm."""


def generate_folder(
    urdf: Path, folder: Path, options: BuildOptions, overrides: Overrides, check_timing: str | None = None
) -> Generated:
    """Write an accelerator or software to a folder; ``check_timing`` is one of :data:`CHECKS`."""
    check_output(folder)
    if check_timing is not None:
        _refuse_check(check_timing, options.target)
    with show_progress() as progress:
        if options.target in PROCESSORS:
            software = pipeline.generate_software(urdf, options, overrides, progress)
            return Generated(software_folder.write(software, folder), folder)
        if check_timing is None:
            design = pipeline.generate(urdf, options, overrides, progress)
        else:
            design = _timed_design(urdf, options, overrides, check_timing, progress)
        return Generated(design_folder.write(design, folder), folder)


def domain_of_log(urdf: Path, log: Path, output: Path, options: BuildOptions, margin: float) -> Path:
    """Write a domain file with the ranges of the arrays of a recorded trajectory, and return its path.

    Raises InputError if the robot or the log is not usable.
    """
    if not 0.0 <= margin <= LARGEST_MARGIN:
        raise InputError("margin", f"{margin:g}", f"a share of the ranges, 0 to {LARGEST_MARGIN:g}")
    check_file(output)
    robot = load_mounted(urdf, options.mounting)
    arrays, _ = read_archive(log, LOGGED)
    if "q" not in arrays or not len(arrays["q"]):
        raise InputError(f"{log}, array 'q'", "missing or empty", "a row for each recorded state")
    try:
        checked = check_arrays(robot, range(len(robot.bodies)), arrays)
    except InputError as error:
        raise error.within(log) from None
    write_text(output, domain_text(robot, checked, margin))
    return output


def _refuse_check(check_timing: str, target: str) -> None:
    """Raise InputError if a timing check is not possible."""
    if check_timing not in CHECKS:
        raise unknown("check-timing", check_timing, CHECKS)
    if target in PROCESSORS:
        raise InputError("check-timing", f"has no effect with --target {target}", "an FPGA as the target")


def _timed_design(
    urdf: Path, options: BuildOptions, overrides: Overrides, check_timing: str, progress: Progress
) -> Design:
    """Return a design whose netlist was timed; warn or raise InputError if its clock is not confirmed.

    The fastest clock gives way until one is confirmed.
    """
    from rbdhw.boards.yosys import time_verilog

    design = pipeline.generate(urdf, options, overrides, progress)
    target, clock = design.manifest["target"], design.manifest["clock_mhz"]
    report = time_verilog(design.verilog, design.manifest["name"], target, progress)
    if report.confirms(clock):
        return design
    slower = math.floor(report.safe_mhz)
    if options.clock_goal == BEST_RATE and slower > 0:
        slower_options = replace(options, clock_mhz=float(slower))
        return _timed_design(urdf, slower_options, overrides, check_timing, progress)
    safe, asked = told_apart(report.safe_mhz, clock)
    slowest = report.paths[0]
    refusal = InputError(
        "clock",
        f"{asked} MHz is not confirmed by the timing check: the slowest path takes {slowest.ns:.2f} ns, "
        f"from {slowest.start} to {slowest.end}",
        f"at most {safe} MHz",
        f"generate with --clock {slower}",
    )
    if check_timing == "refuse":
        raise refusal
    warn([str(refusal)])
    return design


def describe_robot(urdf: Path, options: BuildOptions, overrides: Overrides) -> Description:
    """Describe a robot before a build."""
    with show_progress() as progress:
        return Description(describe(urdf, options, overrides, progress))


def study_settings(
    widths: str | Iterable[int] | None,
    formats: str | Iterable[str] | None,
    budgets: str | Iterable[float] | None,
    exact: str | Iterable[str] | None,
    task: str,
    seconds: float,
    **others: Any,
) -> Settings:
    """Return the settings of a study.

    Texts have commas between candidates; widths may be ranges, and formats grids. Raises InputError if one is
    not a number, or no format.
    """
    return Settings(
        task_of(task, seconds),
        tuple(width for part in _parts(widths) for width in _range(part)),
        tuple(text for part in _parts(formats) for text in parse_formats(part)),
        tuple(_number("budgets", part, float) for part in _parts(budgets)),
        tuple(_parts(exact)),
        **others,
    )


def _parts(items: str | Iterable[Any] | None) -> list[str]:
    texts = items.split(",") if isinstance(items, str) else map(str, items or ())
    return [text.strip() for text in texts]


def _range(text: str) -> Iterable[int]:
    first, _, last = text.partition("-")
    low = _number("widths", first, int)
    return range(low, (_number("widths", last, int) if last else low) + 1)


def _number(where: str, text: str, kind: type[_Number]) -> _Number:
    try:
        return kind(text)
    except ValueError:
        raise InputError(where, f"'{text}'", "numbers with commas between") from None


def study_folder(
    urdf: Path, folder: Path, options: BuildOptions, overrides: Overrides, settings: Settings, *, draws: bool
) -> Studied:
    """Judge number formats by a closed loop; write the results, and a plot if asked, to a folder."""
    from rbdhw.control.plot import draw_study
    from rbdhw.control.study import study

    check_folder(folder, "to write the study to")
    if draws:
        check_plotting(folder)
    with show_progress() as progress:
        result = study(urdf, folder, options, overrides, settings, Accelerator.on, progress)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / STUDY, json.dumps(result, indent=1) + "\n")
    if draws:
        plot(result, folder, draw_study, "study")
    return Studied(result)


def power_of_folder(folder: Path, function: str | None, tasks: int, seed: int, saif: Path | None) -> Powered:
    """Simulate tasks of one function; return how often signals change, and the power that it suggests."""
    from rbdhw.sim.power import measure_power

    with show_progress() as progress:
        numbers = as_whole("tasks", tasks), as_whole("seed", seed)
        report = measure_power(folder, function, *numbers, saif=saif, progress=progress)
    return Powered(report.json())


def simulate_folder(
    folder: Path, tasks: int, seed: int, *, bulk: bool, confidence: float | None = None
) -> Simulated:
    """Run random tasks through the Verilog of a folder and compare each bit with its model.

    With ``confidence`` further tasks on the compiled model tell how many err more than the limit.
    """
    from rbdhw.sim.simulate import simulate

    with show_progress() as progress:
        numbers = as_whole("tasks", tasks), as_whole("seed", seed)
        report = simulate(folder, *numbers, bulk=bulk, confidence=confidence, progress=progress)
    return Simulated(report.json(), read_manifest(folder), tuple(report.failures), tuple(report.warnings))
