"""A self-contained test bench in plain Verilog, with tasks and the bit-exact model's responses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import accumulate, chain
from string import Template

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.design.folder import Design
from rbdhw.domain.sampling import sample
from rbdhw.fixed.format import Integers
from rbdhw.header import CODE_BITS, HEADER, HIGH_CODE
from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.model.loads import draw_loads, load_packets
from rbdhw.model.packets import Bytes, encode, merge, requests, responses, unpack
from rbdhw.model.packets import field as header_field
from rbdhw.model.responses import Words, respond
from rbdhw.model.rollouts.draw_means import draw_mean
from rbdhw.model.rollouts.mean_session import MeanSession
from rbdhw.model.rollouts.stream import draw_stream
from rbdhw.model.solver_codec import goal_words, plan_words, task_words
from rbdhw.model.solver_problems import random_problem
from rbdhw.model.solver_session import SolverSession
from rbdhw.protocol import CODES, FUNCTIONS, GOAL, LOAD_PARAMETERS, MPPI, PLAN, ROLLOUT, SOLVE

TASKS = 24
"""Tasks of each function."""

EXTENDED_EVERY = 3
"""One task in this many has the option EXTENDED, for functions that support it."""

ROLLOUTS, ROWS = 16, 4
"""Rollouts, if the build takes them, and the most steps of one."""

MEAN_SAMPLES = 5
"""The samples of each mean, if the build takes means."""

ITERATIONS, MOST_SWEEPS = 1, 10
"""The iterations of the solution, if the build solves, and the most sweeps that the bench waits for."""

PATIENCE = 20_000
"""The most cycles without an answer, beside those of a solution."""

LOADED_SHARE = 1 / 4
"""The share of tasks before which parameters are loaded, if the build loads them."""

KEYS_OF_CODES = 1 << CODE_BITS
"""The keys of answers that are codes of functions."""

SEED = 0
"""Seed of the tasks."""


@dataclass
class _Packets:
    """The packets that are sent, with their positions in the order, and the beats of the answers by key.

    The key of an answer is its function's code. Rollouts may end in another order than they began, so the key
    of theirs is :data:`KEYS_OF_CODES` plus the rollout's number.
    """

    positions: list[Integers] = field(default_factory=list)
    sent: list[Bytes] = field(default_factory=list)
    answers: list[list[str]] = field(default_factory=lambda: [[] for _ in range(KEYS_OF_CODES + ROLLOUTS)])


def selftest(design: Design) -> str:
    """Return the Verilog module ``selftest``, which sends tasks of all functions and checks the responses.

    Of a build with rollouts, some come first, so that the tasks come while they are in progress. Of one that
    solves, a goal and a problem do, and the trajectory is read at the end. Means of samples come, too.
    """
    packets, shape = _Packets(), design.interface.rollout
    if shape is not None:
        _add_rollouts(design, packets, shape.horizon)
    if shape is not None and shape.means:
        _add_mean(design, packets)
    if design.interface.solver is None:
        _add_tasks(design, packets)
    else:
        session = SolverSession(design)
        _add_commands(packets, session, *_problem(design))
        _add_tasks(design, packets)
        _add_commands(packets, session, (PLAN, plan_words(FixedSolver(design))))
    return _text(design, packets)


def _problem(design: Design) -> tuple[tuple[str, Words], ...]:
    """Return the packets that load the goal of a random problem from rest, and that ask for a solution."""
    solver, sweep = FixedSolver(design), design.sweep
    assert sweep is not None
    problem = random_problem(design.robot, design.domain, solver.shape.knots, sweep.h, SEED)
    problem["v"] = np.zeros_like(problem["v"])
    task = task_words(solver, problem, min(ITERATIONS, solver.shape.iterations), None)
    return (GOAL, goal_words(solver, solver.goal(problem))), (SOLVE, task)


def _add_mean(design: Design, packets: _Packets) -> None:
    """Add two means of samples, which are read, and the loads of their rows."""
    step = design.interface.step.name
    session = MeanSession(design, lambda words: respond(design, step, words))
    _add_commands(packets, session, *draw_mean(design, MEAN_SAMPLES, np.random.default_rng([SEED, 2])))


def _add_commands(
    packets: _Packets, session: SolverSession | MeanSession, *commands: tuple[str, Words]
) -> None:
    """Add packets with words (N,) of commands, behind all others, with their answers."""
    for command, words in commands:
        tags = np.arange(len(next(iter(words.values()))))
        packets.positions.append(sum(map(len, packets.positions)) + tags)
        packets.sent.append(requests(session.model, command, tags, words))
        answer = responses(session.model, command, tags, *session.respond(command, words))
        packets.answers[CODES[command]] += _lines([answer])


def _add_rollouts(design: Design, packets: _Packets, horizon: int) -> None:
    """Add rollouts of a few steps, and the loads of their rows."""
    rng = np.random.default_rng([SEED, 1])
    stream = draw_stream(design, ROLLOUTS, min(ROWS, horizon), rng, loaded=False)
    packets.positions += stream.places
    packets.sent += stream.packets
    for command, each in stream.rows.items():
        packets.answers[CODES[command]] = _lines(each)
    for answers in [answers for each in stream.rollouts.values() for answers in each]:
        numbers = header_field(unpack(answers, [])[0], "tag")
        for number in np.unique(numbers).tolist():
            packets.answers[KEYS_OF_CODES + number] = _lines([answers[numbers == number]])


def _add_tasks(design: Design, packets: _Packets) -> None:
    rng, first = np.random.default_rng(SEED), sum(map(len, packets.positions))
    functions = np.repeat(np.array(design.functions), TASKS)
    rng.shuffle(functions)
    arrays = sample(design.robot, design.domain, len(functions), rng, design.fext)
    loads = draw_loads(design, arrays, rng, LOADED_SHARE)
    places = first + np.arange(len(functions)) + loads.before
    if loads.places.size:
        asked, answer = load_packets(design, loads)
        packets.positions.append(first + loads.places)
        packets.sent.append(asked)
        packets.answers[CODES[LOAD_PARAMETERS]] = _lines([answer])
    for function in design.functions:
        numbers, extensible = np.flatnonzero(functions == function), FUNCTIONS[function].extensible
        asks = (np.arange(TASKS) % EXTENDED_EVERY == EXTENDED_EVERY - 1) & extensible
        expected: dict[int, Bytes] = {}
        for extended in (False, True)[: 1 + extensible]:
            chosen = np.flatnonzero(asks == extended)
            tasks = {name: array[numbers[chosen]] for name, array in arrays.items()}
            if extended and FUNCTIONS[function].takes_inverse:
                tasks |= golden.evaluate(design.robot, "minv", tasks)
            words = encode(design, function, tasks, extended)
            status, results = respond(design, function, words, extended)
            tags, before = (
                numbers[chosen],
                loads.before_of_set[numbers[chosen]] if design.interface.held else None,
            )
            packets.positions.append(places[tags])
            packets.sent.append(requests(design, function, tags, words, extended, loads.sets[tags]))
            answer = responses(design, function, tags, status, results, extended, before)
            expected |= dict(zip(chosen.tolist(), answer, strict=True))
        packets.answers[CODES[function]] = _lines([expected[k][np.newaxis] for k in sorted(expected)])


def _text(design: Design, packets: _Packets) -> str:
    """Return the bench that sends packets and expects their answers."""
    order = merge(dict(enumerate(packets.positions)), dict(enumerate(packets.sent)))
    sent, answers = list(_beats(order.data, order.last)), list(chain(*packets.answers))
    firsts = accumulate(map(len, packets.answers), initial=0)
    lines = [f"first[{key}] = {first};" for key, first in enumerate(firsts)]
    lines += [f"request[{k}] = {beat};" for k, beat in enumerate(sent)]
    lines += [f"response[{k}] = {beat};" for k, beat in enumerate(answers)]
    bench = files("rbdhw").joinpath("emit", "selftest.v.template").read_text(encoding="utf-8")
    shape, solves = design.interface.rollout, design.interface.solver is not None
    rolled, takes_means = shape is not None, shape is not None and shape.means
    commands = [*[ROLLOUT] * rolled, *[SOLVE] * solves, *[MPPI] * takes_means]
    functions = ", ".join([*design.functions, *commands])
    return Template(bench).substitute(
        about=f"Robot {json.dumps(design.robot.name)}; functions {functions}.",
        name=design.name,
        codes=KEYS_OF_CODES,
        code_bits=CODE_BITS,
        rollout=CODES[ROLLOUT],
        rollouts=ROLLOUTS,
        first=HEADER["function"][0],
        last=sum(HEADER["function"]) - 1,
        high=HEADER["options"][0] + HIGH_CODE,
        first_tag=HEADER["tag"][0],
        last_tag=sum(HEADER["tag"]) - 1,
        tasks=TASKS * len(design.functions) + ROLLOUTS * rolled + solves,
        patience=PATIENCE + (_most_cycles(design) if solves or takes_means else 0),
        width=design.interface.data_width,
        ports=_connections(design.interface.ports),
        requests=len(sent),
        responses=len(answers),
        beats="\n".join(f"    {line}" for line in lines),
    )


def _most_cycles(design: Design) -> int:
    """Return the most cycles that the bench waits for a solution and for a mean of samples."""
    solver, means = design.description.solver, design.description.means
    cycles = 0 if solver is None else solver.first_cycles + MOST_SWEEPS * solver.iteration_cycles
    return cycles + (0 if means is None else means.cycles(MEAN_SAMPLES))


def _connections(ports: Sequence[tuple[str, str]]) -> str:
    """Return the connections of the streams. All tasks use the first pair; the others stand idle."""
    (first, *idle) = ports
    lines = []
    for port, wire in zip(first, ("s_axis", "m_axis"), strict=True):
        lines.append(", ".join(f".{port}_{name}({wire}_{name})" for name in ("tdata", "tvalid", "tready")))
        lines.append(f".{port}_tlast({wire}_tlast)")
    lines += [f".{requests}_tvalid(1'b0), .{responses}_tready(1'b0)" for requests, responses in idle]
    return ",\n".join(f"    {line}" for line in lines)


def _lines(packets: Sequence[Bytes]) -> list[str]:
    """Return the beats of packets (N, beats, bytes per beat), of any lengths."""
    each = chain.from_iterable(packets)
    return [line for beats in each for line in _beats(beats, np.arange(len(beats)) == len(beats) - 1)]


def _beats(data: Bytes, last: NDArray[np.bool_]) -> Iterator[str]:
    """Yield beats as Verilog concatenations of TLAST and TDATA."""
    for beat, ends in zip(data, last, strict=True):
        yield f"{{1'b{ends:d}, {8 * len(beat)}'h{beat[::-1].tobytes().hex()}}}"
