"""Outside programs: their versions, their logs, and what is told when they fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rbdhw.boards.tools import VARIABLES, ToolError, run_tool, tool_version


def program(folder: Path, lines: str) -> str:
    """The path of a program of these lines."""
    path = folder / "program"
    path.write_text(lines)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("name", VARIABLES)
def test_every_program_tells_its_version(name: str) -> None:
    assert re.fullmatch(r"[0-9]+(\.[0-9]+)+(\+[0-9]+)?", tool_version(name))


@pytest.mark.parametrize(
    ("printed", "version"),
    [("Yosys 0.70 (git sha1 1.2)", "0.70"), ("Yosys 0.33+34", "0.33+34"), ("nextpnr-0.11.1", "0.11.1")],
)
def test_version_is_the_first_number_with_dots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, version: str
) -> None:
    monkeypatch.setenv("YOSYS", program(tmp_path, f"#!/bin/sh\necho '{printed}' >&2\n"))
    assert tool_version("yosys") == version


@pytest.mark.parametrize("lines", ["#!/bin/sh\necho none\n", "#!/bin/sh\necho 1.2\nexit 1\n"])
def test_program_without_a_version_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str
) -> None:
    path = program(tmp_path, lines)
    monkeypatch.setenv("YOSYS", path)
    expected = f"yosys: {path} --version tells no version; expected a working program"
    with pytest.raises(ToolError, match=f"^{re.escape(expected)}$"):
        tool_version("yosys")


def test_file_that_is_no_program_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = program(tmp_path, "none of the formats known")
    monkeypatch.setenv("YOSYS", path)
    expected = f"yosys: {path} cannot be started (Exec format error)"
    with pytest.raises(ToolError, match=f"^{re.escape(expected)}$"):
        tool_version("yosys")


def test_log_has_what_was_written_and_what_was_printed(tmp_path: Path) -> None:
    path = program(tmp_path, "#!/bin/sh\necho written > log; echo $WHAT; echo wrong >&2; exit 4\n")
    log = tmp_path / "log"
    with pytest.raises(ToolError) as caught:
        run_tool("tool", [path], folder=tmp_path, log=log, environment={"WHAT": "printed"})
    assert log.read_text() == "written\nprinted\nwrong\n"
    told = f"tool failed (exit status 4); its log is {log}\n  written\n  printed\n  wrong"
    assert str(caught.value) == told
