"""A command line run in this process."""

import math
import sys

import pytest

from rbdhw import progress
from rbdhw.cli.app import BAD_INPUT, main


@pytest.fixture(autouse=True)
def no_progress(monkeypatch):
    """However slow the machine is, the error stream holds no lines of progress."""
    monkeypatch.setattr(progress, "LASTING", math.inf)
    monkeypatch.setattr(progress, "PERIOD", math.inf)


@pytest.fixture
def rbdhw(monkeypatch, capsys):
    """Run a command line in this process: its exit status, standard output and error stream."""

    def rbdhw(*arguments):
        monkeypatch.setattr(sys, "argv", ["rbdhw", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return rbdhw


@pytest.fixture
def told(rbdhw):
    """The one line of a command line that is bad input."""

    def told(*arguments):
        status, out, err = rbdhw(*arguments)
        assert (status, out) == (BAD_INPUT, "")
        assert err.startswith("rbdhw: ")
        assert err.endswith("\n")
        assert err.count("\n") == 1
        return err.removeprefix("rbdhw: ").rstrip("\n")

    return told
