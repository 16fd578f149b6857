"""The C of a graph in floating point: the statements of its nodes, in blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import ClassVar

from rbdhw.arrays import WordName
from rbdhw.fixed.result_words import result_words
from rbdhw.graph.graph import Edge, Graph, Op
from rbdhw.protocol import NEXT_STATE
from rbdhw.software.arrangement import Call, arrange, straight
from rbdhw.software.exponents import exponents
from rbdhw.software.products import Product
from rbdhw.software.straight_line import CodeBlock, split_into_blocks, vectors_of

_LINEAR = (Op.INPUT, Op.CONSTANT, Op.ADD, Op.SCALE)
"""The operations of which an angle can consist."""

MOST_SUMS = 27
"""The most sums of a product that are computed together; with their factors, they fill 32 registers."""

_FOR_EACH = "for (size_t v = 0; v < vectors; v++)"


@dataclass(frozen=True)
class Division:
    """The most operations of a block, and the most vectors that a block loops over.

    With ``loops`` products of matrices are loops, and what only optional results need is computed on request.
    """

    operations: int
    vectors: int
    loops: bool = False


class Kernel:
    """The C of one graph: blocks of statements, and results that are inputs or constants."""

    most_together: ClassVar[int] = 3
    """The most columns of a product that are computed together, for which its panels are read once."""

    def __init__(self, name: str, graph: Graph, angles: Sequence[bool], division: Division) -> None:
        self.name = name
        self._graph, self._angles = graph, angles
        self.inputs = tuple(graph.inputs)
        self.results = result_words(graph)
        self._word = {node: k for k, node in enumerate(graph.inputs.values())}
        self._results_of: dict[int, list[tuple[int, Edge]]] = {}
        for k, result in enumerate(self.results):
            self._results_of.setdefault(result.edge.node, []).append((k, result.edge))
        self._arranged = arrange(graph, division.operations) if division.loops else straight(graph)
        # Where sums of products, and what products read, are in the store, and what it is multiplied by.
        self._sums: dict[int, tuple[str, float]] = {}
        self._copies: dict[int, list[tuple[str, float]]] = {}
        for k, product in enumerate(self._arranged.products):
            self._connect(k, product)
        # The table of each product, and where the terms of a call begin in it.
        self._terms_of: list[list[int]] = [[] for _ in self._arranged.products]
        self._starts: dict[Call, int] = {}
        for call in (call for part in self._arranged.parts for call in part.calls):
            self._starts[call] = len(self._terms_of[call.product])
            self._terms_of[call.product] += self._terms(call)
        parts = [[i for i in part.nodes if self._is_computed(i)] for part in self._arranged.parts]
        self._code = split_into_blocks(parts, self._operands, division.operations)
        if not self._code.blocks or self._code.blocks[0].part:  # results and copies that need no statement
            self._code = replace(self._code, blocks=(CodeBlock((), (), ()), *self._code.blocks))
        values = len(self.inputs) + len(self.results) + self._code.slots
        values += sum(size * rows for _, size, rows in self._areas)
        self.vectors = vectors_of(values, division.vectors)

    def _connect(self, k: int, product: Product) -> None:
        """Find where a product reads its factors and writes its sums."""
        panels, factors, sums = (self._area(k, area) for area in "xfy")
        for number, panel in enumerate(product.panels):
            for row, (node, scale) in enumerate(zip(panel.nodes, panel.scales, strict=True)):
                index = f"{panels} + {number} * ROWS({product.rows}) + {row}"
                self._copies.setdefault(node, []).append((index, scale))
        every = [factor for column in product.columns for factor in column.factors]
        for number, (node, scale) in enumerate(every):
            self._copies.setdefault(node, []).append((f"{factors} + {number}", scale))
        for number, column in enumerate(product.columns):
            for node, (row, scale) in column.sums.items():
                self._sums[node] = f"{sums} + {number} * ROWS({product.rows}) + {row}", scale

    def _area(self, k: int, area: str) -> str:
        """Return the name of where the store has a product's panels, factors or sums."""
        return f"KERNEL({self.name}_{area}{k})"

    # The store

    @property
    def _areas(self) -> list[tuple[str, int, int]]:
        """The name of each area of the store after the slots, its columns and the rows of each."""
        areas = []
        for k, product in enumerate(self._arranged.products):
            areas.append((self._area(k, "x"), len(product.panels), product.rows))
            areas.append((self._area(k, "y"), len(product.columns), product.rows))
            areas.append((self._area(k, "f"), 1, sum(len(column.panels) for column in product.columns)))
        return areas

    @property
    def store(self) -> str:
        """The number of values in the store that the blocks share."""
        return f"KERNEL({self.name}_end)" if self._areas else str(max(1, self._code.slots))

    @property
    def heights(self) -> list[int]:
        """The rows of products."""
        return sorted({product.rows for product in self._arranged.products})

    @property
    def tables(self) -> list[str]:
        """The lines before the functions: where areas of the store begin and end, and the terms of products.

        A product's table has, for columns that are computed together, the number of their terms, that of the
        columns, and the panels of the terms.
        """
        lines, before = [], f"ROWS({self._code.slots})"
        for name, columns, rows in self._areas:
            lines.append(f"enum {{ {name} = {before} }};")
            before = f"{name} + {columns} * ROWS({rows})"
        if lines:
            lines.append(f"enum {{ {self.store} = {before} }};")
        for k, numbers in enumerate(self._terms_of):
            name = self._area(k, "terms")
            lines.append(f"static const unsigned short {name}[] = {{{', '.join(map(str, numbers))}}};")
        return lines

    def _terms(self, call: Call) -> list[int]:
        """Return the numbers of a product's table for one call."""
        columns = self._arranged.products[call.product].columns[call.columns.start : call.columns.stop]
        numbers: list[int] = []
        for panels, same in groupby(column.panels for column in columns):
            left = len(list(same))
            while left:
                together = min(left, self.most_together)
                numbers += [len(panels), together, *panels]
                left -= together
        return numbers

    @classmethod
    def tiles(cls, rows: int) -> list[tuple[int, int]]:
        """Return the rows, first and end, whose sums are in registers at a time."""
        tiles = math.ceil(rows * cls.most_together / MOST_SUMS)
        return list(pairwise(rows * k // tiles for k in range(tiles + 1)))

    @property
    def calls(self) -> list[str]:
        """The lines that call products and blocks in their order."""
        lines, blocks = [], list(enumerate(self._code.blocks))
        for number, part in enumerate(self._arranged.parts):
            if part.optional and not self._arranged.parts[number - 1].optional:
                lines.append("if (!optional)")
                lines.append("    return;")
            for call in part.calls:
                lines += [_FOR_EACH, f"    {self._call(call)}"]
            for k, block in blocks:
                if block.part == number:
                    arguments = f"words + v, store + v * {self.store}, results + v, far_away"
                    lines += [_FOR_EACH, f"    KERNEL({self.name}_{k})({arguments});"]
        return lines

    def _call(self, call: Call) -> str:
        product, first = self._arranged.products[call.product], call.columns.start
        passed = sum(len(column.panels) for column in product.columns[:first])
        areas = (
            self._area(call.product, "x"),
            f"({self._area(call.product, 'f')} + {passed})",
            f"({self._area(call.product, 'y')} + {first} * ROWS({product.rows}))",
        )
        pointers = ", ".join(f"store + v * {self.store} + {area}" for area in areas)
        terms = f"{self._area(call.product, 'terms')} + {self._starts[call]}"
        return f"KERNEL({self.name}_rows{product.rows})({pointers}, {terms}, {len(call.columns)});"

    def is_angle(self, name: str) -> bool:
        """Return whether an input or a result is an angle."""
        word = WordName.parse(name)
        return (
            word.array in ("q", NEXT_STATE)
            and word.index[0] < len(self._angles)
            and self._angles[word.index[0]]
        )

    # Which nodes are statements

    @cached_property
    def _angle_nodes(self) -> frozenset[int]:
        """The nodes that serve only as angles of sines and cosines, or in such nodes."""
        angles: set[int] = set()
        other = {edge.node for _, edge in self._graph.outputs}
        # From users to arguments: when a node is reached, all that it serves is known.
        for i in reversed(range(len(self._graph.nodes))):
            node = self._graph.nodes[i]
            if node.op not in _LINEAR:
                angles.discard(i)
            within_angle = i in angles and i not in other
            reached = angles if within_angle or node.op in (Op.SIN, Op.COS) else other
            reached.update(edge.node for edge in node.args)
        return frozenset(angles - other)

    @cached_property
    def _scaled(self) -> frozenset[int]:
        """The scaled nodes that only sums use: there a factor is part of a fused multiply-add."""
        scaled = {i for i, node in enumerate(self._graph.nodes) if node.op is Op.SCALE}
        for node in self._graph.nodes:
            if node.op is not Op.ADD:
                scaled.difference_update(edge.node for edge in node.args)
        return frozenset(scaled - self._results_of.keys())

    @cached_property
    def _exponents(self) -> list[int]:
        """The power of two by which each value is multiplied."""
        return exponents(self._graph, self._scaled | self._angle_nodes)

    def _is_computed(self, i: int) -> bool:
        constant = self._graph.nodes[i].op in (Op.INPUT, Op.CONSTANT)
        return not constant and i not in self._scaled and i not in self._angle_nodes

    def _operands(self, i: int) -> Iterator[int]:
        """Yield the nodes that a statement reads."""
        node = self._graph.nodes[i]
        for edge in self._arranged.rest.get(i, node.args):
            if node.op in (Op.SIN, Op.COS):
                yield from self._angle(edge, 1.0)[0]
            elif edge.node in self._scaled:
                yield self._graph.nodes[edge.node].args[0].node
            else:
                yield edge.node

    # Statements

    @property
    def blocks(self) -> list[list[str]]:
        """The lines of each block. Results and copies that need no statement are in the first."""
        first, *others = [self._block(block) for block in self._code.blocks]
        return [self._free() + first, *others]

    def _free(self) -> list[str]:
        served = dict.fromkeys((*self._results_of, *self._copies))
        return [line for node in served if not self._is_computed(node) for line in self._given(node)]

    def _given(self, node: int) -> list[str]:
        """Return the lines that write a value where results are and where products read it."""
        results = [self._result(k, edge) for k, edge in self._results_of.get(node, ())]
        copies = [
            f"store[{index}] = {self._term(Edge(node), 0, scale)};"
            for index, scale in self._copies.get(node, ())
        ]
        return results + copies

    def _block(self, block: CodeBlock) -> list[str]:
        lines = [f"const V v{value} = store[{slot}];" for value, slot in block.loads]
        turned: dict[tuple[Edge, float], int] = {}
        for i in block.body:
            lines += self._statement(i, turned)
            lines += self._given(i)
        return lines + [f"store[{slot}] = v{value};" for value, slot in block.stores]

    def _result(self, k: int, edge: Edge) -> str:
        unit = 2.0 * math.pi if self.is_angle(self.results[k].name) else 1.0
        return f"results[{k} * STRIDE] = {self._term(edge, 0, unit)};"

    def _statement(self, i: int, turned: dict[tuple[Edge, float], int]) -> Iterator[str]:
        """Yield the lines that compute a node; ``turned`` are the angles of the block's sines and cosines."""
        node, exponent = self._graph.nodes[i], self._exponents[i]
        match node.op:
            case Op.ADD if i in self._sums:
                index, scale = self._sums[i]
                terms = [_times(f"store[{index}]", math.ldexp(scale, exponent))]
                terms += [self._term(edge, exponent) for edge in self._arranged.rest[i]]
                yield f"const V v{i} = {' + '.join(terms)};"
            case Op.SIN | Op.COS:
                key = node.args[0], node.value
                if key not in turned:
                    turned[key] = i
                    yield f"V sine{i}, cosine{i};"
                    angle = self._angle_text(*key)
                    yield f"{{ const V angle = {angle}; "
                    yield f"KERNEL(sin_cos)(&angle, far_away, &sine{i}, &cosine{i}); }}"
                part = "sine" if node.op is Op.SIN else "cosine"
                yield f"const V v{i} = {part}{turned[key]};"
            case Op.ADD:
                yield f"const V v{i} = {' + '.join(self._term(edge, exponent) for edge in node.args)};"
            case Op.MULTIPLY:
                yield f"const V v{i} = {' * '.join(map(self._factor, node.args))};"
            case Op.RECIPROCAL:
                yield f"const V v{i} = R(1.0) / {self._factor(node.args[0])};"
            case Op.ROUND:
                yield f"const V v{i} = {self._term(node.args[0], exponent)};"
            case Op.SELECT:  # by a number of the task, which is one or zero; flags are decided before
                flag = self._term(node.args[0], 0)
                chosen, other = (self._term(edge, exponent) for edge in node.args[1:])
                yield f"const V v{i} = {flag} * {chosen} + (R(1.0) - {flag}) * {other};"
            case _:  # a scaled node
                yield f"const V v{i} = {self._term(node.args[0], exponent, node.value)};"

    def _factor(self, edge: Edge) -> str:
        """Return the expression of an edge whose power of two belongs to that of the result."""
        return self._term(edge, self._exponents[edge.node])

    def _term(self, edge: Edge, exponent: int, factor: float = 1.0) -> str:
        """Return the expression of an edge times ``factor`` and a power of two: a value times a constant."""
        factor *= math.ldexp(-1.0 if edge.negative else 1.0, edge.shift + exponent)
        node = edge.node
        if node in self._scaled:
            inner = self._graph.nodes[node].args[0]
            factor *= self._graph.nodes[node].value * math.ldexp(-1.0 if inner.negative else 1.0, inner.shift)
            node = inner.node
        source = self._graph.nodes[node]
        if source.op is Op.CONSTANT:
            return _constant(factor * source.value)
        text, factor = f"v{node}", math.ldexp(factor, -self._exponents[node])
        if source.op is Op.INPUT:
            text = f"words[{self._word[node]} * STRIDE]"
            factor *= 1.0 / (2.0 * math.pi) if self.is_angle(source.name) else 1.0
        return _times(text, factor)

    # Angles

    def _angle(self, edge: Edge, factor: float) -> tuple[dict[int, float], float]:
        """Return an angle (turns) times ``factor`` as coefficients of nodes, and a constant."""
        factor *= math.ldexp(-1.0 if edge.negative else 1.0, edge.shift)
        node = self._graph.nodes[edge.node]
        if edge.node in self._angle_nodes or node.op in (Op.INPUT, Op.CONSTANT):
            match node.op:
                case Op.CONSTANT:
                    return {}, factor * node.value
                case Op.SCALE:
                    return self._angle(node.args[0], factor * node.value)
                case Op.ADD:
                    one, other = (self._angle(arg, factor) for arg in node.args)
                    together = dict(one[0])
                    for value, coefficient in other[0].items():
                        together[value] = together.get(value, 0.0) + coefficient
                    return together, one[1] + other[1]
        return {edge.node: factor}, 0.0

    def _angle_text(self, edge: Edge, offset: float) -> str:
        coefficients, constant = self._angle(edge, 1.0)
        terms = []
        for value, coefficient in coefficients.items():
            source = self._graph.nodes[value]
            text = f"v{value}"
            factor = 2.0 * math.pi * math.ldexp(coefficient, -self._exponents[value])
            if source.op is Op.INPUT:
                text = f"words[{self._word[value]} * STRIDE]"
                factor = coefficient if self.is_angle(source.name) else factor
            terms.append(text if factor == 1.0 else f"{text} * R({factor!r})")
        whole = constant + offset
        if whole or not terms:
            terms.append(_constant(2.0 * math.pi * whole))
        return " + ".join(terms)


def _times(text: str, factor: float) -> str:
    if factor == 1.0:
        return text
    return f"(-{text})" if factor == -1.0 else f"({text} * R({factor!r}))"


def _constant(value: float) -> str:
    return f"(KERNEL(zero) + R({value!r}))"
