"""Lowering: convert a graph, with the magnitude of each node and widths, to a bit-exact program."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdhw.arrays import WordName
from rbdhw.fixed.accumulators import accumulators
from rbdhw.fixed.alignment import exponents
from rbdhw.fixed.format import Format, exponent_above
from rbdhw.fixed.program import MOST_SHIFT, Flag, Interval, Kind, Operand, Operation, Program, Word, checked
from rbdhw.fixed.reciprocal import ReciprocalSpec, reciprocal_spec, shift_of
from rbdhw.fixed.result_words import ResultWord, result_words
from rbdhw.fixed.trigonometry import TrigonometrySpec, trigonometry_spec
from rbdhw.fixed.widths import MARGIN, Widths
from rbdhw.graph.graph import Edge, Graph, Node, Op
from rbdhw.graph.twins import Twins, no_twins
from rbdhw.protocol import FLAGS, is_choice

CUT_BITS = 2
"""The number of bits, below a sum's last, to which its operands are cut before they are added and rounded."""

INPUT_MARGIN = 1.02
"""The headroom over an input's bounds: with 8 bits or more, a saturated word is never within the bounds."""

NOISE_BITS = 2
"""The least ratio of a result's range to one step of its operands, as a power of two. Samples do not show
such a range if values cancel except for rounding errors, or almost always round to zero."""

FLAG_FORMAT = Format(2, 0)


@dataclass(frozen=True)
class InputRange:
    """The declared domain of an input in the graph's unit; an input that wraps is an angle in turns.

    Inputs of different functions with the same ``slot`` share a place in the packets.
    """

    lower: float
    upper: float
    unit: str
    wraps: bool = False
    slot: str = ""


def lower(
    graph: Graph,
    magnitudes: Sequence[float],
    domain: Mapping[str, InputRange],
    widths: Widths,
    twins: Twins | None = None,
) -> Program:
    """Convert a graph to a program; operation ``i`` computes node ``i``, and appended ones negate outputs.

    Operations of twins differ in constants, signs, and operands from outside of their limbs. Otherwise they
    are the same as far as these operands allow. So twins need equal widths, and magnitudes from
    :func:`rbdhw.fixed.alignment.unify`.

    Parameters
    ----------
    magnitudes
        The largest magnitude of each node over the sampled domain.
    domain
        The range of every input of the graph by name, and of the joint forces, whose units are needed.
    """
    twins = twins or no_twins(graph)
    lowering = _Lowering(graph, magnitudes, domain, widths, twins)
    for i in twins.order:
        lowering.add(i, lowering.operation(i, graph.nodes[i]))
    return lowering.program()


class _Lowering:
    def __init__(
        self,
        graph: Graph,
        magnitudes: Sequence[float],
        domain: Mapping[str, InputRange],
        widths: Widths,
        twins: Twins,
    ) -> None:
        self._graph = graph
        self._magnitudes = magnitudes
        self._domain = domain
        self._widths = widths
        self._twins = twins
        self._exponents = exponents(graph, twins)
        self._trigonometry: TrigonometrySpec = trigonometry_spec(widths.turn)
        self._inverter = _inverter(graph, widths)
        self._alternating = _find_alternating(graph, twins)
        self._factors = _factors(graph)
        self._accumulators = accumulators(graph)
        self._turned: dict[Edge, int] = {}
        self._operations: dict[int, Operation] = {}
        self._intervals: dict[int, Interval] = {}

    def append(self, operation: Operation) -> int:
        """Append an operation after those of all nodes, and return the index of its value."""
        self.add(len(self._operations), operation)
        return len(self._operations) - 1

    def add(self, i: int, operation: Operation) -> None:
        """Set the operation that computes value ``i``; it is checked if its result may not fit."""
        self._operations[i], self._intervals[i] = checked(operation, self._intervals)

    def operation(self, i: int, node: Node) -> Operation:
        match node.op:
            case Op.INPUT if is_choice(node.name):
                return Operation(Kind.INPUT, (), FLAG_FORMAT, node.region, name=node.name)
            case Op.INPUT:
                return Operation(Kind.INPUT, (), self._word_format(i, node.name), node.region, name=node.name)
            case Op.CONSTANT:
                value, binary_point = _integer(node.value, self._widths.bits[i])
                width = max(2, value.bit_length() + 1)
                return Operation(Kind.CONSTANT, (), Format(width, binary_point), node.region, value)
            case Op.ADD | Op.ROUND:
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
        outputs: dict[str, list[Word]] = {}
        for word in result_words(self._graph):
            outputs.setdefault(word.name.split(".")[0], []).append(self._output(word))
        slots: dict[str, int] = {}
        words = [(name, index) for name, index in self._graph.inputs.items() if name not in FLAGS]
        return Program(
            tuple(self._operations[i] for i in range(len(self._operations))),
            tuple(self._input_word(name, index, slots) for name, index in words),
            tuple(self._flags(outputs)),
            {function: tuple(words) for function, words in outputs.items()},
            self._trigonometry,
            self._inverter,
            self._widths.ports,
        )

    def _flags(self, functions: Iterable[str]) -> Iterator[Flag]:
        """Yield the flags of the graph, restricted to the functions of the graph."""
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
        lowest, highest = chosen.quantise(np.array([bounds.lower, bounds.upper])).tolist()
        return Word(name, bounds.unit, index, chosen, lowest, highest, slot)

    def _output(self, word: ResultWord) -> Word:
        edge = word.edge
        source = self._operations[edge.node].format
        value = edge.node
        if edge.negative or edge.node in self._alternating:
            plain = Edge(edge.node, edge.negative)
            if plain not in self._turned:
                self._turned[plain] = self.append(self._signed(edge))
            value = self._turned[plain]
        known = self._domain.get(str(replace(WordName.parse(word.name), function=None)))
        return Word(
            word.name,
            known.unit if known else "1",
            value,
            Format(source.width, source.binary_point - edge.shift),
            also=word.elements[1:],
        )

    def _signed(self, edge: Edge) -> Operation:
        """Return the operation that negates a value if its edge says so; of a constant it is another one."""
        known, region = self._operations[edge.node], self._graph.nodes[edge.node].region
        if known.kind is Kind.CONSTANT and edge.negative:
            return Operation(Kind.CONSTANT, (), known.format, region, -known.constant)
        return Operation(Kind.ADD, (Operand(edge.node, edge.negative),), known.format, region)

    def _word_format(self, i: int, name: str) -> Format:
        bounds = self._domain[name]
        phase_bits = self._trigonometry.phase_bits
        if i in self._accumulators:
            phase_bits = max(phase_bits, self._widths.bits[i])
        if bounds.wraps:
            return Format(phase_bits, phase_bits)
        alike = [self._domain[self._graph.nodes[twin].name] for twin in self._group(i)]
        largest = max(abs(bound) for bounds in alike for bound in (bounds.lower, bounds.upper))
        # An angle that is also a factor (in the coordinate of a mimic) has an ordinary, narrower format.
        if bounds.unit == "turn" and self._factors.isdisjoint(self._group(i)):
            beyond = round(math.ldexp(largest, phase_bits)) + 1
            return Format(beyond.bit_length() + 1, phase_bits)
        exponent = exponent_above(INPUT_MARGIN * largest)
        width = self._widths.bits[i]
        return Format(width, width - 1 - exponent)

    def _format(self, i: int, exact: int, coarsest: int = sys.maxsize) -> Format:
        """Return the node's format; ``exact`` fractional bits represent it without loss.

        ``coarsest`` is the binary point of the coarsest step by which rounding errors change the value.
        """
        known = exponent_above(MARGIN * self._magnitudes[i])
        exponent = max(known, NOISE_BITS - coarsest)
        bits = self._widths.add_bits(self._widths.bits[i], exponent - known)
        binary_point = min(bits - 1 - exponent, exact)
        return Format(max(2, binary_point + 1 + exponent), binary_point)

    def _point(self, edge: Edge) -> int:
        return self._operations[edge.node].format.binary_point - edge.shift

    def _group(self, i: int) -> Sequence[int]:
        return self._twins.group_of.get(self._twins.leader.get(i, i), (i,))

    def _together(self, i: int, points: Callable[[int], int]) -> list[int]:
        """Return ``points`` of each of a node's twins, converted to the exponent of the node."""
        return [points(twin) - self._exponents[twin] + self._exponents[i] for twin in self._group(i)]

    def _order_arguments(self, i: int) -> list[Edge]:
        """Return a node's arguments; those of twins are in corresponding order."""
        leader = self._twins.leader
        args = list(self._graph.nodes[i].args)
        if i in leader:
            args.sort(key=lambda edge: (edge.node not in leader, leader.get(edge.node, edge.node)))
        return args

    def _sum(self, i: int, node: Node) -> Operation:
        finest = self._together(i, lambda twin: max(map(self._point, self._graph.nodes[twin].args)))
        coarsest = self._together(i, self._coarsest_term)
        chosen = self._format(i, min(finest), min(coarsest))
        common = min(max(finest), chosen.binary_point + CUT_BITS)
        operands = tuple(self._align(edge, common) for edge in self._order_arguments(i))
        return Operation(Kind.ADD, operands, chosen, node.region, drop=common - chosen.binary_point)

    def _align(self, edge: Edge, binary_point: int) -> Operand:
        """Return an edge as an operand whose last bit has this binary point.

        A right shift by all bits but the sign leaves the sign, and a larger shift does the same. Therefore no
        shift exceeds :data:`MOST_SHIFT`, however small a term is.
        """
        return Operand(edge.node, edge.negative, max(binary_point - self._point(edge), -MOST_SHIFT))

    def _coarsest_term(self, i: int) -> int:
        """Return the coarsest binary point of a node's terms, without constants, which are exact."""
        args = self._graph.nodes[i].args
        return min(self._point(edge) for edge in args if self._graph.nodes[edge.node].op is not Op.CONSTANT)

    def _product(self, i: int, node: Node) -> Operation:
        formats = {edge.node: self._operations[edge.node].format for edge in node.args}
        coarsest = self._together(i, self._coarsest_product)
        chosen = self._format(i, min(self._together(i, self._product_point)), min(coarsest))
        wider_first = sorted(self._order_arguments(i), key=lambda edge: -formats[edge.node].width)
        operands = tuple(Operand(edge.node) for edge in wider_first)
        drop = self._product_point(i) - chosen.binary_point
        return Operation(Kind.MULTIPLY, operands, chosen, node.region, drop=drop)

    def _product_point(self, i: int) -> int:
        return sum(self._operations[edge.node].format.binary_point for edge in self._graph.nodes[i].args)

    def _coarsest_product(self, i: int) -> int:
        """Return the binary point of one step of a factor times the other factor at its largest."""
        first, second = (self._operations[edge.node].format for edge in self._graph.nodes[i].args)
        return first.binary_point + second.binary_point + 1 - max(first.width, second.width)

    def _scale(self, i: int, node: Node) -> Operation:
        constants, points = self._constants(self._group(i))
        exact = {twin: self._point(self._graph.nodes[twin].args[0]) + points[twin] for twin in points}
        chosen = self._format(i, min(self._together(i, exact.__getitem__)))
        operands = (Operand(node.args[0].node),)
        drop = exact[i] - chosen.binary_point
        return Operation(Kind.SCALE, operands, chosen, node.region, constants[i], drop)

    def _constants(self, group: Sequence[int]) -> tuple[dict[int, int], dict[int, int]]:
        """Return the factors of twins as integers (the largest has all bits), and their binary points."""
        bits = min(self._widths.constants[twin] for twin in group) - 1
        nodes, exponents_ = {twin: self._graph.nodes[twin] for twin in group}, self._exponents
        rise = {twin: exponents_[twin] - exponents_[node.args[0].node] for twin, node in nodes.items()}
        point = bits - 1 - max(rise.values())
        integers = {
            twin: min(round(math.ldexp(node.value, point + rise[twin])), 2**bits - 1)
            for twin, node in nodes.items()
        }
        zeros = min((n & -n).bit_length() - 1 for n in integers.values() if n)
        return (
            {twin: n >> zeros for twin, n in integers.items()},
            {twin: point - zeros + rise[twin] for twin in group},
        )

    def _select(self, i: int, node: Node) -> Operation:
        flag, *values = node.args
        finest = self._together(i, self._choice_point)
        chosen = self._format(i, min(finest))
        common = min(max(finest), chosen.binary_point + CUT_BITS)
        operands = [
            Operand(edge.node, edge.negative) if self._is_zero(edge) else self._align(edge, common)
            for edge in values
        ]
        drop = common - chosen.binary_point
        return Operation(Kind.SELECT, (Operand(flag.node), *operands), chosen, node.region, drop=drop)

    def _choice_point(self, i: int) -> int:
        """Return the finest binary point of the values that a node chooses from."""
        return max(self._point(edge) for edge in self._graph.nodes[i].args[1:] if not self._is_zero(edge))

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
        operand = self._align(node.args[0], spec.phase_bits)
        kind = Kind.SIN if node.op is Op.SIN else Kind.COS
        offset = round(math.ldexp(node.value, spec.phase_bits)) % 2**spec.phase_bits
        return Operation(kind, (operand,), spec.format, node.region, offset)


def _find_alternating(graph: Graph, twins: Twins) -> frozenset[int]:
    """Return the twins that are outputs with their sign in some limbs and negated in others."""
    signs: dict[int, set[bool]] = {}
    for _, edge in graph.outputs:
        signs.setdefault(edge.node, set()).add(edge.negative)
    alternating: set[int] = set()
    for group in twins.groups:
        known = [signs.get(i, set()) for i in group]
        if all(len(twin_signs) == 1 for twin_signs in known) and len(set().union(*known)) == 2:
            alternating.update(group)
    return frozenset(alternating)


def _factors(graph: Graph) -> frozenset[int]:
    products = (node for node in graph.nodes if node.op in (Op.MULTIPLY, Op.SCALE))
    return frozenset(edge.node for node in products for edge in node.args)


def _inverter(graph: Graph, widths: Widths) -> ReciprocalSpec | None:
    """Return the unit for all reciprocals of a graph, or None if it has none."""
    nodes = [(i, node.args[0].node) for i, node in enumerate(graph.nodes) if node.op is Op.RECIPROCAL]
    if not nodes:
        return None
    results, operands = ([widths.bits[i] for i in column] for column in zip(*nodes, strict=True))
    return reciprocal_spec(max(operands), max(results))


def _integer(value: float, bits: int) -> tuple[int, int]:
    integer = min(round(math.ldexp(value, bits - 1)), 2**bits - 1)
    point = bits - 1
    while integer and integer % 2 == 0:
        integer, point = integer // 2, point - 1
    return integer, point
