"""A synthetic accelerator of three functions with choices and reciprocals, for tests at every width."""

from functools import cache

import numpy as np

from rbdhw.fixed.format import Integers
from rbdhw.fixed.lower import InputRange, lower
from rbdhw.fixed.program import Program
from rbdhw.fixed.widths import plain_widths
from rbdhw.graph.graph import Graph
from rbdhw.graph.interpret import node_values
from rbdhw.graph.trace import Recorder
from rbdhw.protocol import flag_values
from rbdhw.scalar import region

RANGES = {
    "q[0]": InputRange(0.1, 2.0, "m"),
    "q[1]": InputRange(-3.0, 3.0, "m"),
    "a[0]": InputRange(-40.0, 40.0, "m/s^2", slot="u[0]"),
    "tau[0]": InputRange(-3.0, 3.0, "N", slot="u[0]"),
    "Minv[0,0]": InputRange(-9.0, 9.0, "1"),
}
MODES = (("id", False), ("fd", False), ("difd", False), ("difd", True))


@cache
def mixed_graph() -> Graph:
    """Return a graph with every kind of choice (masks, aligned values of either sign) and reciprocals."""
    recorder = Recorder()
    with region("decode"):
        q, p, a, tau, supplied = (recorder.input(name) for name in RANGES)
        given, inverse_given = (recorder.input(name) for name in ("acceleration_given", "inverse_given"))
    with region("rnea_forward", 0):
        bias = recorder.select(given, a, 0.0) * q + p * p
    with region("inverse", 0):
        inverse = (q + 0.3).reciprocal()
        small = (-24.0 * q - 1.5).reciprocal()
        far = (p - 3.5).reciprocal()
    with region("forward_dynamics", 0):
        free = (tau - bias) * inverse
        chosen = recorder.select(given, a, free)
        taken = recorder.select(inverse_given, supplied, -1.0 * inverse)
    with region("inverse_product", 1):
        product = taken * (chosen + small) + far * recorder.select(given, 0.0, tau)
    recorder.output("id.tau[0]", bias)
    recorder.output("fd.a[0]", free)
    recorder.output("fd.a[1]", product)
    recorder.output("difd.da_dq[0,0]", product)
    recorder.output("difd.da_dq[0,1]", recorder.select(given, small * p, 0.5 * -tau))
    return recorder.builder.finish(recorder.outputs)


def mixed_inputs(tasks: int, seed: int) -> dict[str, np.ndarray]:
    """Return inputs over the domain, including its corners."""
    rng = np.random.default_rng(seed)
    inputs = {}
    for name, bounds in RANGES.items():
        uniform = rng.uniform(bounds.lower, bounds.upper, tasks)
        corner = rng.choice([bounds.lower, bounds.upper], tasks)
        inputs[name] = np.where(rng.random(tasks) < 0.3, corner, uniform)
    return inputs


def mixed_flags(function: str, extended: bool) -> dict[str, np.ndarray]:
    """Return the flags of a task as numbers."""
    return {name: np.asarray(int(value)) for name, value in flag_values(function, extended).items()}


def mixed_words(program: Program, tasks: int, seed: int) -> dict[str, Integers]:
    """Return words within the domain, then words anywhere in their formats, the first two at their bounds."""
    inside = mixed_inputs(tasks, seed)
    rng = np.random.default_rng(seed)
    words = {}
    for word in program.inputs:
        lowest, highest = word.format.lowest, word.format.highest
        wild = np.array([lowest, highest, *rng.integers(lowest, highest, tasks, endpoint=True)])
        words[word.name] = np.concatenate([word.format.quantise(inside[word.name]), wild])
    return words


@cache
def mixed_program(width: int) -> Program:
    """Return the bit-exact program, with formats from samples of every function."""
    inputs, graph = mixed_inputs(4096, 1), mixed_graph()
    largest = np.zeros(len(graph.nodes))
    for mode in MODES:
        values = node_values(graph, {**inputs, **mixed_flags(*mode)})
        largest = np.maximum(largest, [np.abs(value).max() for value in values])
    return lower(graph, largest.tolist(), RANGES, plain_widths(graph, width))
