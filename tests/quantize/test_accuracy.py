"""The reported accuracy: errors by stratum, remarks on given widths, and tasks of moving robots."""

import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rbdhw import golden
from rbdhw.design.packet_entries import OutputWord
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.sampling import sample
from rbdhw.domain.strata import STRATA
from rbdhw.emit.accuracy import accuracy_remarks, clipped_remarks, error_entries, formats_entry
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.fixed.figures import ErrorFigures, FunctionErrors, ResultErrors, most_flagged
from rbdhw.fixed.gains import Row
from rbdhw.fixed.search import Try
from rbdhw.model.packets import decode, encode
from rbdhw.model.responses import respond
from rbdhw.options.build import BuildOptions
from rbdhw.protocol import FUNCTIONS
from rbdhw.quantize.formats import Formats
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from tests.support.builds import program_of
from tests.support.marks import long

TOY = load_urdf(path("toy"))
BOX, REST = ErrorFigures(1e-4, 4e-4, 400, 3), ErrorFigures(2e-5, 3e-3, 50, 0)
TRIES = (
    Try(((18, 18),), float("inf"), Row("id.tau", "rest"), False),
    Try(((27, 18), (32, 30)), 6e-3, Row("id.tau", "rest"), True),
)
FORMATS = Formats(
    program_of("toy", 18),
    (),
    {"id": FunctionErrors({"tau": ResultErrors(BOX, {"box": BOX, "rest": REST}, 0.8)})},
    TRIES,
    TRIES[1],
    {"id": "tau of id in rest tasks, where most of the error comes from rounding values of rnea_forward"},
)


def test_the_manifest_has_errors_by_stratum_with_floor_step_and_limit():
    words = [
        OutputWord(name="id.tau[0]", unit="Nm", width=18, binary_point=12),
        OutputWord(name="id.tau[1]", unit="N", width=18, binary_point=9),
    ]
    options = BuildOptions(functions=("id",), width=18)
    entry = error_entries(TOY, FORMATS.errors, options, {"id": words}, {}, {})["id"].data()
    for figures in (entry, entry["results"]["tau"]):
        assert {name: figures[name] for name in vars(BOX)} == vars(BOX)
        assert figures["strata"] == {"box": vars(BOX), "rest": vars(REST)}
        assert (figures["floor"], figures["units"], figures["step"]) == (0.8, ["Nm", "N"], 2.0**-9)
        assert figures["limit"] == pytest.approx(9e-3)
    budget = error_entries(
        TOY, FORMATS.errors, replace(options, width=None, max_error=0.01), {"id": words}, {}, {}
    )
    assert budget["id"].limit == budget["id"].results["tau"].limit == 0.01


def test_each_result_has_an_entry_of_its_own():
    """The function's figures are the largest, and its step and units are those of its ordinary results."""
    results = {
        "dtau_dq": ResultErrors(BOX, {"box": BOX}, 0.8),
        "dtau_dv": ResultErrors(REST, {"box": REST}, 0.1),
        "tau": ResultErrors(BOX, {"box": BOX}, 2.0),
        "M": ResultErrors(BOX, {"box": BOX}, 3.0),
    }
    words = [
        OutputWord(name="did.dtau_dq[0,0]", unit="Nm/rad", width=18, binary_point=12),
        OutputWord(name="did.dtau_dv[1,0]", unit="Nm s/rad", width=18, binary_point=10),
        OutputWord(name="did.tau[0]", unit="Nm", width=18, binary_point=4),
    ]
    options = BuildOptions(functions=("did",), width=18)
    entry = error_entries(TOY, {"did": FunctionErrors(results)}, options, {"did": words}, {}, {})[
        "did"
    ].data()
    assert (entry["median"], entry["max"]) == (1e-4, 3e-3)
    assert (entry["step"], entry["units"]) == (2.0**-10, ["Nm/rad", "Nm s/rad"])
    assert entry["floor"] == {"did.dtau_dq": 0.8, "did.dtau_dv": 0.1, "did.tau": 2.0, "did.M": 3.0}
    assert entry["limit"] == pytest.approx(9e-3)
    told = {
        name: (result["max"], result["step"], result["units"]) for name, result in entry["results"].items()
    }
    assert told == {
        "dtau_dq": (4e-4, 2.0**-12, ["Nm/rad"]),
        "dtau_dv": (3e-3, 2.0**-10, ["Nm s/rad"]),
        "tau": (4e-4, 2.0**-4, ["Nm"]),
        "M": (4e-4, 0.0, []),
    }
    assert entry["results"]["dtau_dq"]["limit"] == pytest.approx(1.2e-3)


def test_errors_of_which_nothing_is_known_are_null_in_the_manifest():
    blind = ErrorFigures(math.inf, math.inf, 50, 50)
    errors = {"id": FunctionErrors({"tau": ResultErrors(blind, {"box": blind}, 0.8)})}
    words = {"id": [OutputWord(name="id.tau[0]", unit="Nm", width=18, binary_point=12)]}
    entry = error_entries(TOY, errors, BuildOptions(functions=("id",), width=18), words, {}, {})["id"].data()
    unknown = {"median": None, "max": None, "samples": 50, "flagged": 50, "clipped": 0}
    for figures in (entry, entry["results"]["tau"]):
        assert figures["strata"] == {"box": unknown}
        assert {name: figures[name] for name in unknown} == unknown
    assert json.dumps(entry, allow_nan=False)


def test_errors_of_mostly_clipped_tasks_are_not_stated_and_a_remark_names_them():
    clipped, some = ErrorFigures(1e-4, 5e-2, 400, 0, 300), ErrorFigures(1e-4, 4e-4, 400, 0, 200)
    strata = {"box": BOX, "motion": clipped, "single": some}
    errors = {"fd": FunctionErrors({"a": ResultErrors(BOX, strata, 0.8)})}
    words = {"fd": [OutputWord(name="fd.a[0]", unit="rad/s^2", width=18, binary_point=12)]}
    entry = error_entries(TOY, errors, BuildOptions(functions=("fd",), width=18), words, {}, {})["fd"].data()
    assert entry["strata"]["motion"] == vars(clipped) | {"median": None, "max": None}
    assert entry["strata"]["single"] == vars(some)
    formats = replace(FORMATS, errors=errors, reasons={"fd": "motions"})
    assert list(clipped_remarks(formats)) == [
        "domain: in 300 of 400 motion tasks of fd forces within their bounds do not hold the robot; no error "
        "is stated for these tasks; effort in a domain file widens the bounds"
    ]
    options = BuildOptions(functions=("fd",), width=18)
    assert not any("motion tasks)" in remark for remark in accuracy_remarks(formats, options))


def test_the_manifest_tells_why_widths_are_what_they_are():
    entry = formats_entry(FORMATS, BuildOptions(functions=("id",), max_error=0.01)).data()
    assert entry == {
        "why": "the fewest DSP blocks, then bits, of all widths with errors that support 0.01, by "
        "prediction, confirmed on the bit-exact model after 2 tries; tau of id in rest tasks limits them",
        "tries": [
            {
                "widths": [[18, 18]],
                "supports": None,
                "limited_by": {"function": "id", "result": "tau", "stratum": "rest"},
                "whole": False,
                "taken": False,
            },
            {
                "widths": [[27, 18], [32, 30]],
                "supports": 6e-3,
                "limited_by": {"function": "id", "result": "tau", "stratum": "rest"},
                "whole": True,
                "taken": True,
            },
        ],
    }
    forced = formats_entry(FORMATS, BuildOptions(functions=("id",), width=18))
    assert forced.why == "--width 18: the least errors that it allows, whatever they are"


def test_a_forced_width_beyond_the_default_budget_is_remarked():
    (remark,) = accuracy_remarks(FORMATS, BuildOptions(functions=("id",), width=18))
    assert remark == (
        "width: 18 bits give id errors of 0.0001 (median) to 0.003 (tau in rest tasks); the default "
        "budget is 0.001; limited by tau of id in rest tasks, where most of the error comes from rounding "
        "values of rnea_forward; expected --max-error in place of --width, a wider --width, or a domain file "
        "with smaller bounds"
    )
    assert list(accuracy_remarks(FORMATS, BuildOptions(functions=("id",), max_error=0.01))) == []


SAMPLES = 512


@cache
def iiwa(functions):
    """Return the plan of an iiwa14 design at the default budget, with formats chosen from few tasks."""
    return make_plan(load_urdf(path("iiwa14")), BuildOptions(functions=functions, samples=SAMPLES))


@pytest.mark.parametrize(
    ("function", "functions"),
    [long("id", ("id",)), *(long(function, ("id", "fd", "dfd")) for function in ("id", "fd", "dfd"))],
)
def test_the_default_budget_holds_where_robots_move(function, functions):
    """The tasks are rest, the zero pose, elbow poses, and uniform motions with |v| <= 3 and |a| <= 4."""
    plan = iiwa(functions)
    model = plan.accelerator
    rng, tasks = np.random.default_rng(11), 400
    robot = plan.prepared.model.source
    arrays = sample(robot, input_domain(robot), tasks, rng)
    lower, upper = plan.prepared.domain.bounds["v"].T
    arrays["v"] = np.clip(rng.uniform(-3, 3, (tasks, 7)), lower, upper)
    arrays["a"] = rng.uniform(-4, 4, (tasks, 7))
    arrays["tau"] = golden.evaluate(robot, "id", arrays)["tau"]
    arrays["v"][:100] = arrays["a"][:100] = arrays["tau"][:100] = 0.0
    arrays["q"][:10] = 0.0
    arrays["q"][10:20] = np.eye(7)[3] * np.linspace(-2.0, 2.0, 10)[:, None]
    inside = (np.abs(arrays["tau"]) <= plan.prepared.domain.bounds["tau"][:, 1]).all(axis=1)
    status, words = respond(model, function, encode(model, function, arrays))
    answered = inside & (status == 0)
    assert np.count_nonzero(inside & ~answered) <= most_flagged(np.count_nonzero(inside))
    results, right = decode(model, function, words), golden.evaluate(robot, function, arrays)
    for name, array in right.items():
        axes, told = tuple(range(1, array.ndim)), plan.formats.errors[function].results[name]
        off = np.sqrt(((results[name] - array) ** 2).sum(axis=axes))
        size = np.sqrt((array**2).sum(axis=axes))
        assert (off[answered] <= 1e-3 * np.maximum(size, told.floor)[answered]).all()
        assert told.floor < np.median(size[100:])
        assert set(told.strata) == set(STRATA)


@pytest.mark.parametrize("functions", [("id",), long(("id", "fd", "dfd"))])
def test_errors_of_all_functions_support_the_default_budget_in_every_stratum(functions):
    plan = iiwa(functions)
    for errors in plan.formats.errors.values():
        assert errors.bound <= 1e-3
        assert errors.whole.samples == 4 * SAMPLES
    assert plan.formats.tries[-1].whole
    assert set(plan.formats.reasons) == set(functions) < set(FUNCTIONS)
