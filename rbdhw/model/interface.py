"""The packet interface: which words travel for each function, and how packets are laid out on the streams.

A packet is one task or one response. Its bits fill the beats of an AXI4-Stream from the least significant
end without gaps: a header of 32 bits, then the words, then zeros up to a whole number of beats. Packed words
are in two's complement: those of a request are as wide as their slots, and each word of a response has its
own width. With ``float32`` every word travels as a single of 32 bits. Inside the accelerator, between the
converters, each word and the header then occupy fields of a common width, which is enough for any word.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import Element, WordName, given_elements
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import RolloutShape
from rbdhw.fixed.single_precision import check_singles
from rbdhw.fixed.solver import SolverShape
from rbdhw.header import HEADER_BITS
from rbdhw.options.build import DATA_WIDTHS, NUMBERS, PARAMETER_SETS, STREAMS
from rbdhw.protocol import CODES, COMMANDS, FUNCTIONS, LOAD_PARAMETERS, ROW_COMMANDS

Array = NDArray[np.float64]

SINGLE_BITS = 32
"""The bits of an IEEE single."""

FIXED, FLOAT32 = NUMBERS


@dataclass(frozen=True)
class FunctionWords:
    """A function's words in the order of its packets, with the words of optional arrays listed separately.

    ``held`` are those of the inputs that do not travel, because they were loaded before.
    """

    name: str
    inputs: tuple[Word, ...]
    outputs: tuple[Word, ...]
    optional_inputs: tuple[Word, ...] = ()
    optional_outputs: tuple[Word, ...] = ()
    held: tuple[Word, ...] = ()

    @property
    def code(self) -> int:
        return CODES[self.name]

    @property
    def extensible(self) -> bool:
        """Whether tasks of this function may set the option EXTENDED."""
        return bool(self.optional_outputs) if self.name in COMMANDS else FUNCTIONS[self.name].extensible

    def brought(self, extended: bool) -> tuple[Word, ...]:
        """Return the words of a task, with or without the option EXTENDED."""
        return self.inputs + self.optional_inputs if extended else self.inputs

    def sent(self, extended: bool) -> tuple[Word, ...]:
        """Return the words of a request: those of the task that were not loaded before."""
        return tuple(word for word in self.brought(extended) if word not in self.held)

    def returned(self, extended: bool) -> tuple[Word, ...]:
        """Return the words of a response, with or without the option EXTENDED."""
        return self.outputs + self.optional_outputs if extended else self.outputs

    @property
    def result_bits(self) -> int:
        """The bits of all output words, packed, including optional ones."""
        return sum(word.format.width for word in self.returned(extended=True))


@dataclass(frozen=True)
class Interface:
    """The layout of all packets, at the ports and inside the accelerator between the converters.

    Raises
    ------
    ValueError
        If the width of TDATA, the number format, the number of streams or that of sets is unknown; if
        rollouts or a solver have several pairs of streams; if there are several sets and no parameters are
        loaded; if there are no functions, or a function appears twice or is unknown; if
        ``priority`` names a function twice or one that the accelerator does not have; if singles cannot
        represent a result (:func:`rbdhw.fixed.single_precision.check_singles`).
    """

    functions: tuple[FunctionWords, ...]
    """The functions of the accelerator in the registry's order, then its commands."""
    data_width: int
    """The width of TDATA in bits."""
    number: str = FIXED
    """The format of numbers on the streams: ``fixed`` (packed) or ``float32``."""
    priority: tuple[str, ...] = ()
    """Functions whose responses are sent before those of others, in decreasing priority."""
    rollout: RolloutShape | None = None
    """The size of rollouts, of an accelerator that takes them."""
    parameters: Mapping[str, int] | None = None
    """If parameters are loaded, the integers of their words before the first load."""
    streams: int = 1
    """The pairs of streams, one of requests and one of responses each."""
    parameter_sets: int = 1
    """The sets of loaded parameters; 1 if none are loaded."""
    solver: SolverShape | None = None
    """The words of its solver, of an accelerator that has one."""

    def __post_init__(self) -> None:
        if self.data_width not in DATA_WIDTHS:
            widths = ", ".join(map(str, DATA_WIDTHS))
            raise ValueError(f"data width: is {self.data_width}; expected one of {widths}")
        if self.streams not in STREAMS:
            raise ValueError(f"streams: is {self.streams}; expected {STREAMS[0]} to {STREAMS[-1]}")
        for what, shape in (("rollouts", self.rollout), ("a solver", self.solver)):
            if self.streams > 1 and shape is not None:
                raise ValueError(f"streams: is {self.streams}; expected 1 with {what}")
        most = PARAMETER_SETS[-1] if self.parameters is not None else 1
        if not 1 <= self.parameter_sets <= most:
            raise ValueError(f"parameter sets: is {self.parameter_sets}; expected 1 to {most}")
        _check_functions([function.name for function in self.functions], self.priority)
        if self.number not in NUMBERS:
            raise ValueError(f"number: is '{self.number}'; expected one of {', '.join(NUMBERS)}")
        for function in self.functions if self.converts else ():
            for word in function.returned(extended=True):
                check_singles(word.format)

    @property
    def converts(self) -> bool:
        """Whether the accelerator converts numbers at its ports."""
        return self.number == FLOAT32

    @property
    def codes(self) -> dict[str, int]:
        return {function.name: function.code for function in self.functions}

    @cached_property
    def held(self) -> dict[int, Word]:
        """The words that are loaded before tasks, by slot; none if all words travel with them."""
        loads = self._by_name.get(LOAD_PARAMETERS)
        return {} if loads is None else {word.slot: word for word in loads.inputs}

    def stored(self, word: Word) -> Word:
        """Return the word of a load that gives a function's word; the word itself if it travels."""
        return self._stored.get(word, word)

    @cached_property
    def _stored(self) -> dict[Word, Word]:
        loads = {stored_as(word): word for word in self.held.values()}
        return {
            word: loads[stored_as(word)] for function in self.functions if loads for word in function.held
        }

    @property
    def row_commands(self) -> tuple[str, ...]:
        """The commands that load rows of rollouts."""
        return tuple(name for name in ROW_COMMANDS if name in self._by_name)

    @cached_property
    def computed(self) -> tuple[FunctionWords, ...]:
        """The functions that cores compute, without the commands."""
        return tuple(function for function in self.functions if function.name in FUNCTIONS)

    def words(self, function: str) -> FunctionWords:
        """Return the words of a function; KeyError for one that the accelerator does not have."""
        return self._by_name[function]

    @property
    def step(self) -> FunctionWords:
        """The words of the function whose steps rollouts take, of an accelerator that takes them."""
        assert self.rollout is not None
        return self.words(self.rollout.function)

    @cached_property
    def _by_name(self) -> dict[str, FunctionWords]:
        return {function.name: function for function in self.functions}

    def inputs(self, function: str, extended: bool = False) -> tuple[Word, ...]:
        """Return the words of a request in the order of slots; with ``extended``, optional ones last."""
        return self.words(function).brought(extended)

    def outputs(self, function: str, extended: bool = False) -> tuple[Word, ...]:
        """Return the words of a response, in order; with ``extended``, optional ones last."""
        return self.words(function).returned(extended)

    @property
    def ports(self) -> tuple[tuple[str, str], ...]:
        """The prefixes of the ports of each pair of streams: of requests and of responses."""
        if self.streams == 1:
            return (("s_axis", "m_axis"),)
        return tuple((f"s_axis_{k}", f"m_axis_{k}") for k in range(self.streams))

    # Packets at the ports

    def beats(self, widths: Sequence[int]) -> int:
        """Return the number of beats of a packet with a header and numbers of these widths."""
        return -(-(HEADER_BITS + sum(widths)) // self.data_width)

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """The width of each slot of a packed request, which is the width of the widest word in it."""
        words = [word for function in self.functions for word in function.brought(extended=True)]
        widths = [0] * (1 + max((word.slot for word in words), default=-1))
        for word in words:
            widths[word.slot] = max(widths[word.slot], word.format.width)
        return tuple(widths)

    def request_widths(self, function: str, extended: bool = False) -> tuple[int, ...]:
        """Return the width of each slot of a request, up to the last slot that the function uses."""
        slots = self.slots[: self.slots_of(self.words(function), extended)]
        return tuple(SINGLE_BITS if self.converts else width for width in slots)

    def response_widths(self, function: str, extended: bool = False) -> tuple[int, ...]:
        words = self.outputs(function, extended)
        return tuple(SINGLE_BITS if self.converts else word.format.width for word in words)

    # Packets inside the accelerator, between the converters

    @property
    def lanes(self) -> int:
        """The numbers of 32 bits in a beat."""
        return self.data_width // SINGLE_BITS

    @cached_property
    def request_field(self) -> int:
        """The bits of a request's header and, if numbers are converted, of each of its words."""
        return max(HEADER_BITS, *self.slots, 0) if self.converts else HEADER_BITS

    @cached_property
    def response_field(self) -> int:
        """The bits of a response's header and, if numbers are converted, of each of its words."""
        widths = [w.format.width for f in self.functions for w in f.returned(extended=True)]
        return max(HEADER_BITS, *widths, 0) if self.converts else HEADER_BITS

    @property
    def request_beat(self) -> int:
        """The bits of a request's beat after the conversion."""
        return self.lanes * self.request_field

    @property
    def response_beat(self) -> int:
        """The bits of a response's beat before the conversion."""
        return self.lanes * self.response_field

    @cached_property
    def fields(self) -> tuple[int, ...]:
        """The width of each slot's field after the conversion."""
        return tuple(self.request_field if self.converts else width for width in self.slots)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The lowest bit of each field in the concatenation of all fields, followed by its total width."""
        return tuple(accumulate(self.fields, initial=0))

    def slots_of(self, function: FunctionWords, extended: bool) -> int:
        """Return the number of slots of a request, up to the last slot that the function uses."""
        return max((word.slot + 1 for word in function.sent(extended)), default=0)

    def request_beats(self, function: FunctionWords, extended: bool) -> int:
        bits = self.request_field + self.places[self.slots_of(function, extended)]
        return -(-bits // self.request_beat)

    def response_fields(self, function: FunctionWords, extended: bool) -> tuple[int, ...]:
        """Return the width of each word's field of a response before the conversion."""
        words = function.returned(extended)
        return tuple(self.response_field if self.converts else word.format.width for word in words)

    def response_beats(self, function: FunctionWords, extended: bool) -> int:
        bits = self.response_field + sum(self.response_fields(function, extended))
        return -(-bits // self.response_beat)

    def modes(self) -> Iterator[tuple[FunctionWords, bool]]:
        """Yield every function without and, if it is extensible, with the option EXTENDED."""
        for function in self.functions:
            yield from ((function, extended) for extended in (False, True)[: 1 + function.extensible])


def stored_as(word: Word) -> tuple[Hashable, ...]:
    """Return what a loaded word has in common with those of functions that take it: element and integers."""
    return WordName.parse(word.name).index, word.format, word.lowest, word.highest


def unflatten(
    arrays: Mapping[str, Array], words: Iterable[tuple[str, Array]], nv: int, h: Array | float = math.nan
) -> None:
    """Write the values of result words into arrays (N, ...) of the user's interface, zeros at first.

    Words have names such as ``did.dtau_dq[2,5]`` and values (N,), for all elements that words of a function
    name; those of other arrays are left out. All elements that they give
    (:func:`rbdhw.arrays.given_elements`) are written, those that follow by the time step ``h`` (N,) as well.
    Elements that are one and do not travel are filled in.
    """
    named = list(words)
    for array, kind in {name.array: name.kind for name in map(WordName.parse, dict(named))}.items():
        if array in arrays:
            entries = np.moveaxis(arrays[array], 0, -1)
            for index in kind.ones(entries.shape[:-1]):
                entries[index] = 1.0
    for element in given_elements(((Element(text),) for text, _ in named), nv):
        if element.name.array in arrays:
            entries, value = np.moveaxis(arrays[element.name.array], 0, -1), named[element.word][1]
            if element.integrated:
                entries[element.name.index] += h * value
            else:
                entries[element.name.index] = value


def _check_functions(names: Sequence[str], priority: Sequence[str]) -> None:
    if not names:
        raise ValueError("functions: none given; expected at least one")
    for what, listed in (("functions: a name", names), ("priority: a function", priority)):
        if len(set(listed)) != len(listed):
            raise ValueError(f"{what} appears twice; expected each function once")
    for name in names:
        if name not in CODES:
            raise ValueError(f"function '{name}': unknown; expected one of {', '.join(CODES)}")
    for name in priority:
        if name not in names:
            raise ValueError(f"priority: function '{name}' is not built; expected some of {', '.join(names)}")
