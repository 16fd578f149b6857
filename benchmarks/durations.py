"""How long each table takes, as when it was last measured, and parts of about equal time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from rbdhw.errors import InputError
from rbdhw.runtime.files import write_text

MINUTES = Path(__file__).with_name("minutes.json")

UNKNOWN = 5.0
"""The minutes that a table is taken to need that has not been measured since minutes are kept."""


def minutes() -> dict[str, float]:
    """Return the minutes of processor time of each table that were kept; none if there is no file."""
    entries: dict[str, float] = json.loads(MINUTES.read_text(encoding="utf-8")) if MINUTES.exists() else {}
    return entries


def keep_minutes(name: str, seconds: float) -> None:
    """Keep how long a table took, at least a tenth of a minute."""
    known = minutes() | {name: max(0.1, round(seconds / 60.0, 1))}
    write_text(MINUTES, json.dumps(dict(sorted(known.items())), indent=1) + "\n")


A = TypeVar("A")
B = TypeVar("B")

_EARLIER: list[float] = []
"""The seconds that work took of which this process found the result."""


def processor_seconds() -> float:
    """Return the processor time of this process, of all programs that it has run, and of work kept before."""
    return sum(os.times()[:4]) + sum(_EARLIER)


def keep_work(result: Path, work: Callable[[], None]) -> None:
    """Do work that writes a file, unless an earlier run has. Then the time that it took there counts."""
    note = result.with_suffix(".seconds")
    if result.exists():
        _EARLIER.append(float(note.read_text()) if note.exists() else 0.0)
        return
    start = processor_seconds()
    work()
    write_text(note, f"{processor_seconds() - start:.1f}\n")


def on_all_cores(work: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """Yield the results of work on some items, in their order; each core has a process of its own.

    The time of what an earlier run has kept counts, as in this process.
    """
    with ProcessPoolExecutor() as pool:
        for result, earlier in pool.map(partial(_with_earlier_seconds, work), items):
            _EARLIER.append(earlier)
            yield result


def _with_earlier_seconds(work: Callable[[A], B], item: A) -> tuple[B, float]:
    before = sum(_EARLIER)
    result = work(item)
    return result, sum(_EARLIER) - before


def part_of(names: Sequence[str], part: str) -> list[str]:
    """Return the names of the ``K``-th of ``N`` parts of about equal time, for a text ``K/N``.

    Raises
    ------
    InputError
        If the text is not ``K/N`` with K from 1 to N.
    """
    k, _, n = part.partition("/")
    if not (k.isdecimal() and n.isdecimal() and 1 <= int(k) <= int(n)):
        raise InputError("part", f"'{part}' is no part", "K/N with K from 1 to N, as 2/6")
    known, before = minutes(), [0.0]
    for name in names:
        before.append(before[-1] + known.get(name, UNKNOWN))
    share = before[-1] / int(n)
    # A table is in the part in which its middle lies.
    middles = [0.5 * (start + end) for start, end in pairwise(before)]
    return [name for name, middle in zip(names, middles, strict=True) if int(middle / share) == int(k) - 1]
