"""Stamps: a table is stale if the code that it measured has changed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import markdown_tables, stamps
from benchmarks.builds import software_of
from benchmarks.tables import TABLES

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"


@pytest.fixture
def code(monkeypatch, tmp_path):
    """The C of a small robot as the code of the first of two tables; it can be changed."""
    changed = {"one": software_of("toy", "fixed", functions=("id",))}
    monkeypatch.setattr(stamps, "STAMPS", tmp_path / "stamps.json")
    monkeypatch.setattr(stamps, "MEASURED", {"one": lambda: [changed["one"]], "two": list})
    return changed


def test_a_table_is_stale_until_it_is_measured_and_when_its_code_changes(code):
    older = {"one": "never stamped", "two": "never stamped"}
    assert stamps.stale(lambda _: None) == older
    for name in ("one", "two", "of no code"):
        stamps.stamp(name)
    assert stamps.stale(lambda _: None) == {}
    assert list(json.loads(stamps.STAMPS.read_text())) == ["one", "two"]
    sources = {name: text.replace(" + ", " - ", 1) for name, text in code["one"].sources.items()}
    code["one"] = replace(code["one"], sources=sources)
    assert stamps.stale(lambda _: None) == {"one": stamps.stamps()["one"].commit}


def test_stamps_are_of_tables_whose_figures_depend_on_the_machine():
    known, written = stamps.stamps(), markdown_tables.tables(RESULTS)
    assert known.keys() == {name for name in stamps.MEASURED if written[name]}
    assert all(TABLES[name].varies and name in written for name in known)


@pytest.mark.usefixtures("code")
def test_the_command_names_stale_tables(benchmark):
    stamps.stamp("one")
    assert benchmark("stale")[:2] == (1, "two: never stamped\n")
    stamps.stamp("two")
    assert benchmark("stale")[:2] == (0, "")
    status, _, err = benchmark("stale", "--only", "three")
    assert status == 2
    assert "table 'three': has no stamp; expected one of one, two" in err


@pytest.mark.verify
def test_the_steps_beside_casadi_are_those_of_today():
    assert stamps.stale(lambda _: None, "casadi") == {}


@pytest.mark.verify(minutes=14)
def test_no_table_is_older_than_its_code():
    assert stamps.stale(lambda _: None) == {}
