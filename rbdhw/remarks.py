"""Warnings about input that is accepted despite a defect: their wording and their output."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rbdhw.errors import one_line

NAMED = 3
"""The most elements that a line names; the rest are counted."""


def list_names(names: Sequence[str]) -> str:
    """Return ``a``, ``a and b``, or the first few of many names and the number of the rest."""
    if len(names) <= NAMED:
        return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def subject(kind: str, names: Sequence[str]) -> str:
    """Return ``joint 'a'``, or ``joints 'a' and 'b'``: the elements that a message is about."""
    return f"{kind}{'s' if len(names) > 1 else ''} {list_names([repr(name) for name in names])}"


def without_strict(taken: str) -> str:
    """Return the remedy for a defect that only a strict reading refuses; ``taken`` is what replaces it."""
    return f"leave out --strict (then taken {taken})"


def warn(remarks: Iterable[str]) -> None:
    """Print one line for each remark on the error stream."""
    for remark in remarks:
        print(f"rbdhw: {one_line(remark)}", file=sys.stderr)
