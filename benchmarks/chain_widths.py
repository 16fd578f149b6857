"""Errors of the chain core by the number of links and by the width of its multipliers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchmarks.chain_builds import bounds
from benchmarks.chain_runs import ALL_LINKS, WIDTHS
from benchmarks.forward_dynamics import snake
from benchmarks.rows import Row, Rows
from rbdhw.cores.steps.chain import ChainCore
from rbdhw.explore.search import prepare_build
from rbdhw.options.build import BuildOptions
from rbdhw.quantize.steps import choose_step_formats, observe_links

SAMPLES = 256
"""The tasks for which formats are chosen."""


def chain_widths(links: Iterable[int] = ALL_LINKS, widths: Iterable[int] = WIDTHS) -> Rows:
    """Return the median and the largest error of ``fd`` in ordinary motions, by chain and width."""
    return [_row(count, tuple(widths)) for count in links]


def _row(links: int, widths: tuple[int, ...]) -> Row:
    options = BuildOptions(("fd",), samples=SAMPLES, core=ChainCore.name)
    prepared = prepare_build(snake(links), options, bounds(links))
    assert prepared.chain is not None
    steps = observe_links(prepared.model, prepared.chain, prepared.domain, options)
    row: Row = {"links": links}
    for width in widths:
        formats = choose_step_formats(steps, replace(options, width=width))
        motion = formats.errors["fd"].strata["motion"]
        row[f"{width} bits"] = {"median": motion.median, "max": motion.max}
    return row


def widths_layout(rows: Rows) -> Rows:
    """Return a line for each chain."""
    return [
        {"links": f"{row['links']:,}"}
        | {
            key: f"{figures['median']:.1e} / {figures['max']:.1e}"
            for key, figures in row.items()
            if key != "links"
        }
        for row in rows
    ]
