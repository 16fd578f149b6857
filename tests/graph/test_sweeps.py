"""Sweeps by hand: sums along three links, there and back."""

import numpy as np
import pytest

from rbdhw.graph.graph import Graph, Op
from rbdhw.graph.interpret import edge_value, interpret, node_values
from rbdhw.graph.sweeps import Carried, Constant, Given, Kept, Sweep, Sweeps, run, unroll
from rbdhw.graph.trace import Recorder


def step(inputs, outputs) -> Graph:
    """Return a step; ``outputs`` returns its outputs by name from its inputs."""
    recorder = Recorder()
    for name, value in outputs(*map(recorder.input, inputs)).items():
        recorder.output(name, value)
    return recorder.builder.finish(recorder.outputs)


def example() -> Sweeps:
    """Outward, s = s_before + w q; inward, t = 2 t_before - s; the result is t + s. Link 1 has no q."""
    out = step(("out_s[0]", "out_q[0]", "out_w[0]"), lambda s, q, w: {"out.s[0]": s + w * q})
    back = step(("back_t[0]", "back_s[0]"), lambda t, s: {"back.t[0]": 2.0 * t - s, "back.r[0]": 2.0 * t})
    sources = {
        "out_s[0]": Carried("out.s[0]", 1.0),
        "out_q[0]": Given("q", (True, False, True)),
        "out_w[0]": Constant((3.0, 5.0, -1.5)),
        "back_t[0]": Carried("back.t[0]", 0.25),
        "back_s[0]": Kept("out.s[0]"),
    }
    return Sweeps(3, (Sweep("out", out), Sweep("back", back, inward=True)), sources, "f", "r", "back.r[0]")


def expected(q0, q2) -> dict[str, float]:
    s0 = 1.0 + 3.0 * q0
    s2 = s0 - 1.5 * q2
    t2 = 0.5 - s2
    t1 = 2.0 * t2 - s0
    return {"f.r[2]": 0.5, "f.r[1]": 2.0 * t2, "f.r[0]": 2.0 * t1}


def outputs(sweep, _link, inputs):
    values = node_values(sweep.step, inputs)
    return {name: edge_value(values, edge) for name, edge in sweep.step.outputs}


@pytest.mark.parametrize("way", ["run", "unrolled"])
def test_links_in_the_order_of_the_sweeps(way: str) -> None:
    inputs = {"q[0]": np.array([2.0, -1.0]), "q[2]": np.array([0.5, 4.0])}
    sweeps = example()
    values = run(sweeps, inputs, outputs) if way == "run" else interpret(unroll(sweeps), inputs)
    for name, value in expected(inputs["q[0]"], inputs["q[2]"]).items():
        np.testing.assert_array_equal(np.broadcast_to(values[name], 2), np.broadcast_to(value, 2))


def test_constants_fold_and_regions_name_the_link() -> None:
    graph = unroll(example())
    assert set(graph.inputs) == {"q[0]", "q[2]"}
    assert graph.count(Op.MULTIPLY) == 0
    assert {node.region.joint for node in graph.nodes if node.op is Op.SCALE} == {0, 2}
