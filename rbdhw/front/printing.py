"""Text and tables, as lines of a terminal or as a page of a notebook."""

from __future__ import annotations

import html
import io
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from rbdhw.errors import printable

LINE_WIDTH = 80
"""Columns of text, and of tables if the output is not a terminal."""

_PAGE: ContextVar[list[str] | None] = ContextVar("page", default=None)
"""The parts of the page that is being written; None while lines are printed."""


def print_text(text: str, indent: str = "") -> None:
    """Print text in lines of :data:`LINE_WIDTH`; ``indent`` precedes the further lines of a paragraph.

    Characters that do not print are escaped.
    """
    lines = printable(text, "\n").split("\n")
    page = _PAGE.get()
    if page is not None:
        page.append(f"<p>{'<br>'.join(map(html.escape, lines))}</p>")
        return
    for line in lines:
        print(
            textwrap.fill(
                line, LINE_WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
        )


def print_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table below its title; the first column holds names."""
    print_text(title)
    shown = [[printable(cell, "\n") for cell in row] for row in rows]
    page = _PAGE.get()
    if page is not None:
        page.append(_table_in_html(columns, shown))
        return
    table = Table(box=MARKDOWN)
    for k, column in enumerate(columns):
        table.add_column(column, justify="right" if k else "left", overflow="fold")
    for row in shown:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else LINE_WIDTH
    Console(width=width, highlight=False, markup=False, emoji=False).print(table)


def text_of(write: Callable[[], None]) -> str:
    """Return what ``write`` prints."""
    with redirect_stdout(io.StringIO()) as stream:
        write()
    return stream.getvalue().rstrip("\n")


def page_of(write: Callable[[], None]) -> str:
    """Return what ``write`` prints as HTML."""
    with _new_page() as page:
        write()
    return "\n".join(page)


@contextmanager
def _new_page() -> Iterator[list[str]]:
    page: list[str] = []
    token = _PAGE.set(page)
    try:
        yield page
    finally:
        _PAGE.reset(token)


def _table_in_html(columns: list[str], rows: list[list[str]]) -> str:
    def line(cells: list[str], tag: str) -> str:
        texts = (html.escape(cell).replace("\n", "<br>") for cell in cells)
        return f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for text in texts)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(columns, 'th')}</thead><tbody>{body}</tbody></table>"
