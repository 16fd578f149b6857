"""The command line as a process: interruptions, outputs that are closed or full, locales, missing homes."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from rbdhw.cli.process import BAD_INPUT, UNREAD
from rbdhw.design.folder import write
from rbdhw.robots import path
from tests.support.designs import rail_design
from tests.support.marks import long

COMMAND = (sys.executable, "-m", "rbdhw")
INFO = (*COMMAND, "info", str(path("toy")), "--functions", "m")


def run(command, **settings):
    return subprocess.run(command, text=True, check=False, **{"stderr": subprocess.PIPE, **settings})


def test_it_starts_without_what_single_commands_need():
    script = "import sys, rbdhw.cli.app; sys.exit(any(name in sys.modules for name in ('numpy', 'pydantic')))"
    assert run([sys.executable, "-c", script]).returncode == 0


def test_an_interruption_ends_it_while_modules_are_imported():
    with subprocess.Popen(INFO, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert "Traceback" not in err
    assert process.returncode in (128 + signal.SIGINT, -signal.SIGINT, 0)


def test_a_request_to_end_ends_it_with_its_programs(tmp_path):
    """Incomplete files are removed, as after an interruption."""
    script = f"""
import os, signal, sys
from pathlib import Path
sys.argv = ["rbdhw", "run", {str(tmp_path)!r}, "id", "--input", "x", "--output", {str(tmp_path / "out")!r}]
from rbdhw.runtime.files import replace_file
from rbdhw.front import run
def interrupted(*_, **__):
    with replace_file(Path({str(tmp_path / "out")!r})) as made:
        made.write_text("half")
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
run.run = interrupted
from rbdhw.__main__ import main
main()
"""
    done = run([sys.executable, "-c", script])
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "unread", "status"),
    [long(("--version",), "stdout", UNREAD), long(("info", "gone.urdf"), "stderr", BAD_INPUT)],
)
def test_a_reader_that_is_gone_ends_it_in_silence(arguments, unread, status):
    out, into = os.pipe()
    os.close(out)
    done = run((*COMMAND, *arguments), **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, unread: into})
    os.close(into)
    assert (done.returncode, done.stdout or "", done.stderr or "") == (status, "", "")


FULL = "rbdhw: standard output: No space left on device; expected a place that can be read and written\n"


@pytest.mark.parametrize(
    ("arguments", "closing", "status", "err"),
    [
        long(("--version",), "<&- >&- 2>&-", 0, ""),
        (("--version",), ">/dev/full", BAD_INPUT, FULL),
        long(("info", "gone"), "2>/dev/full", BAD_INPUT, ""),
    ],
)
def test_an_output_that_is_closed_or_full(arguments, closing, status, err):
    shell = ["sh", "-c", f'exec "$@" {closing}', "sh", *COMMAND, *arguments]
    done = run(shell, stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr, done.stdout) == (status, err, "")


@pytest.mark.verify
def test_a_locale_without_unicode(tmp_path):
    text = path("toy").read_text(encoding="utf-8")
    (tmp_path / "λ.urdf").write_text(text.replace('<robot name="toy"', '<robot name="λ"'), encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = (*COMMAND, "info", tmp_path / "λ.urdf", "--functions", "m")
    done = run(command, stdout=subprocess.PIPE, env=environment)
    assert done.returncode == 0
    assert done.stdout.startswith("\\u03bb: 2 joints")


def test_a_user_without_a_home(tmp_path):
    write(rail_design(), tmp_path / "rail")
    np.savez(tmp_path / "in.npz", **{name: np.zeros((2, 1)) for name in ("q", "v", "a")})
    environment = {name: os.environ[name] for name in os.environ.keys() - {"HOME", "XDG_CACHE_HOME"}}
    command = (*COMMAND, "run", "rail", "id", "--input", "in.npz", "--output", "out.npz", "--engine", "model")
    done = run(command, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in.npz", "out.npz", "rail"]
