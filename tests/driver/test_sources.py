"""The driver's folder and the headers, as programs compile them: without a warning, in C11 and in C++17."""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import cmeel_pth
import pytest

import rbdhw
from rbdhw.cli.app import main
from rbdhw.cli.process import BAD_INPUT
from rbdhw.driver import simulated
from rbdhw.registers.map import Register
from rbdhw.robots import path
from tests.support import far_ends
from tests.support.answering import SimulatedBlock
from tests.support.driver_folder import run_at_a_board
from tests.support.far_ends import SerialBoard, UdpBoard, UioBoard, XdmaBoard
from tests.support.marks import long

HERE = Path(__file__).parent
SUPPORT = Path(far_ends.__file__).parent

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")

REFUSED = [
    "id: array 'a' has another size",
    "id: no result 'a'",
    "toy: no function 'fd'",
    "8",
    "toy: no such device, or it cannot be opened",
]


@pytest.fixture(scope="module")
def built(loaded_folder, tmp_path_factory):
    """Return a folder with the driver's objects, and the names of its files."""
    folder = tmp_path_factory.mktemp("sources")
    with (
        patch.object(sys, "argv", ["rbdhw", "driver", str(loaded_folder), "-o", str(folder)]),
        pytest.raises(SystemExit),
    ):
        main()
    sources = sorted(path.name for path in folder.glob("*.c"))
    run(folder, "cc", "-std=c11", "-D_DEFAULT_SOURCE", "-Wconversion", "-Wshadow", *WARNINGS, "-c", *sources)
    return folder


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def objects(folder):
    return sorted(path.name for path in folder.glob("*.o"))


@pytest.fixture(scope="module")
def first_line(loaded_folder):
    tau = rbdhw.load(loaded_folder).id([0.2, -0.4], [0.1, 0.3], [1.0, -2.0]).tau
    return "0 0 " + " ".join(map(c_hex, tau))


def c_hex(number):
    """Return a number as `%a` prints it."""
    mantissa, _, exponent = float(number).hex().partition("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}"


def test_a_program_in_c(built, loaded_folder, first_line):
    program = (str(HERE / "program.c"), "-I.", *objects(built), "-o", "c", "-ldl", "-lm")
    run(built, "cc", "-std=c11", "-D_DEFAULT_SOURCE", *WARNINGS, *program)
    lines = run(built, "./c", str(simulated.build(loaded_folder)))
    assert lines == [first_line, "no such device, or it cannot be opened"]


def test_words_of_every_width_at_every_bit(built):
    program = (str(HERE / "words.c"), "-I.", *objects(built), "-o", "words", "-lm")
    run(built, "cc", "-std=c11", "-D_DEFAULT_SOURCE", *WARNINGS, *program)
    assert run(built, "./words") == [f"0 of {64 * 64 * 5 * 2 * 3}"]


@pytest.fixture(scope="module")
def reopen(built):
    """Return a folder with a program in C that opens a port again."""
    flags = ("-std=c11", "-D_DEFAULT_SOURCE", *WARNINGS)
    run(built, "cc", *flags, str(HERE / "reopen.c"), "-I.", *objects(built), "-o", "reopen", "-lm")
    return built


def test_a_port_that_goes_away_and_comes_back(reopen, loaded_folder, first_line, tmp_path):
    """Every call fails, and none writes a result, until the port is opened again."""
    port = tmp_path / "port"
    first, second = (SerialBoard(SimulatedBlock(loaded_folder)) for _ in range(2))
    port.symlink_to(first.path)
    first.answers_left = 3  # two of them to loads of parameters, when it is opened
    command = ["./reopen", str(port), "20000000000"]
    with subprocess.Popen(
        command, cwd=reopen, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        lines = [program.stdout.readline().rstrip() for _ in range(3)]
        port.unlink()
        port.symlink_to(second.path)
        rest, _ = program.communicate("\n")
    for board in (first, second):
        board.close()
    right, failed = f"{first_line} done", "6 0 0x0p+0 0x0p+0 the device failed in use"
    assert lines == [right, failed, failed]
    assert rest.splitlines() == [right] * 3


class OtherBlock(SimulatedBlock):
    """A block with the registers of another design."""

    def read(self, address):
        return super().read(address) ^ (address == Register.IDENTITY)


@pytest.mark.parametrize(
    ("board", "reason"),
    [
        ("busy", "another program has the device"),
        ("silent", "no answer in time"),
        ("other", "the accelerator has another design"),
    ],
)
def test_boards_that_are_refused_in_c_and_in_the_command_line(
    reopen, loaded_folder, tmp_path, capsys, board, reason
):
    far_end = SerialBoard((OtherBlock if board == "other" else SimulatedBlock)(loaded_folder))
    far_end.is_silent = board == "silent"
    with Path(far_end.path).open("r+b", buffering=0) as port:
        if board == "busy":
            fcntl.flock(port, fcntl.LOCK_EX)
        assert run(reopen, "./reopen", far_end.path, "100000000") == [reason] * 2
        assert run_at_a_board(loaded_folder, far_end.transport, tmp_path) == BAD_INPUT
    far_end.close()
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"rbdhw: {far_end.transport}: {reason}")
    assert not (tmp_path / "out.npz").exists()


@pytest.mark.verify
@pytest.mark.parametrize("eigen", [False, True])
def test_a_program_in_cpp(built, loaded_folder, first_line, tmp_path, eigen):
    rbdhw.generate(path("toy"), tmp_path / "c", functions="id", target="c")
    source, made = (str(tmp_path / name) for name in ("c/dynamics_id.c", "id.o"))
    run(built, "cc", "-std=c11", "-O0", "-c", source, "-o", made)
    headers = Path(cmeel_pth.__file__).parent / "cmeel.prefix" / "include" / "eigen3"
    include = ["-isystem", str(headers)] * eigen
    program = (f"-I{tmp_path / 'c'}", str(HERE / "program.cpp"), *objects(built), made)
    run(built, "c++", "-std=c++17", *WARNINGS, *include, "-I.", *program, "-o", "cpp", "-ldl", "-lm")
    lines = run(built, "./cpp", str(simulated.build(loaded_folder)))
    assert lines[:3] == [first_line, "1 2 2", "3"]
    assert lines[3:8] == REFUSED
    assert lines[8:] == ([first_line.split()[-1]] if eigen else [])


@pytest.fixture(scope="module")
def links(built):
    """Return a folder with a program that uses any transport, with files in place of the devices of XDMA."""
    made = ("-c", str(SUPPORT / "fake_aio.c"), "-o", "fake_aio.object")
    run(built, "cc", "-std=c11", "-D_DEFAULT_SOURCE", *made)
    program = (str(HERE / "links.cpp"), "-I.", *objects(built), "fake_aio.object", "-Wl,--wrap=syscall")
    run(built, "c++", "-std=c++17", *WARNINGS, *program, "-o", "links", "-lm")
    return built


@pytest.mark.parametrize("kind", [long("serial"), "udp", "xdma", "uio"])
def test_transports_in_cpp(links, loaded_folder, first_line, tmp_path, kind):
    block = SimulatedBlock(loaded_folder)
    far_end = {
        "serial": lambda: SerialBoard(block),
        "udp": lambda: UdpBoard(block),
        "xdma": lambda: XdmaBoard(tmp_path, block),
        "uio": lambda: UioBoard(tmp_path, block),
    }[kind]()
    try:
        assert run(links, "./links", kind, *re.split("[,:]", far_end.transport)[1:]) == [first_line]
    finally:
        far_end.close()


def test_the_command_lists_the_files(loaded_folder, tmp_path, capsys):
    call = ["rbdhw", "driver", str(loaded_folder), "-o", str(tmp_path / "out"), "--json"]
    with patch.object(sys, "argv", call), pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    files = json.loads(capsys.readouterr().out)["files"]
    assert files == sorted(path.name for path in (tmp_path / "out").iterdir())
    assert {"design.h", "rbdhw.h", "rbdhw.hpp", "registers.h"} <= set(files)


def test_the_command_replaces_a_driver_and_nothing_else(loaded_folder, built, tmp_path, rbdhw):
    header = (built / "rbdhw.hpp").read_bytes()
    (tmp_path / "rbdhw.hpp").write_bytes(header)  # that of a folder of generated C is the same
    (tmp_path / "files.c").write_text("mine")
    status, _, text = rbdhw("driver", loaded_folder, "-o", tmp_path)
    assert (status, text) == (
        2,
        f"rbdhw: {tmp_path / 'files.c'}: is no file of a driver; expected a folder in which nothing but a "
        "driver would be replaced; use another folder, or move the file away\n",
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files.c", "rbdhw.hpp"]
    (tmp_path / "files.c").unlink()
    (tmp_path / "main.c").write_text("mine")
    assert rbdhw("driver", loaded_folder, "-o", tmp_path)[0] == 0
    (tmp_path / "files.c").write_text("of an earlier version")
    assert rbdhw("driver", loaded_folder, "-o", tmp_path)[0] == 0
    assert (tmp_path / "files.c").read_bytes() == (built / "files.c").read_bytes()
    assert (tmp_path / "main.c").read_text() == "mine"
