"""A simulated core with a task in every slot and mixed functions, compared with the evaluator."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from rbdhw.cores.array.component import ArrayComponent
from rbdhw.cores.pipeline.component import PipelineComponent
from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.format import Integers
from rbdhw.fixed.program import Program, Word
from rbdhw.header import EXTENDED
from rbdhw.protocol import FUNCTIONS, flag_values
from rbdhw.schedule.model import Bound
from tests.support.bits import unpack
from tests.support.simulation import Simulation


class Request(NamedTuple):
    """The function and option of a task."""

    function: str = "id"
    extended: bool = False


def requests(program: Program, tasks: int, seed: int) -> list[Request]:
    """Return random functions of the program, some with the option EXTENDED."""
    rng = np.random.default_rng(seed)
    functions = list(program.outputs)
    return [
        Request(function, bool(rng.random() < 0.5) and FUNCTIONS[function].extensible)
        for function in rng.choice(functions, tasks).tolist()
    ]


def travels(word: Word, function: str) -> bool:
    """Return whether a function's packets carry an input word; words of unknown arrays are in all packets."""
    array = word.name.partition("[")[0]
    entry = FUNCTIONS[function]
    known = {name for arrays in FUNCTIONS.values() for name in arrays.inputs + arrays.optional_inputs}
    return array not in known or array in entry.inputs + entry.optional_inputs


def packed(program: Program, values: Mapping[str, Integers], task: int, request: Request, noise: int) -> int:
    """Return a task's words in their slots, with noise in the unused bits."""
    bits, first = noise % 2 ** sum(program.slots), list(accumulate(program.slots, initial=0))
    for word in program.inputs:
        if travels(word, request.function):
            mask = (2**word.format.width - 1) << first[word.slot]
            bits = bits & ~mask | (int(values[word.name][task]) << first[word.slot]) & mask
    return bits


def respond(
    program: Program,
    bound: Bound,
    words: Mapping[str, Integers],
    skip: int = 0,
    asked: Sequence[Request] = (),
) -> list[Any]:
    """Return ``(output words, overflow)`` of each task; after every ``skip`` tasks one slot is idle."""
    return responses(PipelineComponent(program=program, bound=bound), words, skip, asked)


def responses(
    core: PipelineComponent | ArrayComponent,
    words: Mapping[str, Integers],
    skip: int = 0,
    asked: Sequence[Request] = (),
) -> list[Any]:
    """Return the same for any core."""
    program = core.program
    tasks = len(next(iter(words.values())))
    asked = asked or [Request()] * tasks
    noise = np.random.default_rng(9)
    answers: dict[int, Any] = {}

    async def testbench(ctx: Any) -> None:
        due: dict[tuple[str, int], int] = {}
        standing: dict[tuple[str, int], Any] = {}
        cycle = slot = task = 0
        entry = core.bound.entry if isinstance(core, PipelineComponent) else 0
        while len(answers) < tasks:
            offered = bool(ctx.get(core.phase_zero))
            assert offered == ((cycle + entry) % core.ii == 0)
            idle = skip > 0 and slot % (skip + 1) == skip
            random = int.from_bytes(noise.bytes(len(core.payload) // 8 + 1), "little")
            if offered and not idle and task < tasks:
                function, extended = request = asked[task]
                ctx.set(core.payload, packed(program, words, task, request, random))
                ctx.set(core.functions, 1 << list(program.outputs).index(function))
                ctx.set(core.options, extended << EXTENDED)
                due[function, cycle + core.latency(function)] = task
                task += 1
            else:
                ctx.set(core.payload, random % 2 ** len(core.payload))
                ctx.set(core.functions, random % 2 ** len(core.functions))
                ctx.set(core.options, random % 2 ** len(core.options))
            slot += offered
            for function, outputs in program.outputs.items():
                formats = [word.format for word in outputs]
                if (function, cycle) in standing:
                    still = unpack(formats, ctx.get(getattr(core, f"result_{function}")))
                    assert still == standing[function, cycle]
                if (function, cycle) in due:
                    result = unpack(formats, ctx.get(getattr(core, f"result_{function}")))
                    standing[function, cycle + core.ii - 1] = result
                    overflow = ctx.get(getattr(core, f"overflow_{function}"))
                    answers[due[function, cycle]] = (result, overflow)
            await ctx.tick()
            cycle += 1

    Simulation(core).run(testbench)
    return [answers[task] for task in range(tasks)]


def expected(program: Program, words: Mapping[str, Integers], asked: Sequence[Request] = ()) -> list[Any]:
    """Return the evaluator's results in the same form."""
    tasks = len(next(iter(words.values())))
    asked = asked or [Request()] * tasks
    answers: dict[int, Any] = {}
    for request in set(asked):
        chosen = [task for task in range(tasks) if asked[task] == request]
        given = {
            word.name: words[word.name][chosen] for word in program.inputs if travels(word, request.function)
        }
        flags = {name: np.asarray(int(value)) for name, value in flag_values(*request).items()}
        result = evaluate(program, {**given, **flags}, (request.function,))
        columns = [result.words[word.name].tolist() for word in program.outputs[request.function]]
        rows = zip(*columns, strict=True)
        flagged = np.broadcast_to(result.overflow, len(chosen)).tolist()
        answers |= {t: (list(row), int(flag)) for t, row, flag in zip(chosen, rows, flagged, strict=True)}
    return [answers[task] for task in range(tasks)]
