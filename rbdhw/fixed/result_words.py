"""The words of a graph's results: equal elements of a function share one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from rbdhw.arrays import Element, WordName, is_optional
from rbdhw.graph.graph import Edge, Graph
from rbdhw.protocol import TRACKED


@dataclass(frozen=True)
class ResultWord:
    """A word: the edge of its value, and the elements that it names; the first one is the edge's value."""

    edge: Edge
    elements: tuple[Element, ...]

    @property
    def name(self) -> str:
        return self.elements[0].name


def result_words(graph: Graph) -> tuple[ResultWord, ...]:
    """Return the words of all functions' results, in the order of the graph's outputs.

    The elements of a function that are the same node, but for the sign, are one word, in the node's number
    format. Those that travel with every task and those that travel on request have words of their own, and so
    has each tracked position, which costs something by itself.
    """
    groups: dict[Hashable, list[tuple[str, Edge]]] = {}
    for name, edge in graph.outputs:
        word = WordName.parse(name)
        alone = word.index if word.array == TRACKED else None
        key = (word.function, is_optional(name), edge.node, edge.shift, alone)
        groups.setdefault(key, []).append((name, edge))
    return tuple(_join(outputs) for outputs in groups.values())


def _join(outputs: Sequence[tuple[str, Edge]]) -> ResultWord:
    """Return one word for outputs of a node; its own element is the negative only if all of them are."""
    name, edge = next((output for output in outputs if not output[1].negative), outputs[0])
    others = (Element(other, edge.negative != turned.negative) for other, turned in outputs if other != name)
    return ResultWord(edge, (Element(name), *others))
