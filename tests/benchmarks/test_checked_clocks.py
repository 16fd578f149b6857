"""The table of clocks on the VU9P: what it says follows from the check, and is that of today's designs."""

import re
from pathlib import Path

import pytest

from benchmarks import markdown_tables
from benchmarks.checked_clocks import checked_layout, rows_of_functions, small_devices, subjects
from benchmarks.whole_builds import TIMED
from rbdhw.timing.report import MARGIN

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"


def lines(name: str = "checked-clocks") -> list[dict[str, str]]:
    """Return the lines of a table in the results."""
    heading, _, *cells = markdown_tables.tables(RESULTS)[name]
    return [dict(zip(heading, line, strict=True)) for line in cells]


def test_a_clock_is_confirmed_with_the_margin_only() -> None:
    assert len(lines()) == sum(len(subject.functions) for subject in subjects())
    for line in lines():
        scheduled, check, safe = (
            float(line[key]) for key in ("scheduled, MHz", "check, MHz", "with the margin")
        )
        assert safe == pytest.approx(check / (1 + MARGIN), abs=0.1)
        assert line["confirmed"] == ("yes" if safe >= scheduled else "no")
        time = 1000 * int(line["cycles of the core"]) / min(scheduled, safe)
        assert float(line["ns of the core"]) == pytest.approx(time, abs=0.6)


def test_times_of_whole_robots_are_those_at_the_clock_of_the_check() -> None:
    published = {line[""]: line for line in lines("whole-functions")}
    for line in lines("whole-counts"):
        slower = max(1.0, float(line["scheduled, MHz"]) / float(line["with the margin"]))
        for function in TIMED:
            latency = float(published[f"{line['']}, latency"][function].removesuffix(" µs"))
            assert float(line[f"`{function}`, µs"]) == pytest.approx(latency * slower, abs=0.011)
            tasks = float(published[f"{line['']}, tasks"][function].removesuffix(" M/s"))
            assert float(line["tasks, M/s"]) == pytest.approx(tasks / slower, abs=0.11)


def test_errors_of_estimates_on_small_devices_are_those_of_the_counts() -> None:
    table = lines("small-devices")
    assert [(line["device"], line["robot"]) for line in table] == [
        (subject.target, subject.robot) for subject in small_devices()
    ]
    for line in table:
        check, safe = float(line["check, MHz"]), float(line["with the margin"])
        assert safe == pytest.approx(check / (1 + MARGIN), abs=0.1)
        for cell in (line["look-up tables"], line["flip-flops"], line["DSP blocks"]):
            estimate, counted, error = re.findall(r"[-+]?[\d,]+", cell)
            numbers = [int(number.replace(",", "")) for number in (estimate, counted)]
            assert int(error) == round(100 * (numbers[0] / numbers[1] - 1))


@pytest.mark.verify(minutes=0.6)
def test_small_designs_are_as_in_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = [subject for subject in subjects() if subject.robot == "toy"]
    rows = checked_layout([row for subject in small for row in rows_of_functions(subject)])
    assert [{key: str(value) for key, value in line.items()} for line in rows] == lines()[-len(small) :]
