"""Accumulators: the state of a robot, the sums that give the next state, and those that give its derivatives.

A step in time adds ``h v`` and ``h a`` to a state that is much larger. So the state needs fraction bits for
the changes, beside integer bits for its own size: more than a multiplier takes. Products read a rounded copy
of it (``Op.ROUND``), so the multipliers' width does not limit its own. In the same way the derivatives of a
step add little to the identity.
"""

from __future__ import annotations

from rbdhw.arrays import WordName
from rbdhw.graph.graph import Graph, Op
from rbdhw.protocol import FUNCTIONS

MOST_BITS = 40
"""The most bits of an accumulator: for changes of a billionth of the state at a thousandth of their size."""


def accumulators(graph: Graph) -> frozenset[int]:
    """Return the results of steps in time, and the terms of the sums that they are: the state, and changes.

    None of them is a factor of a product.
    """
    functions = ((str(WordName.parse(name).function), edge.node) for name, edge in graph.outputs)
    ends = [node for function, node in functions if function in FUNCTIONS and FUNCTIONS[function].integrates]
    if not ends:
        return frozenset()
    state: set[int] = set()
    while ends:
        i = ends.pop()
        if i not in state:
            state.add(i)
            if graph.nodes[i].op is Op.ADD:
                ends += [edge.node for edge in graph.nodes[i].args]
    factors = (node for node in graph.nodes if node.op in (Op.MULTIPLY, Op.SCALE, Op.RECIPROCAL))
    return frozenset(state.difference(edge.node for node in factors for edge in node.args))
