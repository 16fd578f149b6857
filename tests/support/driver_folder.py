"""The design of the driver's tests, how another process of theirs finds its folder, and other sources."""

import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from rbdhw.cli.app import main
from rbdhw.driver import library

FOLDER = "DRIVER_TEST_FOLDER"
"""The variable with the folder."""

OPTIONS = {
    "functions": "id,did,rollout",
    "width": 18,
    "ii": 4,
    "max_error": 0.1,
    "horizon": 8,
    "rollout": "samples,cost,gains",
    "cost_rows": 2,
    "parameters": "payload",
    "parameters_by": "load",
    "parameter_sets": 2,
}


def change_source(patch: pytest.MonkeyPatch, name: str, text: str, other: str) -> None:
    """Compile the driver with another text in one of its files."""
    texts = library.sources()
    assert text in texts[name]
    patch.setattr(library, "sources", lambda: texts | {name: texts[name].replace(text, other)})


def run_at_a_board(folder: Path, transport: str, work: Path, tasks: int = 20) -> int | str | None:
    """Compute tasks by the command line, with files in ``work`` (``out.npz``); return the exit status."""
    np.savez(work / "in.npz", **dict.fromkeys("qva", np.zeros((tasks, 2))))
    files = ["--input", str(work / "in.npz"), "--output", str(work / "out.npz")]
    call = ["run", str(folder), "id", *files, "--engine", "board", "--transport", transport]
    with pytest.raises(SystemExit) as end, patch.object(sys, "argv", ["rbdhw", *call]):
        main()
    return end.value.code
