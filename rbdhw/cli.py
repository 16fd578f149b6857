"""The command line: ``rbdhw info | generate | simulate | run | synthesize | bench``.

Exit status 0: done; 1: found wrong (a mismatch, an error beyond the budget, timing missed, a tool that
failed); 2: bad input, a design too large for its device among it, told in one line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rbdhw import artifact, pipeline
from rbdhw.choice import parse_algorithms
from rbdhw.config import (
    BASES,
    CHEAPER_CORE,
    CORES,
    JOINT_ORDERS,
    BuildOptions,
    Mounting,
    Pacing,
    parse_gravity,
    parse_interval,
    parse_share,
)
from rbdhw.description import describe
from rbdhw.domain import Overrides, read_overrides
from rbdhw.errors import InputError
from rbdhw.estimate.calibration import TABLE, calibration
from rbdhw.printing import (
    print_description,
    print_manifest,
    print_report,
    print_synthesis,
    print_table,
)
from rbdhw.protocol import FUNCTIONS
from rbdhw.tracing import ALGORITHMS

FOUND_WRONG, BAD_INPUT = 1, 2

ALL_FUNCTIONS = ",".join(FUNCTIONS)

app = typer.Typer(
    help="Turn a robot description (URDF) into an FPGA accelerator for its rigid-body dynamics.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Urdf = Annotated[Path, typer.Argument(metavar="URDF", help="The robot's description.")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `generate` wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Functions = Annotated[str, typer.Option(help="Which functions, with commas: " + ", ".join(FUNCTIONS) + ".")]
Fext = Annotated[
    str, typer.Option(help="Links that take an external force: none, all, or names with commas.")
]


ALGORITHM_HELP = "; ".join(f"{step}={'|'.join(names)}" for step, names in ALGORITHMS.items())

AlgorithmList = Annotated[
    list[str] | None,
    typer.Option("--algorithm", help=f"Instead of the cheapest, may be repeated: {ALGORITHM_HELP}."),
]


BaseName = Annotated[str, typer.Option("--base", help="How the root may move: " + ", ".join(BASES) + ".")]
Gravity = Annotated[
    str | None, typer.Option(help="x,y,z in m/s^2, or 'task' if each brings its own; 0,0,-9.81 by default.")
]
Root = Annotated[
    str | None,
    typer.Option(help="The link that floats instead of the root, or 'auto' for the cheapest."),
]
Bandwidth = Annotated[
    float | None,
    typer.Option(metavar="GB/s", help="Of the link, each way; by default what the streams carry."),
]
JointOrder = Annotated[
    str,
    typer.Option(help="Order of the joints: pinocchio (a link's joints by name) or file (as listed)."),
]
Lenient = Annotated[
    bool,
    typer.Option("--lenient", help="Take as it is what is amiss in the file but other parsers accept."),
]


class Engine(StrEnum):
    """What answers `run`."""

    MODEL = "model"
    RTL = "rtl"
    GOLDEN = "golden"


def main() -> None:
    """Run the command line; every expected failure is one line on the error stream."""
    from rbdhw.boards.tools import ToolError
    from rbdhw.sim.verilator import SimulationError

    try:
        app()
    except InputError as error:
        print(f"rbdhw: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except (ToolError, SimulationError) as error:
        print(f"rbdhw: {error}", file=sys.stderr)
        sys.exit(FOUND_WRONG)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Show on the error stream, where it is a terminal, which stage is at work."""
    console = Console(stderr=True)
    with console.status("starting") as status:
        yield lambda stage: status.update(stage)


def _functions(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _print_json(data: Any) -> None:
    print(json.dumps(data, indent=2))


@app.command()
def info(
    urdf: Urdf,
    functions: Functions = ALL_FUNCTIONS,
    fext: Fext = "none",
    algorithm: AlgorithmList = None,
    base: BaseName = "fixed",
    gravity: Gravity = None,
    root: Root = None,
    joint_order: JointOrder = JOINT_ORDERS[0],
    lenient: Lenient = False,
    explore: Annotated[
        bool, typer.Option("--explore", help="Compare initiation intervals from 1 to 64 instead.")
    ] = False,
    target: Annotated[str, typer.Option(help="The device: xcvu9p, xc7a200t or ecp5-85.")] = "xcvu9p",
    width: Annotated[int | None, typer.Option(help="Of --explore: operand bits of the multipliers.")] = None,
    tdata: Annotated[int, typer.Option(help="Of --explore: bits of the streams.")] = 512,
    core: Annotated[
        str, typer.Option(help="Of --explore: pipeline, array, or auto for both where both can be built.")
    ] = CHEAPER_CORE,
    bandwidth: Bandwidth = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Of --explore: a folder for the plot, PNG and SVG.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Tell the robot's tree, its joints, and the operations that each function takes."""
    options = BuildOptions(
        functions=_functions(functions),
        target=target,
        width=width,
        fext=fext,
        data_width=tdata,
        algorithms=parse_algorithms(algorithm or []),
        mounting=Mounting(base, parse_gravity(gravity), lenient, root, joint_order),
        core=core,
        pacing=Pacing(bandwidth=bandwidth),
    )
    if explore:
        _explore(urdf, options, output, as_json)
        return
    with _progress() as progress:
        data = describe(urdf, options, progress)
    if as_json:
        _print_json({key: data[key] for key in ("robot", "functions")})
        return
    print_description(data)


def _explore(urdf: Path, options: BuildOptions, output: Path | None, as_json: bool) -> None:
    """The table of intervals, and in a folder its plot."""
    from rbdhw.explore import explore, table
    from rbdhw.plot import check_plotting, plot

    if output is not None:
        check_plotting()
    with _progress() as progress:
        found = explore(urdf, options, progress=progress)
    if output is not None:
        plot(found, output)
    if as_json:
        _print_json(found)
    else:
        link = f"{found['bandwidth']:g} GB/s" if found["bandwidth"] else f"{options.data_width} bits a cycle"
        title = f"{found['robot']} for {found['target']} at {found['clock_mhz']:g} MHz, link {link}"
        title += "; latencies in cycles"
        print_table(title, *table(found))
        for own in found["refused"]:
            print(f"{own['core']} at an II of {own['ii']}: {own['why']}")


@app.command()
def generate(
    urdf: Urdf,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The folder to write.")],
    functions: Functions = ALL_FUNCTIONS,
    ii: Annotated[
        str | None,
        typer.Option(metavar="N|auto", help="Cycles between tasks; auto: as few as the link allows."),
    ] = None,
    bandwidth: Bandwidth = None,
    fit: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT", help="Share of the target to stay within by estimate; chooses the II."
        ),
    ] = None,
    target: Annotated[str, typer.Option(help="The device: xcvu9p, xc7a200t or ecp5-85.")] = "xcvu9p",
    clock: Annotated[float | None, typer.Option(help="MHz; the target's own by default.")] = None,
    max_error: Annotated[
        float | None, typer.Option(help="Largest relative error; 1e-3 if no width is given either.")
    ] = None,
    width: Annotated[int | None, typer.Option(help="Operand bits of the multipliers, instead.")] = None,
    fext: Fext = "none",
    tdata: Annotated[int, typer.Option(help="Bits of the streams: 32, 64, 128, 256 or 512.")] = 512,
    number: Annotated[str, typer.Option(help="What travels on the streams: fixed or float32.")] = "fixed",
    algorithm: AlgorithmList = None,
    base: BaseName = "fixed",
    gravity: Gravity = None,
    root: Root = None,
    joint_order: JointOrder = JOINT_ORDERS[0],
    lenient: Lenient = False,
    share_limbs: Annotated[
        str, typer.Option(help="Whether symmetric limbs take turns in one's hardware: auto, on or off.")
    ] = "auto",
    core: Annotated[
        str,
        typer.Option(
            help="What computes: pipeline; array, smaller from an II of some 16 on, but later; or auto, "
            "what takes less of the target."
        ),
    ] = CORES[0],
    domain: Annotated[Path | None, typer.Option(help="TOML file with bounds of the inputs.")] = None,
    seed: Annotated[int, typer.Option(help="Of all random draws.")] = 0,
    as_json: Json = False,
) -> None:
    """Write the Verilog, its bit-exact model and its manifest."""
    share = parse_share(fit)
    least, pacing = parse_interval(ii, bandwidth, share)
    options = BuildOptions(
        functions=_functions(functions),
        ii=least,
        pacing=pacing,
        fit=share,
        target=target,
        clock_mhz=clock,
        max_error=max_error,
        width=width,
        fext=fext,
        data_width=tdata,
        number=number,
        algorithms=parse_algorithms(algorithm or []),
        mounting=Mounting(base, parse_gravity(gravity), lenient, root, joint_order),
        share_limbs=share_limbs,
        core=core,
        seed=seed,
    )
    artifact.check_output(output)
    overrides = read_overrides(domain) if domain else Overrides()
    with _progress() as progress:
        design = pipeline.generate(urdf, options, overrides, progress)
        artifact.write(design, output)
    if as_json:
        _print_json(design.manifest)
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

    with _progress() as progress:
        report = simulated(directory, tasks, seed, bulk=bulk, progress=progress)
    if as_json:
        _print_json(report.json())
    else:
        print_report(artifact.read(directory).manifest, report.json())
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

    with _progress() as progress:
        summary = ran(
            directory,
            function,
            input_file,
            output_file,
            engine.value,
            extended=extended,
            progress=progress,
        )
    if as_json:
        _print_json(summary)
    else:
        print(f"{summary['tasks']} tasks, {summary['flagged']} flagged -> {output_file}")


@app.command()
def synthesize(
    directory: Directory,
    target: Annotated[
        str | None,
        typer.Option(help="The device; xcvu9p and xc7a200t are counted, ecp5-85 also placed and routed."),
    ] = None,
    board: Annotated[str | None, typer.Option(help="Build for a board: ulx3s-85f or vcu118.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the placement; 1 by default.")] = None,
    count: Annotated[bool, typer.Option("--count", help="Only count, do not place.")] = False,
    as_json: Json = False,
) -> None:
    """Synthesise with Yosys, place and route with nextpnr; for a board, make its bitstream."""
    from rbdhw.boards.synthesize import TimingError
    from rbdhw.boards.synthesize import synthesize as synthesized

    with _progress() as progress:
        try:
            report = synthesized(
                directory, target=target, board=board, seed=seed, count=count, progress=progress
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
        int | None, typer.Option(min=1, help="Processes of a sweep; as many as cores by default.")
    ] = None,
    synthesis: Annotated[
        bool, typer.Option("--synthesis", help="Synthesise instead, and keep what estimates are held to.")
    ] = False,
    only: Annotated[
        str, typer.Option(metavar="TEXT", help="Tables, or designs, whose titles contain it.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Measure the figures of the README again, sweep a folder of robots, or synthesise for the estimates."""
    if sweep is not None:
        _sweep(sweep, jobs, output, as_json)
        return
    if synthesis:
        _calibrate(only, output, as_json)
        return
    from rbdhw.bench import markdown, measure

    with _progress() as progress:
        results = measure(progress, only)
    _report(results, markdown(results), output, as_json)


def _sweep(folder: Path, jobs: int | None, output: Path | None, as_json: bool) -> None:
    """Sweep a folder behind a progress bar; exit status 1 where a robot fails a check."""
    from rbdhw.sweep import markdown
    from rbdhw.sweep import sweep as swept

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("reading", total=None)

        def advance(done: int, total: int, last: str) -> None:
            bar.update(task, completed=done, total=total, description=last)

        found = swept(folder, advance, jobs)
    _report(found.json(), markdown(found), output, as_json)
    if not found.passed:
        raise typer.Exit(FOUND_WRONG)


def _calibrate(only: str, output: Path | None, as_json: bool) -> None:
    """Write the package's table that estimates are held to, and compare both."""
    from rbdhw.bench import markdown
    from rbdhw.calibrate import calibrate, named, tables

    with _progress() as progress:
        found = calibrate(
            calibration(),
            lambda table: artifact.write_text(TABLE, table.text()),
            progress,
            named(only),
        )
    _report(found.model_dump(mode="json"), markdown(tables(found)), output, as_json)


def _report(results: Any, text: str, output: Path | None, as_json: bool) -> None:
    """Tables to a file if one is named; to standard output JSON, or else the tables."""
    if output is not None:
        artifact.write_text(output, text)
    if as_json:
        _print_json(results)
    elif output is None:
        print(text)
