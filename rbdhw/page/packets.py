"""The layout of packets: the fields of the header, and the arrays of requests and answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from rbdhw.arrays import WordName
from rbdhw.design.packet_entries import Packets, PacketWord
from rbdhw.header import HEADER_BITS
from rbdhw.model.interface import SINGLE_BITS

UNUSED = "unused"
"""What stands in a slot of a request that its function does not use."""


@dataclass(frozen=True)
class Section:
    """Neighbouring words of a packet that belong to one array; ``bits`` are their sum."""

    array: str
    words: int
    bits: int
    widths: str
    binary_points: str
    units: str


@dataclass(frozen=True)
class Packet:
    """A request or an answer without optional arrays."""

    function: str
    direction: str
    sections: tuple[Section, ...]

    @property
    def bits(self) -> int:
        """All bits, with those of the header."""
        return HEADER_BITS + sum(section.bits for section in self.sections)


def packets_of(manifest: Packets) -> Iterator[Packet]:
    """Yield the request and the answer of each function."""
    stream = manifest.stream
    single = stream.number == "float32"
    for function, words in manifest.inputs.items():
        by_slot = {word.slot: word for word in words}
        slots = range(1 + max(by_slot, default=-1))
        request = [(by_slot.get(k), SINGLE_BITS if single else stream.slots[k]) for k in slots]
        yield Packet(function, "request", tuple(_sections(request)))
        answer = [(word, SINGLE_BITS if single else word.width) for word in manifest.outputs[function]]
        yield Packet(function, "answer", tuple(_sections(answer)))


def _sections(words: Iterable[tuple[PacketWord | None, int]]) -> Iterator[Section]:
    """Yield the sections of words, each with the bits that it takes."""
    for array, group in groupby(words, key=lambda entry: _array(entry[0])):
        members = list(group)
        known = [word for word, _ in members if word is not None]
        yield Section(
            array,
            len(members),
            sum(bits for _, bits in members),
            _range(bits for _, bits in members),
            _range(word.binary_point for word in known),
            ", ".join(dict.fromkeys(word.unit for word in known)),
        )


def _array(word: PacketWord | None) -> str:
    return UNUSED if word is None else WordName.parse(word.name).array


def _range(numbers: Iterable[int]) -> str:
    """Return the least and the largest of some numbers as text."""
    every = list(numbers)
    if not every:
        return ""
    return f"{min(every)}" if min(every) == max(every) else f"{min(every)} to {max(every)}"
