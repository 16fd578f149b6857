"""The command line: ``rbdhw info | generate | simulate | run | synthesize | bench``.

Exit status 0: done; 1: found wrong (a mismatch, an error beyond the budget, too many flagged tasks, timing
missed, a tool that failed); 2: bad input, a design too large for its device, or a missing program or extra,
in one line.
"""

from __future__ import annotations

import io
import json
import sys
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from rbdhw import pipeline
from rbdhw.cli.options import OF_HARDWARE, BuildArguments, takes_build_options
from rbdhw.cli.robot_description import describe
from rbdhw.cli.tables import (
    print_causes,
    print_description,
    print_manifest,
    print_report,
    print_synthesis,
    print_table,
    print_text,
)
from rbdhw.config import LINK_PACE
from rbdhw.design import folder as design_folder
from rbdhw.errors import InputError, InternalError, one_line
from rbdhw.estimate.calibration import TABLE, calibration
from rbdhw.progress import shown
from rbdhw.remarks import subject, warn
from rbdhw.runtime.files import check_file, write_text

FOUND_WRONG, BAD_INPUT = 1, 2

app = typer.Typer(
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Urdf = Annotated[Path, typer.Argument(metavar="URDF", help="The robot's description.")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `generate` wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


class Engine(StrEnum):
    """What answers `run`."""

    MODEL = "model"
    RTL = "rtl"
    GOLDEN = "golden"


def main() -> None:
    """Run the command line. Every expected failure prints one line on the error stream."""
    from rbdhw.boards.tools import ToolError
    from rbdhw.sim.tools import SimulationError

    _prepare_streams()
    try:
        status = app(prog_name="rbdhw", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(status)
    except TyperException as error:
        if error.format_message():  # empty where no command was named: the help is printed already
            print(f"rbdhw: {one_line(_usage(error))}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except InputError as error:
        print(f"rbdhw: {one_line(str(error))}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except (ToolError, SimulationError, InternalError) as error:
        print(f"rbdhw: {error}", file=sys.stderr)
        sys.exit(FOUND_WRONG)
    except OSError as error:
        place = error.filename or "standard output"
        reason = f"{error.strerror or error}; expected a place that can be read and written"
        print(f"rbdhw: {one_line(f'{place}: {reason}')}", file=sys.stderr)
        sys.stdout = io.StringIO()  # what is not written yet must not fail again at the end
        sys.exit(BAD_INPUT)


def _prepare_streams() -> None:
    """Let anything be printed: a name that is no Unicode, and without an output to print to."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, io.StringIO())
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _usage(error: TyperException) -> str:
    """What is wrong with a command line, and which help describes the right ones."""
    commands = typer.main.get_group(app).commands
    command = " ".join(["rbdhw", *(word for word in sys.argv[1:2] if word in commands)])
    message = " ".join(error.format_message().split()).removesuffix(".")
    return f"{message[:1].lower()}{message[1:]}; expected what `{command} --help` describes"


def _print_version(asked: bool) -> None:
    """Print the version of the package, and end there."""
    if asked:
        print(f"rbdhw {version('rbdhw')}")
        raise typer.Exit


@app.callback()
def root(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Turn a robot description (URDF) into an FPGA accelerator for its rigid-body dynamics."""


def _print_json(data: Any) -> None:
    print(json.dumps(data, indent=2))


@app.command()
@takes_build_options
def info(
    urdf: Urdf,
    explore: Annotated[
        bool, typer.Option("--explore", help="Compare initiation intervals from 1 to 64 instead.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Where --explore plots, as PNG and SVG."),
    ] = None,
    *,
    build: BuildArguments,
    as_json: Json = False,
) -> None:
    """Describe the robot: its joints, the operations of each function and the algorithms.

    With --explore, compare the hardware at many initiation intervals.
    Only then may options of the hardware and --output be given.
    --ii, --bandwidth and --fit mark the interval that generate would take.
    """
    if explore:
        _explore(urdf, build, output, as_json)
        return
    idle = [name for name in OF_HARDWARE if name in build.given] + ["output"] * (output is not None)
    if idle:
        name = idle[0].replace("_", "-")
        raise InputError(f"{name}: changes nothing that info prints; expected it with --explore")
    options, _ = build.parse()
    with shown() as progress:
        data = describe(urdf, options, progress)
    if as_json:
        _print_json(data)
    else:
        print_description(data)


def _explore(urdf: Path, build: BuildArguments, output: Path | None, as_json: bool) -> None:
    """The tables of intervals, and in a folder their plot."""
    from rbdhw.explore.intervals import explore, remarks, tables
    from rbdhw.explore.plot import check_plotting, plot

    if output is not None:
        check_plotting(output)
    link_alone = "bandwidth" in build.given and "ii" not in build.given
    options, overrides = build.parse(**({"ii": LINK_PACE} if link_alone else {}))
    with shown() as progress:
        found = explore(urdf, options, overrides=overrides, progress=progress)
    if output is not None:
        plot(found, output)
    if as_json:
        _print_json(found)
        return
    for table in tables(found):
        print_table(*table)
    for remark in remarks(found):
        print_text(remark, "  ")


@app.command()
@takes_build_options
def generate(
    urdf: Urdf,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The folder to write.")],
    *,
    build: BuildArguments,
    as_json: Json = False,
) -> None:
    """Write the Verilog, its bit-exact model and its manifest.

    An earlier design in the folder is replaced.
    The build folders that tools made from it are removed.
    """
    design_folder.check_output(output)
    options, overrides = build.parse()
    with shown() as progress:
        design = pipeline.generate(urdf, options, overrides, progress)
        manifest = design_folder.write(design, output)
    if as_json:
        _print_json(manifest)
    else:
        print_manifest(design.manifest, output)


@app.command()
def simulate(
    directory: Directory,
    tasks: Annotated[int, typer.Option(min=1, help="Random tasks.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of tasks, bubbles and back-pressure.")] = 0,
    bulk: Annotated[bool, typer.Option("--bulk", help="Drive many tasks by C++, not by cocotb.")] = False,
    as_json: Json = False,
) -> None:
    """Run random tasks through the RTL in Verilator and compare each bit with the model."""
    from rbdhw.sim.simulate import simulate as simulated

    with shown() as progress:
        report = simulated(directory, tasks, seed, bulk=bulk, progress=progress)
    if as_json:
        _print_json(report.json())
    else:
        print_report(design_folder.read(directory).manifest, report.json())
        print_causes(report.json()["causes"])
    for failure in report.failures:
        print(f"rbdhw: {directory}: {failure}", file=sys.stderr)
    if not report.ok:
        raise typer.Exit(FOUND_WRONG)


@app.command()
def run(
    directory: Directory,
    function: Annotated[str, typer.Argument(metavar="FUNCTION", help="One of the design's functions.")],
    input_file: Annotated[Path, typer.Option("--input", help="npz with q, v, a or tau, fext.")],
    output_file: Annotated[Path, typer.Option("--output", help="npz to write.")],
    engine: Annotated[
        Engine, typer.Option(help="Bit-exact model, RTL in Verilator, or float64.")
    ] = Engine.MODEL,
    extended: Annotated[bool, typer.Option("--extended", help="Of dfd, ask for Minv and a as well.")] = False,
    as_json: Json = False,
) -> None:
    """Answer your own vectors, one row a task."""
    from rbdhw.sim.run import run as ran

    with shown() as progress:
        outcome = ran(
            directory,
            function,
            input_file,
            output_file,
            engine.value,
            extended=extended,
            progress=progress,
        )
    warn(f"{input_file}: {warning}" for warning in outcome.warnings)
    if outcome.ignored:
        unused = "it" if len(outcome.ignored) == 1 else "them"
        arrays = subject("array", outcome.ignored)
        warn([f"{input_file}: {arrays}: {function} does not use {unused}; ignored"])
    if as_json:
        _print_json(outcome.json())
    else:
        print(f"{outcome.tasks} tasks, {outcome.flagged} flagged -> {output_file}")
        print_causes(outcome.json()["causes"])


@app.command()
def synthesize(
    directory: Directory,
    target: Annotated[
        str | None,
        typer.Option(help="The device; xcvu9p and xc7a200t are counted, ecp5-85 also placed and routed."),
    ] = None,
    board: Annotated[str | None, typer.Option(help="Build for a board: ulx3s-85f or vcu118.")] = None,
    clock: Annotated[
        float | None, typer.Option(help="MHz to reach, instead of the clock that the design was made for.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the first placement; 1 by default.")] = None,
    tries: Annotated[
        int | None,
        typer.Option(help="Most placements, each with the next seed, to reach the clock; 3 by default."),
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Only count, do not place.")] = False,
    as_json: Json = False,
) -> None:
    """Synthesise with Yosys, place and route with nextpnr; for a board, make its bitstream."""
    from rbdhw.boards.synthesize import TimingError
    from rbdhw.boards.synthesize import synthesize as synthesized

    with shown() as progress:
        try:
            report = synthesized(
                directory,
                target=target,
                board=board,
                clock_mhz=clock,
                seed=seed,
                tries=tries,
                count=count,
                progress=progress,
            )
        except TimingError as missed:
            _report_synthesis(directory, missed.report, as_json)
            raise
    _report_synthesis(directory, report, as_json)


def _report_synthesis(directory: Path, report: dict[str, Any], as_json: bool) -> None:
    """What synthesis found, as JSON or a short table."""
    if as_json:
        _print_json(report)
    else:
        print_synthesis(directory, report)


@app.command()
def bench(
    output: Annotated[Path | None, typer.Option(help="Write the tables, in Markdown, to this file.")] = None,
    sweep: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Check every URDF in or below a folder instead."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Processes of a sweep; as many as cores by default.")
    ] = None,
    synthesis: Annotated[
        bool, typer.Option("--synthesis", help="Synthesise instead, and keep what estimates are held to.")
    ] = False,
    only: Annotated[
        str, typer.Option(metavar="TEXT", help="Tables, or designs, whose titles contain it.")
    ] = "",
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="DOCUMENT", help="Measure the tables that it has places for, and put each in its place."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure the figures of the README again, sweep a folder of robots, or synthesise for the estimates."""
    if write is not None and (sweep is not None or synthesis):
        other = "--sweep" if sweep is not None else "--synthesis"
        raise InputError(f"write: documents have no places for tables of {other}; expected one of the two")
    for written in (output, write):
        if written is not None:
            check_file(written)
    if sweep is not None:
        _sweep(sweep, jobs, output, as_json)
        return
    if synthesis:
        _calibrate(only, output, as_json)
        return
    from rbdhw.bench import readme_tables as tables

    with shown() as progress:
        results = tables.measure(progress, only) if write is None else tables.write(write, progress, only)
    _report(results, tables.markdown(tables.lay_out(results)), output, as_json)


def _sweep(folder: Path, jobs: int | None, output: Path | None, as_json: bool) -> None:
    """Sweep a folder; exit status 1 where a robot fails a check."""
    from rbdhw.bench.robot_sweep import markdown
    from rbdhw.bench.robot_sweep import sweep as swept

    with shown() as progress:
        found = swept(folder, progress, jobs)
    _report(found.json(), markdown(found), output, as_json)
    if not found.passed:
        raise typer.Exit(FOUND_WRONG)


def _calibrate(only: str, output: Path | None, as_json: bool) -> None:
    """Write the package's table that estimates are held to, and compare both."""
    from rbdhw.bench.readme_tables import markdown
    from rbdhw.bench.synthesis import calibrate, select_subjects, tables

    with shown() as progress:
        found = calibrate(
            calibration(),
            lambda table: write_text(TABLE, table.text()),
            progress,
            select_subjects(only),
        )
    _report(found.model_dump(mode="json"), markdown(tables(found)), output, as_json)


def _report(results: Any, text: str, output: Path | None, as_json: bool) -> None:
    """Tables to a file if one is named; to standard output JSON, or else the tables."""
    if output is not None:
        write_text(output, text)
    if as_json:
        _print_json(results)
    elif output is None:
        print(text)
