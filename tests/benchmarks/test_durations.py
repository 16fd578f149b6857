"""How long tables take, and parts of about equal time."""

import pytest

from benchmarks import durations, measurement
from benchmarks.durations import keep_minutes, keep_work, minutes, on_all_cores, part_of, processor_seconds
from benchmarks.measurement import write
from benchmarks.tables import Table
from rbdhw.errors import InputError


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    monkeypatch.setattr(durations, "MINUTES", tmp_path / "minutes.json")


def test_parts_have_about_the_same_time():
    for name, seconds in (("a", 3600.0), ("b", 600.0), ("c", 1200.0), ("d", 1800.0)):
        keep_minutes(name, seconds)
    assert minutes() == {"a": 60.0, "b": 10.0, "c": 20.0, "d": 30.0}
    assert [part_of("abcd", f"{k}/2") for k in (1, 2)] == [["a"], ["b", "c", "d"]]
    assert part_of("abcd", "1/1") == list("abcd")


def test_every_table_is_in_one_part():
    keep_minutes("c", 7200.0)
    parts = [part_of("abcdefg", f"{k}/5") for k in range(1, 6)]
    assert [name for part in parts for name in part] == list("abcdefg")


@pytest.mark.parametrize("part", ["", "2", "0/2", "3/2", "a/b"])
def test_other_texts_are_refused(part):
    with pytest.raises(InputError) as refusal:
        part_of("ab", part)
    assert str(refusal.value) == f"part: '{part}' is no part; expected K/N with K from 1 to N, as 2/6"


def test_what_a_table_took_is_kept_and_told(monkeypatch, tmp_path):
    made = {name: Table(f"The {name}", lambda: [{"a": 1}]) for name in ("one", "two")}
    monkeypatch.setattr(measurement, "TABLES", made)
    document = tmp_path / "README.md"
    document.write_text("".join(f"<!-- bench: {name} -->\n<!-- end -->\n" for name in made))
    told = []
    keep_minutes("two", 600.0)
    assert list(write([document], told.append, part="2/2")) == ["The two"]
    assert told == ["The two (about 10 min)"]
    assert minutes()["two"] == 0.1
    assert list(write([document], told.append, "two")) == ["The two"]


def test_work_of_an_earlier_run_counts(tmp_path):
    result, done = tmp_path / "placed.json", []

    def work():
        done.append(1)
        result.write_text("{}")

    keep_work(result, work)
    result.with_suffix(".seconds").write_text("1000.0\n")
    before = processor_seconds()
    keep_work(result, work)
    assert done == [1]
    assert processor_seconds() - before == pytest.approx(1000.0, abs=1.0)


def half_of(result):
    """Return half of a number in a file that this run has or an earlier one has written."""
    keep_work(result, lambda: result.write_text("7"))
    return int(result.read_text()) / 2


def test_work_on_all_cores_counts(tmp_path):
    results = [tmp_path / f"{k}.txt" for k in range(3)]
    for k in (0, 2):
        results[k].write_text(str(k))
        results[k].with_suffix(".seconds").write_text("500.0\n")
    before = processor_seconds()
    assert list(on_all_cores(half_of, results)) == [0.0, 3.5, 1.0]
    assert processor_seconds() - before == pytest.approx(1000.0, abs=5.0)
