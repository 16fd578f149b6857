"""A line with faults: every task is answered right or with an error, in time; no wrong answer passes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from rbdhw.design.folder import read
from rbdhw.errors import DriverError
from tests.support.documents import ROOT
from tests.support.driver_folder import FOLDER
from tests.support.faulty_line import ALL, KINDS, NEVER, FaultyLine, Work

SESSIONS, MANY = 15, 450
"""The sessions of the suite, and those of `verify`; a session has some 35 faults."""

OPEN, OTHER = "the line does not open", "it is refused"


@pytest.fixture(scope="module")
def line(loaded_folder):
    made = FaultyLine(read(loaded_folder), loaded_folder)
    yield made
    made.close()


def session(line: FaultyLine, work: Work, seed: int) -> Counter[str]:
    """Work at the line while faults happen: of all kinds, or of one.

    Sometimes the board falls silent, the host restarts, or the board has another design.
    """
    rng = np.random.default_rng(seed)
    faults = ALL if seed % 3 == 0 else 1 << int(rng.integers(len(KINDS)))
    silent_after = int(rng.integers(0, 5_000_000)) if seed % 20 == 7 else NEVER
    is_other = seed % 20 == 13
    line.begin(seed, faults, int(rng.integers(2, 40)), silent_after, is_other)
    try:
        driver = line.open(seed)
        assert not is_other
        if seed % 5 == 2:
            work.leave(driver, seed)
            line.once["restart of the host"] += 1
            driver = line.open(seed + 1)
    except DriverError:
        return Counter({OTHER if is_other else OPEN: 1})
    counts = work.run(driver, seed)
    driver.close()
    return counts


def assert_no_wrong_answer_passes(line: FaultyLine, work: Work, seeds: range) -> None:
    before = Counter(line.happened())  # in other tests of this line
    counts = sum((session(line, work, seed) for seed in seeds), Counter())
    happened = Counter(line.happened())
    happened.subtract(before)
    print(f"{happened}, {sum(happened.values())} in all; calls: {counts}")
    assert counts[OTHER] == happened["another design"]
    assert counts["right"] > 0.8 * sum(counts.values()), counts
    assert len(happened) == len(KINDS) + 3
    assert all(count > 0 for count in happened.values())


def test_without_faults_all_is_right(line, work):
    line.begin(1)
    driver = line.open(1)
    assert work.run(driver, 1) == Counter(right=6)
    trouble = ("retries", "timeouts", "damaged", "strays", "reloads")
    assert [driver.statistics[name] for name in trouble] == [0] * len(trouble)
    driver.close()


def test_faults(line, work):
    assert_no_wrong_answer_passes(line, work, range(SESSIONS))


@pytest.mark.verify
def test_many_faults(line, work):
    assert_no_wrong_answer_passes(line, work, range(SESSIONS, MANY))
    assert sum(line.happened().values()) > 10_000


def test_a_silent_board_is_an_error_in_time(line, work):
    line.begin(3)
    driver = line.open(3)
    line.begin(3, silent_after=0)
    with pytest.raises(DriverError, match="no answer in time"):
        work.run_one(driver)
    assert driver.statistics["timeouts"] == 6
    driver.close()


SANITIZED = """\
import sys
from pathlib import Path

from rbdhw.driver import library

library.FLAGS = (*library.FLAGS, "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

import pytest

sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


@pytest.mark.verify
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="runs in itself")
def test_with_sanitizers(loaded_folder):
    """The driver and the line, under the sanitizers for addresses and for undefined behaviour."""
    files = (
        *("test_faults.py::test_faults", "test_driver.py", "test_groups.py", "test_solutions.py"),
        *("test_means.py", "test_boards.py::test_tasks_and_rollouts"),
    )
    names = ("libasan.so", "libubsan.so", "libstdc++.so.6")
    libraries = [
        subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout
        for name in names
    ]
    environment = os.environ | {
        "LD_PRELOAD": " ".join(path.strip() for path in libraries),
        "ASAN_OPTIONS": "detect_leaks=0",
        FOLDER: str(loaded_folder),
    }
    tests = [str(ROOT / "tests/driver" / file) for file in files]
    done = subprocess.run(
        [sys.executable, "-c", SANITIZED, *tests], env=environment, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
