"""Causes of flagged rollouts: those of the first flagged step of each, as of a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.fixed.format import Integers
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.diagnosis import Cause, explain, order_causes
from rbdhw.model.responses import Response, Words, respond
from rbdhw.model.rollouts.data import Rollouts
from rbdhw.model.rollouts.evaluate import Respond, compute
from rbdhw.protocol import ROLLOUT

Array = NDArray[np.float64]


class FirstFlags:
    """Computes the steps of N rollouts, and keeps the words with which each rollout was flagged first.

    Members
    -------
    steps : (N,)
        The first flagged step, from 1 on; 0 of rollouts without a flag.
    words : dict
        The words (N,) of this step by name; zeros of rollouts without a flag.
    """

    def __init__(self, step_of: Respond, tasks: int) -> None:
        self._step_of, self._taken = step_of, 0
        self.steps: Integers = np.zeros(tasks, np.int64)
        self.words: dict[str, Integers] = {}

    def __call__(self, words: Words) -> Response:
        status, results = self._step_of(words)
        self._taken += 1
        fresh = (status != 0) & (self.steps == 0)
        self.steps[fresh] = self._taken
        for name, values in words.items():
            kept = self.words.setdefault(name, np.zeros_like(self.steps))
            kept[fresh] = values[fresh]
        return status, results


def diagnose_rollouts(
    model: AcceleratorModel,
    flags: FirstFlags,
    numbers: Integers,
    first: Mapping[str, Array] = MappingProxyType({}),
) -> tuple[Cause, ...]:
    """Return the causes of flagged rollouts with these ``numbers`` (N,), the most frequent first.

    ``first`` are the numbers (N,) of the first states by word, before words limited them.
    """
    flagged = np.flatnonzero(flags.steps)
    if not len(flagged):
        return ()
    words, steps = {name: values[flagged] for name, values in flags.words.items()}, flags.steps[flagged]
    reals = {
        word.name: np.where(steps == 1, first[word.name][flagged], word.format.real(words[word.name]))
        for word in model.interface.step.inputs
        if word.name in first
    }
    causes = explain(model, model.interface.step.name, words, reals)
    return order_causes(
        replace(each, function=ROLLOUT, task=int(numbers[flagged[each.task]]), step=int(steps[each.task]))
        for each in causes
    )


def explain_rollouts(
    model: AcceleratorModel, rollouts: Rollouts, first_flagged: Integers, states: Mapping[str, Array]
) -> tuple[Cause, ...]:
    """Return the causes of flagged rollouts; ``first_flagged`` (N,) is 0 of those without a flag.

    ``states`` are the arrays of a step in the first states.
    """
    numbers = np.flatnonzero(first_flagged)
    if not len(numbers):
        return ()
    words = {name: values[numbers] for name, values in rollouts.words.items()}
    last = int(first_flagged.max())
    # With costs a step is flagged by the state behind it, whose numbers are those of one more step.
    rows = {name: row[[*range(last), last - 1]] for name, row in rollouts.rows.items()}
    flags = FirstFlags(lambda step: respond(model, model.interface.step.name, step), len(numbers))
    compute(model, replace(rollouts, words=words, rows=rows, every=0), flags)
    first = graph_inputs(model.robot, {name: array[numbers] for name, array in states.items()})
    causes = diagnose_rollouts(model, flags, numbers, first)
    return tuple(replace(each, step=min(each.step or 1, int(first_flagged[each.task]))) for each in causes)
