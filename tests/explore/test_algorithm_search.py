"""Builds whose algorithms depend on the error budget or on the width."""

import math
import re
from dataclasses import replace

import pytest

from rbdhw.cores import core as core_kind
from rbdhw.domain.overrides import Overrides
from rbdhw.emit.manifest import manifest
from rbdhw.errors import InputError
from rbdhw.explore.algorithm_search import _Trials, make_plan, search_build
from rbdhw.explore.search import BuildSearch, prepare_build
from rbdhw.fixed.figures import ErrorFigures, FunctionErrors, ResultErrors
from rbdhw.fixed.gains import Row
from rbdhw.fixed.search import BudgetMissed, Fixed, Try
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.quantize.formats import choose_formats
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.marks import long
from tests.support.urdf_documents import light_arm

pytestmark = pytest.mark.filterwarnings("ignore:domain")

CORE = {"ii": 4, "samples": 64}
"""Options of all builds."""


def refuse(monkeypatch, bad):
    """Let the search for number formats refuse the budget for some algorithms; return those tried."""
    seen = []

    def choose(observed, options, *rest):
        algorithms = observed.model.choice.algorithms
        seen.append(algorithms)
        formats = choose_formats(observed, options, *rest)
        if not bad(algorithms):
            return formats
        whole = ErrorFigures(1e-3, 2e-3, 100, 0)
        result_errors = ResultErrors(whole, {"box": whole})
        errors = {f: FunctionErrors({"all": result_errors}) for f in options.functions}
        tried = Try(((32, 32),), 6e-3, Row("fd.all", "box"), True)
        best = Fixed(formats.program, None, errors, tried, {}, 0)
        raise BudgetMissed("max-error", "no width meets it", remedy="use a larger --max-error", best=best)

    monkeypatch.setattr(core_kind, "choose_formats", choose)
    return seen


def test_another_algorithm_is_taken_where_the_first_is_refused(monkeypatch):
    robot, options = load_urdf(path("toy")), BuildOptions(("minv", "fd"), **CORE)
    first = search_build(robot, options).prepared.algorithms
    seen = refuse(monkeypatch, lambda algorithms: algorithms == first)
    plan = plan_build(robot, options)
    assert seen[0] == first
    assert plan.prepared.model.choice.algorithms == seen[-1] != first
    assert len(seen) == len(set(seen))
    described = manifest(plan, options).data()
    entry = described["algorithms"]
    taken, *others = described["parts"][0]["tried"]
    assert {step: entry[step]["chosen"] for step in taken["algorithms"]} == taken["algorithms"]
    refused = next(other for other in others if other["why"] == "misses the budget")
    assert refused["algorithms"] == {step: getattr(first, step) for step in refused["algorithms"]}
    assert refused["measured"]["supports"]["fd.all"] == pytest.approx(6e-3)


def test_a_budget_that_no_algorithm_meets_is_refused_with_those_tried(monkeypatch):
    robot, options = load_urdf(path("toy")), BuildOptions(("minv", "fd"), **CORE)
    seen = refuse(monkeypatch, lambda _: True)
    with pytest.raises(InputError) as refusal:
        plan_build(robot, options)
    assert len(seen) > 1
    assert "this is by " in refusal.value.reason
    assert "also tried: " in refusal.value.reason
    assert "--algorithm" not in refusal.value.remedy


def test_a_refusal_names_the_algorithm_that_may_do_better_than_a_forced_one(monkeypatch):
    options = BuildOptions(("minv", "fd"), **CORE, algorithms={"products": "solves"})
    refuse(monkeypatch, lambda algorithms: algorithms.products == "solves")
    with pytest.raises(InputError) as refusal:
        make_plan(load_urdf(path("toy")), options)
    assert refusal.value.remedy == "use --algorithm products=dense, a larger --max-error"


def test_the_tries_of_a_search_are_counted():
    told = []
    make_plan(load_urdf(path("toy")), BuildOptions(("m",), **CORE), progress=told.append)
    tries = [int(number) for line in told for number in re.findall(r"\btry (\d+), \d+ x \d+ bits", line)]
    assert tries == list(range(1, len(tries) + 1)) != []


def test_algorithms_are_forecast_if_their_operations_are_others_and_not_too_many():
    options = BuildOptions(("minv", "fd"), **CORE)
    search = BuildSearch(prepare_build(load_urdf(path("toy")), options), options)

    def forecast(limit, **algorithms):
        other = replace(search.prepared.algorithms, **algorithms)
        return _Trials(search, "pipeline", 4).forecast(other, limit)

    known = forecast(math.inf, products="dense")
    assert forecast(known.operations, products="dense") == known
    assert forecast(0.999 * known.operations, products="dense") is None
    assert forecast(math.inf, inverse="block_pivots") is None  # the same for two joints


@pytest.mark.verify
def test_an_arm_builds_by_the_algorithm_that_the_budget_needs(tmp_path):
    (tmp_path / "arm.urdf").write_text(light_arm())
    search = search_build(load_urdf(tmp_path / "arm.urdf"), BuildOptions(("id", "fd"), **CORE))
    formats = search.formats("pipeline", 4)
    assert all(errors.bound <= 1e-3 for errors in formats.errors.values())
    tried = search.prepared.model.choice.tried
    assert tried[0]["algorithms"]["products"] == search.prepared.algorithms.products
    assert tried[0]["measured"]["extra_blocks"] == formats.extra_blocks


def test_a_forced_algorithm_is_taken_whatever_it_errs():
    options = BuildOptions(("dfd", "difd"), **CORE, width=10, algorithms={"gradient": "repeated"})
    assert search_build(load_urdf(path("toy")), options).prepared.algorithms.gradient == "repeated"


@pytest.mark.parametrize("name", [long("arm"), long("iiwa14")])
def test_at_a_width_an_algorithm_with_far_larger_errors_is_not_taken(name, tmp_path):
    """The repeated gradient takes fewer operations, and errs more in ``difd``."""
    file = path(name) if name == "iiwa14" else tmp_path / "arm.urdf"
    if name == "arm":
        file.write_text(light_arm(joints=4))
    options = BuildOptions(("dfd", "difd"), ii=4, samples=128, width=18)
    search = search_build(load_urdf(file), options, Overrides(any_forces=True))
    assert search.prepared.algorithms.gradient == "corrected"
    best, *others = search.prepared.model.choice.tried
    repeated = next(other for other in others if other["measured"])
    assert repeated["algorithms"]["gradient"] == "repeated"
    assert repeated["cost"] < best["cost"]
    errors = [tried["measured"]["supports"] for tried in (repeated, best)]
    assert max(errors[0][part] / errors[1][part] for part in errors[0]) > 4.0


@pytest.mark.verify
def test_errors_of_some_functions_are_those_of_the_build_of_all():
    robot, errors = load_urdf(path("iiwa14")), []
    for functions in (("dfd", "difd"), DEFAULT_FUNCTIONS):
        search = search_build(robot, BuildOptions(functions, ii=4, width=18))
        errors.append(search.formats("pipeline", 4).errors)
    for function in ("dfd", "difd"):
        assert errors[0][function].whole.max < 3.0 * errors[1][function].whole.max
        assert errors[0][function].whole.median < 3.0 * errors[1][function].whole.median


def test_an_algorithm_of_a_step_that_no_function_contains_is_refused():
    options = BuildOptions(("id",), **CORE, algorithms={"gradient": "repeated"})
    with pytest.raises(InputError) as refusal:
        make_plan(load_urdf(path("toy")), options)
    assert str(refusal.value) == (
        "algorithm: gradient=repeated has no effect: id do not contain this step; expected a step of axes; "
        "leave out --algorithm gradient=repeated"
    )
