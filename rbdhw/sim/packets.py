"""Between arrays of the user's interface and packets on the streams.

A request or response is a 32-bit header and then its numbers, tight, least significant bit first, padded
with zeros to whole beats. Beats are held as bytes: an array (beats, TDATA / 8), lowest byte first.

Words are integers throughout. Where numbers travel as singles, the words of a request are those that the
accelerator makes of them, and stand for these singles exactly; the words of a response are rounded when they
become singles.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rbdhw.design.model import AcceleratorModel
from rbdhw.domain.bounds import graph_inputs
from rbdhw.errors import InputError
from rbdhw.fixed.format import Format, Integers, wrap
from rbdhw.fixed.program import Word
from rbdhw.fixed.single_precision import from_singles, to_singles
from rbdhw.interface import SINGLE_BITS, unflatten
from rbdhw.protocol import EXTENDED, FUNCTIONS, HEADER, HEADER_BITS, VECTORS, Status, flag_values

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Key = TypeVar("Key", bound=Hashable)

OUTSIDE, OVERFLOW, MALFORMED, NOT_FINITE = (
    1 << bit for bit in (Status.OUTSIDE, Status.OVERFLOW, Status.MALFORMED, Status.NOT_FINITE)
)
"""A response's status, as a number, where one of its bits is set."""

TAGS = 1 << HEADER["tag"][1]
"""Tags repeat after this many tasks."""

_CHUNK = 4096
"""Packets packed at once: so that what is at hand stays near the processor."""

_LANE = 64
"""Bits packed at once."""


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


def encode(
    model: AcceleratorModel, function: str, arrays: Mapping[str, Array], extended: bool = False
) -> dict[str, Integers]:
    """The input words and flags of N tasks, (N,) each, from arrays of the user's interface.

    An external force that is not given is zero. Of a symmetric matrix the lower triangle counts. Numbers
    beyond a word saturate, which is outside the domain and so flags the task; an angle without limits wraps.

    Raises
    ------
    InputError
        For a number that is not finite: no word stands for it.
    """
    known = FUNCTIONS[function].inputs + (FUNCTIONS[function].optional_inputs if extended else ())
    tasks = {name: arrays[name] for name in known if name in arrays}
    for name, array in tasks.items():
        check_finite(name, array)
    tasks.setdefault("fext", np.zeros((len(tasks["q"]), len(model.robot.bodies), 6)))
    turning = np.array(model.domain.wraps) & (np.abs(tasks["q"]) > np.pi)
    tasks["q"] = np.where(turning, np.arctan2(np.sin(tasks["q"]), np.cos(tasks["q"])), tasks["q"])
    reals = graph_inputs(model.robot, tasks)
    stands_for = convert if model.interface.converts else quantise
    words = {
        word.name: stands_for(word, reals[word.name]) for word in model.interface.inputs(function, extended)
    }
    raised = flag_values(function, extended).items()
    return words | {flag: np.full(len(tasks["q"]), int(value)) for flag, value in raised}


def quantise(word: Word, values: Array) -> Integers:
    """The word's integers for values in its unit: saturated, or wrapped for an angle without limits."""
    if word.lowest is not None:
        return word.format.quantise(values)
    steps = np.floor(np.ldexp(values, word.format.binary_point) + 0.5).astype(np.int64)
    return wrap(steps, word.format.width)


def convert(word: Word, values: Array) -> Integers:
    """The word's integers for values in its unit that travel as singles; tiny ones as zeros."""
    largest = np.finfo(np.float32)
    near = np.clip(values, largest.min, largest.max).astype(np.float32)
    singles = np.where(np.abs(near) < largest.tiny, np.float32(0.0), near).view(np.uint32)
    return from_singles(singles, single_field(word), wraps=word.lowest is None)[0]


def single_field(word: Word) -> Format:
    """The integers that the accelerator makes of a word's singles."""
    return Format(max(SINGLE_BITS, word.format.width), word.format.binary_point)


def check_finite(name: str, array: Array) -> None:
    """Refuse an array that holds infinities or what is not a number; InputError names the first place."""
    places = np.argwhere(~np.isfinite(array))
    if len(places):
        row, *column = places[0].tolist()
        where = f"row {row}, column {', '.join(map(str, column))}"
        raise InputError(f"array '{name}': {where}: {array[row, *column]}; expected finite numbers")


def decode(
    model: AcceleratorModel, function: str, words: Mapping[str, Integers], extended: bool = False
) -> dict[str, Array]:
    """Arrays of the user's interface from the output words of N tasks, by their names.

    The word ``id.tau[3]`` is column 3 of ``tau`` (N, nv), ``did.dtau_dq[2,5]`` an element of the matrices
    ``dtau_dq`` (N, nv, nv), and one of a symmetric matrix stands for its mirror image, too. What no word
    gives is zero.
    """
    nv, tasks = model.robot.nv, len(next(iter(words.values()), ()))
    arrays = FUNCTIONS[function]
    names = arrays.outputs + (arrays.optional_outputs if extended else ())
    shapes = {name: (nv, tasks) if name in VECTORS else (nv, nv, tasks) for name in names}
    results = {name: np.moveaxis(np.zeros(shape), -1, 0) for name, shape in shapes.items()}
    outputs = model.interface.outputs(function, extended)
    unflatten(results, ((word.name, _real(model, word, words[word.name])) for word in outputs))
    return {name: array.copy() for name, array in results.items()}


def _real(model: AcceleratorModel, word: Word, values: Integers) -> Array:
    """Return the numbers that a word's integers stand for, as precise as they travel."""
    real = word.format.real(values)
    return real.astype(np.float32).astype(np.float64) if model.interface.converts else real


# Words and packets


def requests(
    model: AcceleratorModel,
    function: str,
    tags: Integers,
    words: Mapping[str, Integers],
    extended: bool = False,
) -> Bytes:
    """The packets (N, beats, bytes a beat) that ask for N tasks, of words as :func:`encode` gives.

    With ``extended`` they have the option EXTENDED.
    """
    widths = model.interface.request_widths(function, extended)
    numbers = [np.zeros_like(tags) for _ in widths]
    for word in model.interface.inputs(function, extended):
        numbers[word.slot] = _number(model, word, words)
    header = _headers(model, function, tags, np.zeros_like(tags), extended)
    return pack(header, numbers, widths, model.interface.data_width)


def responses(
    model: AcceleratorModel,
    function: str,
    tags: Integers,
    status: Integers,
    words: Mapping[str, Integers],
    extended: bool = False,
) -> Bytes:
    """The packets (N, beats, bytes a beat) that answer N tasks, with ``extended`` such with that option."""
    numbers = [_number(model, word, words) for word in model.interface.outputs(function, extended)]
    header = _headers(model, function, tags, status, extended)
    return pack(
        header, numbers, model.interface.response_widths(function, extended), model.interface.data_width
    )


def _headers(
    model: AcceleratorModel, function: str, tags: Integers, status: Integers, extended: bool
) -> Integers:
    code, options = model.interface.codes[function], int(extended) << EXTENDED
    same = code << HEADER["function"][0] | options << HEADER["options"][0]
    return tags % TAGS << HEADER["tag"][0] | status << HEADER["status"][0] | same


def _number(model: AcceleratorModel, word: Word, words: Mapping[str, Integers]) -> Integers:
    """What travels for a word."""
    values = words[word.name]
    if not model.interface.converts:
        return values
    return to_singles(values, word.format.binary_point).astype(np.int64)


def answers(model: AcceleratorModel, beats: Beats, extended: bool = False) -> dict[str, Answers]:
    """The packets that came, by the function that they name, if it is one of the build.

    Those that repeat the option EXTENDED are told only with ``extended``, the others only without; those
    with other options never.
    """
    ends = np.flatnonzero(beats.last) + 1
    starts = np.concatenate([[0], ends[:-1]])[: len(ends)]
    header = _header(beats.data[starts])
    codes = np.where(field(header, "options") == int(extended) << EXTENDED, field(header, "function"), -1)
    found = {}
    for function, code in model.interface.codes.items():
        places = np.flatnonzero(codes == code)
        length = model.interface.beats(model.interface.response_widths(function, extended))
        whole = ends[places] - starts[places] == length
        packets = np.zeros((len(places), length, beats.data.shape[1]), np.uint8)
        packets[whole] = beats.data[starts[places][whole, np.newaxis] + np.arange(length)]
        found[function] = Answers(places, whole, packets)
    return found


def contents(
    model: AcceleratorModel, function: str, packets: Bytes, extended: bool = False
) -> tuple[Integers, dict[str, Integers]]:
    """Status (N,) and words by name, (N,) each, of responses (N, beats, bytes a beat)."""
    order = model.interface.outputs(function, extended)
    header, numbers = unpack(packets, model.interface.response_widths(function, extended))
    words = {word.name: number for word, number in zip(order, numbers, strict=True)}
    if model.interface.converts:
        words = {word.name: _word(word, words[word.name]) for word in order}
    return field(header, "status"), words


def _word(word: Word, singles: Integers) -> Integers:
    """The integers for which a response's singles stand; zero for such as no response has."""
    values = singles.astype(np.uint32).view(np.float32).astype(np.float64)
    steps = np.ldexp(np.nan_to_num(values, posinf=0.0, neginf=0.0), word.format.binary_point)
    return np.where(np.abs(steps) < 2.0**word.format.width, steps, 0.0).astype(np.int64)


def merge(places: Mapping[Key, Integers], packets: Mapping[Key, Bytes]) -> Beats:
    """One sequence of all packets (N, beats, bytes a beat), those of each key at its ``places`` (N,)."""
    lengths = np.zeros(sum(len(where) for where in places.values()), np.int64)
    for key, where in places.items():
        lengths[where] = packets[key].shape[1]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    data = np.zeros((total, next(iter(packets.values())).shape[2]), np.uint8)
    for key, where in places.items():
        length = packets[key].shape[1]
        data[(ends[where] - length)[:, np.newaxis] + np.arange(length)] = packets[key]
    last = np.zeros(total, np.bool_)
    last[ends - 1] = True
    return Beats(data, last)


def pack(header: Integers, numbers: Sequence[Integers], widths: Sequence[int], data_width: int) -> Bytes:
    """Packets (N, beats, data_width / 8) of headers (N,) and numbers (N,), of which so many low bits go."""
    beats = -(-(HEADER_BITS + sum(widths)) // data_width)
    size = beats * data_width // 8
    packed = np.empty((len(header), -(-size * 8 // _LANE)), "<u8")
    places = list(accumulate(widths, initial=HEADER_BITS))
    for start in range(0, len(header), _CHUNK):
        part = slice(start, start + _CHUNK)
        lanes = np.zeros((packed.shape[1], len(header[part])), np.uint64)
        lanes[0] = _low(header[part], HEADER_BITS)
        for number, width, place in zip(numbers, widths, places, strict=False):
            lane, low = divmod(place, _LANE)
            bits = _low(number[part], width)
            lanes[lane] |= bits << np.uint64(low)
            if low + width > _LANE:
                lanes[lane + 1] |= bits >> np.uint64(_LANE - low)
        packed[part] = lanes.T
    return packed.view(np.uint8)[:, :size].reshape(len(header), beats, data_width // 8)


def unpack(packets: Bytes, widths: Sequence[int]) -> tuple[Integers, list[Integers]]:
    """Headers (N,) and numbers (N,) of these widths, sign-extended, from packets (N, beats, bytes a beat)."""
    flat = packets.reshape(len(packets), packets.shape[1] * packets.shape[2])
    numbers = [np.empty(len(flat), np.int64) for _ in widths]
    places = list(accumulate(widths, initial=HEADER_BITS))
    count = -(-places[-1] // _LANE)
    for start in range(0, len(flat), _CHUNK):
        part = slice(start, start + _CHUNK)
        lanes = _lanes(flat[part], count)
        for number, width, place in zip(numbers, widths, places, strict=False):
            lane, low = divmod(place, _LANE)
            bits = lanes[lane] >> np.uint64(low)
            if low + width > _LANE:
                bits |= lanes[lane + 1] << np.uint64(_LANE - low)
            number[part] = wrap(bits.view(np.int64), width)
    return _header(flat), numbers


def _low(values: Integers, width: int) -> NDArray[np.uint64]:
    """The low bits of each value."""
    return values.astype(np.uint64) & np.uint64((1 << width) - 1)


def _lanes(flat: Bytes, count: int) -> NDArray[np.uint64]:
    """The first ``count`` times 64 bits of each packet (N, bytes), (count, N); what is not there is zero."""
    given = flat[:, : count * _LANE // 8]
    padded = np.zeros((len(flat), count * _LANE // 8), np.uint8)
    padded[:, : given.shape[1]] = given
    return np.ascontiguousarray(padded.view("<u8").T).astype(np.uint64)


def field(header: Integers, name: str) -> Integers:
    """A field of headers (N,)."""
    low, width = HEADER[name]
    return (header >> low) & ((1 << width) - 1)


def _header(first: Bytes) -> Integers:
    """Headers (N,) from the first beats of packets."""
    return first[:, : HEADER_BITS // 8].astype(np.int64) @ (1 << np.arange(0, HEADER_BITS, 8))
