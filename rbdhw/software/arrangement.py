"""The order of a graph's operations in C: parts of straight-line code, and products of matrices between them.

What only optional results need comes last, so that a call without them can end before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from rbdhw.arrays import is_optional
from rbdhw.graph.graph import Edge, Graph
from rbdhw.software.products import Product, find_products

Stage = tuple[bool, int]
"""Whether only optional results need a node, and how many products come before it."""


@dataclass(frozen=True)
class Call:
    """Consecutive columns of a product, by their numbers."""

    product: int
    columns: range


@dataclass(frozen=True)
class Part:
    """Columns of products, and the nodes computed after them; whether only optional results need these."""

    calls: tuple[Call, ...]
    nodes: tuple[int, ...]
    optional: bool = False


@dataclass(frozen=True)
class Arrangement:
    """The parts of a function in order; ``rest`` has the edges that sums of products have beside these."""

    parts: tuple[Part, ...]
    products: tuple[Product, ...] = ()
    rest: Mapping[int, tuple[Edge, ...]] = field(default_factory=dict)


def straight(graph: Graph) -> Arrangement:
    """Return all nodes in their order."""
    return Arrangement((Part((), tuple(range(len(graph.nodes)))),))


def arrange(graph: Graph, least: int) -> Arrangement:
    """Return parts with products between them; optional results are last if they take ``least`` nodes."""
    needed = _needed(graph, lambda name: not is_optional(name))
    deferred = set(range(len(graph.nodes))) - needed
    if len(deferred) < least:
        deferred = set()
    products = find_products(graph, deferred)
    return _Order(graph, products.products, products.rest, deferred).arrangement()


def _needed(graph: Graph, wanted: Callable[[str], bool]) -> set[int]:
    """Return the nodes that the wanted outputs need."""
    needed: set[int] = set()
    path = [edge.node for name, edge in graph.outputs if wanted(name)]
    while path:
        i = path.pop()
        if i not in needed:
            needed.add(i)
            path += [edge.node for edge in graph.nodes[i].args]
    return needed


class _Order:
    def __init__(
        self,
        graph: Graph,
        products: tuple[Product, ...],
        rest: Mapping[int, tuple[Edge, ...]],
        deferred: set[int],
    ) -> None:
        self._graph, self._products, self._rest, self._deferred = graph, products, rest, deferred
        # Columns have the numbers after those of nodes.
        self._columns = [(k, column) for k, product in enumerate(products) for column in product.columns]
        count = len(graph.nodes)
        self._column_of = {
            node: count + number for number, (_, column) in enumerate(self._columns) for node in column.sums
        }
        self._stages: dict[int, Stage] = {}

    def arrangement(self) -> Arrangement:
        for i in dict.fromkeys(edge.node for _, edge in self._graph.outputs):
            self._find_stage(i)
        count = len(self._graph.nodes)
        nodes: dict[Stage, list[int]] = {(False, 0): []}
        columns: dict[Stage, dict[int, list[int]]] = {}
        for i, stage in sorted(self._stages.items()):
            nodes.setdefault(stage, [])
            if i < count:
                nodes[stage].append(i)
            else:
                columns.setdefault(stage, {}).setdefault(self._columns[i - count][0], []).append(i - count)
        sorted_columns: list[list[int]] = [[] for _ in self._products]
        parts = []
        for stage in sorted(nodes):
            calls = []
            for k, numbers in sorted(columns.get(stage, {}).items()):
                first = len(sorted_columns[k])
                # Those of the same panels follow each other: the panels are then in the first cache.
                sorted_columns[k] += sorted(numbers, key=lambda number: self._columns[number][1].panels)
                calls.append(Call(k, range(first, len(sorted_columns[k]))))
            parts.append(Part(tuple(calls), tuple(nodes[stage]), stage[0]))
        products = tuple(
            replace(product, columns=tuple(self._columns[number][1] for number in numbers))
            for product, numbers in zip(self._products, sorted_columns, strict=True)
        )
        return Arrangement(tuple(parts), products, self._rest)

    def _find_stage(self, last: int) -> None:
        """Find the stages of a node or a column and of all that it needs."""
        path = [last]
        while path:
            i = path[-1]
            missing = [j for j in self._operands(i) if j not in self._stages]
            path += missing
            if not missing:
                path.pop()
                self._stages.setdefault(i, self._stage(i))

    def _stage(self, i: int) -> Stage:
        count = len(self._graph.nodes)
        latest = max((self._stages[j] for j in self._operands(i)), default=(False, 0))
        if i < count:
            return max(latest, (i in self._deferred, 0))
        _, column = self._columns[i - count]
        optional = latest[0] or next(iter(column.sums)) in self._deferred
        return optional, (latest[1] if latest[0] == optional else 0) + 1

    def _operands(self, i: int) -> Iterator[int]:
        """Yield the nodes and columns that a node or a column needs."""
        count = len(self._graph.nodes)
        if i >= count:
            product, column = self._columns[i - count]
            yield from self._products[product].operands(column)
            return
        edges: Iterable[Edge] = self._rest.get(i, self._graph.nodes[i].args)
        yield from (edge.node for edge in edges)
        if i in self._column_of:
            yield self._column_of[i]
