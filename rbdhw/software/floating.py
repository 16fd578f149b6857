"""C in floating point from the graph: one function for each dynamics function, for numbers and for vectors.

``kernels.h`` holds the arithmetic. ``dynamics.c`` includes it twice, for single tasks and for vectors of
tasks, and moves tasks between the user's arrays and the words of the graph. Angles are in radians there; the
graph's are in turns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version

from rbdhw.domain.bounds import angular_coordinates
from rbdhw.graph.graph import Edge, Graph, Op
from rbdhw.protocol import FUNCTIONS, SYMMETRIC, WordName
from rbdhw.robot.model import Robot
from rbdhw.software.arrays import Array, arrays_of
from rbdhw.software.c_text import comment, fill, table
from rbdhw.software.straight_line import Block, split_into_blocks

DYNAMICS_FILES = ("dynamics.c", "dynamics.h", "kernels.h")

BLOCK_SIZE = 600
"""Operations of a block, whose instructions fit the instruction cache of a processor's core."""

MOST_VECTORS = 8
"""The most vectors that a block loops over."""

VECTOR_BYTES = 64
STACK_BYTES = 1 << 19
"""The memory that a function's vectors may take of the stack, unless one vector of each value takes more."""

HALF_PI = ("0x1.921fb54p+0", "0x1.10b461p-30", "0x1.a62633p-58")
"""pi/2 in parts of 27 bits."""

SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
COSINE = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
"""Minimax coefficients for angles up to pi/4: fdlibm, ``k_sin.c`` and ``k_cos.c``."""


_LINEAR = (Op.INPUT, Op.CONSTANT, Op.ADD, Op.SCALE)
"""The operations of which an angle can consist."""


@dataclass(frozen=True)
class Source:
    """A function to write: its graph, and its graph for tasks that bring optional arrays, if it takes any."""

    function: str
    graph: Graph
    extended: Graph | None = None


def dynamics_files(robot: Robot, sources: Sequence[Source], fext: Collection[int]) -> dict[str, str]:
    """Return the texts of :data:`DYNAMICS_FILES` by name.

    Parameters
    ----------
    robot
        The robot as the user describes it.
    fext
        The bodies that take an external force.
    """
    functions = [_Function(robot, source, bool(fext)) for source in sources]
    kernels = [kernel for function in functions for kernel in function.kernels]
    heading = comment(
        (
            f"rbdhw {version('rbdhw')}: rigid-body dynamics of the robot {json.dumps(robot.name)}",
            f"with {robot.nv} degrees of freedom.",
        )
    )
    source = fill(
        "dynamics.c",
        heading=heading,
        functions=functions,
        two_over_pi=repr(2.0 / math.pi),
        half_pi=[repr(float.fromhex(part)) for part in HALF_PI],
        sine=[f"({value!r})" for value in SINE],
        cosine=[f"({value!r})" for value in COSINE],
        most_words=max(1, *(kernel.vectors * len(kernel.inputs) for kernel in kernels)),
        most_results=max(1, *(kernel.vectors * len(kernel.outputs) for kernel in kernels)),
    )
    header = fill("dynamics.h", heading=heading, robot=robot, functions=functions)
    return {"dynamics.c": source, "dynamics.h": header, "kernels.h": fill("kernels.h", functions=functions)}


@dataclass(frozen=True)
class _Function:
    """A dynamics function, as the templates show it."""

    robot: Robot
    source: Source
    loaded: bool

    @property
    def name(self) -> str:
        return self.source.function

    @property
    def title(self) -> str:
        return f"{self.name}: {FUNCTIONS[self.name].title}."

    @cached_property
    def _arrays(self) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        return float_arrays(self.robot, self.name, self.loaded, self.source.extended is not None)

    @property
    def arrays(self) -> list[str]:
        inputs, outputs = self._arrays
        return [array.description for array in inputs] + ["gives"] + [array.description for array in outputs]

    @property
    def parameters(self) -> str:
        inputs, outputs = self._arrays
        parameters = [f"const RBDHW_REAL *{array.name}" for array in inputs]
        return ", ".join(parameters + [f"RBDHW_REAL *{array.name}" for array in outputs])

    @property
    def input_names(self) -> str:
        return ", ".join(array.name for array in self._arrays[0])

    @property
    def output_names(self) -> str:
        return ", ".join(array.name for array in self._arrays[1])

    @property
    def output_count(self) -> int:
        return len(self._arrays[1])

    @property
    def chosen(self) -> str:
        """The expression of the kernel for the arrays that a call gives."""
        optional = [array.name for array in self._arrays[0] if array.optional]
        if not optional:
            return f"&{self.name}_function"
        return f"{' || '.join(optional)} ? &{self.name}_given_function : &{self.name}_function"

    @cached_property
    def kernels(self) -> list[_Kernel]:
        """The kernel of tasks without optional arrays, and the one with them if there is any."""
        graphs = {self.name: self.source.graph}
        if self.source.extended is not None:
            graphs[f"{self.name}_given"] = self.source.extended
        angles = angular_coordinates(self.robot)
        return [_Kernel(name, graph, angles) for name, graph in graphs.items()]

    @property
    def tables(self) -> str:
        inputs, outputs = self._arrays
        parts = [
            table("int", f"{self.name}_sizes", [str(array.size) for array in outputs]),
            table("int", f"{self.name}_input_sizes", [str(array.size) for array in inputs]),
        ]
        for kernel in self.kernels:
            entries = [_entry(name, inputs, kernel.is_angle(name)) for name in kernel.inputs]
            nothing = "{0, 0, -1, 0}"
            parts.append(table("struct word", f"{kernel.name}_input", entries or [nothing]))
            results = [_entry(name, outputs, False) for name in kernel.outputs]
            parts.append(table("struct word", f"{kernel.name}_output", results))
            filled = [sum(_written(name, array) for name in kernel.outputs) for array in outputs]
            sparse = [str(int(count < array.size)) for count, array in zip(filled, outputs, strict=True)]
            parts.append(table("int", f"{kernel.name}_sparse", sparse))
        return "".join(parts)


def float_arrays(
    robot: Robot, function: str, loaded: bool, supplied: bool
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Return the inputs and results of a function in the order of the C function's parameters.

    ``loaded`` is whether any body takes an external force, ``supplied`` whether the function takes its
    optional inputs.
    """
    given = {"fext"} if loaded else set()
    given |= {"base_v", "base_a"} if robot.base_given else set()
    given |= {"gravity"} if robot.gravity_given else set()
    given |= set(FUNCTIONS[function].optional_inputs) if supplied else set()
    return arrays_of(robot, function, given)


def _entry(name: str, arrays: Sequence[Array], angle: bool) -> str:
    """Return the initialiser of a ``struct word``."""
    word = WordName.parse(name)
    place = next(k for k, array in enumerate(arrays) if array.name == word.array)
    mirror = arrays[place].place(word.index[::-1]) if word.array in SYMMETRIC else -1
    return f"{{{place}, {arrays[place].place(word.index)}, {mirror}, {int(angle)}}}"


def _written(name: str, array: Array) -> int:
    """Return the number of elements of an array that a result word fills."""
    word = WordName.parse(name)
    if word.array != array.name:
        return 0
    return 2 if word.array in SYMMETRIC and word.index[0] != word.index[1] else 1


class _Kernel:
    """The C of one graph: blocks of statements, and results that are inputs or constants."""

    def __init__(self, name: str, graph: Graph, angles: Sequence[bool]) -> None:
        self.name = name
        self._graph, self._angles = graph, angles
        self.inputs = tuple(graph.inputs)
        self.outputs = tuple(output for output, _ in graph.outputs)
        self._word = {node: k for k, node in enumerate(graph.inputs.values())}
        self._results: dict[int, list[tuple[int, Edge]]] = {}
        for k, (_, edge) in enumerate(graph.outputs):
            self._results.setdefault(edge.node, []).append((k, edge))
        order = [i for i in range(len(graph.nodes)) if self._is_computed(i)]
        self._code = split_into_blocks(order, self._operands, BLOCK_SIZE)
        values = len(self.inputs) + len(self.outputs) + self._code.places
        self.vectors = max(1, min(MOST_VECTORS, STACK_BYTES // (max(values, 1) * VECTOR_BYTES)))

    @property
    def store(self) -> int:
        """The size of the store that the blocks share."""
        return max(1, self._code.places * self.vectors)

    def is_angle(self, name: str) -> bool:
        """Return whether an input is an angle."""
        word = WordName.parse(name)
        return word.array == "q" and self._angles[word.index[0]]

    # Which nodes are statements

    @cached_property
    def _angle_nodes(self) -> frozenset[int]:
        """The nodes that serve only as angles of sines and cosines, or in such nodes."""
        found: set[int] = set()
        other = {edge.node for _, edge in self._graph.outputs}
        for i in reversed(range(len(self._graph.nodes))):
            node = self._graph.nodes[i]
            if node.op not in _LINEAR:
                found.discard(i)
            within_angle = i in found and i not in other
            reached = found if within_angle or node.op in (Op.SIN, Op.COS) else other
            reached.update(edge.node for edge in node.args)
        return frozenset(found - other)

    @cached_property
    def _scaled(self) -> frozenset[int]:
        """The scaled nodes that only sums use: there a factor is part of a fused multiply-add."""
        found = {i for i, node in enumerate(self._graph.nodes) if node.op is Op.SCALE}
        for node in self._graph.nodes:
            if node.op is not Op.ADD:
                found.difference_update(edge.node for edge in node.args)
        return frozenset(found - self._results.keys())

    def _is_computed(self, i: int) -> bool:
        """Return whether a node is a statement of its own."""
        given = self._graph.nodes[i].op in (Op.INPUT, Op.CONSTANT)
        return not given and i not in self._scaled and i not in self._angle_nodes

    def _operands(self, i: int) -> Iterator[int]:
        """Yield the nodes that a statement reads."""
        node = self._graph.nodes[i]
        for edge in node.args:
            if node.op in (Op.SIN, Op.COS):
                yield from self._angle(edge, 1.0)[0]
            elif edge.node in self._scaled:
                yield self._graph.nodes[edge.node].args[0].node
            else:
                yield edge.node

    # Statements

    @property
    def blocks(self) -> list[list[str]]:
        """The lines of each block."""
        return [self._block(block) for block in self._code.blocks]

    @property
    def free(self) -> list[str]:
        """The lines of results that need no statement."""
        return [
            self._result(k, edge)
            for node, places in self._results.items()
            if not self._is_computed(node)
            for k, edge in places
        ]

    def _block(self, block: Block) -> list[str]:
        lines = [f"const V v{value} = store[{place * self.vectors} + v];" for value, place in block.loads]
        turned: dict[tuple[Edge, float], int] = {}
        for i in block.body:
            lines += self._statement(i, turned)
            lines += [self._result(k, edge) for k, edge in self._results.get(i, ())]
        return lines + [f"store[{place * self.vectors} + v] = v{value};" for value, place in block.stores]

    def _result(self, k: int, edge: Edge) -> str:
        return f"results[{k * self.vectors} + v] = {self._term(edge)};"

    def _statement(self, i: int, turned: dict[tuple[Edge, float], int]) -> Iterator[str]:
        """Yield the lines that compute a node; ``turned`` are the angles of the block's sines and cosines."""
        node = self._graph.nodes[i]
        match node.op:
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
                yield f"const V v{i} = {self._term(node.args[0])} + {self._term(node.args[1])};"
            case Op.MULTIPLY:
                yield f"const V v{i} = {self._term(node.args[0])} * {self._term(node.args[1])};"
            case Op.RECIPROCAL:
                yield f"const V v{i} = R(1.0) / {self._term(node.args[0])};"
            case _:  # a scaled node; choices are made before
                yield f"const V v{i} = {self._term(node.args[0])} * R({node.value!r});"

    def _term(self, edge: Edge) -> str:
        """Return the expression of an edge: a value, negated or times a constant."""
        factor = math.ldexp(-1.0 if edge.negative else 1.0, edge.shift)
        node = edge.node
        if node in self._scaled:
            inner = self._graph.nodes[node].args[0]
            factor *= self._graph.nodes[node].value * math.ldexp(-1.0 if inner.negative else 1.0, inner.shift)
            node = inner.node
        own = self._graph.nodes[node]
        if own.op is Op.CONSTANT:
            return _constant(factor * own.value)
        text = f"v{node}"
        if own.op is Op.INPUT:
            text = f"words[{self._word[node] * self.vectors} + v]"
            factor *= 1.0 / (2.0 * math.pi) if self.is_angle(own.name) else 1.0
        if factor == 1.0:
            return text
        return f"(-{text})" if factor == -1.0 else f"({text} * R({factor!r}))"

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
        """Return the expression of an angle in radians."""
        coefficients, constant = self._angle(edge, 1.0)
        terms = []
        for value, coefficient in coefficients.items():
            own = self._graph.nodes[value]
            text = f"v{value}"
            factor = 2.0 * math.pi * coefficient
            if own.op is Op.INPUT:
                text = f"words[{self._word[value] * self.vectors} + v]"
                factor = coefficient if self.is_angle(own.name) else factor
            terms.append(text if factor == 1.0 else f"{text} * R({factor!r})")
        whole = constant + offset
        if whole or not terms:
            terms.append(_constant(2.0 * math.pi * whole))
        return " + ".join(terms)


def _constant(value: float) -> str:
    """Return a constant as a value of the type V."""
    return f"(KERNEL(zero) + R({value!r}))"
