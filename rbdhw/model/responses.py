"""The answers of the bit-exact model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdhw.fixed.evaluate import evaluate, outside_domain
from rbdhw.fixed.format import Integers, wrap
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.packets import OUTSIDE, OVERFLOW
from rbdhw.protocol import flag_values

Words = Mapping[str, Integers]
"""Words of N tasks by name, (N,) each."""

Response = tuple[Integers, dict[str, Integers]]
"""The status (N,) and the output words of N tasks."""

_CHUNK = 4096
"""Tasks evaluated at once, few enough that their values stay in the processor's cache."""


def respond(model: AcceleratorModel, function: str, words: Words, extended: bool = False) -> Response:
    """Return the answer to N tasks.

    ``words`` are the input words by name, (N,) each, at least those that the function reads. A function
    without input words needs any other array (N,) there for the number of tasks. With ``extended`` the tasks
    have the option EXTENDED, and the words of optional arrays are included.
    """
    tasks = len(next(iter(words.values())))
    status = np.zeros(tasks, np.int64)
    results = {word.name: np.zeros(tasks, np.int64) for word in model.interface.outputs(function, extended)}
    flags = {name: np.array(int(value)) for name, value in flag_values(function, extended).items()}
    program = model.program_of(function)
    idle = {word.name: np.array(0) for word in program.inputs}  # for inputs of other functions
    brought = model.interface.inputs(function, extended)
    for start in range(0, tasks, _CHUNK):
        part = slice(start, start + _CHUNK)
        sent = {word.name: words[word.name][part] for word in brought}
        read = {word.name: wrap(sent[word.name], word.format.width) for word in brought}
        answer = evaluate(program, {**idle, **flags, **read}, (function,))
        outside = outside_domain(brought, sent)
        status[part] = OUTSIDE * outside + OVERFLOW * answer.overflow
        for name, values in results.items():
            values[part] = answer.words[name]
    return status, results
