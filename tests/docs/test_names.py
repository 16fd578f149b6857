"""What the documents name exists: files, modules, links, commands and options."""

import importlib
import re
import shlex
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import typer

from rbdhw.cli.app import app
from rbdhw.options.build import (
    CHEAPER_CORE,
    CORES,
    NUMBERS,
    PROCESSORS,
    SHARING,
    STAGE_SHARING,
    WAYS_OF_PARAMETERS,
)
from rbdhw.options.option import ROBOT
from rbdhw.options.table import OPTIONS
from rbdhw.protocol import FUNCTIONS, ROLLOUT_PARTS
from rbdhw.robot.model import FRAME_AXES
from rbdhw.robot.mounting import ALL_LINKS, BASES, INERTIAS, JOINT_ORDERS, NO_LINKS, PAYLOAD
from rbdhw.target import TARGETS
from tests.support import crocoddyl_stand_in
from tests.support.documents import CHANGELOG, PAGES, README, ROOT, blocks, name, prose, text

FILE = re.compile(r"(?<![\w/.-])(?:rbdhw|tests|docs|examples|robots|boards|sim)/[\w./-]*[\w-]")
MODULE = re.compile(r"(?<![\w./-])rbdhw(?!\.h(?:pp)?\b)(?:\.\w+)+")
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)

MADE = ("docs/api/rbdhw",)
"""What builds make."""


def files(page: Path) -> list[str]:
    """The repository's files and folders that a page names, but for the sweep's own."""
    names = FILE.findall(text(page))
    return [] if page.name == "robots.md" else [file for file in names if file not in MADE]


def anchor(heading: str) -> str:
    """The heading's anchor, as hosts of repositories and the site make it."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.strip().replace(" ", "-")


def targets(page: Path) -> list[str]:
    """The targets of a page's links within the repository."""
    return [link for link in LINK.findall(prose(page)) if "://" not in link]


def command_lines(page: Path) -> list[list[str]]:
    """The words of every call of ``rbdhw`` in a page's blocks and spans of code."""
    lines = chain.from_iterable(block.splitlines() for _, block in blocks(page))
    calls = [line for line in (*lines, *SPAN.findall(prose(page))) if line.startswith("rbdhw ")]
    return [shlex.split(re.sub(r"[\[\]]|  .*", "", line), comments=True) for line in calls]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_exist(page: Path) -> None:
    missing = [file for file in files(page) if not (ROOT / file).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_modules_exist(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dotted name is a module, or a name in one."""
    monkeypatch.setitem(sys.modules, "crocoddyl", crocoddyl_stand_in)
    for dotted in MODULE.findall(text(page)):
        inside, module = [], dotted
        while (
            not (ROOT / module.replace(".", "/")).is_dir()
            and not (ROOT / f"{module.replace('.', '/')}.py").exists()
        ):
            module, _, last = module.rpartition(".")
            inside.insert(0, last)
        member = importlib.import_module(module)
        for attribute in inside:
            assert hasattr(member, attribute), dotted
            member = getattr(member, attribute)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in targets(page):
        file, _, heading = target.partition("#")
        other = page.parent / file if file else page
        assert other.is_file(), target
        if heading:
            assert heading in map(anchor, HEADING.findall(prose(other))), target


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_and_options_exist(page: Path) -> None:
    group = typer.main.get_command(app)
    for words in command_lines(page):
        if words[1:2] and words[1] in group.commands:
            command, arguments = group.commands[words[1]], words[2:]
        else:
            command, arguments = group, words[1:]
        known = {option for parameter in command.params for option in parameter.opts} | {"--help", "-h"}
        given = {word for word in arguments if re.fullmatch(r"--?[a-z][a-z-]*", word)}
        assert given <= known, " ".join(words)
        assert command is not group or given or not arguments, " ".join(words)


COMMAND_LINE = ROOT / "docs" / "command-line.md"
VALUES = {
    "base": BASES,
    "joint-order": JOINT_ORDERS,
    "frame-axes": FRAME_AXES,
    "rollout": (*ROLLOUT_PARTS,),
    "parameters": (PAYLOAD, INERTIAS, NO_LINKS),
    "fext": (NO_LINKS, ALL_LINKS),
    "target": (*TARGETS, *PROCESSORS),
    "number": NUMBERS,
    "share-limbs": SHARING,
    "share-stages": STAGE_SHARING,
    "core": (*CORES, CHEAPER_CORE),
    "parameters-by": WAYS_OF_PARAMETERS,
}
"""The values of options that take one of several words."""


def test_every_option_of_generate_is_described() -> None:
    rows = dict(re.findall(r"^\| `--([a-z-]+)[^`]*` \| (.*)$", text(COMMAND_LINE), re.MULTILINE))
    assert sorted(rows) == sorted(option.name for option in OPTIONS)
    of_robot = {option.name for option in OPTIONS if option.group == ROBOT}
    first, *_, last = of_info = list(rows)[: len(of_robot)]
    assert set(of_info) == of_robot
    assert f"`info` takes those from `--{first}` to `--{last}`" in text(COMMAND_LINE)


@pytest.mark.parametrize("option", VALUES)
def test_every_value_of_an_option_is_described(option: str) -> None:
    row = re.search(rf"^\| `--{option}\b.*$", text(COMMAND_LINE), re.MULTILINE)
    assert row is not None
    assert [value for value in VALUES[option] if f"`{value}`" not in row[0]] == []


def test_every_function_and_array_of_run_is_described() -> None:
    known = set(SPAN.findall(prose(COMMAND_LINE)))
    arrays = {array for function in FUNCTIONS.values() for array in (*function.inputs, *function.outputs)}
    pages = {"kinematics.md", "second-order.md", "parameters.md", "rollout.md"}
    elsewhere = {span for page in pages for span in SPAN.findall(prose(ROOT / "docs" / page))}
    assert arrays <= known | elsewhere


def test_every_folder_is_described() -> None:
    folders = {f"rbdhw/{folder.parent.name}" for folder in (ROOT / "rbdhw").glob("*/__init__.py")}
    for page in ("architecture.md", "contributing.md"):
        assert folders - set(SPAN.findall(prose(ROOT / "docs" / page))) <= {"rbdhw/runtime"}, page


def test_every_page_is_in_the_contents() -> None:
    index = ROOT / "docs" / "index.md"
    trees = re.findall(r"```\{toctree\}\n(.*?)```", text(index), re.DOTALL)
    listed = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    pages = {page.stem for page in PAGES if page not in (README, CHANGELOG, index)}
    assert sorted(listed) == sorted(pages | {"api/rbdhw"})


def test_the_extras_that_pages_install_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for page in PAGES:
        for named in re.findall(r"pip install '\.\[([\w,]+)\]'", text(page)):
            assert set(named.split(",")) <= set(extras)


def test_targets_of_make_exist() -> None:
    known = re.findall(r"^\.PHONY: (\w+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for page in PAGES:
        named = re.findall(r"(?:`|^)make ([a-z]+)", text(page), re.MULTILINE)
        assert set(named) <= set(known), name(page)
