"""What an accelerator that takes means of samples answers to loads of rows and to those means."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdhw.arrays import WordName
from rbdhw.fixed.evaluate import limited, outside_domain
from rbdhw.fixed.format import Integers
from rbdhw.fixed.program import Word
from rbdhw.fixed.rollout import force_words
from rbdhw.fixed.softmin import SUM_BITS, TOGETHER, Softmin, mean
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.packets import MALFORMED, OUTSIDE
from rbdhw.model.responses import Response, Words
from rbdhw.model.rollouts.cost import coefficients_of_steps
from rbdhw.model.rollouts.data import Rollouts
from rbdhw.model.rollouts.evaluate import Respond, compute, step_words
from rbdhw.model.rollouts.samples import MOST_SEED, SEED
from rbdhw.protocol import LOAD, MEAN, MPPI, STEP_ROWS

AT_ONCE = 4096
"""Samples that are followed at once."""


WIDEST = 62 - SUM_BITS
"""The most bits of a force whose sums fit an integer of NumPy, with one bit to spare."""


class MeanSession:
    """The rows of an accelerator's rollouts since its last reset; the forces in them are those of the plan.

    ``step_of`` computes a step in time.
    """

    def __init__(self, model: AcceleratorModel, step_of: Respond) -> None:
        self.model, self._step_of = model, step_of
        assert model.interface.rollout is not None
        self.shape = model.interface.rollout
        commands = model.interface.row_commands
        self.rows = {
            name: {word.name: np.zeros(self._depth(name), np.int64) for word in self._stored(name)}
            for name in commands
        }
        self._loaded = dict.fromkeys(commands, 0)

    def _depth(self, command: str) -> int:
        """Return the number of rows that a command loads."""
        return self.shape.horizon if command in STEP_ROWS else self.shape.cost_rows

    def rollout_rows(self) -> dict[str, Integers]:
        """Return the words (K,) of all rows as rollouts have them."""
        rows: dict[str, Integers] = {}
        for command, words in self.rows.items():
            rows |= words if command in STEP_ROWS else coefficients_of_steps(words, self.shape.horizon)
        return rows

    def _stored(self, command: str) -> list[Word]:
        return [word for word in self.model.interface.inputs(command) if word.name != "row"]

    def respond(self, function: str, words: Words, extended: bool = False) -> Response:
        """Return the statuses and the output words (N,) of packets of one of the commands."""
        interface = self.model.interface
        inputs, outputs = interface.inputs(function), interface.outputs(function, extended)
        statuses, results = [], []
        for k, beyond in enumerate(outside_domain(inputs, words)):
            answered = self._answer(function, {word.name: int(words[word.name][k]) for word in inputs})
            statuses.append(MALFORMED if answered is None else OUTSIDE * int(beyond))
            results.append(answered or {word.name: 0 for word in outputs})
        columns = {word.name: np.array([each[word.name] for each in results], np.int64) for word in outputs}
        return np.array(statuses, np.int64), columns

    def _answer(self, function: str, words: Mapping[str, int]) -> dict[str, int] | None:
        """Return the words of an answer; None for a request that is malformed."""
        if function == MPPI:
            return self._take_mean(words)
        if function == MEAN:
            return self._forces(MEAN, words["row"]) if self._is_loaded(LOAD, words["row"]) else None
        return self._load(function, words)

    def _is_loaded(self, command: str, row: int) -> bool:
        return 0 <= row < self._loaded[command]

    def _load(self, command: str, words: Mapping[str, int]) -> dict[str, int] | None:
        """Load a row; None if it leaves a gap, or is beyond the horizon."""
        row = words["row"]
        if not 0 <= row <= min(self._loaded[command], self._depth(command) - 1):
            return None
        for word in self._stored(command):
            self.rows[command][word.name][row] = limited(word, words[word.name])
        self._loaded[command] = max(self._loaded[command], row + 1)
        return {}

    def _take_mean(self, words: Mapping[str, int]) -> dict[str, int] | None:
        """Take the mean of samples; None if a row is not loaded, or a number is out of range."""
        numbers = {word.name: word for word in self.model.interface.inputs(MPPI)}
        samples, seed, scale, exponent, shift = asked = [words[name] for name in NUMBERS]
        for name, number in zip(NUMBERS, asked, strict=True):
            word = numbers[name]
            if word.lowest is None or word.highest is None or not word.lowest <= number <= word.highest:
                return None
        if any(loaded < self._depth(command) for command, loaded in self._loaded.items()):
            return None
        plan = {word.name: self.rows[LOAD][word.name] for word in self._force_words}
        later = np.minimum(np.arange(self.shape.horizon) + shift, self.shape.horizon - 1)
        for row in plan.values():
            row[:] = row[later]
        widest = max(word.format.width for word in self._force_words)
        exact = np.int64 if widest <= WIDEST else object
        softmin, sums = Softmin(scale, exponent), np.zeros((len(plan), self.shape.horizon), exact)
        for first in range(0, samples, AT_ONCE):
            seeds = seed + np.arange(first, min(first + AT_ONCE, samples)) & MOST_SEED
            sums = self._add(softmin, sums, words, seeds)
        if softmin.counted:
            for row, means in zip(plan.values(), mean(sums, softmin.weight, widest), strict=True):
                row[:] = means
        results = {name: getattr(softmin, name) for name in ("least", "weight", "square", "counted")}
        return self._forces(MPPI, 0) | {f"{MPPI}.{name}": number for name, number in results.items()}

    @property
    def _force_words(self) -> tuple[Word, ...]:
        return force_words(self.model.interface.step)

    def _add(self, softmin: Softmin, sums: Integers, words: Mapping[str, int], seeds: Integers) -> Integers:
        """Return the sums (forces, steps) with the samples of some seeds."""
        first = {name: np.full(len(seeds), words[name]) for name in words if name not in NUMBERS}
        rollouts = Rollouts(first | {SEED: seeds}, self.rollout_rows(), 0, states=False)
        answered = compute(self.model, rollouts, self._step_of)
        good = answered.status[:, 0] == 0
        costs = [int(cost) if fine else None for cost, fine in zip(answered.cost[:, 0], good, strict=True)]
        each = [step_words(self.model, rollouts, k) for k in range(self.shape.horizon)]
        forces = np.array([[row[word.name] for row in each] for word in self._force_words])
        for k in range(0, len(seeds), TOGETHER):
            drop, weights = softmin.add(costs[k : k + TOGETHER])
            sums = ((sums << 1) >> drop) + 1 >> 1
            sums = sums + forces[..., k : k + TOGETHER] @ np.array(weights)
        return sums

    def _forces(self, function: str, row: int) -> dict[str, int]:
        words = {}
        for word in self._force_words:
            index = WordName.parse(word.name).index
            words[str(WordName("tau", index, function))] = int(self.rows[LOAD][word.name][row])
        return words


NUMBERS = ("samples", "seed", "scale", "exponent", "shift")
"""The words of a request that are not those of a step."""
