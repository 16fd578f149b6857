"""Programs that choose between values by a flag, made by hand or from random graphs."""

import numpy as np
from hypothesis import assume

from rbdhw.fixed.format import Format
from rbdhw.fixed.lower import InputRange, lower
from rbdhw.fixed.program import Flag, Kind, Operand, Operation, Program, Word
from rbdhw.fixed.trigonometry import trigonometry_spec
from rbdhw.fixed.widths import plain_widths
from rbdhw.graph.graph import Graph
from rbdhw.graph.interpret import node_values
from rbdhw.passes.prune import prune
from rbdhw.protocol import FLAGS
from tests.support.graphs import REGION
from tests.support.mixed import mixed_flags


def branching_program() -> Program:
    """Return a program that chooses between ``x`` squared in too few bits and ``y``."""
    word = Format(8, 0)
    operations = (
        Operation(Kind.INPUT, (), word, REGION, name="x"),
        Operation(Kind.INPUT, (), word, REGION, name="y"),
        Operation(Kind.INPUT, (), Format(2, 0), REGION, name="acceleration_given"),
        Operation(Kind.MULTIPLY, (Operand(0), Operand(0)), Format(9, 0), REGION, checked=True),
        Operation(Kind.SELECT, (Operand(2), Operand(1), Operand(3)), Format(9, 0), REGION),
    )
    functions, optional = FLAGS["acceleration_given"]
    result = Format(9, 0)
    return Program(
        operations,
        (Word("x", "1", 0, word, slot=0), Word("y", "1", 1, word, slot=1)),
        (Flag("acceleration_given", 2, functions[:1], optional),),
        {"id": (Word("id.z", "1", 4, result),), "fd": (Word("fd.z", "1", 4, result),)},
        trigonometry_spec(8),
        None,
        (8, 8),
    )


def program_of_graph(graph: Graph, width: int) -> Program:
    """Return the program of a random graph whose angles are no factors, with formats from random tasks."""
    graph = prune(graph)
    turning = {node.args[0].node for node in graph.nodes if str(node.op) in ("sin", "cos")}
    others = (node for node in graph.nodes if str(node.op) not in ("sin", "cos"))
    assume(not any(edge.node in turning for node in others for edge in node.args))
    ranges = {
        name: InputRange(-0.5, 0.5, "turn", wraps=True) if i in turning else InputRange(-1.0, 1.0, "m")
        for name, i in graph.inputs.items()
    }
    inputs = {name: np.random.default_rng(1).uniform(-1, 1, 50) for name in graph.inputs}
    sizes = np.zeros(len(graph.nodes))
    for extended in (False, True):
        with np.errstate(all="ignore"):  # a choice of zero may be divided by
            values = node_values(graph, {**inputs, **mixed_flags("difd", extended)})
        sizes = np.maximum(sizes, [np.abs(value).max() for value in values])
    sizes = np.where(np.isfinite(sizes), sizes, 1.0)
    return lower(graph, sizes.tolist(), ranges, plain_widths(graph, width))
