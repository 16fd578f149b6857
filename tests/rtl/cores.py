"""A core fed with one task in every slot it offers, beside the evaluator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from amaranth.sim import Simulator

from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.format import Integers
from rbdhw.fixed.program import Program, Word
from rbdhw.rtl.core import Core
from rbdhw.schedule.model import Bound


def packed(words: Iterable[Word], values: Mapping[str, Integers], task: int) -> int:
    """A task's words as the bits of a packet."""
    bits, position = 0, 0
    for word in words:
        bits |= (int(values[word.name][task]) & (2**word.format.width - 1)) << position
        position += word.format.width
    return bits


def unpacked(words: Iterable[Word], bits: int) -> list[int]:
    """The signed integers of packed words."""
    values = []
    for word in words:
        value = bits & (2**word.format.width - 1)
        bits >>= word.format.width
        values.append(value - 2**word.format.width if value >> (word.format.width - 1) else value)
    return values


def respond(program: Program, bound: Bound, words: Mapping[str, Integers], skip: int = 0) -> list[Any]:
    """``(output words, overflow)`` of ``id`` for each task; after every ``skip`` tasks one slot idles."""
    core = Core(program=program, bound=bound)
    tasks = len(next(iter(words.values())))
    payloads = [packed(program.inputs, words, task) for task in range(tasks)]
    noise = np.random.default_rng(9)
    answers: list[Any] = []

    async def testbench(ctx: Any) -> None:
        due: dict[int, int] = {}
        cycle = slot = task = 0
        while len(answers) < tasks:
            offered = bool(ctx.get(core.phase_zero))
            assert offered == (cycle % core.ii == 0)
            idle = skip > 0 and slot % (skip + 1) == skip
            if offered and not idle and task < tasks:
                ctx.set(core.payload, payloads[task])
                due[cycle + core.latency("id")] = task
                task += 1
            else:
                ctx.set(core.payload, int.from_bytes(noise.bytes(core.payload_bits // 8), "little"))
            slot += offered
            if cycle in due:
                answers.append(
                    (unpacked(program.outputs["id"], ctx.get(core.result_id)), ctx.get(core.overflow_id))
                )
            await ctx.tick()
            cycle += 1

    simulator = Simulator(core)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    return answers


def expected(program: Program, words: Mapping[str, Integers]) -> list[Any]:
    """The evaluator's answers in the same shape."""
    result = evaluate(program, words)
    rows = zip(*(result.words[word.name].tolist() for word in program.outputs["id"]), strict=True)
    return [(list(row), int(flag)) for row, flag in zip(rows, result.overflow, strict=True)]
