"""The choice of algorithms: costs, forced algorithms, and limits for large robots."""

import pytest

from rbdhw.frontend import algorithms
from rbdhw.frontend.algorithms import FOR_SOONEST, Cost, choose, cost_of
from rbdhw.frontend.build_graph import operation_delay
from rbdhw.frontend.functions import trace
from rbdhw.graph.graph import Op
from rbdhw.graph.trace import Recorder
from rbdhw.options.algorithms import ALGORITHMS
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.frames import align_axes
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robot.regroup import regroup_inertias
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.target import target
from tests.support.marks import long
from tests.support.mechanisms import mechanism

DELAY = operation_delay(target("xcvu9p").delays)


def test_cost_counts_operations_and_sums_the_longest_path_of_each_function():
    make = Recorder()
    x, y = make.input("x"), make.input("y")
    make.output("one.r[0]", x * y)
    make.output("one.r[1]", x * y + x)
    make.output("two.r[0]", (x * y) * 3.0 + x)
    delay = {Op.MULTIPLY: 4.0, Op.SCALE: 4.0, Op.ADD: 1.0}
    cost = cost_of(make.builder.finish(make.outputs), lambda op: delay.get(op, 0.0))
    assert cost == Cost(multiplications=2, additions=2, nanoseconds=5.0 + 9.0)
    assert cost.total == 2 + 0.2 + 3.0 * 14.0


def test_the_cheapest_of_each_step_is_taken():
    robot = align_axes(mechanism([JointKind.REVOLUTE] * 2, (BASE, 0), seed=1))
    choice = choose(robot, ("did", "dfd"), (), DELAY, {})
    assert set(choice.costs) == set(ALGORITHMS) - {"forward", "second", "rates", "contacts"}
    for step, costs in choice.costs.items():
        assert set(costs) == set(ALGORITHMS[step]) - {*FOR_SOONEST}
        chosen = getattr(choice.algorithms, step)
        assert costs[chosen].total == min(cost.total for cost in costs.values())
    assert choice.algorithms.derivatives == "composite"


def test_the_soonest_answer_is_worth_more_operations():
    robot = regroup_inertias(align_axes(mechanism([JointKind.REVOLUTE] * 3, (BASE, 0, 1), seed=1)))
    fewest, soonest = (choose(robot, ("fd",), (), DELAY, {}, soonest=soonest) for soonest in (False, True))
    assert set(soonest.costs["products"]) - set(fewest.costs["products"]) == {*FOR_SOONEST}
    assert soonest.algorithms.products == "triangular"
    best = min(soonest.costs["products"].values(), key=lambda cost: cost.nanoseconds)
    assert best == soonest.costs["products"]["triangular"]


def test_steps_that_no_function_takes_are_not_compared():
    robot = align_axes(load_urdf(path("toy")))
    assert choose(robot, ("kin",), (), DELAY, {}).costs == {}
    assert set(choose(robot, ("id", "m"), (), DELAY, {}).costs) == {"axes"}
    assert set(choose(robot, ("did",), (), DELAY, {}).costs) == {"axes", "derivatives"}
    assert set(choose(robot, ("minv",), (), DELAY, {}).costs) == {"axes", "inverse"}


@pytest.mark.parametrize(
    ("name", "function", "cheaper"),
    [long("iiwa14", "hid", "columns"), long("iiwa14", "sid", "columns"), ("hyq", "sid", "differentiated")],
)
def test_second_derivatives_by_columns_and_by_differentiation_compete(name, function, cheaper):
    robot = regroup_inertias(align_axes(load_urdf(path(name))))
    choice = choose(robot, (function,), (), DELAY, {})
    costs = choice.costs["second"]
    assert set(costs) == set(ALGORITHMS["second"])
    assert choice.algorithms.second == min(costs, key=lambda algorithm: costs[algorithm].total) == cheaper


@pytest.mark.parametrize("function", ["did", long("dfd"), long("hid")])
def test_shared_axes_are_taken_where_they_save_operations(function):
    """HyQ's hip and knee are parallel."""
    robot = regroup_inertias(align_axes(load_urdf(path("hyq"))))
    choice = choose(robot, (function,), (), DELAY, {})
    turning, shared = (choice.costs["axes"][name] for name in ALGORITHMS["axes"])
    assert choice.algorithms.axes == "shared"
    assert shared.multiplications < 0.7 * turning.multiplications


def test_a_forced_algorithm_is_taken_whatever_it_costs():
    robot = align_axes(load_urdf(path("toy")))
    forced = {"axes": "shared", "derivatives": "columns", "inverse": "articulated"}
    choice = choose(robot, ("did", "minv"), (), DELAY, forced)
    assert (choice.algorithms.derivatives, choice.algorithms.inverse) == ("columns", "articulated")
    assert {step: list(costs) for step, costs in choice.costs.items()} == {
        "axes": ["shared"],
        "derivatives": ["columns"],
        "inverse": ["articulated"],
    }


def test_the_manifest_entry_lists_the_cost_of_rejected_algorithms():
    robot = align_axes(load_urdf(path("toy")))
    entry = choose(robot, ("did",), (), DELAY, {}).json()
    assert entry["derivatives"]["chosen"] == "composite"
    assert set(entry["derivatives"]["costs"]) == {"composite", "columns"}
    assert set(entry["derivatives"]["costs"]["columns"]) == {
        "multiplications",
        "additions",
        "nanoseconds",
        "total",
    }


@pytest.fixture
def traces(monkeypatch):
    """The algorithms with which graphs are traced, in order."""
    seen = []

    def trace_and_log(robot, functions, fext, algorithms):
        seen.append(algorithms)
        return trace(robot, functions, fext, algorithms)

    monkeypatch.setattr(algorithms, "trace", trace_and_log)
    return seen


def test_each_combination_is_traced_once(traces):
    robot = align_axes(load_urdf(path("toy")))
    choice = choose(robot, DEFAULT_FUNCTIONS, (), DELAY, {})
    assert len(traces) == len(set(traces)) == 2 + (2 - 1) + (7 - 1) + (2 - 1)
    assert choice.skipped == ()


@pytest.mark.parametrize(("cost", "chosen"), [(96, "dense"), (94, "solves")])
def test_solves_must_be_cheaper_by_a_twentieth(traces, monkeypatch, cost, chosen):
    """Only dense products can use an inverse that is supplied with the task."""
    costs = {"dense": Cost(100, 0, 0.0), "solves": Cost(cost, 0, 0.0)}
    monkeypatch.setattr(algorithms, "cost_of", lambda *_: costs[traces[-1].products])
    robot = align_axes(load_urdf(path("toy")))
    assert choose(robot, ("fd",), (), DELAY, {}).algorithms.products == chosen


def test_the_first_alternatives_are_compared_for_a_large_robot(traces, monkeypatch):
    """One alternative of each group; solves are one, as dense products grow with the cube of the DoF."""
    monkeypatch.setattr(algorithms, "MOST_NODES", 1)
    robot = align_axes(load_urdf(path("toy")))
    choice = choose(robot, DEFAULT_FUNCTIONS, (), DELAY, {})
    derivatives = choice.algorithms.derivatives
    assert [(algorithms.derivatives, algorithms.products, algorithms.gradient) for algorithms in traces] == [
        ("composite", "dense", "corrected"),
        ("columns", "dense", "corrected"),
        (derivatives, "solves", "corrected"),
        (derivatives, choice.algorithms.products, "repeated"),
    ]
    assert choice.skipped == (
        "shared",
        "block_pivots, dense",
        "block_pivots, solves",
        "single_pivots, dense",
        "single_pivots, solves",
        "articulated, dense",
    )
    assert {step: list(costs) for step, costs in choice.costs.items()} == {
        "axes": ["turning"],
        "derivatives": ["composite", "columns"],
        "inverse": ["paired_pivots"],
        "products": ["dense", "solves"],
        "gradient": ["corrected", "repeated"],
    }


def test_a_large_robot_takes_forced_algorithms(monkeypatch):
    monkeypatch.setattr(algorithms, "MOST_NODES", 1)
    robot = align_axes(load_urdf(path("toy")))
    forced = {"derivatives": "columns", "inverse": "articulated"}
    choice = choose(robot, ("did", "minv"), (), DELAY, forced)
    assert (choice.algorithms.derivatives, choice.algorithms.inverse) == ("columns", "articulated")
    assert choice.skipped == ("shared",)
