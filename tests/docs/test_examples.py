"""The documents' blocks of Python and shell run as they stand, a page's blocks in order and in one folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rbdhw.domain.bounds import input_domain
from rbdhw.domain.overrides import read_overrides
from rbdhw.robot.loops import read_loops
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.documents import PAGES, README, ROOT, blocks, name
from tests.support.marks import long

RUN = ("bash", "python")
TUTORIAL = ROOT / "docs" / "tutorial.md"

TOGETHER = (README, TUTORIAL)
SIMULATED = (ROOT / "docs" / "driver.md",)
"""The pages whose examples simulate the Verilog."""

LONG = ("accuracy", "mppi", "rollout", "second-order", "solver", "whole-body")

ALONE = [
    page
    for page in PAGES
    if page not in (*TOGETHER, *SIMULATED) and {language for language, _ in blocks(page)} & set(RUN)
]


def run(page: Path, names: dict[str, object]) -> list[str]:
    """Run a page's blocks in this folder, Python with these names; return their languages."""
    chosen = [(language, block) for language, block in blocks(page) if language in RUN]
    for language, block in chosen:
        if language == "python":
            exec(compile(block, str(page), "exec"), names)
        else:
            run_shell(block)
    return [language for language, _ in chosen]


def run_shell(block: str) -> None:
    """Run a block of shell commands in this folder."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        env=os.environ | {"PATH": programs},
        capture_output=True,
        text=True,
        check=False,
    )
    assert shell.returncode == 0, shell.stderr


def commands(page: Path) -> list[str]:
    """Return the calls of the command line in a page's blocks of shell, without comments."""
    lines = [line for language, block in blocks(page) if language == "bash" for line in block.splitlines()]
    return [line.partition("#")[0].strip() for line in lines if line.startswith("rbdhw ")]


def test_pages_with_examples() -> None:
    assert {name(page) for page in ALONE} >= {"docs/conventions.md", "docs/interface.md", "docs/joints.md"}


@pytest.mark.verify
@pytest.mark.usefixtures("few_samples")
@pytest.mark.parametrize("page", SIMULATED, ids=name)
def test_examples_with_a_simulator(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(page, {}) != []


@pytest.mark.usefixtures("few_samples", "only_heading")
@pytest.mark.parametrize("page", [long(page) if page.stem in LONG else page for page in ALONE], ids=name)
def test_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    run(page, names)
    assert len(names) > 1


@pytest.mark.usefixtures("few_samples")
def test_the_six_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's Python, with the robot that the tutorial writes first."""
    monkeypatch.chdir(tmp_path)
    run_shell(next(block for language, block in blocks(TUTORIAL) if language == "bash"))
    (six_lines,) = (block for language, block in blocks(README) if language == "python")
    exec(compile(six_lines, str(README), "exec"), {})


@pytest.mark.verify
def test_a_robot_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tutorial, then those of the README's commands that are not the tutorial's."""
    monkeypatch.chdir(tmp_path)
    assert run(TUTORIAL, {}) == ["bash"] * 5 + ["python", "bash", "python", "bash"]
    assert [language for language, _ in blocks(README) if language in RUN] == ["python", "bash"]
    six = commands(README)
    assert [line.split()[1] for line in six] == [
        "info",
        "generate",
        "simulate",
        "run",
        "report",
        "synthesize",
    ]
    run_shell("\n".join(line for line in six if line not in commands(TUTORIAL)))


def test_the_domain_file(tmp_path: Path) -> None:
    tables = [block for page in PAGES for language, block in blocks(page) if language == "toml"]
    read = []
    for table in tables:
        (tmp_path / "table.toml").write_text(table)
        if "first =" in table:
            assert read_loops(tmp_path / "table.toml")
        else:
            read.append(read_overrides(tmp_path / "table.toml"))
    (overrides,) = (table for table in read if table.joints)
    domain = input_domain(load_urdf(path("iiwa14")), overrides)
    assert tuple(domain.bounds["q"][0]) == (-1.0, 1.0)
    assert all(tuple(bounds) == (-50.0, 50.0) for bounds in domain.bounds["a"])
