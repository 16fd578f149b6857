"""The formats of a state: as wide as its changes need, whatever the multipliers' width."""

import pytest

from rbdhw.explore.algorithm_search import make_plan
from rbdhw.explore.plan import Plan
from rbdhw.fixed.accumulators import accumulators
from rbdhw.frontend.functions import trace
from rbdhw.graph.graph import Op
from rbdhw.options.build import BuildOptions
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path

WIDTH = 18

STATE = ("q[0]", "q[1]", "v[0]", "v[1]")


@pytest.fixture(scope="module")
def plan() -> Plan:
    options = BuildOptions(functions=("fd", "step"), width=WIDTH, ii=1, samples=1024)
    return make_plan(load_urdf(path("toy")), options)


def test_the_state_and_its_changes_accumulate():
    graph = trace(load_urdf(path("toy")), ("step",))
    indices = accumulators(graph)
    nodes = [graph.nodes[i] for i in indices]
    assert {node.name for node in nodes if node.op is Op.INPUT} == set(STATE)
    results = {edge.node for name, edge in graph.outputs}
    assert results <= indices
    factors = {edge.node for node in graph.nodes if node.op in (Op.MULTIPLY, Op.SCALE) for edge in node.args}
    assert not factors & indices


def test_other_functions_have_no_accumulators():
    assert not accumulators(trace(load_urdf(path("toy")), ("id", "dfd")))


def test_a_state_is_wider_than_the_multipliers(plan):
    words = {word.name: word.format.width for word in plan.formats.program.inputs}
    assert min(words[name] for name in STATE) > WIDTH + 4
    assert not plan.core.entries()["wide_products"].multipliers


def test_a_step_is_as_accurate_as_the_accelerations(plan):
    """The change of velocity is ``h a``, so without loss its relative error is that of ``a``."""
    errors = plan.formats.errors
    assert errors["step"].whole.max < 1.5 * errors["fd"].whole.max
    for stratum in ("box", "motion", "single"):
        assert errors["step"].strata[stratum].median < 4.0 * errors["fd"].strata[stratum].median, stratum
