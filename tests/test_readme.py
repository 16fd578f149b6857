"""The documents' examples run as they stand, and the README's errors of estimates are those of the table."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rbdhw.bench.synthesis import error_rows
from rbdhw.estimate.calibration import calibration

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
BLOCKS = re.compile(r"```(bash|python)\n(.*?)```", re.DOTALL)
OWN_ROBOT = "## Your own robot\n"


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def own_robot():
    """The README's section in which a user builds a robot of their own."""
    return text_of("README.md").partition(OWN_ROBOT)[2].partition("\n## ")[0]


EXAMPLES = [
    *PYTHON.findall(text_of("README.md").replace(own_robot(), "")),
    *PYTHON.findall(text_of("docs/conventions.md")),
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(example, "example", "exec"), names)
    assert len(names) > 1


@pytest.mark.timeout(600)
def test_a_robot_of_ones_own(tmp_path, monkeypatch):
    """The section's blocks in order, with the README's text alone: commands in a shell, Python in one run."""
    monkeypatch.chdir(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    blocks, names = BLOCKS.findall(own_robot()), {}
    assert [language for language, _ in blocks] == ["bash", "python", "bash", "python"]
    for language, block in blocks:
        if language == "python":
            exec(compile(block, str(README), "exec"), names)
        else:
            shell = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block],
                env=os.environ | {"PATH": path},
                capture_output=True,
                text=True,
                check=False,
            )
            assert shell.returncode == 0, shell.stderr


@pytest.mark.parametrize(
    ("core", "words"), [("pipeline", "on ECP5-85F"), ("array", "own: on ECP5-85F their errors are")]
)
def test_errors_of_estimates(core, words):
    told = " ".join(README.read_text(encoding="utf-8").split())
    rows = {(row["target"], row["core"]): row for row in error_rows(calibration())}
    ecp5, ultrascale = (rows[target, core] for target in ("ecp5-85", "xcvu9p"))
    expected = f"{words} {ecp5['luts']} of the LUTs and {ecp5['flip flops']} of the flip-flops, "
    assert expected + f"on the VU9P {ultrascale['luts']} and {ultrascale['flip flops']}." in told
