"""What C declares of a dynamics function: its title, and its arrays as parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import ClassVar

from rbdhw.protocol import FUNCTIONS
from rbdhw.software.arrays import Array, Sides


class Declaration(ABC):
    """A dynamics function in C."""

    real: ClassVar[str]
    """The type of numbers."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The function's short name."""

    @property
    @abstractmethod
    def sides(self) -> Sides:
        """The inputs and the results in the order of the C function's parameters."""

    @property
    def inputs(self) -> tuple[Array, ...]:
        return self.sides[0]

    @property
    def outputs(self) -> tuple[Array, ...]:
        return self.sides[1]

    @property
    def ones(self) -> list[tuple[int, int]]:
        """The array and the offset of each element of the results that is always one."""
        return [(k, offset) for k, array in enumerate(self.outputs) for offset in array.ones]

    @property
    def is_extended(self) -> str:
        """The expression of whether any optional array is given."""
        optional = [array.name for array in chain(*self.sides) if array.optional]
        return " || ".join(f"{name} != NULL" for name in optional) or "0"

    @property
    def asked(self) -> str:
        """The expression of whether any optional result is asked for."""
        return " || ".join(f"{array.name} != NULL" for array in self.outputs if array.optional) or "0"

    @property
    def title(self) -> str:
        """The function's name and what it computes."""
        return f"{self.name}: {FUNCTIONS[self.name].title}."

    @property
    def arrays(self) -> list[str]:
        """The lines that describe the arrays."""
        inputs, outputs = ([array.description for array in side] for side in self.sides)
        return [*inputs, "gives", *outputs]

    def extents(self, arrays: Sequence[Array]) -> str:
        """Return the initialisers of arrays in C: name, size, and rows of a matrix."""
        return ", ".join(f'{{"{array.name}", {array.size}, {array.rows}}}' for array in arrays)

    @property
    def input_parameters(self) -> str:
        return ", ".join(f"const {self.real} *{array.name}" for array in self.inputs)

    @property
    def output_parameters(self) -> str:
        return ", ".join(f"{self.real} *{array.name}" for array in self.outputs)

    @property
    def parameters(self) -> str:
        return f"{self.input_parameters}, {self.output_parameters}"

    @property
    def input_names(self) -> str:
        return ", ".join(array.name for array in self.inputs)

    @property
    def output_names(self) -> str:
        return ", ".join(array.name for array in self.outputs)
