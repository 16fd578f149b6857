"""CUDA from the graph: a kernel for each dynamics function, in which a thread computes a task.

``kernels.h`` holds the arithmetic, as for C, here in one block if it is not too large, so that the compiler
keeps values in registers. ``dynamics.cu`` moves tasks between arrays in columns and the words of the graph,
and launches. ``measure.cu`` is a program that times the functions on a GPU and checks their results.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from rbdhw.domain.sampling import quaternions
from rbdhw.robot.model import Robot
from rbdhw.software.arrays import Array
from rbdhw.software.c_text import fill
from rbdhw.software.floating import Function, Source, heading
from rbdhw.software.kernel import Division, Kernel

CUDA_FILES = ("dynamics.cu", "dynamics.cuh", "kernels.h", "measure.cu")

WHOLE = Division(operations=sys.maxsize, vectors=1)
"""The division for a thread of a GPU: one block, whose values the compiler keeps in registers."""

PARTS = Division(operations=1500, vectors=1)
"""The division of a graph that is too large for that."""

MOST_NODES = 8000
"""The largest graph in one block; for a larger one ptxas uses 32 registers and spills everything else."""


def cuda_files(robot: Robot, sources: Sequence[Source], fext: Collection[int]) -> dict[str, str]:
    """Return the texts of :data:`CUDA_FILES` by name, for the robot as the user describes it."""
    functions = [_CudaFunction(robot, source, bool(fext), _division(source)) for source in sources]
    first = heading(robot)
    return {
        "dynamics.cu": fill("dynamics.cu", heading=first, functions=functions),
        "dynamics.cuh": fill("dynamics.cuh", heading=first, robot=robot, functions=functions),
        "kernels.h": fill("kernels.h", functions=functions),
        "measure.cu": fill(
            "measure.cu",
            heading=first,
            functions=functions,
            quaternions=[span.start for span in quaternions(robot)],
        ),
    }


def _division(source: Source) -> Division:
    return WHOLE if len(source.graph.nodes) <= MOST_NODES else PARTS


class _CudaFunction(Function):
    """A dynamics function, as the templates of CUDA show it."""

    @property
    def task_parameters(self) -> str:
        """The parameters of a function of one task, for arrays of any type of numbers."""
        return self.parameters.replace("RBDHW_REAL", "V")

    @property
    def names(self) -> str:
        return f"{self.input_names}, {self.output_names}"

    @property
    def numbered(self) -> str:
        """The arguments of all arrays from an array of columns."""
        return ", ".join(f"columns[{k}]" for k in range(sum(map(len, self.sides))))

    @property
    def shapes(self) -> str:
        """The initialisers of a ``struct shape`` for each array; an optional array is absent."""
        inputs, outputs = self.sides
        sides = [(array, "true") for array in inputs] + [(array, "false") for array in outputs]
        return ", ".join(
            f'{{"{array.name}", {0 if array.optional else array.size}, {side}}}' for array, side in sides
        )

    def loads(self, kernel: Kernel) -> list[str]:
        read = [
            f"words[{k}] = {_element(self.inputs[array], element)};"
            for k, (array, element) in enumerate(self.words(kernel))
        ]
        unit = [", ".join(f"words[{k}]" for k in words) for words in self.quaternions(kernel)]
        return read + [f"to_unit_length({words});" for words in unit]

    def stores(self, kernel: Kernel) -> list[str]:
        """Return the lines that write the results of a task, and those that are always zero or one."""
        values = {
            (result.array, result.offset): f"{'-' * result.negative}results[{result.word}]"
            for result in self.elements(kernel)
        }
        for value, elements in (("0", self.zeros(kernel)), ("1", self.ones)):
            for element in elements:
                values.setdefault(element, value)
        return [
            f"{_if_given(self.outputs[k])}{_element(self.outputs[k], element)} = {value};"
            for (k, element), value in values.items()
        ]


def _element(array: Array, element: int) -> str:
    return f"{array.name}[{element} * stride + i]"


def _if_given(array: Array) -> str:
    return f"if ({array.name}) " if array.optional else ""
