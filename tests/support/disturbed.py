"""Streams of valid and invalid packets for any design, with the expected response of each packet.

Invalid packets are made from valid ones of :mod:`rbdhw.model.packets`. The expected response follows from the
specification of the packet interface and, for a task that is computed, from the bit-exact model.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from rbdhw import golden
from rbdhw.design.folder import Design
from rbdhw.domain.sampling import sample
from rbdhw.header import HEADER, HEADER_BITS, LOADED, Status
from rbdhw.model.packets import Beats, encode, requests, responses
from rbdhw.model.responses import respond
from rbdhw.protocol import FUNCTIONS

KINDS = (
    "good",
    "outside",
    "garbage",
    "padding",
    "short",
    "long",
    "options",
    "reserved",
    "unknown",
    "not_finite",
)
"""The kinds of packets; about as many are valid as are disturbed.

``garbage`` fills slots with random bits. ``padding`` sets the bits after the numbers, which have no meaning.
``not_finite`` applies only to singles.
"""

NONE = (0x7F800000, 0xFF800000, 0x7FC00000, 0xFFFFFFFF, 0x00000001, 0x807FFFFF)
"""Infinities, not-a-numbers and subnormals."""

MALFORMED, NOT_FINITE = 1 << Status.MALFORMED, 1 << Status.NOT_FINITE

Responses = dict[str, list[bytes]]
"""Packets in order, by the function of the response, or '' for a function that is not in the build."""


@dataclass(frozen=True)
class Disturbed:
    """A stream of requests, the expected responses, and the number of packets of each kind."""

    beats: Beats
    expected: Responses
    kinds: Counter[str]


def disturbed(design: Design, tasks: int, seed: int) -> Disturbed:
    """Return a stream of ``tasks`` packets of all functions and options of the design."""
    rng = np.random.default_rng(seed)
    sent: list[bytes] = []
    expected: Responses = {}
    kinds: Counter[str] = Counter()
    modes = [
        (function, extended)
        for function in design.functions
        for extended in (False, True)[: 1 + FUNCTIONS[function].extensible]
    ]
    names = [kind for kind in KINDS if kind != "not_finite" or design.interface.converts]
    for tag in range(tasks):
        function, extended = modes[rng.integers(len(modes))]
        kind = "good" if rng.random() < 0.4 else names[rng.integers(len(names))]
        packet, name, response = _disturbed(design, function, extended, kind, tag, rng)
        sent.append(packet)
        expected.setdefault(name, []).append(response)
        kinds[kind] += 1
    return Disturbed(_stream(sent, design.interface.data_width // 8), expected, kinds)


def answered(design: Design, beats: Beats) -> Responses:
    """Return the packets among received beats, in the form of :attr:`Disturbed.expected`."""
    names = {code: function for function, code in design.interface.codes.items()}
    packets: Responses = {}
    ends = np.flatnonzero(beats.last) + 1
    for first, end in zip([0, *ends[:-1]], ends, strict=True):
        packet = beats.data[first:end].tobytes()
        packets.setdefault(names.get(_field(packet, "function"), ""), []).append(packet)
    return packets


def _disturbed(
    design: Design, function: str, extended: bool, kind: str, tag: int, rng: np.random.Generator
) -> tuple[bytes, str, bytes]:
    """Return a packet, the function of its response, and the response."""
    size = design.interface.data_width // 8
    words = _words(design, function, extended, kind, rng)
    tags = np.array([tag])
    packet = requests(design, function, tags, words, extended).tobytes()
    empty = {word.name: np.zeros(1, np.int64) for word in design.interface.outputs(function, extended)}

    def refusal(status: int) -> bytes:
        return responses(design, function, tags, np.array([status]), empty, extended).tobytes()

    match kind:
        case "short" if len(packet) > size:
            kept = size * int(rng.integers(1, len(packet) // size))
            return packet[:kept], function, refusal(MALFORMED)
        case "short" | "long":
            return packet + rng.bytes(size * int(rng.integers(1, 40))), function, refusal(MALFORMED)
        case "options":
            return _optional(function, packet, refusal(MALFORMED), rng)
        case "reserved":
            status = 1 << int(rng.integers(HEADER["status"][1]))
            return _with_field(packet, "status", status), function, refusal(MALFORMED)
        case "unknown":
            return _unknown(design, packet, rng)
        case "not_finite" if design.interface.inputs(function, extended):
            return _not_finite(design, function, extended, packet, rng), function, refusal(NOT_FINITE)
        case "padding":
            packet = _padded(design, function, extended, packet, rng)
    status, results = respond(design, function, words, extended)
    return packet, function, responses(design, function, tags, status, results, extended).tobytes()


def _words(
    design: Design, function: str, extended: bool, kind: str, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return the words of a task: within the domain, far beyond it, or random bits."""
    arrays = sample(design.robot, design.domain, 1, rng, design.fext)
    if "Minv" in FUNCTIONS[function].optional_inputs and extended:
        arrays |= golden.evaluate(design.robot, "minv", arrays)
    if kind == "outside":
        name = sorted(set(arrays) & set(FUNCTIONS[function].inputs))[0]
        arrays[name] = arrays[name] * rng.choice([1.5, 10.0, 1e6, 1e30]) + 0.1
    words = encode(design, function, arrays, extended)
    if kind == "garbage" and not design.interface.converts:
        widths = design.interface.request_widths(function, extended)
        for word in design.interface.inputs(function, extended):
            top = 1 << widths[word.slot] - 1
            words[word.name] = rng.integers(-top, top, 1)
    return words


def _optional(
    function: str, packet: bytes, refusal: bytes, rng: np.random.Generator
) -> tuple[bytes, str, bytes]:
    """Return a packet with options that its function does not support; the response repeats them."""
    options = _field(packet, "options") | 1 << LOADED  # the bit between is one of the function's code
    if not FUNCTIONS[function].extensible and rng.random() < 0.5:
        options = 1
    return _with_field(packet, "options", options), function, _with_field(refusal, "options", options)


def _unknown(design: Design, packet: bytes, rng: np.random.Generator) -> tuple[bytes, str, bytes]:
    """Return a packet of a function that is not in the build, of any length; the response is a header."""
    codes = [
        code for code in range(1 << HEADER["function"][1]) if code not in design.interface.codes.values()
    ]
    if not codes:
        raise ValueError("no code is free")
    packet = _with_field(packet, "function", codes[rng.integers(len(codes))])
    size = design.interface.data_width // 8
    answer = _with_field(packet[: HEADER_BITS // 8], "status", MALFORMED)
    return packet + rng.bytes(size * int(rng.integers(3))), "", answer.ljust(size, b"\0")


def _not_finite(
    design: Design, function: str, extended: bool, packet: bytes, rng: np.random.Generator
) -> bytes:
    """Return a packet with a single that is refused."""
    singles = np.frombuffer(packet, "<u4").copy()
    words = design.interface.inputs(function, extended)
    singles[1 + words[rng.integers(len(words))].slot] = rng.choice(NONE)
    return singles.tobytes()


def _padded(design: Design, function: str, extended: bool, packet: bytes, rng: np.random.Generator) -> bytes:
    """Return a packet with random bits after its numbers."""
    used = HEADER_BITS + sum(design.interface.request_widths(function, extended))
    value = (
        int.from_bytes(packet, "little") | int.from_bytes(rng.bytes(len(packet)), "little") >> used << used
    )
    return value.to_bytes(len(packet), "little")


def _field(packet: bytes, name: str) -> int:
    low, width = HEADER[name]
    return int.from_bytes(packet[: HEADER_BITS // 8], "little") >> low & (1 << width) - 1


def _with_field(packet: bytes, name: str, value: int) -> bytes:
    low, width = HEADER[name]
    header = int.from_bytes(packet[: HEADER_BITS // 8], "little")
    header = header & ~(((1 << width) - 1) << low) | value << low
    return header.to_bytes(HEADER_BITS // 8, "little") + packet[HEADER_BITS // 8 :]


def _stream(packets: list[bytes], size: int) -> Beats:
    last = np.zeros(sum(map(len, packets)) // size, np.bool_)
    last[np.cumsum([len(packet) // size for packet in packets]) - 1] = True
    return Beats(np.frombuffer(b"".join(packets), np.uint8).reshape(-1, size).copy(), last)
