"""The command line: ``rbdhw info | generate | simulate | study | power | run | report | synthesize``.

:mod:`rbdhw.cli.process` has the exit statuses. Each command imports what it needs: the help, the version and
a refused command line need little.
"""

from __future__ import annotations

import json
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rbdhw.board import BOARDS
from rbdhw.cli.options import OF_HARDWARE, BuildArguments, takes_build_options
from rbdhw.cli.process import FOUND_WRONG, run_commands
from rbdhw.driver.link import Link
from rbdhw.engines.table import ACCELERATOR, engines_of
from rbdhw.errors import InputError
from rbdhw.options.build import LINK_PACE, PROCESSORS
from rbdhw.remarks import subject, warn
from rbdhw.target import TARGETS

if TYPE_CHECKING:
    from rbdhw.front.results import Result

app = typer.Typer(
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Urdf = Annotated[Path, typer.Argument(metavar="URDF", help="The robot description.")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A design folder, written by `generate`.")]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler, whose workers compute instead.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def _written_to(kind: str, what: str) -> Any:
    """Return the option of what a command writes: a folder or a file."""
    return typer.Option("--output", "-o", metavar=kind, help=what, parser=_stated)


def _stated(text: str) -> Path:
    """Return a path. An empty one, as of a variable without a value, would be the working folder."""
    if not text:
        raise InputError("--output", "an empty path", "a path; '.' is the working folder")
    return Path(text)


ENGINES = engines_of(ACCELERATOR) | engines_of("c")

if TYPE_CHECKING:
    EngineName = str
else:  # the command line needs the names as a type
    EngineName = StrEnum("EngineName", list(ENGINES))


def main() -> None:
    """Run the command line."""
    run_commands(app, "rbdhw")


def _print_version(asked: bool) -> None:
    """Print the version of the package and exit."""
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


def _print_result(result: Result, as_json: bool) -> None:
    """Print a result, as JSON or as tables."""
    if as_json:
        _print_json(dict(result))
    else:
        result.show()


@app.command()
@takes_build_options
def info(
    urdf: Urdf,
    explore: Annotated[
        bool,
        typer.Option("--explore", help="Compare intervals from 1 to 64, or sets of several cores, instead."),
    ] = False,
    output: Annotated[Path | None, _written_to("DIR", "The folder for the plots of --explore.")] = None,
    cluster: Cluster = None,
    *,
    build: BuildArguments,
    as_json: Json = False,
) -> None:
    """Describe the robot: its joints, coordinates and their bounds, the operations of each function.

    With --explore, compare the hardware at many initiation intervals, or of many sets of cores.
    The hardware options (but --domain), --output and --cluster require --explore.
    --ii, --bandwidth and --fit mark the interval that generate would choose.
    """
    from rbdhw.front.calls import describe_robot

    if explore:
        _explore(urdf, build, output, cluster, as_json)
        return
    hardware = [name for name in OF_HARDWARE if name != "domain" and name in build.named]
    idle = hardware + ["output"] * (output is not None) + ["cluster"] * (cluster is not None)
    if idle:
        name = idle[0].replace("_", "-")
        raise InputError(name, "has no effect on info without --explore", "both or neither")
    _print_result(describe_robot(urdf, *build.parse()), as_json)


def _explore(
    urdf: Path, build: BuildArguments, output: Path | None, cluster: str | None, as_json: bool
) -> None:
    """Print the tables of initiation intervals, and write their plots to a folder."""
    from rbdhw.explore import intervals, sets
    from rbdhw.explore.plot import check_plotting, draw_intervals, draw_sets, plot
    from rbdhw.front.printing import print_table, print_text
    from rbdhw.progress import show_progress

    if output is not None:
        check_plotting(output)
    link_alone = "bandwidth" in build.named and "ii" not in build.named
    options, overrides = build.parse(**({"ii": LINK_PACE} if link_alone else {}))
    if options.target in PROCESSORS:
        expected = "an FPGA as the target, or no --explore"
        raise InputError("explore", f"has no effect with --target {options.target}", expected)
    kind = sets if options.several else intervals
    with show_progress() as progress:
        comparison = kind.explore(urdf, options, overrides=overrides, progress=progress, cluster=cluster)
    if output is not None:
        plot(comparison, output, draw_sets if options.several else draw_intervals)
    if as_json:
        _print_json(comparison)
        return
    for table in kind.tables(comparison):
        print_table(*table)
    for remark in kind.remarks(comparison):
        print_text(remark, "  ")


@app.command()
@takes_build_options
def generate(
    urdf: Urdf,
    output: Annotated[Path, _written_to("DIR", "The folder to write.")],
    check_timing: Annotated[
        str | None,
        typer.Option(
            metavar="warn|refuse",
            help="Map the design with Yosys, and warn or refuse where its timing does not confirm the clock.",
        ),
    ] = None,
    *,
    build: BuildArguments,
    as_json: Json = False,
) -> None:
    """Write the Verilog, its bit-exact model and its manifest; with --target c or cuda, write C or CUDA.

    An unchanged design that is already in the folder is replaced, with its build folders.
    Other files in the folder remain.
    """
    from rbdhw.design.replacement import check_output
    from rbdhw.front.calls import generate_folder

    check_output(output)
    _print_result(generate_folder(urdf, output, *build.parse(), check_timing), as_json)


@app.command()
@takes_build_options
def domain(
    urdf: Urdf,
    log: Annotated[Path, typer.Argument(metavar="LOG", help="The npz file with q, v, a, tau, fext or h.")],
    output: Annotated[Path, _written_to("FILE", "The TOML file to write.")],
    margin: Annotated[float, typer.Option(help="By what share ranges are wider, either way.")] = 0.1,
    *,
    build: BuildArguments,
    as_json: Json = False,
) -> None:
    """Write a domain file with the ranges of a recorded trajectory, for --domain."""
    from rbdhw.front.calls import domain_of_log

    path = domain_of_log(urdf, log, output, build.parse()[0], margin)
    if as_json:
        _print_json({"domain": str(path)})
    else:
        print(path)


@app.command()
@takes_build_options
def study(
    urdf: Urdf,
    output: Annotated[Path, _written_to("DIR", "The folder of the results.")],
    widths: Annotated[
        str | None, typer.Option(metavar="W,...", help="Operand widths of multipliers, or ranges: 10-14,18.")
    ] = None,
    formats: Annotated[
        str | None,
        typer.Option(metavar="QI.F,...", help="Uniform formats without hardware, or grids: Q8-12.10-18."),
    ] = None,
    budgets: Annotated[str | None, typer.Option(metavar="E,...", help="Error budgets.")] = None,
    exact: Annotated[
        str | None, typer.Option(metavar="FUNCTION,...", help="Functions that are in double precision.")
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            metavar="track|reach|MODULE:FUNCTION", help="What the loop does, or a loop of your own."
        ),
    ] = "track",
    seconds: Annotated[float, typer.Option(help="How long the loop runs.")] = 4.0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; one for each core by default.")
    ] = None,
    cluster: Cluster = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw study.png and study.svg, too.")] = False,
    *,
    build: BuildArguments,
    as_json: Json = False,
) -> None:
    """Judge number formats by a controller in a closed loop, beside double precision.

    The builds have step and dstep, with --frames also position: frames are tracked. A loop of your own has
    --functions. Results are kept in DIR.
    """
    from rbdhw.front.calls import study_folder, study_settings

    others = {"workers": workers, "cluster": cluster}
    settings = study_settings(widths, formats, budgets, exact, task, seconds, **others)
    given, frames = build.values["functions"], build.values["frames"]
    asked = build.parse(functions=settings.task.functions(given, frames is not None))
    _print_result(study_folder(urdf, output, *asked, settings, draws=plot), as_json)


@app.command()
def simulate(
    directory: Directory,
    tasks: Annotated[int, typer.Option(min=1, help="Number of random tasks.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the tasks and of the stream's pauses.")] = 0,
    bulk: Annotated[bool, typer.Option("--bulk", help="Use a C++ bench, faster than cocotb.")] = False,
    confidence: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="The confidence, such as 0.999, for which further tasks on the model bound the share with "
            "errors beyond the limit.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run random tasks through the RTL in Verilator and compare each bit with the model."""
    from rbdhw.front.calls import simulate_folder

    result = simulate_folder(directory, tasks, seed, bulk=bulk, confidence=confidence)
    _print_result(result, as_json)
    warn(f"{directory}: {line}" for line in (*result.failures, *result.warnings))
    if not result.ok:
        raise typer.Exit(FOUND_WRONG)


@app.command()
def power(
    directory: Directory,
    function: Annotated[
        str | None, typer.Option(help="One of the design's functions; the first by default.")
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, help="Number of random tasks.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the tasks.")] = 0,
    saif: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the toggles of all signals, for a vendor's power report."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Count how often signals change while tasks of one function follow each other; estimate the power."""
    from rbdhw.front.calls import power_of_folder

    _print_result(power_of_folder(directory, function, tasks, seed, saif), as_json)


@app.command()
def run(
    directory: Directory,
    function: Annotated[str, typer.Argument(metavar="FUNCTION", help="One of the design's functions.")],
    input_file: Annotated[Path, typer.Option("--input", help="The npz file with q, v, a or tau, fext.")],
    output_file: Annotated[Path, typer.Option("--output", help="The npz file to write.")],
    engine: Annotated[
        EngineName | None,
        typer.Option(
            help="By default the first that serves the folder. "
            + "; ".join(f"{entry.name}: {entry.title}" for entry in ENGINES.values())
        ),
    ] = None,
    transport: Annotated[
        str | None,
        typer.Option(
            help="The board of the engine board: serial:DEVICE, udp:HOST:PORT, xdma:DEVICE or uio:..."
        ),
    ] = None,
    extended: Annotated[bool, typer.Option("--extended", help="Also return the optional results.")] = False,
    outside: Annotated[
        str, typer.Option(help="Tasks outside the domain: limit (and flag them) or refuse.")
    ] = "limit",
    as_json: Json = False,
) -> None:
    """Compute a function for your own vectors, one row a task; or solve problems, in a folder with solve."""
    from rbdhw.front import run as runner
    from rbdhw.front.tables import print_causes
    from rbdhw.progress import show_progress

    with show_progress() as progress:
        outcome = runner.run(
            directory,
            function,
            input_file,
            output_file,
            engine,
            extended=extended,
            link=Link(transport),
            outside=outside,
            progress=progress,
        )
    if outcome.ignored:
        unused = "it" if len(outcome.ignored) == 1 else "them"
        arrays = subject("array", outcome.ignored)
        warn([f"{input_file}: {arrays}: {function} does not use {unused}; ignored"])
    if as_json:
        _print_json(outcome.json())
    else:
        print(f"{outcome.tasks} tasks, {outcome.flagged} flagged -> {output_file}")
        print_causes(outcome.json()["causes"])
    warn(f"{input_file}: {warning}" for warning in outcome.warnings)


@app.command()
def report(
    directory: Directory,
    output: Annotated[
        Path | None, _written_to("FILE", "The file; DIR/build-report/report.html by default.")
    ] = None,
    study: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Of a study of number formats, to show it, too.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a page on a design: robot, blocks, steps in time, use of hardware, errors, link and packets."""
    from rbdhw.page.write import write_report

    path = write_report(directory, output, study)
    if as_json:
        _print_json({"report": str(path)})
    else:
        print(path)


@app.command()
def driver(
    directory: Directory,
    output: Annotated[Path, _written_to("DIR", "The folder to write.")],
    certify: Annotated[
        bool,
        typer.Option("--certify", help="Also write C that bounds the errors of answers of fd, minv, dfd."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Write the driver in C for a program of your own, with the description of a design."""
    from rbdhw.design.folder import read
    from rbdhw.driver import folder, library

    design = read(directory)
    names = folder.write(design, output, certify=certify)
    if as_json:
        _print_json({"files": names})
    else:
        print(f"{len(names)} files -> {output}")
    warn(f"{directory}: {remark}" for remark in library.remarks(design))


@app.command()
def synthesize(
    directory: Directory,
    target: Annotated[
        str | None,
        typer.Option(help=f"The device: {', '.join(TARGETS)}; only ecp5-85 with placement."),
    ] = None,
    board: Annotated[str | None, typer.Option(help=f"The board: {', '.join(BOARDS)}.")] = None,
    clock: Annotated[
        float | None, typer.Option(help="The clock to reach, in MHz; the design's own by default.")
    ] = None,
    speed_grade: Annotated[
        str | None, typer.Option(help="The speed grade of the timing check; the device's by default.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the first placement; 1 by default.")] = None,
    tries: Annotated[
        int | None,
        typer.Option(help="The most placements, with successive seeds, to reach the clock; 3 by default."),
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Only count resources; skip placement.")] = False,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Synthesise with Yosys, place and route with nextpnr; for a board, build the bitstream."""
    from rbdhw.boards import synthesize as synthesis
    from rbdhw.progress import show_progress

    with show_progress() as progress:
        try:
            report = synthesis.synthesize(
                directory,
                target=target,
                board=board,
                clock_mhz=clock,
                speed_grade=speed_grade,
                seed=seed,
                tries=tries,
                count=count,
                cluster=cluster,
                progress=progress,
            )
        except synthesis.TimingError as error:
            _report_synthesis(directory, error.report, as_json)
            raise
    _report_synthesis(directory, report, as_json)


@app.command()
def package(
    directory: Directory,
    form: Annotated[str, typer.Option("--format", help="The format: fusesoc, vivado, vitis, litex.")],
    output: Annotated[Path | None, _written_to("DIR", "A new or an empty folder; by default in DIR.")] = None,
    as_json: Json = False,
) -> None:
    """Write the accelerator with registers as a package for FuseSoC, Vivado, Vitis or LiteX."""
    from rbdhw.packages import package as packages

    folder = packages.package(directory, form, output)
    if as_json:
        _print_json({"format": form, "folder": str(folder)})
    else:
        print(folder)


def _report_synthesis(directory: Path, report: dict[str, Any], as_json: bool) -> None:
    """Print the result of synthesis, as JSON or as a short table."""
    if as_json:
        _print_json(report)
    else:
        from rbdhw.front.tables import print_synthesis

        print_synthesis(directory, report)
