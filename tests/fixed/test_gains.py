"""Noise gains compared with finite differences and with the bit-exact program."""

from itertools import product
from types import MappingProxyType

import numpy as np
import pytest

from rbdhw.domain.bounds import input_domain
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.domain.sampling import sample
from rbdhw.domain.strata import error_floors
from rbdhw.fixed.gains import Measure, Strata, gains
from rbdhw.fixed.planner import Planner
from rbdhw.fixed.widths import plain_widths
from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.interpret import interpret, node_values
from rbdhw.graph.text import loads
from tests.support.builds import evaluated, graph_of, lowered, magnitudes, model_of
from tests.support.marks import long

EVERYTHING = """n0 = input x @ decode
n1 = input y @ decode
n2 = input acceleration_given @ decode
n3 = sin n0<<-1 0x1.0p-4 @ decode
n4 = cos n1 0x0.0p+0 @ decode
n5 = multiply n3 n4 @ decode
n6 = add n5 -n1<<2 @ decode
n7 = scale n6 0x1.9p+0 @ decode
n8 = reciprocal n7 @ decode
n9 = multiply n8 n8 @ decode
n10 = select n2 n9 -n7<<1 @ decode
n11 = add n10 n0 @ decode
"""


def strata_of(of, floors=MappingProxyType({}), **measures):
    """Return the strata a, b and c of tasks given by their indices."""
    return Strata(("a", "b", "c"), np.array(of), floors, measures)


TASKS = {"x": np.linspace(0.1, 0.4, 7), "y": np.linspace(0.6, 0.9, 7)}


def nudge(graph, node, flags, step):
    """Return the outputs after a node's value is raised by ``step`` and all later nodes are recomputed."""
    values = node_values(graph, {**TASKS, **flags})
    held = {f"held{i}": values[i] for i in range(node + 1)}
    held[f"held{node}"] = values[node] + step
    rest = graph.nodes[node + 1 :]
    first = (
        kept._replace(op=Op.INPUT, args=(), name=name) for name, kept in zip(held, graph.nodes, strict=False)
    )
    return interpret(Graph((*first, *rest), graph.outputs), {**TASKS, **flags, **held})


@pytest.mark.parametrize(("function", "given"), [("id", 1.0), ("fd", 0.0)])
def test_gains_are_the_squares_of_derivatives(function, given):
    array = "tau" if function == "id" else "a"
    graph = loads(EVERYTHING + f"out {function}.{array}[0] -n11<<3\nout {function}.{array}[1] n9\n")
    flags = {"acceleration_given": np.full(7, given)}
    truth = interpret(graph, {**TASKS, **flags})
    norm = np.sqrt(sum(value**2 for value in truth.values()))
    floor = float(np.median(norm))
    norm = np.maximum(norm, floor)
    strata = strata_of(np.zeros(7, int), {f"{function}.{array}": floor})
    result = gains(graph, TASKS, strata, np.random.default_rng(0))
    assert result.rows == ((f"{function}.{array}", "a"),) * 2
    for node in range(len(graph.nodes)):
        if node == 2:
            continue
        plus, minus = (nudge(graph, node, flags, step) for step in (1e-6, -1e-6))
        slopes = {name: (plus[name] - minus[name]) / 2e-6 / norm for name in truth}
        square = np.mean(sum(slope**2 for slope in slopes.values()))
        cross = np.abs(np.mean(2.0 * np.prod(list(slopes.values()), axis=0)))
        assert result.noise[1, node] == pytest.approx(square, rel=1e-5, abs=1.01 * cross)
    assert result.noise[1, 2] == 0.0


def test_each_stratum_has_a_mean_of_its_own_and_the_first_a_geometric_one():
    """The results are the inputs, so the gain is one over the square of each, or of the floor."""
    graph = loads("n0 = input x @ decode\nout id.tau[0] n0\n")
    inputs = {"x": np.array([1.0, 0.5, 4.0, 0.1, 0.25, 2.0])}
    result = gains(graph, inputs, strata_of([0, 2, 0, 2, 2, 0], {"id.tau": 0.2}), np.random.default_rng(0))
    assert result.rows == (("id.tau", "a"), ("id.tau", "a"), ("id.tau", "c"))
    first, third = np.array([1.0, 1 / 16, 1 / 4]), np.array([4.0, 25.0, 16.0])
    assert result.noise[:, 0] == pytest.approx([np.cbrt(1 / 64), first.mean(), third.mean()])


def test_relative_gains_are_those_of_factors():
    graph = loads("n0 = input x @ decode\nn1 = scale n0 0x1.8p+0 @ decode\nout id.tau[0] n1<<4\n")
    result = gains(graph, {"x": TASKS["x"]}, strata_of(np.zeros(7, int)), np.random.default_rng(0))
    assert result.noise[1, 0] == pytest.approx(2.25 * result.noise[1, 1])
    assert result.relative[1, 0] == 0.0
    assert result.relative[1, 1] == pytest.approx(1.0)


def test_a_choice_that_differs_by_task_passes_on_the_errors_of_what_it_takes():
    inputs = "".join(f"n{k} = input {name} @ decode\n" for k, name in enumerate(("x", "y", "condition")))
    graph = loads(inputs + "n3 = select n2 n0 n1<<1 @ decode\nout id.tau[0] n3\n")
    tasks = {"x": np.ones(4), "y": np.ones(4), "condition": np.array([1.0, 1.0, 0.0, 1.0])}
    result = gains(graph, tasks, strata_of(np.zeros(4, int)), np.random.default_rng(0))
    assert result.noise[1] == pytest.approx([3 / 4, 1 / 4, 0.0, (1 + 1 + 1 / 4 + 1) / 4])


def test_words_off_the_diagonal_of_a_symmetric_array_count_twice():
    text = "n0 = input x @ decode\nn1 = input y @ decode\nout m.M[0,0] n0\nout m.M[1,0] n1\n"
    inputs = {"x": np.ones(4), "y": np.ones(4)}
    result = gains(loads(text), inputs, strata_of(np.zeros(4, int)), np.random.default_rng(0))
    assert result.noise[0] == pytest.approx([1 / 3, 2 / 3])


def test_each_array_has_rows_of_its_own():
    """A function with optional inputs has them twice, with and without these."""
    words = "n0 = input x @ decode\nout dfd.da_dq[0,0] n0\nout dfd.da_dv[0,0] n0<<1\n"
    words += "out dfd.Minv[0,0] n0<<3\nout dfd.a[0] n0<<-3\nout difd.da_dq[0,0] n0\n"
    floors = {"dfd.da_dq": 0.5, "dfd.da_dv": 8.0, "dfd.Minv": 16.0, "dfd.a": 0.25}
    inputs, strata = {"x": np.ones(4)}, strata_of(np.zeros(4, int), floors)
    result = gains(loads(words), inputs, strata, np.random.default_rng(0))
    parts = ["dfd.da_dq", "dfd.da_dv", "dfd.Minv", "dfd.a", "difd.da_dq", "difd.da_dq"]
    assert result.rows == tuple((part, "a") for part in parts for _ in range(2))
    assert result.noise[::2, 0] == pytest.approx([1, 1 / 16, 1 / 4, 1 / 4, 1, 1])
    assert (result.rows[2].function, result.rows[2].result) == ("dfd", "da_dv")


def test_words_of_one_array_may_belong_to_several_parts():
    """The second element is measured as four times its difference from 0.5; another element is twice it."""
    words = "n0 = input x @ decode\nout kin.velocity[0,0] n0\nout kin.velocity[0,3] n0\n"
    measures = {
        "kin.velocity[0,0]": [Measure("kin.velocity.linear")],
        "kin.velocity[0,3]": [Measure("kin.velocity.angular", 4.0, 0.5), Measure("kin.velocity.other", 2.0)],
    }
    strata = strata_of(np.zeros(4, int), **measures)
    result = gains(loads(words), {"x": np.ones(4)}, strata, np.random.default_rng(0))
    parts = ("linear", "angular", "other")
    assert result.rows == tuple((f"kin.velocity.{part}", "a") for part in parts for _ in range(2))
    assert result.noise[:, 0] == pytest.approx([1, 1, 4, 4, 1, 1])


@pytest.mark.parametrize(
    ("robot", "width"),
    [
        *(("toy", 12), ("toy", 32), ("iiwa14", 18), ("hyq", 27)),
        *(long(*case) for case in product(["toy", "iiwa14", "hyq"], [12, 18, 27, 32])),
    ],
)
def test_predicted_errors_are_those_measured_within_a_factor_of_two(robot, width):
    model, graph = model_of(robot), graph_of(robot)
    domain = input_domain(model.source)
    probe, held_out = (
        sample(model.source, domain, tasks, np.random.default_rng(tasks)) for tasks in (512, 2000)
    )
    floors = error_floors(model.source, domain, ["id"], 0)
    strata = Strata(("box",), np.zeros(512, int), floors)
    graph_gains = gains(graph, graph_inputs(model.source, probe), strata, np.random.default_rng(0))
    planner = Planner(graph, magnitudes(model, graph, domain), graph_gains)
    predicted = planner.predict(plain_widths(graph, width))["id.tau", "box"]
    tau, result = evaluated(lowered(model, graph, width), model.source, held_out)
    truth = interpret(graph, graph_inputs(model.source, held_out))
    exact = np.stack([truth[f"id.tau[{i}]"] for i in range(tau.shape[1])], axis=1)
    norm = np.linalg.norm(exact, axis=1)
    errors = np.linalg.norm(tau - exact, axis=1) / np.maximum(norm, floors["id.tau"])
    measured = np.sqrt(np.mean(errors[~result.overflow] ** 2))
    assert predicted / 2.0 <= measured <= 2.0 * predicted
