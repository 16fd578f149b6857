"""URDF files that others publish: each is refused clearly, or its graph has Pinocchio's dynamics."""

import pytest

from tests.support.foreign_robots import compare, urdf_files

PACKAGES = {"example-robot-data": 60, "airo-models": 5, "jvrc-description": 1}
"""Packages with URDF files, and the least number of robots in each that Pinocchio reads, too."""

FILES = [(package, path) for package in PACKAGES for path in urdf_files(package)]


@pytest.mark.verify
@pytest.mark.parametrize(
    "path", [path for _, path in FILES], ids=[f"{package}: {path.name}" for package, path in FILES]
)
def test_a_file_is_refused_clearly_or_has_the_dynamics_of_pinocchio(path):
    assert compare(path) != "refused by Pinocchio"


@pytest.mark.verify
@pytest.mark.parametrize("package", PACKAGES)
def test_most_files_are_robots(package):
    files = urdf_files(package)
    if not files:
        pytest.skip(f"{package} is not installed; make verify installs it")
    assert [compare(path) for path in files].count("compared") >= PACKAGES[package]
