"""C in floating point from the graph: one function for each dynamics function, for numbers and for vectors.

Each dynamics function has two files, so that functions are compiled side by side. Those of ``dfd`` are
``kernels_dfd.h``, which holds the arithmetic, and ``dynamics_dfd.c``, which includes it twice: for single
tasks and for vectors of tasks. ``batch.h`` moves tasks between the user's arrays and the words of the graph.
Angles are in radians there; the graph's are in turns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import ClassVar

from rbdhw.arrays import WordName
from rbdhw.domain.graph_inputs import angular_coordinates
from rbdhw.domain.sampling import quaternions
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, Model, optimise, trace_model
from rbdhw.graph.graph import Graph
from rbdhw.passes.prune import prune
from rbdhw.passes.specialise import specialise
from rbdhw.progress import Progress, silent
from rbdhw.protocol import FUNCTIONS, HOLDING, PARAMETERS
from rbdhw.robot.model import Robot
from rbdhw.software.arrays import ResultElement, Sides, arrays_of, elements_of
from rbdhw.software.c_text import CPP_HEADER, comment, cpp_header, fill, table
from rbdhw.software.declaration import Declaration
from rbdhw.software.kernel import Division, Kernel

PROCESSOR = Division(operations=300, vectors=8, loops=True)
"""The division for a processor's core: the instructions of a block fit its instruction cache."""

SUPPLIED = "inverse_given"
"""The flag of tasks that bring the inverse of their mass matrix."""

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


@dataclass(frozen=True)
class Source:
    """A function to write: its graph, and its graph for tasks that bring optional arrays, if it takes any."""

    function: str
    graph: Graph
    extended: Graph | None = None


def trace_sources(model: Model, functions: Sequence[str], progress: Progress = silent) -> list[Source]:
    """Return the graphs of functions of a prepared robot, without any choice between kinds of tasks."""
    sources = []
    for function in functions:
        progress(f"tracing {function}")
        graph = optimise(trace_model(model, (function,)), DEFAULT_DELAYS)
        if SUPPLIED in graph.inputs:
            plain, supplied = (_decide(graph, function, value) for value in (False, True))
            sources.append(Source(function, plain, supplied))
        else:
            sources.append(Source(function, graph))
    return sources


def _decide(graph: Graph, function: str, supplied: bool) -> Graph:
    return prune(specialise(graph, function, {SUPPLIED: supplied}))


def dynamics_files(
    robot: Robot, sources: Sequence[Source], fext: Collection[int], prefix: str = "rbdhw_"
) -> dict[str, str]:
    """Return the texts of the sources by name, for the robot as the user describes it.

    The names of all functions begin with ``prefix``.
    """
    functions = [Function(robot, source, bool(fext), PROCESSOR) for source in sources]
    first = heading(robot)
    batch = fill(
        "batch.h",
        two_over_pi=repr(2.0 / math.pi),
        half_pi=[repr(float.fromhex(part)) for part in HALF_PI],
        sine=[f"({value!r})" for value in SINE],
        cosine=[f"({value!r})" for value in COSINE],
    )
    files = {
        "dynamics.h": fill("dynamics.h", heading=first, robot=robot, functions=functions, prefix=prefix),
        "batch.h": batch,
        CPP_HEADER: cpp_header(),
    }
    for function in functions:
        files[f"dynamics_{function.name}.c"] = fill("dynamics.c", heading=first, f=function)
        files[f"kernels_{function.name}.h"] = fill("kernels.h", functions=[function])
    return files


def heading(robot: Robot) -> str:
    """Return the comment at the head of a robot's sources."""
    return comment(
        (
            f"rbdhw {version('rbdhw')}: rigid-body dynamics of the robot {json.dumps(robot.name)}",
            f"with {robot.nv} degrees of freedom.",
        )
    )


@dataclass(frozen=True)
class Function(Declaration):
    """A dynamics function, as the templates show it."""

    real: ClassVar[str] = "RBDHW_REAL"

    robot: Robot
    source: Source
    loaded: bool
    division: Division

    @property
    def name(self) -> str:
        return self.source.function

    @cached_property
    def sides(self) -> Sides:
        return float_arrays(self.robot, self.name, self.loaded, self.source.extended is not None)

    def read_one(self, kernel: Kernel) -> Iterator[str]:
        """Yield the lines that read the words of one task from its arrays."""
        arrays = self.inputs
        for k, (name, (array, element)) in enumerate(zip(kernel.inputs, self.words(kernel), strict=True)):
            value = f"inputs[{array}][{element}]"
            if arrays[array].optional or arrays[array].name == "fext":
                value = f"inputs[{array}] ? {value} : R(0.0)"
            word = f"words[{k}]"
            yield f"{word} = {value};"
            if kernel.is_angle(name):
                yield f"far_away |= !({word} <= R(FAR) && {word} >= R(-FAR));"
        for elements in self.quaternions(kernel):
            yield f"to_unit_length({', '.join(f'words + {k}' for k in elements)}, 1);"

    def write_rows(self, kernel: Kernel) -> Iterator[str]:
        """Yield the lines that write the results of ``count`` tasks to rows of their arrays, array by array.

        Those of a task are ``STEP`` numbers apart.
        """
        zeros, elements = self.zeros(kernel), self.elements(kernel)
        for k, output in enumerate(self.outputs):
            yield f"if (outputs[{k}]) {{"
            yield f"    real *array = outputs[{k}] + first * {output.size};"
            yield f"    for (size_t i = 0; i < count; i++, array += {output.size}) {{"
            for value, places in ((0, zeros), (1, self.ones)):
                yield from (f"        array[{element}] = {value};" for j, element in places if j == k)
            for element in elements:
                if element.array == k:
                    word = f"{'-' * element.negative}results[{element.word} * STEP + i]"
                    yield f"        array[{element.offset}] = {word};"
            yield "    }"
            yield "}"

    @property
    def supplied(self) -> str:
        """The expression of whether a call gives an optional input, or nothing if there is none."""
        return " || ".join(array.name for array in self.inputs if array.optional)

    @property
    def chosen(self) -> str:
        """The expression of the kernel for the arrays that a call gives."""
        supplied = f"{self.supplied} ? &{self.name}_given_function : " if self.supplied else ""
        return f"{supplied}&{self.name}_function"

    @cached_property
    def kernels(self) -> list[Kernel]:
        """The kernel of tasks without optional arrays, and the one with them if there is any."""
        graphs = {self.name: self.source.graph}
        if self.source.extended is not None:
            graphs[f"{self.name}_given"] = self.source.extended
        angles = angular_coordinates(self.robot)
        return [Kernel(name, graph, angles, self.division) for name, graph in graphs.items()]

    @property
    def most_words(self) -> int:
        return max(1, *(len(kernel.inputs) for kernel in self.kernels))

    @property
    def most_results(self) -> int:
        return max(len(kernel.results) for kernel in self.kernels)

    @property
    def vectors(self) -> int:
        return min(kernel.vectors for kernel in self.kernels)

    @property
    def tables(self) -> str:
        parts = [table("int", f"{self.name}_input_sizes", [str(array.size) for array in self.inputs])]
        for kernel in self.kernels:
            angles = [kernel.is_angle(name) for name in kernel.inputs]
            words = [
                _entry(*position, angle) for position, angle in zip(self.words(kernel), angles, strict=True)
            ]
            zeros = [_entry(*position) for position in self.zeros(kernel)]
            ones = [_entry(*position) for position in self.ones]
            for side, entries in (("input", words), ("zero", zeros), ("one", ones)):
                parts.append(table("struct word", f"{kernel.name}_{side}", entries or [_entry(0, 0)]))
            four = [f"{{{', '.join(map(str, slots))}}}" for slots in self.quaternions(kernel)]
            parts.append(table("struct four", f"{kernel.name}_quaternion", four or ["{0, 0, 0, 0}"]))
            elements = [element.initialiser for element in self.elements(kernel)]
            parts.append(table("struct element", f"{kernel.name}_element", elements))
        return "".join(parts)

    def words(self, kernel: Kernel) -> list[tuple[int, int]]:
        """Return the array and the element of each word of a task."""
        names = [array.name for array in self.inputs]
        words = []
        for word in map(WordName.parse, kernel.inputs):
            k = names.index(word.array)
            words.append((k, self.inputs[k].offset(word.index)))
        return words

    def quaternions(self, kernel: Kernel) -> list[list[int]]:
        """Return the words of each quaternion of which the kernel reads all elements."""
        slots = {name: k for k, name in enumerate(kernel.inputs)}
        names = [[f"q[{k}]" for k in range(span.start, span.stop)] for span in quaternions(self.robot)]
        return [[slots[name] for name in span] for span in names if slots.keys() >= {*span}]

    def elements(self, kernel: Kernel) -> list[ResultElement]:
        """Return the elements of results that the kernel computes, in the order of its results."""
        return elements_of((result.elements for result in kernel.results), self.outputs, self.robot.nv)

    def zeros(self, kernel: Kernel) -> list[tuple[int, int]]:
        """Return the arrays and elements of results that are always zero, so that the graph has none."""
        outputs = self.outputs
        every = {(k, offset): None for k, array in enumerate(outputs) for offset in range(array.size)}
        for one in self.ones:
            del every[one]
        for element in self.elements(kernel):
            every.pop((element.array, element.offset), None)  # one that varies is written over
        return list(every)


def float_arrays(robot: Robot, function: str, loaded: bool, supplied: bool) -> Sides:
    """Return the inputs and results of a function in the order of the C function's parameters.

    ``loaded`` is whether any body takes an external force, ``supplied`` whether the function takes its
    optional inputs.
    """
    arrays = {"fext"} if loaded else set()
    arrays |= {"base_v", "base_a"} if robot.base_given else set()
    arrays |= set(FUNCTIONS[function].base_choice) if robot.base_chosen else set()
    arrays |= {"gravity"} if robot.gravity_given else set()
    arrays |= {HOLDING} if robot.contacts.by_task else set()
    arrays |= {PARAMETERS} if robot.loaded else set()
    arrays |= {"h"} if robot.time_step is None else set()
    arrays |= set(FUNCTIONS[function].optional_inputs) if supplied else set()
    return arrays_of(robot, function, arrays)


def _entry(array: int, element: int, angle: bool = False) -> str:
    """Return the initialiser of a ``struct word``."""
    return f"{{{array}, {element}, {int(angle)}}}"
