"""Options of pytest for runs of many hours: a part of the tests, and to continue a run that was cut short."""

import hashlib
from collections import defaultdict
from functools import cache, partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("rbdhw", "tests", "benchmarks", "requirements.lock")
"""What the results of tests depend on. No test imports another, so each depends on one file of tests."""

MEASURED = ("minutes.json", "stamps.json")
"""Files in `benchmarks` that `make bench` writes."""

MINUTES_OF_LONG, MINUTES_OF_OTHERS = 0.03, 0.0015
"""What a test is taken to cost that states no minutes: one with the mark ``verify``, and another one."""


def pytest_addoption(parser):
    group = parser.getgroup("parts")
    group.addoption("--part", metavar="K/N", default="1/1", help="the K-th of N parts of equal cost")
    group.addoption(
        "--passed", metavar="FILE", help="leave out the tests that passed by this file, and add to it"
    )


def pytest_configure(config):
    """Read which tests passed before; a worker gets it from the process that started it."""
    parse_part(config.getoption("part"))
    if hasattr(config, "workerinput"):
        config.passed_before = frozenset(config.workerinput["passed_before"])
        return
    config.passed_before = frozenset()
    if path := config.getoption("passed"):
        record = Record(Path(path), digest_of(ROOT), config.rootpath)
        config.passed_before = record.passed
        config.pluginmanager.register(record)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Hand the same tests to every worker, also to one that starts late."""
    node.workerinput["passed_before"] = sorted(node.config.passed_before)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Keep what is selected otherwise, in the part, and has not passed yet."""
    part, parts = parse_part(config.getoption("part"))
    chosen = [item for item in share(items, part, parts) if item.nodeid not in config.passed_before]
    remaining = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in remaining])
    items[:] = chosen


def share(items, part, parts):
    """Return the tests of a part, in their order.

    Tests that state their minutes, ``@pytest.mark.verify(minutes=5)``, are dealt one by one; the others of a
    file stay together, because they share builds. The dearest are dealt first, each to the cheapest part.
    """
    groups = defaultdict(list)
    for item in items:
        groups[item.nodeid if _stated(item) else item.nodeid.partition("::")[0]].append(item)
    totals, chosen = [0.0] * parts, set()
    for group in sorted(groups.values(), key=lambda group: -sum(map(_minutes, group))):
        cheapest = totals.index(min(totals))
        totals[cheapest] += sum(map(_minutes, group))
        if cheapest == part - 1:
            chosen |= {*group}
    return [item for item in items if item in chosen]


def _stated(item):
    """Return the minutes that a test states, or None."""
    mark = item.get_closest_marker("verify")
    return mark and mark.kwargs.get("minutes")


def _minutes(item):
    return _stated(item) or (MINUTES_OF_LONG if item.get_closest_marker("verify") else MINUTES_OF_OTHERS)


class Record:
    """The tests that passed, a line each with the digest of its file, behind that of the other sources.

    A record of other sources is begun anew. Of a test whose file has changed since, the line does not count.
    """

    def __init__(self, path, digest, root):
        self._path = path
        self._digest_of_file = cache(partial(digest_of_file, root))
        self._called = set()
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if lines[:1] != [digest]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{digest}\n", encoding="utf-8")
            lines = []
        tests = {line: line.partition(" ")[2] for line in lines[1:]}
        self.passed = frozenset(test for line, test in tests.items() if line == self._line(test))

    def _line(self, test):
        return f"{self._digest_of_file(test.partition('::')[0])} {test}"

    def pytest_runtest_logreport(self, report):
        """Add a test whose call and teardown passed."""
        if report.when == "call" and report.passed:
            self._called.add(report.nodeid)
        elif report.when == "teardown" and report.passed and report.nodeid in self._called:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{self._line(report.nodeid)}\n")


def parse_part(text):
    """Return K and N of a part ``K/N``."""
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise pytest.UsageError(f"--part: '{text}' is no part; expected K/N with K from 1 to N, such as 3/6")
    return int(part), int(parts)


def digest_of(root):
    """Return a digest of the sources without the files of tests and what `make bench` writes."""
    digest = hashlib.sha256()
    for path in sorted(path for name in SOURCES for path in [root / name, *(root / name).rglob("*")]):
        if _is_source(path):
            digest.update(f"{path.relative_to(root)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _is_source(path):
    left_out = path.name in MEASURED or (path.name.startswith("test_") and path.suffix == ".py")
    return path.is_file() and "__pycache__" not in path.parts and not left_out


def digest_of_file(root, name):
    """Return a short digest of a file; of one that is gone an empty one."""
    path = root / name
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else ""
