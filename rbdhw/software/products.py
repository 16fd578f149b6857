"""Products of matrices in a graph: inner products that have their factors in common.

Derivatives of dynamics are for the most part products of matrices, which a graph has as thousands of sums. As
a loop they take few instructions, and a vector holds rows of one task. A *column* is a set of sums, one for
each row of a matrix, whose terms have one factor in common, as have the elements of a column of a product.
Their other factors are a *panel*: a column of the left matrix, which several columns of the product share.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rbdhw.graph.graph import Edge, Graph, Op

LEAST_TERMS = 3
"""The fewest products of a sum of a column."""

LEAST_ROWS = 8
"""The fewest rows of a column, so that they fill a vector."""

MOST_ROWS = 24
"""The most rows, whose sums are in registers."""

LEAST_USES = 3
"""The fewest columns that share a panel, whose numbers are copied to where it is."""

LEAST_PRODUCTS = 256
"""The fewest products of a loop; below, straight code is as fast."""

Scale = float
"""A sign and a power of two."""


class Term(NamedTuple):
    """A product in a sum, and what it is multiplied by."""

    one: int
    other: int
    scale: Scale


@dataclass(frozen=True)
class InnerProduct:
    """A node that is a sum of products, and of edges beside them."""

    terms: tuple[Term, ...]
    rest: tuple[Edge, ...]


@dataclass(frozen=True)
class Panel:
    """The factors of the rows: a node for each, and what it is multiplied by."""

    nodes: tuple[int, ...]
    scales: tuple[Scale, ...]


@dataclass(frozen=True)
class Column:
    """Sums of products of panels, by number, with factors that their rows have in common.

    ``sums`` are the nodes of the rows: the number of the row, and what its sum is multiplied by.
    """

    panels: tuple[int, ...]
    factors: tuple[tuple[int, Scale], ...]
    sums: dict[int, tuple[int, Scale]]


@dataclass(frozen=True)
class Product:
    """Columns of as many rows by the same panels."""

    rows: int
    panels: tuple[Panel, ...]
    columns: tuple[Column, ...]

    @property
    def products(self) -> int:
        return sum(len(column.panels) * len(column.sums) for column in self.columns)

    def operands(self, column: Column) -> Iterator[int]:
        """Yield the nodes that a column needs; of panels those in its rows."""
        yield from (node for node, _ in column.factors)
        rows = [row for row, _ in column.sums.values()]
        for k in column.panels:
            yield from (self.panels[k].nodes[row] for row in rows)


@dataclass(frozen=True)
class Products:
    """The products of a graph, and what its sums are beside them."""

    products: tuple[Product, ...]
    rest: dict[int, tuple[Edge, ...]]


def find_products(graph: Graph, deferred: Collection[int] = ()) -> Products:
    """Return the products of matrices in a graph, without those that are not worth a loop.

    The nodes ``deferred`` are in columns of their own.
    """
    sums = _inner_products(graph)
    shared = [_worthwhile(product) for product in _Search(sums, deferred).products()]
    large = [product for product in shared if product.products >= LEAST_PRODUCTS]
    products = _without_circles(graph, sums, large)
    nodes = [node for product in products for column in product.columns for node in column.sums]
    return Products(tuple(products), {node: sums[node].rest for node in nodes})


def _inner_products(graph: Graph) -> dict[int, InnerProduct]:
    """Return the sums of at least :data:`LEAST_TERMS` products, whose parts serve nothing else."""
    uses, nodes = graph.uses, graph.nodes
    added = {edge.node for node in nodes if node.op is Op.ADD for edge in node.args}

    def leaves(edge: Edge, whole: bool) -> Iterator[Edge]:
        node = nodes[edge.node]
        if node.op is Op.ADD and (whole or uses[edge.node] == 1):
            for arg in node.args:
                yield from leaves(edge.applied(arg), False)
        else:
            yield edge

    inner = {}
    for i, node in enumerate(nodes):
        if node.op is Op.ADD and not (uses[i] == 1 and i in added):
            terms, rest = [], []
            for leaf in leaves(Edge(i), True):
                product = nodes[leaf.node]
                if product.op is Op.MULTIPLY and uses[leaf.node] == 1:
                    (one, other), scale = product.args, _scale(leaf)
                    terms.append(Term(one.node, other.node, scale * _scale(one) * _scale(other)))
                else:
                    rest.append(leaf)
            if len(terms) >= LEAST_TERMS:
                inner[i] = InnerProduct(tuple(terms), tuple(rest))
    return inner


def _scale(edge: Edge) -> Scale:
    return (-1.0 if edge.negative else 1.0) * 2.0**edge.shift


class _Search:
    """Columns among inner products, and the panels that they share."""

    def __init__(self, sums: dict[int, InnerProduct], deferred: Collection[int]) -> None:
        self._sums, self._deferred = sums, deferred
        self._free = dict.fromkeys(sums)
        self._with: dict[int, set[int]] = defaultdict(set)  # the sums that have a factor
        for node, inner in sums.items():
            for one, other, _ in inner.terms:
                self._with[one].add(node)
                self._with[other].add(node)
        self._growing: list[_Growing] = []
        self._places: _Places = defaultdict(list)

    def products(self) -> list[Product]:
        """Return products of all columns; those of many rows first, so that others can be parts of them."""
        for rows, common in sorted(self._columns(), key=lambda column: -len(column[0])):
            self._place(rows, common)
        return [part for product in self._growing for part in _parts(product)]

    def _columns(self) -> Iterator[tuple[list[int], list[int]]]:
        """Yield sums that have a factor of each term in common, and these factors."""
        for node in self._sums:
            if node not in self._free:
                continue
            first = self._sums[node].terms[0]
            both = (self._common(node, factor) for factor in (first.one, first.other))
            rows, common = max(both, key=lambda column: len(column[0]))
            if len(rows) >= LEAST_ROWS:
                for row in rows:
                    del self._free[row]
                yield rows, common

    def _common(self, node: int, first: int) -> tuple[list[int], list[int]]:
        """Return the sums with a factor of a first term and those of others that most share, and these."""
        terms = self._sums[node].terms
        rows, common = self._with[first], [first]
        for one, other, _ in terms[1:]:
            left, right = rows & self._with[one], rows & self._with[other]
            rows, factor = (left, one) if len(left) >= len(right) else (right, other)
            common.append(factor)
        if len(set(common)) < len(common):
            return [], []
        later = node in self._deferred
        alike = [
            row
            for row in rows
            if row in self._free
            and len(self._sums[row].terms) == len(terms)
            and (row in self._deferred) == later
        ]
        return sorted(row for row in alike if _others(self._sums[row], common) is not None), common

    def _place(self, sums: Sequence[int], common: Sequence[int]) -> None:
        """Add a column to the product that has its panels, or to one of its own."""
        others = [_others(self._sums[node], common) or [] for node in sums]
        panels = list(zip(*([factor for factor, _ in row] for row in others), strict=True))
        scales = [[scale for _, scale in row] for row in others]
        addition = _Addition(tuple(sums), tuple(common), tuple(panels), scales)
        for product, rows in self._candidates(panels):
            if product.add(addition, rows, self._places):
                return
        alone = _Growing(len(sums))
        self._growing.append(alone)
        alone.add(addition, range(len(sums)), self._places)

    def _candidates(self, columns: Sequence[Sequence[int]]) -> Iterator[tuple[_Growing, Sequence[int]]]:
        """Yield products with a panel of all nodes of a term, and the rows where these stand."""
        tried: set[tuple[int, tuple[int, ...]]] = set()
        for nodes in columns:
            by_panel: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
            products = {}
            for node in nodes:
                for product, panel, row in self._places[node]:
                    by_panel[id(product), panel][node] = row
                    products[id(product)] = product
            for (product_id, _), rows_of in by_panel.items():
                if len(rows_of) == len(nodes) == len(set(nodes)):
                    places = tuple(rows_of[node] for node in nodes)
                    if (product_id, places) not in tried and 2 * len(nodes) >= products[product_id].rows:
                        tried.add((product_id, places))
                        yield products[product_id], places


def _parts(whole: _Growing) -> Iterator[Product]:
    """Yield a product in equal parts, each of :data:`MOST_ROWS` rows at most."""
    count = -(-whole.rows // MOST_ROWS)
    size = -(-whole.rows // count)
    for start in range(0, whole.rows, size):
        part = slice(start, min(start + size, whole.rows))
        panels = tuple(Panel(panel.nodes[part], panel.scales[part]) for panel in whole.panels)
        columns = []
        for column in whole.columns:
            sums = {
                node: (row - start, scale)
                for node, (row, scale) in column.sums.items()
                if start <= row < part.stop
            }
            if sums:
                columns.append(replace(column, sums=sums))
        yield Product(part.stop - start, panels, tuple(columns))


def _others(inner: InnerProduct, common: Sequence[int]) -> list[tuple[int, Scale]] | None:
    """Return the other factor and the scale of the term with each common factor; None if one is missing."""
    factors: dict[int, tuple[int, Scale]] = {}
    wanted = set(common)
    for one, other, scale in inner.terms:
        factor, remaining = (one, other) if one in wanted and one not in factors else (other, one)
        if factor not in wanted or factor in factors:
            return None
        factors[factor] = remaining, scale
    return [factors[factor] for factor in common]


@dataclass(frozen=True)
class _Addition:
    """Sums, common factors of their terms, the other factors by term, and the scales of each sum's terms."""

    sums: tuple[int, ...]
    common: tuple[int, ...]
    panels: tuple[tuple[int, ...], ...]
    scales: Sequence[Sequence[Scale]]


_Places = dict[int, list[tuple["_Growing", int, int]]]
"""For each node the products, the panels and the rows where it stands."""


@dataclass
class _Growing:
    """A product to which columns are added."""

    rows: int
    panels: list[Panel] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)

    def add(self, addition: _Addition, rows: Sequence[int], places: _Places) -> bool:
        """Add sums at these rows if their scales are those of panels, times one for each sum and each term.

        Only sums in all rows may have new panels.
        """
        known = [self._find(nodes, rows, places) for nodes in addition.panels]
        if None in known and len(rows) < self.rows:
            return False
        of_sums = self._scales_of_sums(known, addition, rows)
        rest = []
        for k, panel in enumerate(known):
            scales = [row[k] / scale for row, scale in zip(addition.scales, of_sums, strict=True)]
            if panel is not None:
                held = self.panels[panel].scales
                scales = [scale / held[row] for scale, row in zip(scales, rows, strict=True)]
                if len(set(scales)) > 1:
                    return False
            rest.append(scales)
        panels = [
            self._add_panel(nodes, scales, places) if panel is None else panel
            for panel, nodes, scales in zip(known, addition.panels, rest, strict=True)
        ]
        factors = tuple((node, scales[0]) for node, scales in zip(addition.common, rest, strict=True))
        sums = {node: (row, scale) for node, row, scale in zip(addition.sums, rows, of_sums, strict=True)}
        self.columns.append(Column(tuple(panels), factors, sums))
        return True

    def _find(self, nodes: Sequence[int], rows: Sequence[int], places: _Places) -> int | None:
        """Return the panel that has nodes at these rows."""
        for product, panel, _ in places[nodes[0]]:
            held = self.panels[panel].nodes if product is self else ()
            if held and all(held[row] == node for node, row in zip(nodes, rows, strict=True)):
                return panel
        return None

    def _scales_of_sums(
        self, known: Sequence[int | None], addition: _Addition, rows: Sequence[int]
    ) -> list[Scale]:
        """Return the scale of each sum that the first known panel leaves; that of the first sum is one."""
        for k, panel in enumerate(known):
            if panel is not None:
                held = self.panels[panel].scales
                left = [scales[k] / held[row] for scales, row in zip(addition.scales, rows, strict=True)]
                return [scale / left[0] for scale in left]
        return [1.0] * len(rows)

    def _add_panel(self, nodes: tuple[int, ...], scales: Sequence[Scale], places: _Places) -> int:
        """Add a panel of nodes with these scales over the first, and return its number."""
        self.panels.append(Panel(nodes, tuple(scale / scales[0] for scale in scales)))
        for row, node in enumerate(nodes):
            places[node].append((self, len(self.panels) - 1, row))
        return len(self.panels) - 1


def _worthwhile(product: Product) -> Product:
    """Return a product without the columns that have panels which few columns share."""
    columns = product.columns
    while True:
        uses = Counter(panel for column in columns for panel in column.panels)
        kept = tuple(c for c in columns if min(uses[panel] for panel in c.panels) >= LEAST_USES)
        if len(kept) == len(columns):
            break
        columns = kept
    number = {panel: k for k, panel in enumerate(sorted(uses))}
    return Product(
        product.rows,
        tuple(product.panels[panel] for panel in number),
        tuple(replace(c, panels=tuple(number[panel] for panel in c.panels)) for c in columns),
    )


def _without_circles(
    graph: Graph, sums: dict[int, InnerProduct], products: Sequence[Product]
) -> list[Product]:
    """Return products without columns of which a row needs another row's result."""
    columns = [(product, column) for product in products for column in product.columns]
    count = len(graph.nodes)
    column_of = {node: count + k for k, (_, column) in enumerate(columns) for node in column.sums}
    needs: list[set[int]] = []
    for i, node in enumerate(graph.nodes):
        summed = i in column_of
        needed = {edge.node for edge in (sums[i].rest if summed else node.args)}
        needs.append(needed | {column_of[i]} if summed else needed)
    needs += [set(product.operands(column)) for product, column in columns]
    circular = _circular(needs)
    kept = []
    for product in products:
        fine = tuple(c for c in product.columns if column_of[next(iter(c.sums))] not in circular)
        kept.append(_worthwhile(replace(product, columns=fine)))
    return [product for product in kept if product.products >= LEAST_PRODUCTS]


def _circular(needs: Sequence[Iterable[int]]) -> set[int]:
    """Return all that needs itself, and what is between: what is left without first and last ones."""
    left = set(range(len(needs)))
    users: list[list[int]] = [[] for _ in needs]
    for i, needed in enumerate(needs):
        for j in needed:
            users[j].append(i)
    for before, after in ((needs, users), (users, needs)):
        waiting = {i: sum(j in left for j in before[i]) for i in left}
        ready = [i for i, number in waiting.items() if not number]
        while ready:
            done = ready.pop()
            left.discard(done)
            for other in after[done]:
                if other in left:
                    waiting[other] -= 1
                    if not waiting[other]:
                        ready.append(other)
    return left
