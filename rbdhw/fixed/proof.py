"""Proven bounds of the errors of a bit-exact program against real arithmetic, over its whole domain.

The error of a value is its difference from what the graph gives for the real inputs. Each operation passes
its operands' errors on and adds one of its own, from rounding, cut bits, and tables. What it passes on
is exact, without a remainder: with a hat for what the hardware computes,

    x^ y^ - x y = x^ (y^ - y) + y (x^ - x)        sin x^ - sin x = cos(z) (x^ - x), z between x and x^

So in every task the error of a result is the sum, over all operations, of an adjoint times the operation's
own error. The factors of adjoints lie in intervals: computed values within their formats, since a task in
which one overflows is flagged, and real values within those widened by their errors. The adjoints follow from
the results to the inputs, in interval arithmetic rounded outwards.

A bound holds for every task within the domain whose status is zero.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.interval_arithmetic import Interval, Rows, around, hull, outward
from rbdhw.fixed.program import Kind, Operation, Program
from rbdhw.fixed.ranges import Ranges
from rbdhw.fixed.trigonometry import sine_error
from rbdhw.graph.graph import Graph, Op
from rbdhw.protocol import is_choice

Array = NDArray[np.float64]

TURN = outward(2.0 * math.pi)
"""An interval with 2 pi."""

SUMMED = 1.0 + 1e-9
"""A factor that exceeds the rounding of the last sums, whose terms are not negative."""


@dataclass(frozen=True)
class Proof:
    """Bounds of the results of a function."""

    errors: Mapping[int, float]
    """The bound of the error of each node that is a result, in its unit."""
    limits: Mapping[int, int]
    """The node whose own error adds most to it."""


def prove(graph: Graph, program: Program, function: str) -> Proof | None:
    """Return proven bounds of a function's results; None if it divides, or the program fuses sums.

    Operation i of the program computes node i of the graph.
    """
    return Prover(graph, program, function).prove(
        {edge.node for name, edge in graph.outputs if name.startswith(f"{function}.")}
    )


class Prover:
    """Proven bounds of the errors of nodes of a graph in the tasks of a function."""

    def __init__(self, graph: Graph, program: Program, function: str) -> None:
        self._graph, self._program = graph, program
        self._words = {word.value: word for word in program.inputs}
        self._decided = {
            flag.value: function in flag.functions
            for flag in program.flags
            if not (flag.optional and function in flag.functions)
        }
        self._trigonometry = sine_error(program.trigonometry)
        self._integers = Ranges(program, self._decided)
        # A negated constant is an operation of its own, which does not reach the constant.
        results = {edge.node for name, edge in graph.outputs if name.startswith(f"{function}.")}
        for i in sorted(results | program.operations_of(function)):
            self._integers.add(i)
        self._given: frozenset[int] = frozenset()  # nodes that others are compared from
        self._own: dict[int, float] = {}  # the largest error that the operation itself adds
        self._errors: dict[int, float] = {}  # a first bound of a node's error, which widens its range

    def prove(self, nodes: Collection[int], given: Collection[int] = ()) -> Proof | None:
        """Return bounds of the errors of nodes; None if what leads to them divides, or fuses sums.

        The errors are those against real arithmetic from the inputs on, or from the computed values of the
        nodes ``given``.
        """
        self._given = frozenset(given)
        needed = self.needed(nodes, given)
        kinds = {self._program.operations[i].kind for i in needed if i not in self._given}
        if not kinds.isdisjoint((Kind.RECIPROCAL, Kind.DOT)):
            return None
        for i in needed:
            self._own[i] = 0.0 if i in self._given else self._own_error(i)
            passed = (self._slope(i, k).size * self._errors[arg] for k, arg in self._arguments(i))
            self._errors[i] = SUMMED * (self._own[i] + sum(passed))
        return self._proof(sorted(nodes), needed)

    def needed(self, nodes: Collection[int], given: Collection[int] = ()) -> list[int]:
        """Return the nodes from which some are computed, down to those that are given, in order."""
        self._given = frozenset(given)
        reached: set[int] = set()
        waiting = list(nodes)
        while waiting:
            i = waiting.pop()
            if i not in reached:
                reached.add(i)
                waiting += (arg for _, arg in self._arguments(i))
        return sorted(reached)

    def size(self, i: int) -> float:
        """Return the largest magnitude of the values that the hardware has at a node."""
        return self._computed(i).size

    def _proof(self, results: list[int], needed: list[int]) -> Proof:
        """Return the bounds of results, from one pass from them to the inputs."""
        count = len(results)
        adjoints: dict[int, Rows] = {}
        for row, node in enumerate(results):
            adjoints[node] = Rows.unit(count, row)
        totals, most, limits = np.zeros(count), np.zeros(count), np.zeros(count, np.int64)
        for i in reversed(needed):
            adjoint = adjoints.pop(i, None)
            if adjoint is None:
                continue
            share = adjoint.size * self._own[i]
            totals += share
            limits, most = np.where(share > most, i, limits), np.maximum(most, share)
            for k, arg in self._arguments(i):
                part = adjoint.times(self._slope(i, k))
                known = adjoints.get(arg)
                adjoints[arg] = part if known is None else known.plus(part)
        errors = dict(zip(results, (SUMMED * totals).tolist(), strict=True))
        return Proof(errors, dict(zip(results, limits.tolist(), strict=True)))

    def _arguments(self, i: int) -> list[tuple[int, int]]:
        """Return the place and the node of the arguments whose errors matter."""
        if i in self._given:
            return []
        args = self._graph.nodes[i].args
        if self._graph.nodes[i].op is Op.SELECT:
            decided = self._decided.get(args[0].node)
            taken = [k for k, value in ((1, True), (2, False)) if decided in (None, value)]
            return [(k, args[k].node) for k in taken]
        if len(args) == 2 and args[0].node == args[1].node and self._graph.nodes[i].op is Op.MULTIPLY:
            return [(0, args[0].node)]
        return [(k, edge.node) for k, edge in enumerate(args)]

    # Ranges

    def _computed(self, i: int) -> Interval:
        """Return the interval of the values that the hardware has at a node."""
        step = self._program.operations[i].format.step
        low, high = self._integers[i]
        return Interval(float(low) * step, float(high) * step).wider()

    def _real(self, i: int) -> Interval:
        """Return the interval of the real values at a node."""
        return self._computed(i).plus(around(0.0, self._errors[i]))

    # Errors

    def _slope(self, i: int, k: int) -> Interval:
        """Return the factor by which the error of argument ``k`` counts in that of the node."""
        node = self._graph.nodes[i]
        edge = node.args[k]
        factor = math.ldexp(-1.0 if edge.negative else 1.0, edge.shift)
        match node.op:
            case Op.MULTIPLY:
                other = node.args[1 - k].node
                if other == edge.node:
                    return self._computed(other).plus(self._real(other))
                return self._computed(other) if k else self._real(other)
            case Op.SCALE:
                return outward(node.value * factor)
            case Op.SIN | Op.COS:
                return Interval(-1.0, 1.0).times(TURN).times(outward(factor))
            case Op.SELECT if len(self._arguments(i)) > 1:
                return hull(Interval(0.0, 0.0), Interval(factor, factor))
            case _:
                return Interval(factor, factor)

    def _own_error(self, i: int) -> float:
        """Return the largest error that an operation adds to those of its operands."""
        operation, node = self._program.operations[i], self._graph.nodes[i]
        step = operation.format.step
        rounding = 0.5 * step if operation.drop else 0.0
        match node.op:
            case Op.INPUT:
                word = self._words.get(i)
                return 0.0 if word is None or is_choice(operation.name) else self._read(i)
            case Op.CONSTANT:
                return outward(operation.constant * step - node.value).size
            case Op.ADD | Op.ROUND | Op.SELECT:
                finer = math.ldexp(step, -operation.drop)
                cut = sum(finer for operand in operation.operands if operand.shift < 0)
                return rounding + cut
            case Op.MULTIPLY:
                return rounding
            case Op.SCALE:
                return SUMMED * (rounding + self._factor_error(i) * self._computed(node.args[0].node).size)
            case Op.SIN | Op.COS:
                return SUMMED * (self._trigonometry + TURN.high * self._phase_error(operation, node.value))
        raise AssertionError(node.op)

    def _read(self, i: int) -> float:
        """Return the largest error of an input: half a step, and the conversion in double precision."""
        return self._program.operations[i].format.step / 2.0 + 2.0**-50 * self._computed(i).size

    def _factor_error(self, i: int) -> float:
        """Return the largest error of a constant factor as an integer."""
        operation, node = self._program.operations[i], self._graph.nodes[i]
        (edge,) = node.args
        point = operation.format.binary_point + operation.drop
        point -= self._program.operations[edge.node].format.binary_point
        factor = math.ldexp(-node.value if edge.negative else node.value, edge.shift)
        return outward(math.ldexp(operation.constant, -point) - factor).size

    def _phase_error(self, operation: Operation, turns: float) -> float:
        """Return the largest error of an angle (turns) by cut bits and by the offset's rounding."""
        bits = self._program.trigonometry.phase_bits
        (operand,) = operation.operands
        cut = math.ldexp(1.0, -bits) if operand.shift < 0 else 0.0
        rest = math.ldexp(operation.constant, -bits) - turns
        return cut + outward(rest - round(rest)).size
