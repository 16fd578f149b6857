"""``python -m benchmarks tables | stale | sweep | calibrate``: measures what the documentation states."""

from __future__ import annotations

import os

# NumPy reads it once, on import. The matrix products are small: further threads would mostly wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import measurement, robot_sweep, stamps, synthesis
from rbdhw.cli.app import Cluster, Json
from rbdhw.cli.process import FOUND_WRONG, run_commands
from rbdhw.estimate.calibration import TABLE, calibration
from rbdhw.progress import show_progress
from rbdhw.runtime.files import check_file, write_text

app = typer.Typer(
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

Output = Annotated[Path | None, typer.Option(help="Write the tables to this file, in Markdown.")]
Only = Annotated[str, typer.Option(metavar="TEXT", help="Only those whose titles contain TEXT.")]


@app.command()
def tables(
    only: Only = "",
    write: Annotated[
        list[Path] | None,
        typer.Option(metavar="DOCUMENT", help="Measure the tables that documents have, and insert them."),
    ] = None,
    part: Annotated[str, typer.Option(metavar="K/N", help="The K-th of N parts of equal time.")] = "1/1",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Measure the tables of the documentation."""
    for path in (*(write or []), *([output] if output else [])):
        check_file(path)
    with show_progress() as progress:
        results = (
            measurement.write(write, progress, only, part)
            if write
            else measurement.measure(progress, only, part=part)
        )
    _report(results, measurement.markdown(measurement.lay_out(results)), output, as_json)


@app.command()
def stale(only: Annotated[str, typer.Option(metavar="TABLE", help="Only this table.")] = "") -> None:
    """Name the tables that are older than the code they measure; exit with status 1 if there are any."""
    with show_progress() as progress:
        older = stamps.stale(progress, only)
    for name, commit in older.items():
        print(f"{name}: {commit}")
    if older:
        raise typer.Exit(FOUND_WRONG)


@app.command()
def sweep(
    folder: Annotated[Path, typer.Argument(help="A folder with URDF files in it or below.")],
    jobs: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Processes; by default one per core.")
    ] = None,
    cluster: Cluster = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Check every robot of a folder, stage by stage; exit with status 1 if one fails a check."""
    if output is not None:
        check_file(output)
    with show_progress() as progress:
        report = robot_sweep.sweep(folder, progress, jobs, cluster)
    _report(report.json(), robot_sweep.markdown(report), output, as_json)
    if not report.passed:
        raise typer.Exit(FOUND_WRONG)


@app.command()
def calibrate(only: Only = "", cluster: Cluster = None, output: Output = None, as_json: Json = False) -> None:
    """Synthesise designs, rewrite the table of the estimates, and compare the estimates with it."""
    if output is not None:
        check_file(output)
    with show_progress() as progress:
        table = synthesis.calibrate(
            calibration(),
            lambda measured: write_text(TABLE, measured.text()),
            progress,
            synthesis.select_subjects(only),
            cluster,
        )
    _report(table.model_dump(mode="json"), measurement.markdown(synthesis.tables(table)), output, as_json)


def _report(results: Any, text: str, output: Path | None, as_json: bool) -> None:
    """Write the tables to the output file if there is one; print JSON, or without a file the tables."""
    if output is not None:
        write_text(output, text)
    if as_json:
        print(json.dumps(results, indent=2, default=vars))
    elif output is None:
        print(text)


if __name__ == "__main__":
    run_commands(app, "python -m benchmarks")
