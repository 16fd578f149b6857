"""The RTL compared with the model: correct designs pass, faults are found."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rbdhw.design.error_entries import ConfidenceEntry
from rbdhw.design.folder import Design, read, write
from rbdhw.errors import InputError
from rbdhw.fixed.program import Kind
from rbdhw.model.packets import Answers
from rbdhw.sim import pieces
from rbdhw.sim import simulate as simulation
from rbdhw.sim.report import FunctionReport, Report, ResultReport, StratumReport
from rbdhw.sim.simulate import count_mismatches, simulate
from rbdhw.verilator import bulk as bulk_bench
from rbdhw.verilator.simulator import Disturbance
from rbdhw.verilator.tools import SimulationError
from tests.support.marks import long

either_bench = pytest.mark.parametrize("bulk", [long(False), True])
"""What benches find is told in code that they share."""


def refusal_of(action, *arguments, **options):
    with pytest.raises(InputError) as refusal:
        action(*arguments, **options)
    return str(refusal.value)


def with_program(design: Design, change) -> Design:
    """Return the design with its first scale changed, so that the model differs from the hardware."""
    operations = list(design.programs[0].operations)
    index = next(i for i, operation in enumerate(operations) if operation.kind is Kind.SCALE)
    operations[index] = change(operations[index])
    return replace(design, programs=(replace(design.programs[0], operations=tuple(operations)),))


@pytest.mark.parametrize(
    ("bubbles", "back_pressure", "bulk"), [long(0.0, 0.0, True), long(0.3, 0.6, False), (0.3, 0.6, True)]
)
def test_a_right_design_passes_with_any_traffic(rail_folder, cache, bubbles, back_pressure, bulk):
    traffic = {"bubbles": bubbles, "back_pressure": back_pressure}
    report = simulate(rail_folder, 300, 7, **traffic, bulk=bulk, cache=cache)
    assert report.ok
    assert (report.tasks, report.mismatches, report.flagged) == (300, 0, 0)
    assert list(report.functions) == ["id", "fd"]
    assert sum(function.tasks for function in report.functions.values()) == 300
    for function in report.functions.values():
        assert function.tasks > 100
        assert 0.0 < function.error_median < 1e-3
        assert function.error_median < function.error_max < function.limit == 0.1
        assert sum(stratum.tasks for stratum in function.strata.values()) == function.tasks
        assert function.strata["box"].tasks > function.strata["motion"].tasks > function.strata["rest"].tasks
        assert function.error_max == max(stratum.error_max for stratum in function.strata.values())


@either_bench
def test_without_traffic_the_cycles_are_the_hardwares(rail_folder, cache, bulk):
    report = simulate(rail_folder, 100, 7, bubbles=0.0, back_pressure=0.0, bulk=bulk, cache=cache)
    design = read(rail_folder)
    beats = {
        f: design.interface.beats(design.interface.request_widths(f))
        + design.interface.beats(design.interface.response_widths(f))
        for f in design.functions
    }
    for function, figures in report.functions.items():
        assert figures.latency_cycles == beats[function]
    assert report.cycles == sum((beats[f] + 1) * figures.tasks for f, figures in report.functions.items())


@either_bench
def test_same_seed_same_report(rail_folder, cache, bulk):
    reports = [simulate(rail_folder, 50, seed, bulk=bulk, cache=cache) for seed in (3, 3, 4)]
    assert reports[0] == reports[1] != reports[2]


@pytest.mark.verify
def test_both_benches_report_the_same_where_no_traffic_is_random(rail_folder, cache):
    options = {"bubbles": 0.0, "back_pressure": 0.0, "cache": cache}
    assert simulate(rail_folder, 120, 5, **options) == simulate(rail_folder, 120, 5, bulk=True, **options)


def test_pieces_are_other_tasks_and_add_up(rail_folder, cache, monkeypatch):
    def in_pieces(most, at_once):
        monkeypatch.setattr(pieces, "PIECE_TASKS", most)
        monkeypatch.setattr(simulation, "MOST_AT_ONCE", at_once)
        told = []
        options = {"bubbles": 0.0, "back_pressure": 0.0, "bulk": True, "cache": cache}
        return simulate(rail_folder, 250, 5, **options, progress=told.append), told

    whole, _ = in_pieces(250, 1)
    report, told = in_pieces(100, 1)
    assert told == [
        "building the simulator",
        *(f"simulating: {done} of 250 tasks" for done in (0, 100, 200, 250)),
    ]
    assert (report.tasks, report.mismatches, report.flagged) == (250, 0, 0)
    assert sum(function.tasks for function in report.functions.values()) == 250
    assert report != whole
    assert in_pieces(100, 3)[0] == report


def test_a_failing_piece_ends_the_simulation(rail_folder, cache, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_TASKS", 10)
    begun = []

    def fails(_executable, _requests, traffic):
        begun.append(traffic)
        raise SimulationError("it failed")

    monkeypatch.setattr(bulk_bench, "exchange", fails)
    with pytest.raises(SimulationError, match="it failed"):
        simulate(rail_folder, 10_000, 5, bulk=True, cache=cache)
    assert len(begun) < 100


def test_the_report_is_plain_json(rail_folder, cache):
    data = json.loads(json.dumps(simulate(rail_folder, 20, 3, bulk=True, cache=cache).json()))
    assert list(data) == [
        "tasks",
        "mismatches",
        "stray",
        "flagged",
        "cycles",
        "traffic",
        "functions",
        "causes",
        "warnings",
    ]
    assert data["traffic"] == {"bubbles": 0.25, "back_pressure": 0.25, "seed": 3, "mixed_functions": True}
    keys = ["tasks", "mismatches", "flagged", "error_median", "error_max", "limit", "latency_cycles"]
    keys += ["strata", "results", "confidence"]
    assert list(data["functions"]["fd"]) == keys
    figures = ["tasks", "flagged", "error_median", "error_max"]
    assert list(data["functions"]["fd"]["strata"]["box"]) == figures
    result = data["functions"]["fd"]["results"]["a"]
    assert list(result) == [*figures, "limit", "strata"]
    assert result["strata"]["box"] == data["functions"]["fd"]["strata"]["box"]


def test_a_model_that_differs_in_one_constant_is_found(rail_folder, cache, tmp_path):
    def off_by_one(operation):
        return replace(operation, constant=operation.constant + 1)

    write(with_program(read(rail_folder), off_by_one), tmp_path / "design")
    report = simulate(tmp_path / "design", 100, 1, bulk=True, cache=cache)
    assert report.mismatches >= report.functions["id"].tasks - 5
    assert not report.ok


def with_errors(folder, target, **changes):
    """Copy a design and change the permitted errors in its manifest."""
    design = read(folder)
    for entry in design.manifest["error"].values():
        for result in entry["results"].values():
            result |= changes
    write(design, target)
    return target


def test_an_error_beyond_the_limit_is_found(rail_folder, cache, tmp_path):
    folder = with_errors(rail_folder, tmp_path / "design", limit=1e-6)
    report = simulate(folder, 100, 1, bulk=True, cache=cache)
    assert report.mismatches == 0
    named = [line.partition(" has an error of ")[0] for line in report.failures]
    expected = {"id: tau of an unflagged task (box)", "fd: a of an unflagged task (motion)"}
    assert expected <= set(named)
    assert not report.ok


def test_results_below_the_floor_count_as_large_as_that(rail_folder, cache, tmp_path):
    raised = with_errors(rail_folder, tmp_path / "design", floor=1e6)
    right, report = (simulate(each, 100, 1, bulk=True, cache=cache) for each in (rail_folder, raised))
    for name, function in report.functions.items():
        assert 0.0 < function.error_max < 1e-3 * right.functions[name].error_max


@either_bench
def test_one_wrong_bit_is_found(faulty_folder, cache, bulk):
    report = simulate(faulty_folder, 30, 1, bulk=bulk, cache=cache)
    assert (report.mismatches, report.stray, report.ok) == (1, 0, False)
    assert sorted(function.mismatches for function in report.functions.values()) == [0, 1]


@either_bench
def test_a_response_that_changes_while_it_waits_is_found(faulty_folder, cache, bulk):
    report = simulate(faulty_folder, 38, 1, back_pressure=0.95, bulk=bulk, cache=cache)
    assert report.stray > 0
    differing = sum(function.mismatches for function in report.functions.values())
    assert report.mismatches == report.stray + differing > 2


@either_bench
def test_hardware_that_hangs_is_found_and_left(faulty_folder, cache, bulk):
    report = simulate(faulty_folder, 50, 1, bubbles=0.0, back_pressure=0.0, bulk=bulk, cache=cache)
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


STRATA = {"box": StratumReport(60, 1, 1e-5, 2e-4), "rest": StratumReport(40, 0, 1e-6, 1e-5)}

RIGHT = FunctionReport(
    tasks=100,
    mismatches=0,
    flagged=1,
    error_median=1e-5,
    error_max=2e-4,
    limit=2e-4,
    latency_cycles=9,
    strata=STRATA,
    results={"a": ResultReport(100, 1, 1e-5, 2e-4, limit=2e-4, strata=STRATA)},
    confidence=ConfidenceEntry(level=0.999, strata={}),
)


class TestVerdict:
    """The failures of a report, line by line."""

    def report(self, stray=0, rest=1e-5, **changes):
        strata = STRATA | {"rest": StratumReport(40, 0, 1e-6, rest)}
        results = {"a": replace(RIGHT.results["a"], strata=strata)}
        functions = {"id": RIGHT, "fd": replace(RIGHT, results=results, **changes)}
        return Report(200, stray, 1000, functions, Disturbance())

    def test_a_right_report_has_no_failure(self):
        assert self.report().ok
        assert self.report().failures == []
        assert (self.report().mismatches, self.report().flagged) == (0, 2)

    @pytest.mark.parametrize(
        ("report", "line"),
        [
            ({"mismatches": 3}, "fd: responses that differ from the model's: 3; expected 0"),
            ({"stray": 2}, "responses of no function, or violations of the stream protocol: 2; expected 0"),
            (
                {"rest": 2.04e-4},
                "fd: a of an unflagged task (rest) has an error of 0.000204; expected at most 0.0002, the "
                "limit that the manifest states",
            ),
            (
                {"flagged": 6},
                "fd: 6 of 100 tasks are flagged; expected at most 1%; the causes name the remedies",
            ),
        ],
    )
    def test_each_failure_is_one_line(self, report, line):
        assert self.report(**report).failures == [line]
        assert not self.report(**report).ok

    def test_an_error_that_is_no_number_is_beyond_every_limit(self):
        assert not self.report(rest=float("nan")).ok

    def test_without_an_unflagged_task_nothing_is_known(self):
        none = {"error_median": None, "error_max": None}
        blind = replace(RIGHT, tasks=1, **none, strata={}, results={})
        report = Report(1, 0, 9, {"id": blind}, Disturbance())
        expected = "no response is unflagged, so no error can be measured; expected at least one"
        assert report.failures == [expected]
        assert replace(report, functions={"id": blind, "fd": RIGHT}).ok


def flagging(design: Design) -> Design:
    """Return the design with tasks whose positions are all outside its hardware's domain."""
    beyond = np.tile([0.65, 0.95], (len(design.robot.bodies), 1))
    return replace(design, domain=replace(design.domain, bounds=design.domain.bounds | {"q": beyond}))


def test_a_design_that_flags_everything_fails(rail_folder, tmp_path, rbdhw):
    folder = tmp_path / "design"
    write(flagging(read(rail_folder)), folder)
    status, out, err = rbdhw("simulate", folder, "--tasks", 40, "--seed", 1, "--bulk", "--json")
    report = json.loads(out)
    assert (status, report["mismatches"], report["flagged"]) == (1, 0, 40)
    flagged = "flagged; expected at most 1%; the causes name the remedies"
    assert err.splitlines() == [
        *(
            f"rbdhw: {folder}: {name}: {function['tasks']} of {function['tasks']} tasks are {flagged}"
            for name, function in report["functions"].items()
        ),
        f"rbdhw: {folder}: no response is unflagged, so no error can be measured; expected at least one",
    ]


@pytest.mark.verify
def test_a_mismatch_ends_in_exit_status_1(faulty_folder, rbdhw):
    status, out, err = rbdhw("simulate", faulty_folder, "--tasks", 30, "--seed", 1, "--bulk", "--json")
    assert (status, json.loads(out)["mismatches"]) == (1, 1)
    assert err.endswith(": responses that differ from the model's: 1; expected 0\n")
    assert err.count("\n") == 1


def test_an_answer_of_an_unknown_function_is_stray(rail_folder, cache, tmp_path):
    """The hardware answers tag 3 with the code of a function that is not in the build."""
    design = read(rail_folder)
    right = "assign m_axis_tdata = held[31:0];"
    wrong = right.replace(";", " ^ (held[15:0] == 3 && held[23:20] == 0 ? 32'h000f0000 : 0);")
    assert right in design.verilog
    write(replace(design, verilog=design.verilog.replace(right, wrong)), tmp_path / "design")
    report = simulate(tmp_path / "design", 20, 1, bulk=True, cache=cache)
    assert report.stray == 1
    assert not report.ok


def test_numbers_that_cannot_be_are_refused(rail_folder):
    expected = "tasks: 0 is out of range; expected 1 to 1000000000"
    assert refusal_of(simulate, rail_folder, 0, 0) == expected
    expected = "back-pressure: 1 is not possible; expected a probability below 1"
    assert refusal_of(simulate, rail_folder, 1, 0, back_pressure=1.0) == expected
