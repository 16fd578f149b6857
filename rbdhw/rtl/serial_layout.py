"""Where the numbers of a chain's links lie in packets, for an edge that takes them one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from rbdhw.fixed.format import Format
from rbdhw.fixed.program import Word
from rbdhw.fixed.step_program import StepProgram
from rbdhw.graph.sweeps import Given
from rbdhw.model.interface import FunctionWords, Interface


@dataclass(frozen=True)
class Reader:
    """An input of a link's step that is a number of the task; zero for links that have none."""

    name: str  # the input's name, without its index
    array: str  # the array of the task
    width: int  # the bits of the input
    links: tuple[bool, ...]  # whether each link has such a number


def readers(steps: StepProgram) -> tuple[Reader, ...]:
    """Return the inputs of a link's step that are numbers of the task."""
    return tuple(
        Reader(word.name.partition("[")[0], source.array, word.format.width, source.links)
        for word in steps.program.inputs
        if isinstance(source := steps.sweeps.sources[word.name], Given)
    )


@dataclass(frozen=True)
class Column:
    """The numbers of one array in a request, one for each link, and what reads them.

    Places are counted in units of :attr:`unit` bits from the first beat with a number of the array.
    """

    array: str  # the name of the array
    beat: int  # the bits of a beat
    words: tuple[Word, ...]  # the word of each link
    places: tuple[int, ...]  # the lowest bit of each word's field in the packet
    fields: tuple[int, ...]  # the bits of each field
    readers: tuple[Reader, ...]  # the inputs of a link's step that read the array

    @cached_property
    def unit(self) -> int:
        """The bits of which all places are multiples."""
        return math.gcd(self.beat, *self.places)

    @property
    def width(self) -> int:
        return max(self.fields)

    @cached_property
    def beats(self) -> range:
        """The beats of the packet that hold the array."""
        return range(self.places[0] // self.beat, (self.places[-1] + self.fields[-1] - 1) // self.beat + 1)

    @cached_property
    def banks(self) -> int:
        """The memories for the beats, a power of two: enough for all beats of a field to be read together."""
        most = max(place % self.beat + width for place, width in zip(self.places, self.fields, strict=True))
        return 1 << (-(-most // self.beat) - 1).bit_length()

    @property
    def rows(self) -> int:
        """The words in which each memory holds the beats of a packet, a power of two."""
        return 1 << (-(-len(self.beats) // self.banks) - 1).bit_length()

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The place of each field, in units."""
        first = self.beats.start * self.beat
        return tuple((place - first) // self.unit for place in self.places)

    @property
    def steps(self) -> tuple[int, ...]:
        """The units from each field to that of the next link; that of the last link is the one before."""
        steps = [after - before for before, after in pairwise(self.starts)]
        return (*steps, steps[-1])

    @cached_property
    def kinds(self) -> tuple[tuple[int, int], ...]:
        """The bits of a field, and those of the word in it, that occur."""
        return tuple(dict.fromkeys(self._kind_of_each))

    @property
    def _kind_of_each(self) -> list[tuple[int, int]]:
        return [(width, word.format.width) for width, word in zip(self.fields, self.words, strict=True)]

    @cached_property
    def of_links(self) -> dict[str, tuple[int, ...]]:
        """What belongs to each link: its bounds, its kind, and by the readers whether they have its number.

        Where a word has no bound, it is that of its field.
        """
        formats = zip(self.words, (Format(width, 0) for width in self.fields), strict=True)
        bounds = [
            (
                field.lowest if word.lowest is None else word.lowest,
                field.highest if word.highest is None else word.highest,
            )
            for word, field in formats
        ]
        return {
            "lowest": tuple(lowest for lowest, _ in bounds),
            "highest": tuple(highest for _, highest in bounds),
            "kind": tuple(self.kinds.index(kind) for kind in self._kind_of_each),
            **{reader.name: reader.links for reader in self.readers},
        }


def columns(inputs: Sequence[Reader], interface: Interface, function: FunctionWords) -> tuple[Column, ...]:
    """Return the arrays of a request, in the order of the inputs that read them."""
    links = range(len(inputs[0].links))
    by_name = {word.name: word for word in function.inputs}
    result = []
    for array in dict.fromkeys(reader.array for reader in inputs):
        words = tuple(by_name[f"{array}[{link}]"] for link in links)
        result.append(
            Column(
                array,
                interface.request_beat,
                words,
                tuple(interface.request_field + interface.places[word.slot] for word in words),
                tuple(interface.fields[word.slot] for word in words),
                tuple(reader for reader in inputs if reader.array == array),
            )
        )
    return tuple(result)


@dataclass(frozen=True)
class Packing:
    """How results of one width fill the lines of a memory, from which the beats of responses are read."""

    beat: int  # the bits of a beat
    header: int  # the bits of the header's field
    # The bits of a result, and of its field.
    width: int
    field: int
    links: int  # the number of results

    @property
    def unit(self) -> int:
        """The bits of which all places are multiples."""
        return math.gcd(self.beat, self.header, self.field)

    @property
    def beats_of_line(self) -> int:
        """The beats of a line, a power of two.

        The header and the first result fit into a line. They do not fill it unless all results fill whole
        units, since a line that the last result of the task before begins is written at the same time.
        """
        needed = self.header + self.field + (self.unit if self.unit < self.field else 0)
        return 1 << (-(-needed // self.beat) - 1).bit_length()

    @property
    def line(self) -> int:
        return self.beats_of_line * self.beat

    @property
    def lines(self) -> int:
        return -(-(self.header + self.links * self.field) // self.line)

    @property
    def splits_last(self) -> bool:
        """Whether the last result begins in one line and ends in another."""
        start = self.header + (self.links - 1) * self.field
        return start // self.line != (start + self.field - 1) // self.line


def packing(interface: Interface, function: FunctionWords) -> Packing:
    """Return how the results of a function fill lines.

    Raises ValueError if the results have different widths.
    """
    widths = sorted({word.format.width for word in function.outputs})
    fields = set(interface.response_fields(function, extended=False))
    if len(widths) != 1 or len(fields) != 1:
        raise ValueError(f"function {function.name}: results of {widths} bits; expected one width")
    (width,), (field,) = widths, fields
    return Packing(interface.response_beat, interface.response_field, width, field, len(function.outputs))


def distinct(values: Sequence[int]) -> bool:
    """Return whether values that belong to links differ between them."""
    return len(set(values)) > 1
