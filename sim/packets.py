"""Between arrays of the user's interface and packets on the streams.

A request or response is a 32-bit header and then its words, tight, least significant bit first, padded
with zeros to whole beats. Beats are held as bytes: an array (beats, TDATA / 8), lowest byte first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdhw.artifact import ARRAYS, HEADER, HEADER_BITS, Design
from rbdhw.domain import graph_inputs
from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers, wrapped
from rbdhw.fixed.program import Word

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

OUTSIDE, OVERFLOW, MALFORMED = 1, 2, 4
"""Bits of a response's status."""

TAGS = 1 << HEADER["tag"][1]
"""Tags repeat after this many tasks."""

_CHUNK = 4096
_ELEMENT = re.compile(r"(?:\w+\.)?(\w+)\[([\d,]+)\]")


@dataclass(frozen=True)
class Beats:
    """Packets one after the other: bytes (beats, TDATA / 8), and which beats end a packet (beats,)."""

    data: Bytes
    last: NDArray[np.bool_]


@dataclass(frozen=True)
class Answers:
    """The packets of one function among all that came, in order.

    ``places`` are their numbers among all packets; ``whole`` says which are as long as the function's
    responses are; ``packets`` (N, beats, bytes a beat) holds those, and zeros for the others.
    """

    places: Integers
    whole: NDArray[np.bool_]
    packets: Bytes


# Arrays and words


def encode(design: Design, function: str, arrays: Mapping[str, Array]) -> dict[str, Integers]:
    """The input words of N tasks, (N,) each, from arrays of the user's interface.

    An external force that is not given is zero. Numbers beyond a word saturate, which is outside the
    domain and so flags the task; an angle without limits wraps.

    Raises
    ------
    InputError
        For a number that is not finite: no word stands for it.
    """
    tasks = {name: arrays[name] for name in ARRAYS[function] if name in arrays}
    for name, array in tasks.items():
        check_finite(name, array)
    tasks.setdefault("fext", np.zeros((len(tasks["q"]), len(design.robot.bodies), 6)))
    turning = np.array(design.domain.wraps) & (np.abs(tasks["q"]) > np.pi)
    tasks["q"] = np.where(turning, np.arctan2(np.sin(tasks["q"]), np.cos(tasks["q"])), tasks["q"])
    reals = graph_inputs(design.robot, tasks)
    return {word.name: quantised(word, reals[word.name]) for word in design.inputs(function)}


def quantised(word: Word, values: Array) -> Integers:
    """The word's integers for values in its unit: saturated, or wrapped for an angle without limits."""
    if word.lowest is not None:
        return word.format.quantised(values)
    steps = np.floor(np.ldexp(values, word.format.binary_point) + 0.5).astype(np.int64)
    return wrapped(steps, word.format.width)


def check_finite(name: str, array: Array) -> None:
    """Refuse an array that holds infinities or what is not a number; InputError names the first place."""
    places = np.argwhere(~np.isfinite(array))
    if len(places):
        row, *column = places[0].tolist()
        where = f"row {row}, column {', '.join(map(str, column))}"
        raise InputError(f"array '{name}': {where}: {array[row, *column]}; expected finite numbers")


def decode(design: Design, function: str, words: Mapping[str, Integers]) -> dict[str, Array]:
    """Arrays of the user's interface from the output words of N tasks, by their names.

    The word ``id.tau[3]`` is column 3 of ``tau`` (N, nv), ``did.dtau_dq[2,5]`` an element of the matrices
    ``dtau_dq`` (N, nv, nv); what no word gives is zero.
    """
    nv = design.robot.nv
    results: dict[str, Array] = {}
    for word in design.outputs(function):
        match = _ELEMENT.fullmatch(word.name)
        assert match is not None, word.name
        index = tuple(int(number) for number in match[2].split(","))
        shape = (*(nv for _ in index), len(words[word.name]))
        array = results.setdefault(match[1], np.zeros(shape))
        array[index] = word.format.real(words[word.name])
    return {name: np.moveaxis(array, -1, 0).copy() for name, array in results.items()}


# Words and packets


def requests(design: Design, function: str, tags: Integers, words: Mapping[str, Integers]) -> Bytes:
    """The packets (N, beats, bytes a beat) that ask for N tasks."""
    return _packets(design, function, tags, np.zeros_like(tags), design.inputs(function), words)


def responses(
    design: Design, function: str, tags: Integers, status: Integers, words: Mapping[str, Integers]
) -> Bytes:
    """The packets (N, beats, bytes a beat) that answer N tasks."""
    return _packets(design, function, tags, status, design.outputs(function), words)


def _packets(
    design: Design,
    function: str,
    tags: Integers,
    status: Integers,
    order: Sequence[Word],
    words: Mapping[str, Integers],
) -> Bytes:
    code = np.full_like(tags, design.stream.codes[function])
    parts = {"tag": tags % TAGS, "function": code, "status": status}
    header = np.zeros_like(tags)
    for name, values in parts.items():
        header |= values << HEADER[name][0]
    widths = [word.format.width for word in order]
    return pack(header, [words[word.name] for word in order], widths, design.stream.data_width)


def answers(design: Design, beats: Beats) -> dict[str, Answers]:
    """The packets that came, by the function that they name, if it is one of the build."""
    ends = np.flatnonzero(beats.last) + 1
    starts = np.concatenate([[0], ends[:-1]])[: len(ends)]
    codes = field(_header(beats.data[starts]), "function")
    found = {}
    for function, code in design.stream.codes.items():
        places = np.flatnonzero(codes == code)
        length = design.stream.beats(design.outputs(function))
        whole = ends[places] - starts[places] == length
        packets = np.zeros((len(places), length, beats.data.shape[1]), np.uint8)
        packets[whole] = beats.data[starts[places][whole, np.newaxis] + np.arange(length)]
        found[function] = Answers(places, whole, packets)
    return found


def contents(design: Design, function: str, packets: Bytes) -> tuple[Integers, dict[str, Integers]]:
    """Status (N,) and words by name, (N,) each, of responses (N, beats, bytes a beat)."""
    order = design.outputs(function)
    header, words = unpack(packets, [word.format.width for word in order])
    return field(header, "status"), {word.name: values for word, values in zip(order, words, strict=True)}


def merged(places: Mapping[str, Integers], packets: Mapping[str, Bytes]) -> Beats:
    """One sequence of all functions' packets (N, beats, bytes a beat), each function's at ``places`` (N,)."""
    lengths = np.zeros(sum(len(where) for where in places.values()), np.int64)
    for function, where in places.items():
        lengths[where] = packets[function].shape[1]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    data = np.zeros((total, next(iter(packets.values())).shape[2]), np.uint8)
    for function, where in places.items():
        length = packets[function].shape[1]
        data[(ends[where] - length)[:, np.newaxis] + np.arange(length)] = packets[function]
    last = np.zeros(total, np.bool_)
    last[ends - 1] = True
    return Beats(data, last)


def pack(header: Integers, words: Sequence[Integers], widths: Sequence[int], data_width: int) -> Bytes:
    """Packets (N, beats, data_width / 8) of headers (N,) and words (N,) of these widths."""
    beats = -(-(HEADER_BITS + sum(widths)) // data_width)
    packed = np.zeros((len(header), beats * data_width // 8), np.uint8)
    for start in range(0, len(header), _CHUNK):
        part = slice(start, start + _CHUNK)
        columns = [_bits(header[part], HEADER_BITS)]
        columns += [_bits(word[part], width) for word, width in zip(words, widths, strict=True)]
        tight = np.packbits(np.hstack(columns), axis=1, bitorder="little")
        packed[part, : tight.shape[1]] = tight
    return packed.reshape(len(header), beats, data_width // 8)


def unpack(packets: Bytes, widths: Sequence[int]) -> tuple[Integers, list[Integers]]:
    """Headers (N,) and words (N,) of these widths, sign-extended, from packets (N, beats, bytes a beat)."""
    flat = packets.reshape(len(packets), packets.shape[1] * packets.shape[2])
    values = [np.zeros(len(flat), np.int64) for _ in widths]
    for start in range(0, len(flat), _CHUNK):
        part = slice(start, start + _CHUNK)
        bits = np.unpackbits(flat[part], axis=1, bitorder="little")
        low = HEADER_BITS
        for value, width in zip(values, widths, strict=True):
            value[part] = bits[:, low : low + width] @ (np.int64(1) << np.arange(width))
            low += width
    return _header(flat), [wrapped(value, width) for value, width in zip(values, widths, strict=True)]


def field(header: Integers, name: str) -> Integers:
    """A field of headers (N,)."""
    low, width = HEADER[name]
    return (header >> low) & ((1 << width) - 1)


def _header(first: Bytes) -> Integers:
    """Headers (N,) from the first beats of packets."""
    return first[:, : HEADER_BITS // 8].astype(np.int64) @ (1 << np.arange(0, HEADER_BITS, 8))


def _bits(values: Integers, width: int) -> Bytes:
    """The low ``width`` bits of each value, (N, width), lowest first."""
    return ((values[:, np.newaxis] >> np.arange(width)) & 1).astype(np.uint8)
