"""Scripts for tools that are not here, run by Tcl itself with commands that only note their calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

Call = tuple[str, ...]


def run_tcl(
    script: Path,
    commands: Sequence[str],
    folder: Path,
    answers: Mapping[str, Callable[..., str]] | None = None,
) -> list[Call]:
    """Run a script in a folder and return the calls of these commands, in order, with their arguments.

    Parameters
    ----------
    answers
        What a command returns for its arguments, by its name; the others return their last argument.
    """
    interpreter = pytest.importorskip("tkinter").Tcl()
    calls: list[Call] = []
    known = answers or {}
    for name in commands:

        def call(*arguments: object, name: str = name) -> str:
            texts = tuple(map(str, arguments))
            calls.append((name, *texts))
            return known[name](*texts) if name in known else (texts or ("",))[-1]

        interpreter.createcommand(name, call)
    interpreter.call("cd", str(folder))
    interpreter.eval('proc unknown {args} {error "no command: $args"}')
    interpreter.call("source", str(script))
    return calls
