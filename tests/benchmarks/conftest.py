"""A fixture that runs the benchmarks' command line in this process."""

import sys

import pytest

from benchmarks.__main__ import app
from rbdhw.cli.process import BAD_INPUT, run_commands


@pytest.fixture
def benchmark(monkeypatch, capsys):
    """Run a command of the benchmarks; return its exit status, standard output and error stream."""

    def benchmark(*arguments):
        monkeypatch.setattr(sys, "argv", ["benchmarks", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            run_commands(app, "benchmarks")
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return benchmark


@pytest.fixture
def refused(benchmark):
    """Run a command that is refused; return its one line without the name of the program."""

    def refused(*arguments):
        status, out, err = benchmark(*arguments)
        (line,) = err.splitlines()
        assert (status, out, line.startswith("rbdhw: ")) == (BAD_INPUT, "", True)
        return line.removeprefix("rbdhw: ")

    return refused
