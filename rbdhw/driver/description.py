"""The description of a design for the driver in C: ``design.h``."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import accumulate
from typing import ClassVar

from rbdhw.arrays import WordName, kind_of
from rbdhw.design.folder import Design
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import rollout_feedback
from rbdhw.header import HEADER_BITS
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.interface import FunctionWords
from rbdhw.protocol import (
    COMMANDS,
    FUNCTIONS,
    GOAL,
    LOAD_GAINS,
    LOAD_PARAMETERS,
    LOAD_RESIDUAL,
    PARAMETERS,
    ROLLOUT,
    ROW_COMMANDS,
)
from rbdhw.runtime.templates import fill
from rbdhw.software.arrays import Array, ResultElement, arrays_of, elements_of
from rbdhw.software.c_text import comment, integer, table
from rbdhw.software.declaration import Declaration

DESIGN_HEADER = "design.h"

_STATES = ("q", "x_ref", "x_nominal")
"""The arrays that begin with a configuration."""

_ANGLE, _WRAPS, _BOUNDED = 1, 2, 4


def design_header(design: Design) -> str:
    """Return the text of :data:`DESIGN_HEADER`."""
    interface, identity = design.interface, design.manifest.get("identity", "0" * 64)
    functions = [_Function(design, words) for words in interface.functions]
    heading = comment(
        (
            f"rbdhw {version('rbdhw')}: the packets of an accelerator for the robot "
            f"{json.dumps(design.robot.name)}, for the driver.",
        )
    )
    initial = [integer(value) for value in (interface.parameters or {}).values()]
    return fill(
        "rbdhw.driver",
        DESIGN_HEADER,
        heading=heading,
        robot=design.robot,
        name=json.dumps(design.robot.name),
        identity=[f"0x{identity[8 * k : 8 * k + 8]}u" for k in range(8)],
        singles=int(interface.converts),
        beat_bytes=interface.data_width // 8,
        horizon=interface.rollout.horizon if interface.rollout else 0,
        knots=interface.solver.knots if interface.solver else 0,
        sets=interface.parameter_sets if interface.held else 0,
        parameters=table("int64_t", "rbdhw_design_parameters", initial),
        functions=functions,
    )


def arrays_in_order(model: AcceleratorModel, function: str) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Return the inputs and results of a function or command in the driver's order."""
    return _Function(model, model.interface.words(function)).sides


@dataclass(frozen=True)
class _Function(Declaration):
    """A function or a command, as the template shows it."""

    real: ClassVar[str] = "double"

    model: AcceleratorModel
    words: FunctionWords

    @property
    def name(self) -> str:
        return self.words.name

    @property
    def is_computed(self) -> bool:
        """Whether it is a function, not a command."""
        return self.name in FUNCTIONS

    @cached_property
    def sides(self) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        if not self.is_computed:
            return self._arrays_of(self.words.sent(True)), self._arrays_of(self.words.returned(True))
        given = {WordName.parse(word).array for word in self.model.inputs}
        inputs, outputs = arrays_of(self.model.robot, self.name, given)
        return tuple(array for array in inputs if not (self._is_held and array.name == PARAMETERS)), outputs

    @property
    def _is_held(self) -> bool:
        return bool(self.words.held)

    def _arrays_of(self, words: Sequence[Word]) -> tuple[Array, ...]:
        """Return the arrays of words of a command."""
        sizes, loaded = dict(self.model.robot.sizes), self.model.robot.loaded
        entry = COMMANDS[self.name]
        names = {WordName.parse(word.name).array for word in words}
        ordered = (name for name in (*entry.inputs, *entry.outputs) if name in names)
        if self.model.interface.rollout is not None:
            sizes["rows"] = self.model.interface.rollout.cost_rows
        shapes = {name: kind_of(name).shape(sizes) for name in ordered}
        if PARAMETERS in shapes and loaded is not None:
            shapes[PARAMETERS] = (len(loaded.names),)
        return tuple(Array(name, shape) for name, shape in shapes.items())

    @property
    def _modes(self) -> tuple[bool, ...]:
        return (False, True) if self.words.extensible else (False,)

    @property
    def tables(self) -> str:
        """The tables of arrays, words and elements."""
        texts = [
            self._array_table(side, arrays) for side, arrays in zip(("in", "out"), self.sides, strict=True)
        ]
        for extended in self._modes:
            request = sorted(self._request_words(extended))
            texts.append(_word_table(self._called("request", extended), request, is_request=True))
            answer = self._answer_words(extended)
            texts.append(_word_table(self._called("answer", extended), answer, is_request=False))
            texts.append(_element_table(self._called("elements", extended), self._elements(extended)))
            texts.append(_element_table(self._called("integrals", extended), self._integrals(extended)))
        ones = [ResultElement(array, offset, 0, negative=False) for array, offset in self.ones]
        texts.append(_element_table(self._called("ones", extended=False), ones))
        return "".join(texts)

    def _called(self, what: str, extended: bool) -> str:
        return f"rbdhw_{self.name}{'_extended' * extended}_{what}"

    def _array_table(self, side: str, arrays: Sequence[Array]) -> str:
        entries = [
            f'{{"{array.name}", {array.size}, {array.rows}, {int(array.optional)}}}' for array in arrays
        ]
        return table("struct rbdhw_array", f"rbdhw_{self.name}_{side}puts", entries or ['{"", 0, 0, 0}'])

    def _request_words(self, extended: bool) -> list[tuple[int, ...]]:
        """Return the fields of each ``struct rbdhw_word`` of a request."""
        widths = self.model.interface.request_widths(self.name, extended)
        bits = list(accumulate(widths, initial=HEADER_BITS))
        brought = self.words.brought(extended)
        return [
            (bits[word.slot], *self._fields(brought.index(word), word, self.inputs, widths[word.slot]))
            for word in self.words.sent(extended)
        ]

    def _answer_words(self, extended: bool) -> list[tuple[int, ...]]:
        widths = self.model.interface.response_widths(self.name, extended)
        bits = accumulate(widths, initial=HEADER_BITS)
        returned = self.words.returned(extended)
        return [
            (bit, *self._fields(k, word, self.outputs, width))
            for k, (word, width, bit) in enumerate(zip(returned, widths, bits, strict=False))
        ]

    def _fields(self, number: int, word: Word, arrays: Sequence[Array], travels: int) -> tuple[int, ...]:
        k, offset = self._place(word, arrays)
        wraps = arrays[k].name in _STATES and word.lowest is None and word.unit == "turn"
        kind = _ANGLE * (word.unit == "turn") | _WRAPS * wraps | _BOUNDED * (word.lowest is not None)
        bounds = word.lowest or 0, word.highest or 0
        return number, k, offset, word.format.width, travels, word.format.binary_point, kind, *bounds

    def _elements(self, extended: bool) -> list[ResultElement]:
        """Return the elements of an answer that have no word of their own, the negatives last."""
        returned = self.words.returned(extended)
        elements = elements_of((word.elements for word in returned), self.outputs, self.model.robot.nv)
        sent = {self._place(word, self.outputs) for word in returned}
        others = (element for element in elements if (element.array, element.offset) not in sent)
        return sorted(others, key=lambda element: element.negative)

    def _integrals(self, extended: bool) -> list[ResultElement]:
        """Return the elements of an answer that follow by the time step."""
        words = (word.elements for word in self.words.returned(extended))
        return elements_of(words, self.outputs, self.model.robot.nv, integrated=True)

    @staticmethod
    def _place(word: Word, arrays: Sequence[Array]) -> tuple[int, int]:
        """Return the array of a word, and the place in it."""
        name = WordName.parse(word.name)
        k = next(k for k, array in enumerate(arrays) if array.name == name.array)
        return k, arrays[k].offset(name.index)

    def _packet(self, what: str, extended: bool) -> str:
        """Return the initialiser of a ``struct rbdhw_packet``."""
        interface, is_request = self.model.interface, what == "request"
        widths = interface.request_widths if is_request else interface.response_widths
        size = interface.beats(widths(self.name, extended)) * interface.data_width // 8
        numbers = len(self.words.brought(extended) if is_request else self.words.returned(extended))
        words = len(self.words.sent(extended)) if is_request else numbers
        elements = "0, 0, NULL, 0, 0, NULL" if is_request else self._element_fields(extended)
        return f"{{{size}, {numbers}, {words}, {self._called(what, extended)}, {elements}}}"

    def _element_fields(self, extended: bool) -> str:
        """Return the fields of a packet that are about the elements of an answer."""
        elements, returned = self._elements(extended), self.words.returned(extended)
        sizes = Counter(element.array for element in elements)
        sizes.update(self._place(word, self.outputs)[0] for word in returned)
        filled = sum(1 << k for k, array in enumerate(self.outputs) if sizes[k] == array.size)
        negatives = sum(element.negative for element in elements)
        integrals = f"{len(self._integrals(extended))}, {self._called('integrals', extended)}"
        return f"{len(elements)}, {negatives}, {self._called('elements', extended)}, {filled}, {integrals}"

    @property
    def initialiser(self) -> str:
        """The initialiser of a ``struct rbdhw_function``."""
        load = "RBDHW_NO_LOAD"
        if self.name in ROW_COMMANDS:
            load = "RBDHW_LOAD_ROWS"
        elif self.name == GOAL:
            load = "RBDHW_LOAD_GOAL"
        elif self.name == LOAD_PARAMETERS:
            load = "RBDHW_LOAD_PARAMETERS"
        flags = f"{int(self.words.extensible)}, {int(self._is_held)}"
        sides = (
            f"{len(self.inputs)}, {len(self.outputs)}, rbdhw_{self.name}_inputs, rbdhw_{self.name}_outputs"
        )
        packets = [
            "{" + ", ".join(self._packet(what, extended) for extended in self._modes) + "}"
            for what in ("request", "answer")
        ]
        ones = f"{len(self.ones)}, rbdhw_{self.name}_ones"
        fields = [f'"{self.name}", {self.words.code}, {load}, {flags}, {sides}', *packets, ones]
        return "{" + ",\n        ".join([*fields, self._rollout_fields(), self._step_fields()]) + "}"

    def _step_fields(self) -> str:
        """Return the place of the time step's word in requests, and the build's time step."""
        requests = [sorted(self._request_words(extended)) for extended in self._modes]
        arrays = [self.inputs[words[2]].name for words in requests[0]]
        return f"{arrays.index('h') if 'h' in arrays else -1}, {self.model.robot.time_step or 0.0!r}"

    def _rollout_fields(self) -> str:
        """Return the packets of a step, and the numbers of the words that count steps."""
        packets, shape = int(self.name in (*ROW_COMMANDS, GOAL)), self.model.interface.rollout
        if self.name == LOAD_GAINS and shape is not None:
            packets = len(rollout_feedback(self.model.interface.step, shape))
        if self.name == LOAD_RESIDUAL and shape is not None:
            packets = -shape.cost_rows
        if self.name != ROLLOUT:
            return f"{packets}, -1, -1, -1"
        asked = [WordName.parse(word.name).array for word in self.words.inputs]
        answered = [WordName.parse(word.name).array for word in self.words.outputs]
        return f"0, {asked.index('steps')}, {asked.index('every')}, {answered.index('step')}"


def _word_table(name: str, words: Sequence[tuple[int, ...]], *, is_request: bool) -> str:
    """Return the table of words, which has one at least."""
    entries = []
    for fields in words or [(0, 0, 0, 0, 1, 1, 0, 0, 0, 0)]:
        power = fields[6] if is_request else -fields[6]
        # Radians have the mantissa of a turn: the product is rounded once, as in turns and then in radians.
        scale = math.ldexp(math.tau if fields[7] & _ANGLE and not is_request else 1.0, power)
        entries.append("{" + ", ".join(map(str, fields)) + f", {scale.hex()}" + "}")
    return table("struct rbdhw_word", name, entries)


def _element_table(name: str, elements: Sequence[ResultElement]) -> str:
    """Return the table of elements, which has one at least."""
    entries = [f"{{{element.offset}, {element.array}, {element.word}}}" for element in elements]
    return table("struct rbdhw_element", name, entries or ["{0, 0, 0}"])
