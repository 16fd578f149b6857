"""The command line: ``rbdhw info | generate | simulate | run | synthesize | bench``.

Exit status 0: done; 1: found wrong (a mismatch, an error beyond the budget, timing missed, a tool that
failed); 2: bad input, told in one line.
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
from rich.box import MARKDOWN
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from rbdhw import artifact, pipeline
from rbdhw.choice import parse_algorithms
from rbdhw.config import BASES, BuildOptions, Mounting, Pacing, parse_gravity, parse_interval, parse_share
from rbdhw.domain import Overrides, read_overrides
from rbdhw.errors import InputError
from rbdhw.estimate.calibration import TABLE, WEIGHED
from rbdhw.protocol import FUNCTIONS
from rbdhw.tracing import ALGORITHMS

FOUND_WRONG, BAD_INPUT = 1, 2

FILE_WIDTH = 160
"""Columns of a table that does not go to a terminal."""

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


def _table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    table = Table(title=title, title_justify="left", box=MARKDOWN)
    for k, column in enumerate(columns):
        table.add_column(column, justify="right" if k else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else FILE_WIDTH).print(table)


@app.command()
def info(
    urdf: Urdf,
    functions: Functions = ALL_FUNCTIONS,
    fext: Fext = "none",
    algorithm: AlgorithmList = None,
    base: BaseName = "fixed",
    gravity: Gravity = None,
    root: Root = None,
    lenient: Lenient = False,
    explore: Annotated[
        bool, typer.Option("--explore", help="Compare initiation intervals from 1 to 64 instead.")
    ] = False,
    target: Annotated[str, typer.Option(help="Of --explore: xcvu9p or ecp5-85.")] = "xcvu9p",
    width: Annotated[int | None, typer.Option(help="Of --explore: operand bits of the multipliers.")] = None,
    tdata: Annotated[int, typer.Option(help="Of --explore: bits of the streams.")] = 512,
    bandwidth: Bandwidth = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Of --explore: a folder for the plot, PNG and SVG.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Tell the robot's tree, its joints, and the operations that each function takes."""
    forced = parse_algorithms(algorithm or [])
    mounting = Mounting(base, parse_gravity(gravity), lenient, root)
    if explore:
        options = BuildOptions(
            functions=_functions(functions),
            target=target,
            width=width,
            fext=fext,
            data_width=tdata,
            algorithms=forced,
            mounting=mounting,
            pacing=Pacing(bandwidth=bandwidth),
        )
        _explore(urdf, options, output, as_json)
        return
    with _progress() as progress:
        data = pipeline.describe(urdf, _functions(functions), fext, forced, mounting, progress)
    if as_json:
        _print_json({key: data[key] for key in ("robot", "functions")})
        return
    robot = data["robot"]
    print(f"{robot['name']}: {robot['dof']} degrees of freedom, depth {robot['depth']}")
    _table("joints", list(data["joints"][0]), [list(row.values()) for row in data["joints"]])
    print_roots(data["roots"])
    _table(
        "operations a task",
        ["function", "variable x variable", "variable x constant", "additions", "reciprocals"],
        [
            [
                name,
                str(counts["multiplications"]["variable"]),
                str(counts["multiplications"]["constant"]),
                str(counts["additions"]),
                str(counts["reciprocals"]),
            ]
            for name, counts in data["functions"].items()
        ],
    )
    print_algorithms(data["algorithms"])
    print_limbs(data["limbs"])


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
        _table(title, *table(found))


def print_limbs(limbs: dict[str, Any]) -> None:
    """The limbs that are alike, and the hardware at the least interval at which all of them can share."""
    if limbs["groups"]:
        rows = [
            [f"share-limbs={way}", *(str(count) for count in counts.values())]
            for way, counts in limbs["hardware"].items()
        ]
        title = f"limbs alike: {limbs_text(limbs['groups'])}; at an II of {limbs['ii']}"
        _table(title, ["", "multipliers", "adders"], rows)


def print_roots(trials: list[dict[str, Any]]) -> None:
    """The links tried as roots, and their costs."""
    rows = [[trial["link"], str(trial["depth"]), f"{trial['cost']:.0f}"] for trial in trials]
    if rows:
        _table("roots", ["link", "depth", "cost"], rows)


def print_algorithms(algorithms: dict[str, Any]) -> None:
    """The algorithms taken, and what each alternative would cost, all functions together."""
    rows = []
    for step, choice in algorithms.items():
        for name, cost in choice["costs"].items():
            taken = "taken" if name == choice["chosen"] else ""
            figures = [str(cost["multiplications"]), str(cost["additions"]), f"{cost['nanoseconds']:.0f} ns"]
            rows.append([f"{step}={name}", taken, *figures, f"{cost['total']:.0f}"])
    if rows:
        columns = ["algorithm", "", "multiplications", "additions", "longest paths", "cost"]
        _table("algorithms", columns, rows)


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
    target: Annotated[str, typer.Option(help="The device: xcvu9p or ecp5-85.")] = "xcvu9p",
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
    lenient: Lenient = False,
    share_limbs: Annotated[
        str, typer.Option(help="Whether symmetric limbs take turns in one's hardware: auto, on or off.")
    ] = "auto",
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
        mounting=Mounting(base, parse_gravity(gravity), lenient, root),
        share_limbs=share_limbs,
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


def print_manifest(manifest: dict[str, Any], output: Path) -> None:
    """A short table of a design."""
    robot = manifest["robot"]
    rows = []
    for name, function in manifest["functions"].items():
        error = manifest["error"][name]
        products = function["multiplications"]
        rows.append(
            [
                name,
                str(products["variable"] + products["constant"]),
                str(function["additions"]),
                str(manifest["ii"]),
                f"{function['latency_cycles']} cycles",
                str(manifest["multipliers"]),
                f"{error['median']:.1e} / {error['max']:.1e}",
            ]
        )
    width = " x ".join(str(bits) for bits in manifest["width"])
    _table(
        f"{robot['name']} ({robot['dof']} joints) for {manifest['target']} at {manifest['clock_mhz']:g} MHz, "
        f"{width} bits -> {output}",
        ["function", "multiplications", "additions", "II", "latency", "multipliers", "error median / max"],
        rows,
    )
    print_interval(manifest)
    print_sharing(manifest["limbs"])


def print_interval(manifest: dict[str, Any]) -> None:
    """Why tasks come at this interval, and what the design takes of its target by estimate."""
    chosen, found = manifest["interval"], manifest["estimate"]
    rows = [
        [name.replace("_", " "), f"{found[name]:,}", f"{share:.1%}", _error_text(name, found["error"])]
        for name, share in found["shares"].items()
    ]
    title = f"II {chosen['ii']}, {chosen['why']}; estimated of {manifest['target']}"
    _table(title, ["", "", "share", "estimates are off by, median / largest"], rows)


def _error_text(name: str, errors: dict[str, dict[str, float]] | None) -> str:
    """How far estimates of a resource are from Yosys' counts: of logic in per cent, of blocks by number."""
    if errors is None:
        return "-"
    form = ".1%" if name in WEIGHED else "g"
    return " / ".join(format(error, form) for error in errors[name].values())


def print_sharing(limbs: dict[str, Any]) -> None:
    """The limbs that are alike, and what it costs to let them share hardware or not."""
    if not limbs["costs"]:
        return
    rows = []
    for way, cost in limbs["costs"].items():
        taken = "taken" if (way == "on") == limbs["shared"] else ""
        rows.append([f"share-limbs={way}", taken, *(str(count) for count in cost.values())])
    columns = [name.replace("_", " ") for name in next(iter(limbs["costs"].values()))]
    _table(f"limbs alike: {limbs_text(limbs['groups'])}", ["", "", *columns], rows)


def limbs_text(groups: list[list[str]]) -> str:
    """Groups of limbs in a line, each limb by the name of its first link."""
    return "; ".join(", ".join(group) for group in groups)


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


def _error_cell(median: float | None, largest: float | None) -> str:
    return "-" if median is None or largest is None else f"{median:.1e} / {largest:.1e}"


def print_report(manifest: dict[str, Any], report: dict[str, Any]) -> None:
    """A short table of a simulation."""
    rows = []
    for name, function in report["functions"].items():
        products = manifest["functions"][name]["multiplications"]
        rows.append(
            [
                name,
                str(function["tasks"]),
                str(products["variable"] + products["constant"]),
                str(manifest["ii"]),
                "-" if function["latency_cycles"] is None else f"{function['latency_cycles']} cycles",
                str(manifest["multipliers"]),
                str(report["mismatches"]),
                _error_cell(function["error_median"], function["error_max"]),
            ]
        )
    columns = ["function", "tasks", "multiplications", "II", "latency", "multipliers", "mismatches"]
    _table(
        f"{manifest['robot']['name']}: RTL in Verilator against the bit-exact model and the golden model; "
        f"{report['flagged']} flagged, {report['cycles']} cycles",
        [*columns, "error median / max"],
        rows,
    )


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
    target: Annotated[str | None, typer.Option(help="Synthesise for a device: xcvu9p or ecp5-85.")] = None,
    board: Annotated[str | None, typer.Option(help="Build for a board: ulx3s-85f or vcu118.")] = None,
    as_json: Json = False,
) -> None:
    """Synthesise with Yosys; for a board, place, route and pack as well."""
    from rbdhw.boards.synthesize import synthesize as synthesized

    with _progress() as progress:
        report = synthesized(directory, target=target, board=board, progress=progress)
    if as_json:
        _print_json(report)
    else:
        rows = [
            [name.replace("_", " "), "-" if value is None else str(value)] for name, value in report.items()
        ]
        _table(str(directory), ["", ""], rows)


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
        Path | None,
        typer.Option(
            metavar="FILE", help="Synthesise instead, and keep what estimates are held to in a file."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure the figures of the README again, sweep a folder of robots, or synthesise for the estimates."""
    if sweep is not None:
        _sweep(sweep, jobs, output, as_json)
        return
    if synthesis:
        _calibrate(output, as_json)
        return
    from rbdhw.bench import markdown, measure

    with _progress() as progress:
        results = measure(progress)
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


def _calibrate(output: Path | None, as_json: bool) -> None:
    """Write the package's table that estimates are held to, and compare both."""
    from rbdhw.bench import markdown
    from rbdhw.calibrate import calibrate, tables

    with _progress() as progress:
        found = calibrate(progress)
    artifact.write_text(TABLE, found.text())
    _report(found.model_dump(mode="json"), markdown(tables(found)), output, as_json)


def _report(results: Any, text: str, output: Path | None, as_json: bool) -> None:
    """Tables to a file or to standard output, or JSON."""
    if as_json:
        _print_json(results)
    elif output is not None:
        artifact.write_text(output, text)
    else:
        print(text)
