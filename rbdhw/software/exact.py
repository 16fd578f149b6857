"""C of the bit-exact model: the program's integers, its packets, and its arrays.

``model.c`` and ``model.h`` compute the same bits as :mod:`rbdhw.fixed.evaluate`, in C11 without undefined
behaviour. With GCC and Clang a vector holds one value of several tasks. Each function is a chain of blocks
(:mod:`rbdhw.software.straight_line`) that loop over a few vectors.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import chain
from typing import ClassVar

from rbdhw.arrays import WordName
from rbdhw.domain.graph_inputs import angular_coordinates
from rbdhw.fixed.angles import TURN, TURN_REST
from rbdhw.fixed.program import Word
from rbdhw.header import EXTENDED, HEADER, HEADER_BITS, HIGH_CODE
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.interface import SINGLE_BITS, FunctionWords
from rbdhw.software.arrays import Array, ResultElement, Sides, arrays_of, elements_of
from rbdhw.software.c_text import comment, fill, integer, table
from rbdhw.software.declaration import Declaration
from rbdhw.software.exact_kernel import ExactKernel
from rbdhw.software.exact_units import Units

MODEL_FILES = ("model.c", "model.h")


def model_files(model: AcceleratorModel) -> dict[str, str]:
    """Return the texts of :data:`MODEL_FILES` by name.

    OverflowError if a sum or product of the program could exceed 64 bits.
    """
    functions = [_Function(model, words) for words in model.interface.computed]
    low = HEADER["function"][1]
    heading = comment(
        (
            f"rbdhw {version('rbdhw')}: the bit-exact model of an accelerator",
            f"for the robot {json.dumps(model.robot.name)}. manifest.json describes its words and packets.",
        )
    )
    values = {
        "heading": heading,
        "robot": model.robot,
        "interface": model.interface,
        "functions": functions,
        "header": HEADER,
        "header_bits": HEADER_BITS,
        "extended": EXTENDED,
        "high_code": HIGH_CODE,
    }
    source = fill(
        "model.c",
        **values,
        **shared_parts(),
        units=Units(model.programs).text(),
        slots=table("int", "slot_widths", _numbers(_slot_widths(model))),
        request_header=(
            ("tag", "tag"),
            ("function", f"function->code & {(1 << low) - 1}"),
            ("options", f"function->code >> {low} << {HIGH_CODE} | (extended ? {1 << EXTENDED} : 0)"),
        ),
        most_words=max(f.block * (f.words[0][1] + 1) for f in functions),
        most_results=max(f.block * f.words[1][1] for f in functions),
        most_outputs=max(f.words[1][1] for f in functions),
        most_block=max(f.block for f in functions),
    )
    return {"model.c": source, "model.h": fill("model.h", **values)}


def shared_parts() -> dict[str, str]:
    """Return the texts that the model and its solver have in common, by their fields in templates."""
    return {
        "lanes": fill("lanes.c"),
        "word": fill("word.h"),
        "encode": fill("encode.c", turn=repr(TURN), turn_rest=repr(TURN_REST)),
        "turn": repr(TURN),
    }


def _slot_widths(model: AcceleratorModel) -> Sequence[int]:
    interface = model.interface
    return [SINGLE_BITS] * len(interface.slots) if interface.converts else interface.slots


def _numbers(values: Sequence[int]) -> list[str]:
    return [str(value) for value in values]


def word_entry(word: Word, element: tuple[int, int], *, wraps: bool, bounded: bool) -> str:
    """Return the initialiser of a ``struct word``, which is named after an element of an array.

    ``wraps`` states whether the number loses whole turns, and ``bounded`` whether it is limited.
    """
    fields = (
        *element,
        word.slot,
        word.format.width,
        word.format.binary_point,
        int(word.unit == "turn"),
        int(wraps),
        int(bounded),
        integer(word.lowest or 0),
        integer(word.highest or 0),
    )
    return "{" + ", ".join(map(str, fields)) + "}"


@dataclass(frozen=True)
class _Function(Declaration):
    """A dynamics function, as the templates show it."""

    real: ClassVar[str] = "double"

    model: AcceleratorModel
    layout: FunctionWords

    @property
    def name(self) -> str:
        return self.layout.name

    @property
    def code(self) -> int:
        return self.layout.code

    @cached_property
    def sides(self) -> Sides:
        return arrays_of(
            self.model.robot, self.name, {WordName.parse(word).array for word in self.model.inputs}
        )

    @property
    def words(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The numbers of words of requests and of responses, without and with optional words."""
        counts = [
            (len(words(False)), len(words(True))) for words in (self.layout.brought, self.layout.returned)
        ]
        return counts[0], counts[1]

    @property
    def request_bytes(self) -> int:
        return self._bytes(self.model.interface.request_widths(self.name, extended=True))

    @property
    def response_bytes(self) -> int:
        return self._bytes(self.model.interface.response_widths(self.name, extended=True))

    def _bytes(self, widths: Sequence[int]) -> int:
        return self.model.interface.beats(widths) * self.model.interface.data_width // 8

    @property
    def request_numbers(self) -> list[int]:
        return [len(self.model.interface.request_widths(self.name, extended)) for extended in (False, True)]

    @cached_property
    def elements(self) -> list[ResultElement]:
        return self._elements_of(integrated=False)

    @cached_property
    def integrals(self) -> list[ResultElement]:
        """The elements that follow by the time step, each from that half an array behind it."""
        return self._elements_of(integrated=True)

    def _elements_of(self, *, integrated: bool) -> list[ResultElement]:
        words = (word.elements for word in self.layout.returned(extended=True))
        return elements_of(words, self.outputs, self.model.robot.nv, integrated=integrated)

    @property
    def step_word(self) -> int:
        """The number of the word of the time step; -1 if the build has the step, or nothing follows by it."""
        names = [word.name for word in self.layout.brought(extended=True)]
        return names.index("h") if self.integrals and "h" in names else -1

    @property
    def time_step(self) -> float:
        """The build's time step; zero if tasks have steps of their own."""
        return self.model.robot.time_step or 0.0

    @property
    def response_parameters(self) -> str:
        """The parameters of the function that reads a response."""
        step = "double h, " if self.step_word >= 0 else ""
        return f"const unsigned char *packet, {step}{self.output_parameters}"

    @property
    def tables(self) -> str:
        """The tables of words, of elements of results, of array sizes and of widths."""
        inputs, outputs = self.sides
        angles = angular_coordinates(self.model.robot)
        wraps = self.model.domain.wraps
        brought, returned = self.layout.brought(extended=True), self.layout.returned(extended=True)
        entries = (
            [self._entry(word, inputs, angles, wraps) for word in brought],
            [self._entry(word, outputs, (), ()) for word in returned],
        )
        nothing = "{0, 0, 0, 1, 0, 0, 0, 0, 0, 0}"
        widths = self.model.interface.response_widths(self.name, extended=True)
        return "".join(
            [
                table("struct word", f"{self.name}_inputs", entries[0] or [nothing]),
                table("struct word", f"{self.name}_outputs", entries[1] or [nothing]),
                table("struct element", f"{self.name}_elements", [e.initialiser for e in self.elements]),
                table("int", f"{self.name}_input_sizes", _numbers([array.size for array in inputs])),
                table("int", f"{self.name}_output_sizes", _numbers([array.size for array in outputs])),
                table("int", f"{self.name}_result_widths", _numbers(widths)),
                table("int", f"{self.name}_ones", _numbers([*chain(*self.ones)])),
                table("int", f"{self.name}_integrals", _numbers([*chain(*(e[:2] for e in self.integrals))])),
            ]
        )

    def _entry(
        self, word: Word, arrays: Sequence[Array], angles: Sequence[bool], wraps: Sequence[bool]
    ) -> str:
        name = WordName.parse(word.name)
        k = next(k for k, array in enumerate(arrays) if array.name == name.array)
        coordinate = name.array == "q" and bool(angles)
        bounded = word.lowest is not None and word.highest is not None
        return word_entry(
            word,
            (k, arrays[k].offset(name.index)),
            wraps=coordinate and wraps[name.index[0]],
            bounded=bounded or not angles,
        )

    @cached_property
    def _code(self) -> ExactKernel:
        return ExactKernel(self.model.program_of(self.name), self.layout, Units(self.model.programs))

    @property
    def block(self) -> int:
        return self._code.vectors

    @property
    def kernel(self) -> str:
        return self._code.text()
