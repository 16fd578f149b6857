"""What an accelerator that solves answers to the packets of its solver, one after the other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rbdhw.fixed.evaluate import limited, outside_domain
from rbdhw.fixed.format import Integers, wrap
from rbdhw.fixed.program import Word
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.fixed_solver import FixedSolver, Goal, Solution
from rbdhw.model.packets import MALFORMED, OUTSIDE
from rbdhw.model.responses import Response, Words
from rbdhw.protocol import GOAL, PLAN, SOLVE


class SolverSession:
    """The solver of an accelerator since its last reset: the goals that were loaded, and the last solution.

    Rows of a goal are loaded in order, and row 0 begins a new goal. The next solution takes it when all its
    rows are there; until then solutions take the goal before.
    """

    def __init__(self, model: AcceleratorModel) -> None:
        self.model, self._solver = model, FixedSolver(model)
        shape = self._solver.shape
        self._rows = {word.name: np.zeros(shape.knots, np.int64) for word in self._stored}
        self._loaded = 0
        self._goal: Goal | None = None
        self._last: Solution | None = None

    @property
    def _stored(self) -> list[Word]:
        return [word for word in self.model.interface.inputs(GOAL) if word.name != "row"]

    def respond(self, function: str, words: Words, extended: bool = False) -> Response:
        """Return the statuses and the output words (N,) of packets of one of the commands."""
        answer = {GOAL: self._load, SOLVE: self._solve, PLAN: self._read}[function]
        inputs, outputs = (
            [word.name for word in self.model.interface.inputs(function, extended)],
            [word.name for word in self.model.interface.outputs(function, extended)],
        )
        outside = outside_domain(self.model.interface.inputs(function), words)
        statuses, results = [], []
        for k, beyond in enumerate(outside):
            answered = answer({name: int(words[name][k]) for name in inputs})
            statuses.append(MALFORMED if answered is None else OUTSIDE * int(beyond))
            results.append(dict.fromkeys(outputs, 0) if answered is None else answered)
        columns = {name: np.array([each[name] for each in results], np.int64) for name in outputs}
        return np.array(statuses, np.int64), columns

    def _load(self, words: Mapping[str, int]) -> dict[str, int] | None:
        """Load a row; None if it leaves a gap or is none of a goal, or if the limits of a force cross."""
        row, shape = words["row"], self._solver.shape
        if not 0 <= row <= min(self._loaded, shape.knots - 1):
            return None
        stored = {word.name: int(limited(word, words[word.name])) for word in self._stored}
        if any(stored[least.name] > stored[most.name] for least, most in shape.limits_of_forces):
            return None
        for name, number in stored.items():
            self._rows[name][row] = number
        self._loaded = 1 if row == 0 else max(self._loaded, row + 1)
        return {}

    def _solve(self, words: Mapping[str, int]) -> dict[str, int] | None:
        """Solve a task; None before there is a goal, or if one of its numbers is none."""
        shape = self._solver.shape
        ready = self._loaded == shape.knots
        iterations, warm, shift = (words[name] for name in ("iterations", "warm", "shift"))
        if not (ready or self._goal is not None):
            return None
        if not (0 <= iterations <= shape.iterations and 0 <= warm <= 1 and 0 <= shift < shape.knots):
            return None
        if ready:
            self._goal = Goal({name: rows.copy() for name, rows in self._rows.items()})
            self._loaded = 0
        assert self._goal is not None
        task = {
            word.name: int(wrap(np.array(words[word.name]), word.format.width)) for word in shape.step.inputs
        }
        last = self._last
        before = last.plan if warm and last is not None and last.usable else None
        solution = self._solver.solve(task, self._goal, iterations, before, shift)
        self._last = solution
        numbers = {
            "cost": solution.cost,
            "iterations": solution.iterations,
            "regularisation": solution.regularisation,
            "solved": int(solution.status),
        }
        return {f"{SOLVE}.{name}": number for name, number in numbers.items()} | self._row(SOLVE, 0)

    def _read(self, words: Mapping[str, int]) -> dict[str, int] | None:
        """Return a knot of the last solution; None if there is no such knot, or no solution."""
        if self._last is None or not 0 <= words["row"] <= self._solver.shape.knots:
            return None
        return self._row(PLAN, words["row"])

    def _row(self, function: str, knot: int) -> dict[str, int]:
        """Return the words of a knot; the last one has neither forces nor gains."""
        assert self._last is not None
        shape, plan = self._solver.shape, self._last.plan

        def number(words: Mapping[str, Integers], name: str) -> int:
            return int(words[name][knot]) if knot < len(words[name]) else 0

        results = {}
        for each in shape.feedback:
            coordinate = each.coordinate
            results[f"{function}.tau[{coordinate}]"] = number(plan.forces, each.force.name)
            for k, term in enumerate(each.terms):
                results[f"{function}.K[{coordinate},{k}]"] = number(plan.gains, each.stored(term))
                results[f"{function}.x[{k}]"] = number(plan.states, term.word.name)
        return results
