"""The program of a chain beside that of one link's step."""

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rbdhw.fixed.evaluate import evaluate
from rbdhw.fixed.format import Integers
from rbdhw.fixed.program import Kind, Program
from rbdhw.fixed.step_program import UnrolledProgram, constant_integer
from rbdhw.graph.sweeps import Constant, Sweep, run
from tests.support import chains
from tests.support.builds import random_words
from tests.support.chains import KINDS, chain
from tests.support.marks import long

program_of = cache(chains.program_of)


def by_steps(program: UnrolledProgram, words: dict[str, Integers]) -> dict[str, Integers]:
    """Return the results of a chain by its steps, one after the other, in integers."""
    steps = program.steps
    formats = {word.name: word.format for word in steps.program.inputs}
    names = {steps.taker(word): word.name for group in steps.program.outputs.values() for word in group}
    sources = dict(steps.sweeps.sources)
    for name, source in sources.items():
        if isinstance(source, Constant):
            values = (constant_integer(formats[name], value, source.chooses) for value in source.values)
            sources[name] = replace(source, values=tuple(values))
        elif hasattr(source, "first"):
            sources[name] = replace(source, output=name, first=constant_integer(formats[name], source.first))
        elif hasattr(source, "output"):
            sources[name] = replace(source, output=name)

    def step(sweep: Sweep, _link: int, inputs: dict[str, Integers]) -> dict[str, Integers]:
        integers = {name: np.asarray(value, np.int64) for name, value in inputs.items()}
        results = evaluate(steps.program, integers, (sweep.name,)).words
        return {
            taker or steps.sweeps.result: results[word] for taker, word in names.items() if word in results
        }

    return run(replace(steps.sweeps, sources=sources), words, step)


@pytest.mark.parametrize("kinds", [kinds if kinds == "mixed" else long(kinds) for kinds in KINDS])
def test_the_program_repeats_the_step(kinds: str) -> None:
    program = program_of(chain(4, kinds))
    words = random_words(program, 50, seed=1)
    results, expected = evaluate(program, words).words, by_steps(program, words)
    assert len(results) == 4
    for name, value in expected.items():
        np.testing.assert_array_equal(results[name], value)


def test_each_operation_is_one_of_the_step() -> None:
    program = program_of(chain(4, "mixed"))
    origins = Counter(origin for origin in program.origins if origin is not None)
    assert set(origins.values()) == {4}
    for operation, origin in zip(program.operations, program.origins, strict=True):
        if origin is None:
            assert operation.kind in (Kind.INPUT, Kind.CONSTANT, Kind.SELECT)
        else:
            step_operation = program.steps.program.operations[origin]
            same = ("kind", "format", "constant", "drop", "checked")
            assert all(getattr(operation, name) == getattr(step_operation, name) for name in same)
            assert [(x.negative, x.shift) for x in operation.operands] == [
                (x.negative, x.shift) for x in step_operation.operands
            ]
    assert type(program.plain) is Program
    assert program.plain.operations == program.operations


def test_what_steps_hand_on_fits_the_input_that_takes_it() -> None:
    steps = program_of(chain(4, "mixed")).steps
    formats = {word.name: word.format for word in steps.program.inputs}
    taken = [
        (word.format, formats[name])
        for words in steps.program.outputs.values()
        for word in words
        if (name := steps.taker(word)) is not None
    ]
    assert len(taken) > 40
    assert all(given == expected for given, expected in taken)
