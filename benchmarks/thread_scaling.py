"""What more cores gain: batches in float C on one core, on all, and on threads created for each call."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.builds import software_of, tasks_of
from benchmarks.chain_runs import motions
from benchmarks.chain_runs import software as software_of_chain
from benchmarks.rows import Row, Rows, microseconds_text, robot_label
from benchmarks.timing import Arrays, timed_software
from rbdhw.software.folder import Software

SIZES = (256, 4096, 16_384)
"""The tasks of batches; Dadu-RBD compares 256. The C divides batches of more than 16 parts."""

CHAINS = (10, 200)
"""The links of chains, by propagation."""

ROBOTS = (("iiwa14", "fixed", ("id", "fd", "dfd")), ("hyq", "floating", ("fd", "dfd")))
"""Robots, their bases, and the functions that are timed."""


@dataclass(frozen=True)
class Subject:
    """Code that is timed, and as many tasks as the largest batch."""

    label: str
    software: Software
    tasks: Arrays


def subjects(
    robots: Iterable[tuple[str, str, tuple[str, ...]]] = ROBOTS, chains: Iterable[int] = CHAINS
) -> Iterable[Subject]:
    """Return the code of robots and of chains one after the other."""
    most = max(SIZES)
    for name, base, functions in robots:
        label = robot_label({"robot": name, "base": base})
        yield Subject(label, software_of(name, base, functions=functions), tasks_of(name, base, most))
    for links in chains:
        repeated = {key: np.resize(array, (most, links)) for key, array in motions(links).items()}
        yield Subject(f"chain of {links}", software_of_chain(links, "propagated"), repeated)


def thread_rows(
    robots: Iterable[tuple[str, str, tuple[str, ...]]] = ROBOTS, chains: Iterable[int] = CHAINS
) -> Rows:
    """Return the microseconds of batches by their size, on one core, on all, and on threads of each call."""
    rows, cores = [], len(os.sched_getaffinity(0))
    ways: tuple[dict[str, Any], ...] = ({}, {"threads": True}, {"created": cores})
    for each in subjects(robots, chains):
        libraries = [timed_software(each.software, "float32", **way) for way in ways]
        for function in each.software.functions:
            row: Row = {"robot": each.label, "function": function, "cores": cores}
            times = {
                size: tuple(1e6 * library.seconds(function, each.tasks, size) for library in libraries)
                for size in SIZES
            }
            rows.append(row | {"times": times})
    return rows


def thread_layout(rows: Rows) -> Rows:
    """Return a line for each function: times on one core, on all with the gain, and on created threads."""
    return [
        {"": f"{row['robot']}, {row['function']}", "cores": f"{row['cores']}"}
        | {f"{size:,} tasks": _cell(*times) for size, times in row["times"].items()}
        for row in rows
    ]


def _cell(one: float, every: float, created: float) -> str:
    return (
        f"{microseconds_text(one)}, {microseconds_text(every)} ({one / every:.1f}×), "
        f"{microseconds_text(created)}"
    )
