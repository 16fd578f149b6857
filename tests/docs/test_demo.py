"""The tutorial shows the commands of ``make demo``, and what they print."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.documents import ROOT, blocks

COMMANDS, PRINT = (block for _, block in blocks(ROOT / "docs" / "tutorial.md")[:2])


def test_the_commands_are_those_of_the_target() -> None:
    recipe = re.search(r"^demo: .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    assert recipe[1].replace("\t$(BIN)/", "") == COMMANDS


@pytest.mark.verify(minutes=6)
def test_the_print(tmp_path: Path) -> None:
    (tmp_path / "robots").symlink_to(ROOT / "robots")
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", COMMANDS],
        cwd=tmp_path,
        env=os.environ | {"PATH": programs},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    assert [line for line in printed if line] == [line for line in PRINT.splitlines() if line]
