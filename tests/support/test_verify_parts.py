import os
import subprocess
import sys

import pytest

from tests.support.marks import long
from tests.support.verify_parts import ROOT, digest_of, digest_of_file, parse_part

TESTS = """
import pytest

NUMBERS = [pytest.param(k, marks=pytest.mark.verify(minutes=7 - k)) for k in range(7)]

@pytest.mark.parametrize("number", NUMBERS)
def test_numbers(number):
    assert number != 4
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs pytest on seven tests, of which one fails; it returns the last line."""
    (tmp_path / "test_some.py").write_text(TESTS)

    def run(*arguments):
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "tests.support.verify_parts",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore",  # the mark is unknown there
        ]
        process = subprocess.run(
            [*command, *arguments, "test_some.py"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
        )
        return (process.stdout + process.stderr).strip().splitlines()[-1]

    return run


def test_parts_are_the_whole(run):
    """Of 7 to 1 minutes the first part gets 7, 4 and 3, which fails, and the second 6, 5, 2 and 1."""
    assert run("--part", "1/2").startswith("1 failed, 2 passed, 4 deselected in")
    assert run("--part", "2/2").startswith("4 passed, 3 deselected in")


def test_no_part():
    with pytest.raises(pytest.UsageError, match="'4/3' is no part; expected K/N"):
        parse_part("4/3")


@pytest.mark.parametrize("workers", [(), long(("-p", "xdist", "-n", "2"))])
def test_a_run_continues_without_what_passed(run, tmp_path, workers):
    passed = tmp_path / "passed"
    assert run(*workers, "--passed", str(passed), "-k", "not 6").startswith("1 failed, 5 passed")
    assert run(*workers, "--passed", str(passed)).startswith("1 failed, 1 passed")
    first, *lines = passed.read_text().splitlines()
    assert first == digest_of(ROOT)
    digest = digest_of_file(tmp_path, "test_some.py")
    assert sorted(lines) == [
        f"{digest} test_some.py::test_numbers[{number}]" for number in (0, 1, 2, 3, 5, 6)
    ]


@pytest.mark.verify
def test_tests_of_a_file_that_has_changed_run_again(run, tmp_path):
    arguments = ("--passed", str(tmp_path / "passed"))
    assert run(*arguments).startswith("1 failed, 6 passed")
    (tmp_path / "test_some.py").write_text(TESTS.replace("!= 4", "!= 5"))
    assert run(*arguments).startswith("1 failed, 6 passed")
    assert run(*arguments).startswith("1 failed, 6 deselected")


@pytest.mark.verify
def test_other_sources_start_anew(run, tmp_path):
    passed = tmp_path / "passed"
    passed.write_text("of other sources\ntest_some.py::test_numbers[4]\n")
    assert run("--passed", str(passed)).startswith("1 failed, 6 passed")


def test_the_digest_changes_with_a_source(tmp_path):
    (tmp_path / "rbdhw").mkdir()
    before = digest_of(tmp_path)
    (tmp_path / "rbdhw" / "a.py").write_text("1")
    after = digest_of(tmp_path)
    (tmp_path / "rbdhw" / "a.py").write_text("2")
    assert len({before, after, digest_of(tmp_path)}) == 3


@pytest.mark.parametrize("name", ["tests/rtl/test_a.py", "benchmarks/stamps.json"])
def test_the_digest_is_that_of_what_all_tests_depend_on(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    before = digest_of(tmp_path)
    path.write_text("1")
    assert digest_of(tmp_path) == before
