"""The answers of the bit-exact model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdhw.artifact import Design
from rbdhw.fixed.evaluate import evaluate, outside_domain
from rbdhw.fixed.format import Integers
from rbdhw.sim.packets import OUTSIDE, OVERFLOW

_CHUNK = 1024
"""Tasks evaluated at once: every value of the program is kept for each."""


def respond(
    design: Design, function: str, words: Mapping[str, Integers]
) -> tuple[Integers, dict[str, Integers]]:
    """Status (N,) and output words by name, (N,) each, for the input words (N,) of N tasks."""
    tasks = len(next(iter(words.values())))
    status = np.zeros(tasks, np.int64)
    results = {word.name: np.zeros(tasks, np.int64) for word in design.outputs(function)}
    for start in range(0, tasks, _CHUNK):
        part = slice(start, start + _CHUNK)
        given = {name: values[part] for name, values in words.items()}
        idle = np.zeros(len(status[part]), np.int64)  # of inputs that only other functions have
        every = {word.name: given.get(word.name, idle) for word in design.program.inputs}
        answer = evaluate(design.program, every, (function,))
        outside = outside_domain(design.inputs(function), given)
        status[part] = OUTSIDE * outside + OVERFLOW * answer.overflow
        for name, values in results.items():
            values[part] = answer.words[name]
    return status, results
