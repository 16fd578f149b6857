"""The elements of a function's results that are not known without a word, and their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rbdhw.arrays import ArrayKind, WordName, kind_of
from rbdhw.graph.graph import Edge, Graph, Op
from rbdhw.graph.trace import equal
from rbdhw.passes.prune import prune
from rbdhw.protocol import FUNCTIONS, TRACKED
from rbdhw.robot.model import Robot
from rbdhw.scalar import Scalar, is_zero

Results = list[Scalar] | list[list[Scalar]] | list[list[list[Scalar]]]
"""The values of an array of results, as nested lists."""


def result_elements(
    robot: Robot, function: str, arrays: Sequence[str], values: Sequence[Results]
) -> Iterator[tuple[str, Scalar]]:
    """Yield the name and value of each such element of a function's arrays; further ``values`` are ignored.

    Structural zeros are left out, and so are the ones of :meth:`ArrayKind.is_one`, and the first of two
    elements that :class:`ArrayKind` calls exchangeable. Tracked positions are costs, also those of zeros.
    """
    joints = {k: i for i, span in enumerate(robot.v_of) for k in range(robot.nv)[span]}
    for array, value in zip(arrays, values, strict=False):
        kind = kind_of(array, function)
        entries = dict(_elements(value))
        for index, entry in entries.items():
            mirror = kind.mirror(index)
            within = kind.ordered and mirror != index and _within_joint(kind, joints, index)
            differs = within and not equal(entry, entries[mirror])
            missing = (is_zero(entry) and array != TRACKED) or _is_one(kind, index, entry)
            if differs or (mirror <= index and not missing):
                yield str(WordName(array, index, function)), entry


def travelling(graph: Graph, functions: Sequence[str]) -> tuple[tuple[str, Edge], ...]:
    """Return the outputs without those elements of ``functions`` that need not travel.

    They are zeros, and elements within a joint that equal their mirror image after all. One element that
    travels with every task of a function is kept.
    """
    edges = dict(graph.outputs)
    names = [WordName.parse(name) for name in edges]
    kept = {str(name) for name in names if _needed(graph, edges, name, functions)}
    for function in functions:
        arrays = FUNCTIONS[function].outputs
        elements = [str(name) for name in names if name.function == function and name.array in arrays]
        if kept.isdisjoint(elements):
            kept.update(elements[:1])
    return tuple(pair for pair in graph.outputs if pair[0] in kept)


def without_integrals(graph: Graph, robot: Robot) -> Graph:
    """Return the graph without results that follow from others by the time step, as accelerators have it.

    Those are rows of joints with one degree of freedom; displacements of others are no vectors.
    """
    names = {WordName.parse(name).integral(robot.nv) for name, _ in graph.outputs}
    simple = {
        span.start
        for body, span in zip(robot.bodies, robot.v_of, strict=True)
        if body.joint.kind.nv == 1 and body.joint.mimic is None
    }
    following = {str(name) for name in names if name is not None and name.index[0] in simple}
    return prune(replace(graph, outputs=tuple(pair for pair in graph.outputs if pair[0] not in following)))


def _needed(graph: Graph, edges: Mapping[str, Edge], name: WordName, functions: Sequence[str]) -> bool:
    """Return whether an element has a value that is not known without it."""
    edge = edges[str(name)]
    if name.function not in functions or edges.get(str(name.mirror), edge) != edge:
        return True
    node = graph.nodes[edge.node]
    zero = node.op is Op.CONSTANT and node.value == 0.0
    return name.array == TRACKED or (name.mirror.index <= name.index and not zero)


def _is_one(kind: ArrayKind, index: tuple[int, ...], entry: Scalar) -> bool:
    """Return whether an element is one and therefore does not travel."""
    return kind.is_one(index) and isinstance(entry, float) and entry == 1.0


def _within_joint(kind: ArrayKind, joints: Mapping[int, int], index: tuple[int, ...]) -> bool:
    """Return whether the exchangeable indices belong to the same joint; ``joints`` has that of each DoF."""
    return kind.exchangeable is not None and len({joints[index[axis]] for axis in kind.exchangeable}) == 1


def _elements(value: Results) -> Iterator[tuple[tuple[int, ...], Scalar]]:
    if isinstance(value, list):
        for i, part in enumerate(value):
            yield from (((i, *index), entry) for index, entry in _elements(part))
    else:
        yield (), value
