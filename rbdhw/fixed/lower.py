"""Lowering: a graph, the magnitude of each node, and a width become a bit-exact program."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rbdhw.fixed.format import Format, exponent_above
from rbdhw.fixed.program import (
    Flag,
    Interval,
    Kind,
    Operand,
    Operation,
    Program,
    Word,
    exact_interval,
)
from rbdhw.fixed.reciprocal import ReciprocalSpec, reciprocal_spec, shift_of
from rbdhw.fixed.trigonometry import TrigonometrySpec, trigonometry_spec
from rbdhw.fixed.widths import MARGIN, Widths
from rbdhw.graph.graph import Edge, Graph, Node, Op
from rbdhw.protocol import FLAGS

CUT_BITS = 2
"""Bits below a sum's last to which its operands are cut before they are added and rounded."""

INPUT_MARGIN = 1.02
"""Headroom over an input's bounds: in 8 bits and more, no bound is a word that saturation gives."""

FLAG_FORMAT = Format(2, 0)


@dataclass(frozen=True)
class InputRange:
    """The declared domain of an input in the graph's unit; one that wraps is an angle in turns.

    Inputs of different functions that name the same ``slot`` share a place in the packets.
    """

    lower: float
    upper: float
    unit: str
    wraps: bool = False
    slot: str = ""


def lower(
    graph: Graph, magnitudes: Sequence[float], domain: Mapping[str, InputRange], widths: Widths
) -> Program:
    """The program of a graph; its operation ``i`` computes node ``i``, and what comes after negates outputs.

    Parameters
    ----------
    magnitudes
        The largest magnitude of each node over the sampled domain.
    domain
        The range of every input of the graph, by name, and of the joint forces, for their unit.
    widths
        Of its signals.
    """
    lowering = _Lowering(graph, magnitudes, domain, widths)
    for i, node in enumerate(graph.nodes):
        lowering.append(lowering.operation(i, node))
    return lowering.program()


class _Lowering:
    def __init__(
        self, graph: Graph, magnitudes: Sequence[float], domain: Mapping[str, InputRange], widths: Widths
    ) -> None:
        self._graph = graph
        self._magnitudes = magnitudes
        self._domain = domain
        self._widths = widths
        self._trigonometry: TrigonometrySpec = trigonometry_spec(widths.turn)
        self._inverter = _inverter(graph, widths)
        self._operations: list[Operation] = []
        self._intervals: list[Interval] = []

    def append(self, operation: Operation) -> int:
        """Add an operation, checked where its result may not fit; the new value's index."""
        low, high = exact_interval(operation, self._intervals)
        lowest, highest = operation.format.lowest, operation.format.highest
        fits = lowest <= low and high <= highest
        if not fits:
            operation = Operation(
                operation.kind,
                operation.operands,
                operation.format,
                operation.region,
                operation.constant,
                operation.drop,
                True,
                operation.name,
            )
        self._operations.append(operation)
        self._intervals.append((max(low, lowest), min(high, highest)) if fits else (lowest, highest))
        return len(self._operations) - 1

    def operation(self, i: int, node: Node) -> Operation:
        """The integer operation of a node."""
        match node.op:
            case Op.INPUT if node.name in FLAGS:
                return Operation(Kind.INPUT, (), FLAG_FORMAT, node.region, name=node.name)
            case Op.INPUT:
                return Operation(Kind.INPUT, (), self._word_format(i, node.name), node.region, name=node.name)
            case Op.CONSTANT:
                value, binary_point = _integer(node.value, self._widths.bits[i])
                width = max(2, value.bit_length() + 1)
                return Operation(Kind.CONSTANT, (), Format(width, binary_point), node.region, value)
            case Op.ADD:
                return self._sum(i, node)
            case Op.MULTIPLY:
                return self._product(i, node)
            case Op.SCALE:
                return self._scale(i, node)
            case Op.SIN | Op.COS:
                return self._turn(node)
            case Op.RECIPROCAL:
                return self._reciprocal(i, node)
            case Op.SELECT:
                return self._select(i, node)

    def program(self) -> Program:
        """The finished program, with output words appended to the operations."""
        outputs: dict[str, list[Word]] = {}
        for name, edge in self._graph.outputs:
            outputs.setdefault(name.split(".")[0], []).append(self._output(name, edge))
        slots: dict[str, int] = {}
        inputs = [
            self._input_word(name, index, slots)
            for name, index in self._graph.inputs.items()
            if name not in FLAGS
        ]
        return Program(
            tuple(self._operations),
            tuple(inputs),
            tuple(self._flags(outputs)),
            {function: tuple(words) for function, words in outputs.items()},
            self._trigonometry,
            self._inverter,
            self._widths.ports,
        )

    def _flags(self, functions: Iterable[str]) -> Iterator[Flag]:
        """The flags of the graph, for the functions of the graph."""
        for name, index in self._graph.inputs.items():
            if name in FLAGS:
                raising, optional = FLAGS[name]
                yield Flag(name, index, tuple(f for f in raising if f in functions), optional)

    def _input_word(self, name: str, index: int, slots: dict[str, int]) -> Word:
        bounds = self._domain[name]
        chosen = self._operations[index].format
        slot = slots.setdefault(bounds.slot or name, len(slots))
        if bounds.wraps:
            return Word(name, bounds.unit, index, chosen, slot=slot)
        lowest, highest = chosen.quantised(np.array([bounds.lower, bounds.upper])).tolist()
        return Word(name, bounds.unit, index, chosen, lowest, highest, slot)

    def _output(self, name: str, edge: Edge) -> Word:
        source = self._operations[edge.node].format
        value = edge.node
        if edge.negative:
            node = self._graph.nodes[edge.node]
            negated = (Operand(edge.node, negative=True),)
            value = self.append(Operation(Kind.ADD, negated, source, node.region))
        known = self._domain.get(name.partition(".")[2])
        return Word(
            name, known.unit if known else "1", value, Format(source.width, source.binary_point - edge.shift)
        )

    def _word_format(self, i: int, name: str) -> Format:
        bounds = self._domain[name]
        phase_bits = self._trigonometry.phase_bits
        if bounds.wraps:
            return Format(phase_bits, phase_bits)
        largest = max(abs(bounds.lower), abs(bounds.upper))
        if bounds.unit == "turn" and not self._multiplied(i):
            beyond = round(math.ldexp(largest, phase_bits)) + 1
            return Format(beyond.bit_length() + 1, phase_bits)
        exponent = exponent_above(INPUT_MARGIN * largest)
        width = self._widths.bits[i]
        return Format(width, width - 1 - exponent)

    def _multiplied(self, i: int) -> bool:
        """Whether an angle is a factor as well, which some joint takes to follow it; factors are narrower."""
        products = (node for node in self._graph.nodes if node.op in (Op.MULTIPLY, Op.SCALE))
        return any(edge.node == i for node in products for edge in node.args)

    def _format(self, i: int, exact: int) -> Format:
        """The node's format; ``exact`` fractional bits represent it without loss."""
        exponent = exponent_above(MARGIN * self._magnitudes[i])
        binary_point = min(self._widths.bits[i] - 1 - exponent, exact)
        return Format(max(2, binary_point + 1 + exponent), binary_point)

    def _point(self, edge: Edge) -> int:
        return self._operations[edge.node].format.binary_point - edge.shift

    def _sum(self, i: int, node: Node) -> Operation:
        points = [self._point(edge) for edge in node.args]
        chosen = self._format(i, max(points))
        common = min(max(points), chosen.binary_point + CUT_BITS)
        operands = tuple(
            Operand(edge.node, edge.negative, common - point)
            for edge, point in zip(node.args, points, strict=True)
        )
        return Operation(Kind.ADD, operands, chosen, node.region, drop=common - chosen.binary_point)

    def _product(self, i: int, node: Node) -> Operation:
        formats = {edge.node: self._operations[edge.node].format for edge in node.args}
        exact = sum(formats[edge.node].binary_point for edge in node.args)
        chosen = self._format(i, exact)
        wider_first = sorted(node.args, key=lambda edge: -formats[edge.node].width)
        operands = tuple(Operand(edge.node) for edge in wider_first)
        return Operation(Kind.MULTIPLY, operands, chosen, node.region, drop=exact - chosen.binary_point)

    def _scale(self, i: int, node: Node) -> Operation:
        constant, point = _integer(node.value, self._widths.constants[i] - 1)
        exact = self._point(node.args[0]) + point
        chosen = self._format(i, exact)
        operands = (Operand(node.args[0].node),)
        drop = exact - chosen.binary_point
        return Operation(Kind.SCALE, operands, chosen, node.region, constant, drop)

    def _select(self, i: int, node: Node) -> Operation:
        flag, *values = node.args
        points = [self._point(edge) for edge in values if not self._is_zero(edge)]
        chosen = self._format(i, max(points))
        common = min(max(points), chosen.binary_point + CUT_BITS)
        operands = [
            Operand(edge.node, edge.negative, 0 if self._is_zero(edge) else common - self._point(edge))
            for edge in values
        ]
        drop = common - chosen.binary_point
        return Operation(Kind.SELECT, (Operand(flag.node), *operands), chosen, node.region, drop=drop)

    def _is_zero(self, edge: Edge) -> bool:
        node = self._graph.nodes[edge.node]
        return node.op is Op.CONSTANT and node.value == 0.0

    def _reciprocal(self, i: int, node: Node) -> Operation:
        (edge,) = node.args
        chosen = self._format(i, sys.maxsize)
        assert self._inverter is not None
        shift = shift_of(self._inverter, self._operations[edge.node].format, chosen)
        return Operation(Kind.RECIPROCAL, (Operand(edge.node),), chosen, node.region, shift)

    def _turn(self, node: Node) -> Operation:
        spec = self._trigonometry
        operand = Operand(node.args[0].node, shift=spec.phase_bits - self._point(node.args[0]))
        kind = Kind.SIN if node.op is Op.SIN else Kind.COS
        offset = round(math.ldexp(node.value, spec.phase_bits)) % 2**spec.phase_bits
        return Operation(kind, (operand,), spec.format, node.region, offset)


def _inverter(graph: Graph, widths: Widths) -> ReciprocalSpec | None:
    """The unit for all reciprocals of a graph, if it has any."""
    nodes = [(i, node.args[0].node) for i, node in enumerate(graph.nodes) if node.op is Op.RECIPROCAL]
    if not nodes:
        return None
    results, operands = ([widths.bits[i] for i in column] for column in zip(*nodes, strict=True))
    return reciprocal_spec(max(operands), max(results))


def _integer(value: float, bits: int) -> tuple[int, int]:
    """A mantissa (or zero) as an integer of at most ``bits`` bits and its binary point, reduced."""
    integer = min(round(math.ldexp(value, bits - 1)), 2**bits - 1)
    point = bits - 1
    while integer and integer % 2 == 0:
        integer, point = integer // 2, point - 1
    return integer, point
