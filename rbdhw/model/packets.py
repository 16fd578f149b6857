"""The conversion between arrays of the user's interface and packets on the streams.

A request or response is a 32-bit header followed by its numbers without gaps, least significant bit first,
padded with zeros to whole beats. Beats are arrays of bytes (beats, TDATA / 8), lowest byte first.

Words are integers throughout. If numbers travel as singles, the words of a request are the integers to which
the accelerator converts the singles, and represent them exactly. The words of a response are rounded when
they are converted to singles.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import kind_of, results_of
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.errors import InputError
from rbdhw.fixed.angles import TURN, drop_turns
from rbdhw.fixed.format import Format, Integers, wrap
from rbdhw.fixed.program import Word
from rbdhw.fixed.single_precision import from_singles, to_singles
from rbdhw.header import HEADER, HEADER_BITS, LOADED, Status, header_fields
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.interface import SINGLE_BITS, unflatten
from rbdhw.protocol import FUNCTIONS, PARAMETERS, flag_values
from rbdhw.robot.parameters import nominal_parameters

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Key = TypeVar("Key", bound=Hashable)

OUTSIDE, OVERFLOW, MALFORMED, NOT_FINITE = (
    1 << bit for bit in (Status.OUTSIDE, Status.OVERFLOW, Status.MALFORMED, Status.NOT_FINITE)
)
"""The status of a response in which only this bit is set."""

TAGS = 1 << HEADER["tag"][1]
"""Tags repeat after this many tasks."""

_CHUNK = 4096
"""Packets packed at once, few enough that they stay in the processor's cache."""

_LANE = 64
"""The bits of the integers of which packets are composed."""


@dataclass(frozen=True)
class Beats:
    """A sequence of packets: bytes (beats, TDATA / 8), and flags (beats,) on the last beat of each packet."""

    data: Bytes
    last: NDArray[np.bool_]


@dataclass(frozen=True)
class Answers:
    """The N packets of one function among all received packets, in order."""

    places: Integers
    """Their indices among all packets."""
    whole: NDArray[np.bool_]
    """Whether each has the length of the function's responses."""
    packets: Bytes
    """Their bytes (N, beats, bytes per beat); zeros if the length is wrong."""


# Arrays and words


def encode(
    model: AcceleratorModel, function: str, arrays: Mapping[str, Array], extended: bool = False
) -> dict[str, Integers]:
    """Return the input words and flags of N tasks, (N,) each, from arrays of the user's interface.

    External forces are zero if ``fext`` is missing. Only the lower triangle of a symmetric matrix is used. A
    number beyond the range of its word saturates; it is then outside the domain, and the task is flagged. An
    angle without limits wraps.

    Raises
    ------
    InputError
        If a number is not finite.
    """
    known = FUNCTIONS[function].inputs + (FUNCTIONS[function].optional_inputs if extended else ())
    tasks = {name: arrays[name] for name in known if name in arrays}
    for name, array in tasks.items():
        check_finite(name, array)
    tasks.setdefault("fext", np.zeros((len(tasks["q"]), len(model.robot.bodies), 6)))
    if model.robot.loaded and PARAMETERS in known:
        nominal = nominal_parameters(model.robot)
        tasks.setdefault(PARAMETERS, np.broadcast_to(nominal, (len(tasks["q"]), *nominal.shape)))
    tasks["q"] = np.where(model.domain.wraps, drop_turns(tasks["q"]), tasks["q"])
    reals = graph_inputs(model.robot, tasks)
    to_integers = convert if model.interface.converts else quantise
    words = {
        word.name: to_integers(word, reals[word.name]) for word in model.interface.inputs(function, extended)
    }
    raised = flag_values(function, extended).items()
    return words | {flag: np.full(len(tasks["q"]), int(value)) for flag, value in raised}


def quantise(word: Word, values: Array) -> Integers:
    """Return a word's integers for values in its unit: saturated, or wrapped for an angle without limits."""
    if word.lowest is not None:
        return word.format.quantise(values)
    steps = np.floor(np.ldexp(values, word.format.binary_point) + 0.5).astype(np.int64)
    return wrap(steps, word.format.width)


def convert(word: Word, values: Array) -> Integers:
    """Return a word's integers for values in its unit that travel as singles; subnormals become zero."""
    largest = np.finfo(np.float32)
    near = np.clip(values, largest.min, largest.max).astype(np.float32)
    singles = np.where(np.abs(near) < largest.tiny, np.float32(0.0), near).view(np.uint32)
    return from_singles(singles, single_field(word), wraps=word.lowest is None)[0]


def single_field(word: Word) -> Format:
    """Return the format of the integers to which the accelerator converts a word's singles."""
    return Format(max(SINGLE_BITS, word.format.width), word.format.binary_point)


def check_finite(name: str, array: Array) -> None:
    """Refuse an array with an element that is not finite."""
    finite = np.isfinite(array)
    if not finite.all():
        row, *column = np.argwhere(~finite)[0].tolist()
        where = f"array '{name}', row {row}, column {', '.join(map(str, column))}"
        raise InputError(where, str(array[row, *column]), "finite numbers")


def decode(
    model: AcceleratorModel,
    function: str,
    words: Mapping[str, Integers],
    extended: bool = False,
    h: Array | None = None,
) -> dict[str, Array]:
    """Return arrays of the user's interface from the output words of N tasks, given by their names.

    The word ``id.tau[3]`` is column 3 of ``tau`` (N, nv); ``did.dtau_dq[2,5]`` is an element of the matrices
    ``dtau_dq`` (N, nv, nv). All other elements that a word gives have its value or its negative, or follow
    from it and the tasks' time steps ``h`` (N,), as the accelerator has them. Elements that no word gives are
    zero, and so are those of words that are left out.
    """
    tasks = len(next(iter(words.values()), ()))
    sizes = model.robot.sizes
    names = results_of(function, sizes, extended)
    shapes = {name: kind_of(name, function).shape(sizes) for name in names}
    results = {name: np.moveaxis(np.zeros((*shape, tasks)), -1, 0) for name, shape in shapes.items()}
    outputs = model.interface.outputs(function, extended)
    unflatten(
        results,
        (
            (element.name, _real(model, word, -words[word.name] if element.negative else words[word.name]))
            for word in outputs
            if word.name in words
            for element in word.elements
        ),
        model.robot.nv,
        _time_steps(model, function, h),
    )
    return {name: array.copy() for name, array in results.items()}


def _time_steps(model: AcceleratorModel, function: str, h: Array | None) -> Array | float:
    """Return the time steps (N,) that words represent, or the build's; not a number if there are none."""
    word = next((word for word in model.interface.inputs(function) if word.name == "h"), None)
    if word is None or h is None:
        return math.nan if model.robot.time_step is None else model.robot.time_step
    to_integers = convert if model.interface.converts else quantise
    return word.format.real(to_integers(word, h))


def _real(model: AcceleratorModel, word: Word, values: Integers) -> Array:
    """Return the numbers that a word's integers represent, rounded to singles if they travel so.

    Angles travel in turns and are returned in radians.
    """
    real = word.format.real(values)
    if model.interface.converts:
        real = real.astype(np.float32).astype(np.float64)
    return real * TURN if word.unit == "turn" else real


# Words and packets


def requests(
    model: AcceleratorModel,
    function: str,
    tags: Integers,
    words: Mapping[str, Integers],
    extended: bool = False,
    sets: Integers | None = None,
) -> Bytes:
    """Return the requests (N, beats, bytes per beat) of N tasks with words from :func:`encode`.

    With ``extended`` they have the option EXTENDED. ``sets`` (N,) are the numbers of their sets of loaded
    parameters, by default the first.
    """
    widths = model.interface.request_widths(function, extended)
    numbers = [np.zeros_like(tags) for _ in widths]
    for word in model.interface.words(function).sent(extended):
        numbers[word.slot] = _number(model, word, words)
    header = _headers(model, function, tags, np.zeros_like(tags) if sets is None else sets, extended)
    return pack(header, numbers, widths, model.interface.data_width)


def responses(
    model: AcceleratorModel,
    function: str,
    tags: Integers,
    status: Integers,
    words: Mapping[str, Integers],
    extended: bool = False,
    loads: Integers | None = None,
) -> Bytes:
    """Return the responses (N, beats, bytes per beat) of N tasks; with ``extended`` they have that option.

    ``loads`` (N,) are the numbers of loads before each task of its set of parameters.
    """
    numbers = [_number(model, word, words) for word in model.interface.outputs(function, extended)]
    header = _headers(model, function, tags, status, extended)
    if loads is not None:
        header = header | (loads & 1) << HEADER["options"][0] + LOADED
    return pack(
        header, numbers, model.interface.response_widths(function, extended), model.interface.data_width
    )


def _headers(
    model: AcceleratorModel, function: str, tags: Integers, status: Integers, extended: bool
) -> Integers:
    fields = header_fields(model.interface.codes[function], extended)
    same = sum(value << HEADER[name][0] for name, value in fields.items())
    return tags % TAGS << HEADER["tag"][0] | status << HEADER["status"][0] | same


def _number(model: AcceleratorModel, word: Word, words: Mapping[str, Integers]) -> Integers:
    """Return the numbers (N,) that travel for a word: its integers, or the bits of singles."""
    values = words[word.name]
    if not model.interface.converts:
        return values
    return to_singles(values, word.format.binary_point).astype(np.int64)


def answers(model: AcceleratorModel, beats: Beats, extended: bool = False) -> dict[str, Answers]:
    """Return the received packets by the function in their header, except those of unknown functions.

    With ``extended`` only packets with the option EXTENDED are returned, otherwise only packets without it.
    Packets with other options are never returned.
    """
    ends = np.flatnonzero(beats.last) + 1
    starts = np.concatenate([[0], ends[:-1]])[: len(ends)]
    header = _header(beats.data[starts])
    options = field(header, "options") & ~(1 << LOADED if model.interface.held else 0)
    received = {}
    for function, code in model.interface.codes.items():
        fields = header_fields(code, extended)
        asked = (field(header, "function") == fields["function"]) & (options == fields["options"])
        indices = np.flatnonzero(asked)
        length = model.interface.beats(model.interface.response_widths(function, extended))
        whole = ends[indices] - starts[indices] == length
        packets = np.zeros((len(indices), length, beats.data.shape[1]), np.uint8)
        packets[whole] = beats.data[starts[indices][whole, np.newaxis] + np.arange(length)]
        received[function] = Answers(indices, whole, packets)
    return received


def contents(
    model: AcceleratorModel, function: str, packets: Bytes, extended: bool = False
) -> tuple[Integers, dict[str, Integers]]:
    """Return the status (N,) and the words by name, (N,) each, of responses (N, beats, bytes per beat)."""
    order = model.interface.outputs(function, extended)
    header, numbers = unpack(packets, model.interface.response_widths(function, extended))
    words = {word.name: number for word, number in zip(order, numbers, strict=True)}
    if model.interface.converts:
        words = {word.name: _word(word, words[word.name]) for word in order}
    return field(header, "status"), words


def _word(word: Word, singles: Integers) -> Integers:
    """Return the integers that a response's singles represent; zero for singles that no response contains."""
    values = singles.astype(np.uint32).view(np.float32).astype(np.float64)
    steps = np.ldexp(np.nan_to_num(values, posinf=0.0, neginf=0.0), word.format.binary_point)
    return np.where(np.abs(steps) < 2.0**word.format.width, steps, 0.0).astype(np.int64)


def merge(places: Mapping[Key, Integers], packets: Mapping[Key, Bytes]) -> Beats:
    """Return one sequence of all packets (N, beats, bytes per beat), with each key's at its ``places``."""
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
    """Return packets (N, beats, bytes per beat) of headers (N,) and the low ``widths`` bits of numbers."""
    beats = -(-(HEADER_BITS + sum(widths)) // data_width)
    size = beats * data_width // 8
    packed = np.empty((len(header), -(-size * 8 // _LANE)), "<u8")
    positions = list(accumulate(widths, initial=HEADER_BITS))
    for start in range(0, len(header), _CHUNK):
        part = slice(start, start + _CHUNK)
        lanes = np.zeros((packed.shape[1], len(header[part])), np.uint64)
        lanes[0] = _low(header[part], HEADER_BITS)
        for number, width, position in zip(numbers, widths, positions, strict=False):
            lane, low = divmod(position, _LANE)
            bits = _low(number[part], width)
            lanes[lane] |= bits << np.uint64(low)
            if low + width > _LANE:
                lanes[lane + 1] |= bits >> np.uint64(_LANE - low)
        packed[part] = lanes.T
    return packed.view(np.uint8)[:, :size].reshape(len(header), beats, data_width // 8)


def unpack(packets: Bytes, widths: Sequence[int]) -> tuple[Integers, list[Integers]]:
    """Return headers (N,) and sign-extended numbers (N,) from packets (N, beats, bytes per beat)."""
    flat = packets.reshape(len(packets), packets.shape[1] * packets.shape[2])
    numbers = [np.empty(len(flat), np.int64) for _ in widths]
    positions = list(accumulate(widths, initial=HEADER_BITS))
    count = -(-positions[-1] // _LANE)
    for start in range(0, len(flat), _CHUNK):
        part = slice(start, start + _CHUNK)
        lanes = _lanes(flat[part], count)
        for number, width, position in zip(numbers, widths, positions, strict=False):
            lane, low = divmod(position, _LANE)
            bits = lanes[lane] >> np.uint64(low)
            if low + width > _LANE:
                bits |= lanes[lane + 1] << np.uint64(_LANE - low)
            number[part] = wrap(bits.view(np.int64), width)
    return _header(flat), numbers


def _low(values: Integers, width: int) -> NDArray[np.uint64]:
    return values.astype(np.uint64) & np.uint64((1 << width) - 1)


def _lanes(flat: Bytes, count: int) -> NDArray[np.uint64]:
    """Return the first ``count`` groups of 64 bits of each packet (N, bytes) as (count, N), zero-padded."""
    bytes_ = flat[:, : count * _LANE // 8]
    padded = np.zeros((len(flat), count * _LANE // 8), np.uint8)
    padded[:, : bytes_.shape[1]] = bytes_
    return np.ascontiguousarray(padded.view("<u8").T).astype(np.uint64)


def field(header: Integers, name: str) -> Integers:
    """Return a field of headers (N,)."""
    low, width = HEADER[name]
    return (header >> low) & ((1 << width) - 1)


def _header(first: Bytes) -> Integers:
    """Return headers (N,) from the first beats of packets."""
    return first[:, : HEADER_BITS // 8].astype(np.int64) @ (1 << np.arange(0, HEADER_BITS, 8))
