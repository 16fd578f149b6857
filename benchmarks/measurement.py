"""Measures tables, and writes them into documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks import markdown_tables
from benchmarks.durations import keep_minutes, minutes, part_of, processor_seconds
from benchmarks.rows import Rows
from benchmarks.stamps import stamp
from benchmarks.tables import TABLES
from rbdhw.errors import InputError
from rbdhw.progress import Progress
from rbdhw.runtime.extras import check_installed


def measure(
    progress: Progress,
    only: str = "",
    among: Iterable[str] | None = None,
    keep: Callable[[str, Rows], None] = lambda *_: None,
    part: str = "1/1",
) -> dict[str, Rows]:
    """Return the table of the name ``only``, or those whose titles contain it, by title; all if it is empty.

    What is reported of each names the minutes that it took when it was last written.

    Parameters
    ----------
    among
        Names of :data:`benchmarks.tables.TABLES` that limit the choice.
    keep
        Receives the name and the rows of every table as soon as it is measured, to save them.
    part
        ``K/N``: the K-th of N parts of about equal time.

    Raises
    ------
    InputError
        If no title contains the text, a package that a table needs is not installed, or there is no such
        part.
    """
    known = {name: TABLES[name] for name in (TABLES if among is None else among)}
    chosen = {
        name: entry for name, entry in known.items() if only.casefold() in f"{name} {entry.title}".casefold()
    }
    chosen = {only: known[only]} if only in known else chosen
    if not chosen:
        titles = ", ".join(entry.title for entry in known.values())
        raise InputError("only", f"no table's title contains '{only}'", f"part of {titles}")
    chosen = {name: chosen[name] for name in part_of(list(chosen), part)}
    took = minutes()
    for package in {package: None for entry in chosen.values() for package in entry.packages}:
        check_installed(package)
    results: dict[str, Rows] = {}
    for name, entry in chosen.items():
        progress(entry.title + (f" (about {took[name]:g} min)" if name in took else ""))
        results[entry.title] = entry.rows()
        keep(name, results[entry.title])
    return results


def write(
    documents: Sequence[Path], progress: Progress, only: str = "", part: str = "1/1"
) -> dict[str, Rows]:
    """Measure the tables that documents have markers for, and insert each as soon as it is measured.

    The minutes that each takes are kept, and the stamps of those that have one.

    Raises
    ------
    InputError
        As :func:`measure`, and if a document has no marker, or one of an unknown table.
    """
    places = {path: list(markdown_tables.tables(path)) for path in documents}
    for path, names in places.items():
        if not names:
            raise InputError(str(path), "no place for a table", "lines such as '<!-- bench: operations -->'")
        for name in names:
            if name not in TABLES:
                raise InputError(f"{path}, table '{name}'", "is unknown", f"one of {', '.join(TABLES)}")

    start = processor_seconds()

    def keep(name: str, rows: Rows) -> None:
        nonlocal start
        keep_minutes(name, processor_seconds() - start)
        for path in (path for path, names in places.items() if name in names):
            markdown_tables.replace_table(path, name, grid(TABLES[name].layout(rows)))
            if draw := TABLES[name].picture:
                draw(rows, path.with_name(f"{name}.svg"))
        stamp(name)
        start = processor_seconds()

    among = dict.fromkeys(name for names in places.values() for name in names)
    return measure(progress, only, among, keep, part)


def lay_out(results: dict[str, Rows]) -> dict[str, Rows]:
    """Return the measured tables by title, arranged for documents."""
    layouts = {entry.title: entry.layout for entry in TABLES.values()}
    return {title: layouts[title](rows) for title, rows in results.items()}


def markdown(results: dict[str, Rows]) -> str:
    """Return tables in Markdown below their titles."""
    return "\n\n".join(f"### {title}\n\n{grid(rows)}" for title, rows in results.items()) + "\n"


def grid(rows: Rows) -> str:
    """Return a table in Markdown; the columns are those of its first row."""
    columns = list(rows[0])
    return markdown_tables.markdown(columns, ([_cell(row[column]) for column in columns] for row in rows))


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
