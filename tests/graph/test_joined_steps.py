"""The steps of all sweeps in one graph, and all stages side by side."""

import numpy as np

from rbdhw.graph.check import check
from rbdhw.graph.graph import GraphBuilder, Op
from rbdhw.graph.interpret import interpret, node_values
from rbdhw.graph.joined_steps import join_steps, side_by_side
from rbdhw.graph.sweeps import Carried, Constant, Shared, Sweep, Sweeps, unroll
from rbdhw.scalar import Region

REGION = Region("state")
FACTORS = (1.5, 2.0, 3.0)
X = np.array([0.25, -1.0])


def stages() -> Sweeps:
    """Return three stages that multiply what the one before hands on by a constant, and add a number."""
    build = GraphBuilder()
    x, factor, before = (build.input(name, REGION) for name in ("x", "stage_factor", "stage_y"))
    after = build.add(build.multiply(before, factor, REGION), x, REGION)
    graph = build.finish([("stage.y", after), ("rk4.x_next[0]", after)])
    sources = {"x": Shared(), "stage_factor": Constant(FACTORS), "stage_y": Carried("stage.y", 2.0)}
    return Sweeps(3, (Sweep("stage", graph),), sources, "rk4", "x_next", "")


def test_stages_side_by_side_compute_what_they_do_one_after_the_other() -> None:
    graph = side_by_side(join_steps(stages()))
    (result,) = interpret(graph, {"x": X}).values()
    np.testing.assert_allclose(result, ((2.0 * 1.5 + X) * 2.0 + X) * 3.0 + X)
    np.testing.assert_allclose(result, interpret(unroll(stages()), {"x": X})["rk4.x_next[0]"])


def test_a_stage_has_the_nodes_of_the_step_in_their_order() -> None:
    joined = join_steps(stages())
    check(joined.graph)
    values = node_values(side_by_side(joined), {"x": X})
    step, size = joined.graph, len(joined.graph.nodes)
    assert len(values) == 3 * size
    for stage, factor in enumerate(FACTORS):
        np.testing.assert_array_equal(values[stage * size + step.inputs["x"]], X)
        np.testing.assert_array_equal(values[stage * size + step.inputs["stage_factor"]], factor)
    product = next(i for i, node in enumerate(step.nodes) if node.op is Op.MULTIPLY)
    np.testing.assert_allclose(values[size + product], (2.0 * 1.5 + X) * 2.0)
    assert joined.output("stage.y") == dict(step.outputs)["rk4.x_next[0]"]
