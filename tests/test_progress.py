"""The display of the stages' progress, with a controlled clock."""

import io

import pytest
from rich.console import Console

from rbdhw import progress
from rbdhw.progress import (
    LASTING,
    PERIOD,
    Log,
    log_lines,
    show_progress,
    silent,
    stage_of,
    status_line,
    within,
)


@pytest.fixture(autouse=True)
def no_progress():
    """Override the fixture that suppresses progress in other tests."""


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Case:
    """A log, and the lines that it has written after each second."""

    def __init__(self):
        self.clock, self.lines = Clock(), []
        self.log = Log(self.lines.append, self.clock)

    def pass_time(self, seconds):
        for _ in range(seconds):
            self.clock.now += 1.0
            self.log.tick()


def test_a_stage_is_named_once_it_has_lasted():
    case = Case()
    case.log("tracing")
    case.pass_time(1)
    assert case.lines == []
    case.pass_time(10)
    assert case.lines == ["0:00:02 tracing"]


def test_short_stages_write_no_line():
    case = Case()
    for stage in "abcdefgh":
        case.log(stage)
        case.pass_time(int(LASTING) - 1)
    assert case.lines == []


def test_many_short_stages_are_not_silent_together():
    case = Case()
    for k in range(60):
        case.log(f"scheduling at an II of {k}")
        case.pass_time(1)
    assert case.lines == [
        "0:00:20 scheduling at an II of 19",
        "0:00:40 scheduling at an II of 39",
        "0:01:00 scheduling at an II of 59",
    ]


def test_a_long_stage_says_how_far_it_is():
    """Counts do not start new stages."""
    case = Case()
    for k in range(50):
        case.log(f"simulating: {k} of 50 tasks")
        case.pass_time(1)
    assert case.lines == [
        "0:00:02 simulating: 1 of 50 tasks",
        "0:00:22 simulating: 21 of 50 tasks",
        "0:00:42 simulating: 41 of 50 tasks",
    ]


def test_no_minute_is_silent_though_nothing_is_reported():
    case = Case()
    case.pass_time(3700)
    assert case.lines[:3] == ["0:00:02 starting", "0:00:22 starting", "0:00:42 starting"]
    assert case.lines[-1] == "1:01:22 starting"
    assert len(case.lines) == 1 + int((3700 - LASTING) / PERIOD)


def test_the_next_stage_is_named_in_its_turn():
    case = Case()
    for stage in ("reading", "tracing: 3 of 4", "tracing: 4 of 4", "writing"):
        case.log(stage)
        case.pass_time(3)
    assert case.lines == ["0:00:02 reading", "0:00:05 tracing: 3 of 4", "0:00:11 writing"]


@pytest.mark.parametrize(("text", "stage"), [("a b", "a b"), ("a b: 1 of 2", "a b"), ("a: b: c", "a")])
def test_the_stage_of_a_text(text, stage):
    assert stage_of(text) == stage


def test_a_progress_within_a_stage_adds_its_name():
    texts = []
    within("choosing the root", texts.append)("3 tried")
    assert texts == ["choosing the root: 3 tried"]
    assert stage_of(texts[0]) == "choosing the root"


def test_lines_of_a_log_come_by_themselves(monkeypatch):
    monkeypatch.setattr(progress, "LASTING", 0.0)
    stream = io.StringIO()
    with log_lines(Console(file=stream), tick=0.001) as show:
        show("[building] the simulator")
        while not stream.getvalue().endswith("simulator\n"):
            pass
    assert stream.getvalue().splitlines()[-1] == "0:00:00 [building] the simulator"


def test_short_work_leaves_a_log_empty(capsys):
    with show_progress() as show:
        show("reading the robot")
    assert capsys.readouterr() == ("", "")


def test_an_error_passes_through_and_ends_the_lines():
    with pytest.raises(ValueError, match="no"), show_progress():
        raise ValueError("no")


def test_a_terminal_shows_elapsed_time_stage_and_counts():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80, color_system=None)
    with status_line(console) as show:
        show("simulating [x]: 3 of 9 tasks")
    text = stream.getvalue()
    assert "0:00:00 simulating [x]: 3 of 9 tasks" in text
    assert text.endswith("\x1b[2K")


def test_a_long_text_leaves_the_elapsed_time_whole():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=40, color_system=None)
    with status_line(console) as show:
        show("choosing number formats of the pipeline")
    assert " 0:00:00 choosing number formats of th…" in stream.getvalue()


def test_silent_shows_nothing(capsys):
    silent("anything")
    assert capsys.readouterr() == ("", "")
