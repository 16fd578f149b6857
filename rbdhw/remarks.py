"""Warnings about input that is taken although something in it is amiss: their wording, and where they go."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rbdhw.errors import one_line

NAMED = 3
"""Elements that one line names; the others are counted."""


def list_names(names: Sequence[str]) -> str:
    """``a``, ``a and b``, or the first of many and the number of the others."""
    if len(names) <= NAMED:
        return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def subject(kind: str, names: Sequence[str]) -> str:
    """``joint 'a'``, or ``joints 'a' and 'b'``: the elements that a line is about."""
    return f"{kind}{'s' if len(names) > 1 else ''} {list_names([repr(name) for name in names])}"


def warn(remarks: Iterable[str]) -> None:
    """Write one line for each remark to the error stream."""
    for remark in remarks:
        print(f"rbdhw: {one_line(remark)}", file=sys.stderr)
