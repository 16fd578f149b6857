"""The locked environment and the make targets hold what the project promises of them."""

import re
import subprocess
import tomllib
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = (ROOT / "pyproject.toml").read_text()
LOCK = (ROOT / "requirements.lock").read_text()
PINS = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", LOCK, re.MULTILINE))


def requirements(*without: str) -> list[Requirement]:
    """Every dependency that pyproject.toml names, extras included."""
    project = tomllib.loads(PYPROJECT)["project"]
    extras = [lines for name, lines in project["optional-dependencies"].items() if name not in without]
    return [Requirement(line) for line in [*project["dependencies"], *chain(*extras)]]


@pytest.mark.parametrize("requirement", requirements("crocoddyl"), ids=lambda requirement: requirement.name)
def test_dependency_is_locked_and_installed(requirement: Requirement) -> None:
    pinned = PINS[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(pinned)
    assert version(requirement.name) == pinned


@pytest.mark.parametrize("requirement", requirements(), ids=lambda requirement: requirement.name)
def test_dependency_has_its_reason_beside_it(requirement: Requirement) -> None:
    assert re.search(rf'^    "{requirement.name}[\[=><].*", +# \S', PYPROJECT, re.MULTILINE)


def test_every_pin_has_hashes_and_no_host() -> None:
    assert all(re.search(rf"^{name}==.*\\\n    --hash=sha256:", LOCK, re.MULTILINE) for name in PINS)
    assert "://" not in LOCK


def test_the_demo_comes_first_in_the_lock() -> None:
    """Its part has all that the commands `generate` and `simulate` need, and no compiler for tests."""
    first, line, rest = LOCK.partition("\n# demo: ")
    assert line
    names = set(re.findall(r"^([a-z0-9-]+)==", first, re.MULTILINE))
    project = tomllib.loads(PYPROJECT)["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["build"], *extras["sim"]]
    assert {canonicalize_name(Requirement(line).name) for line in needed} <= names
    assert {"pin", "ziglang", "sphinx"}.isdisjoint(names)
    assert not names & set(re.findall(r"^([a-z0-9-]+)==", rest, re.MULTILINE))


def test_make_alone_lists_the_targets() -> None:
    listing = subprocess.run(
        ["make", "--silent"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    names = [line.split()[1] for line in listing.splitlines()]
    checks = ["test", "verify", "prove", "lint", "docs"]
    assert names == [
        "help",
        "demo",
        *checks,
        "bench",
        "sweep",
        "calibrate",
        "registers",
        "bitstream",
        "lock",
        "clean",
    ]


def test_missing_python_is_named_in_one_line() -> None:
    check = subprocess.run(
        [".ci/check-tools", "python-of-nowhere"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert check.returncode == 1
    assert check.stderr == (
        "rbdhw: python-of-nowhere not found: install Python 3.11 to 3.13 "
        "(Debian: apt-get install python3 python3-venv).\n"
    )


@pytest.mark.parametrize("there", [True, False])
def test_icarus_is_taken_or_named_in_one_line(tmp_path: Path, there: bool) -> None:
    """Without it and without a way to get it, one line says what to install."""
    (tmp_path / "bin").mkdir()
    if there:
        (tmp_path / "bin" / "iverilog").symlink_to("/bin/true")
    done = subprocess.run(
        ["/bin/sh", ROOT / ".ci" / "get-icarus", tmp_path],
        env={"PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
        check=False,
    )
    line = (
        "rbdhw: iverilog not found, and there is no apt-get to get it with: "
        "install Icarus Verilog (Debian: apt-get install iverilog).\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == ((0, "", "") if there else (1, "", line))
