"""A self-contained test bench in plain Verilog, with tasks and the bit-exact model's responses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import accumulate
from string import Template

import numpy as np

from rbdhw import golden
from rbdhw.design.folder import Design
from rbdhw.domain.sampling import sample
from rbdhw.protocol import CODE_BITS, CODES, FUNCTIONS, HEADER, HIGH_CODE, PARAMETERS
from rbdhw.sim.model import respond
from rbdhw.sim.packets import Bytes, encode, merge, requests, responses

TASKS = 24
"""Tasks of each function."""

EXTENDED_EVERY = 3
"""One task in this many has the option EXTENDED, for functions that support it."""

SEED = 0
"""Seed of the tasks."""


def selftest(design: Design) -> str:
    """Return the Verilog module ``selftest``, which sends tasks of all functions and checks the responses."""
    rng = np.random.default_rng(SEED)
    functions = np.repeat(np.array(design.functions), TASKS)
    rng.shuffle(functions)
    arrays = sample(design.robot, design.domain, len(functions), rng, design.fext)
    if design.interface.held:  # no parameters are loaded
        del arrays[PARAMETERS]
    sent, expected = {}, {}
    places = {}
    for function in design.functions:
        own = np.flatnonzero(functions == function)
        later = np.arange(len(own)) % EXTENDED_EVERY == EXTENDED_EVERY - 1
        for extended in (False, True)[: 1 + FUNCTIONS[function].extensible]:
            where = own[later == extended] if FUNCTIONS[function].extensible else own
            tasks = {name: array[where] for name, array in arrays.items()}
            if extended and FUNCTIONS[function].takes_inverse:
                tasks |= golden.evaluate(design.robot, "minv", tasks)
            words = encode(design, function, tasks, extended)
            status, results = respond(design, function, words, extended)
            key = function, extended
            places[key] = where
            sent[key] = requests(design, function, where, words, extended)
            expected[key] = responses(design, function, where, status, results, extended)
    order = merge(places, sent)
    asked = list(_beats(order.data, order.last))
    answers: list[list[str]] = [[] for _ in range(1 << CODE_BITS)]
    for function in design.functions:
        own_keys = [key for key in places if key[0] == function]
        ranks = np.argsort(np.argsort(np.concatenate([places[key] for key in own_keys])))
        ends = np.cumsum([len(places[key]) for key in own_keys])[:-1]
        split = dict(zip(own_keys, np.split(ranks, ends), strict=True))
        own_order = merge(split, {key: expected[key] for key in own_keys})
        answers[CODES[function]] = list(_beats(own_order.data, own_order.last))
    return _text(design, len(functions), asked, answers)


def _text(design: Design, tasks: int, asked: list[str], answers: list[list[str]]) -> str:
    """Return the bench with these beats; ``answers`` are indexed by function code."""
    lines = [f"first[{code}] = {place};" for code, place in enumerate(_firsts(answers))]
    lines += [f"request[{k}] = {beat};" for k, beat in enumerate(asked)]
    lines += [f"response[{k}] = {beat};" for k, beat in enumerate(beat for own in answers for beat in own)]
    bench = files("rbdhw").joinpath("sim", "selftest.v.template").read_text(encoding="utf-8")
    about = f"Robot {json.dumps(design.robot.name)}; functions {', '.join(design.functions)}."
    return Template(bench).substitute(
        about=about,
        name=design.name,
        codes=1 << CODE_BITS,
        code_bits=CODE_BITS,
        first=HEADER["function"][0],
        last=sum(HEADER["function"]) - 1,
        high=HEADER["options"][0] + HIGH_CODE,
        tasks=tasks,
        width=design.interface.data_width,
        ports=_connections(design.interface.ports),
        requests=len(asked),
        responses=sum(map(len, answers)),
        beats="\n".join(f"    {line}" for line in lines),
    )


def _connections(ports: Sequence[tuple[str, str]]) -> str:
    """Return the connections of the streams. All tasks use the first pair; the others stand idle."""
    (first, *idle) = ports
    lines = []
    for port, wire in zip(first, ("s_axis", "m_axis"), strict=True):
        lines.append(", ".join(f".{port}_{name}({wire}_{name})" for name in ("tdata", "tvalid", "tready")))
        lines.append(f".{port}_tlast({wire}_tlast)")
    lines += [f".{requests}_tvalid(1'b0), .{responses}_tready(1'b0)" for requests, responses in idle]
    return ",\n".join(f"    {line}" for line in lines)


def _firsts(answers: list[list[str]]) -> list[int]:
    """Return the index of each function's first response beat, and of the end."""
    return list(accumulate(map(len, answers), initial=0))


def _beats(data: Bytes, last: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Iterator[str]:
    """Yield beats as Verilog concatenations of TLAST and TDATA."""
    for beat, ends in zip(data, last, strict=True):
        yield f"{{1'b{ends:d}, {8 * len(beat)}'h{beat[::-1].tobytes().hex()}}}"
