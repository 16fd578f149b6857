"""The wheel and the source distribution: complete, and usable without the repository."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
import setuptools

ROOT = Path(__file__).resolve().parent.parent

LINKS = {"sim", "boards", "robots"}
"""Links at the top of the repository; a distribution has the folders themselves."""


def tracked() -> set[str]:
    """Return the files of the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no repository here")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


def copied(source):
    """Return a folder to which the repository was copied."""
    for name in tracked() - LINKS:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    return source


def build(folder, *kinds):
    """Return the distributions of these kinds of a copy of the repository."""
    source = copied(folder / "source")
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "build", "--offline", "--no-build-isolation", "--python", sys.executable, "-o", folder]
    subprocess.run([*command, *kinds, source], check=True, capture_output=True)
    return [file for file in folder.iterdir() if file.name.endswith((".whl", ".tar.gz"))]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the wheel."""
    (wheel,) = build(tmp_path_factory.mktemp("wheel"), "--wheel")
    return wheel


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Return the source distribution."""
    (archive,) = build(tmp_path_factory.mktemp("archive"), "--sdist")
    return archive


@pytest.mark.verify
def test_the_source_distribution_has_every_file(archive):
    """Without links at the top the package is complete, too."""
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    left_out = {name for name in tracked() - names - LINKS if not name.startswith(".git")}
    assert left_out == {"MANIFEST.in"} - names


def test_the_wheel_holds_the_package_alone(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == {name for name in tracked() if name.startswith("rbdhw/")}


@pytest.mark.verify
def test_the_wheel_works_from_another_folder(wheel, tmp_path):
    """Installed without the repository, with the packages that are installed here."""
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    uv = Path(sys.executable).with_name("uv")
    install = [uv, "pip", "install", "--offline", "--no-deps", "--python", python, wheel]
    subprocess.run(install, check=True, capture_output=True)
    others = next(path for path in sys.path if path.endswith("site-packages"))
    done = subprocess.run(
        [
            python,
            *("-c", "import sys; from rbdhw.__main__ import main; main()"),
            *("info", "--json", str(ROOT / "robots" / "toy.urdf"), "--functions", "id"),
        ],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        | {"PYTHONPATH": others, "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '"name": "toy"' in done.stdout


@pytest.mark.verify
def test_python_beside_a_clone_finds_the_package(tmp_path):
    """Installed as `make` does: the clone's folder, a namespace to Python, does not hide the package."""
    clone = copied(tmp_path / "rbdhw")
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    (options,) = re.findall(r"install (.*) --editable \.$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    uv, backend = Path(sys.executable).with_name("uv"), Path(setuptools.__file__).parents[1]
    command = [uv, "pip", "install", "--offline", "--python", python, *options.split(), "--editable", clone]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run(command, check=True, capture_output=True, env=environment | {"PYTHONPATH": backend})
    started = subprocess.run(
        [python, "-c", "import rbdhw; print(rbdhw.load.__module__, rbdhw.__file__)"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert started.stdout.split() == ["rbdhw", str(clone / "rbdhw" / "__init__.py")], started.stderr
