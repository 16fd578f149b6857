"""What an accelerator that solves answers to the packets of its solver, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rbdhw.fixed.evaluate import limited, outside_domain
from rbdhw.fixed.format import Integers, wrap
from rbdhw.fixed.program import Word
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.fixed_solver import FixedSolver, Solution
from rbdhw.model.packets import MALFORMED, OUTSIDE
from rbdhw.model.responses import Response, Words
from rbdhw.model.solver_goal import Goal
from rbdhw.protocol import GOAL, PLAN, SOLVE


class SolverSession:
    """The solver of an accelerator since its last reset: the goals that were loaded, and the last solutions.

    It has a slot for each problem of those that are solved together. The tasks of a call are those of slot 0,
    1, 2 and so on, and the first one again after a task without ``more``, after that of the last slot, and
    after one that is refused, as is one whose ``problem`` is another slot. Hardware solves a group of tasks
    together and waits until it is complete. Solutions do not depend on each other, so the model takes one
    after the other: the last task of a call should have no ``more``, because the next one begins with slot 0.
    """

    def __init__(self, model: AcceleratorModel) -> None:
        self.model = model
        solver = FixedSolver(model)
        stored = [word for word in model.interface.inputs(GOAL) if word.name not in ("row", "problem")]
        self._slots = [_Slot(solver, stored) for _ in range(solver.shape.problems)]

    def respond(self, function: str, words: Words, extended: bool = False) -> Response:
        """Return the statuses and the output words (N,) of packets of one of the commands."""
        inputs, outputs = (
            [word.name for word in self.model.interface.inputs(function, extended)],
            [word.name for word in self.model.interface.outputs(function, extended)],
        )
        outside = outside_domain(self.model.interface.inputs(function), words)
        packets = [{name: int(words[name][k]) for name in inputs} for k in range(len(outside))]
        answers = self._solve_groups(packets) if function == SOLVE else self._in_slots(function, packets)
        statuses, results = [], []
        for answered, beyond in zip(answers, outside, strict=True):
            statuses.append(MALFORMED if answered is None else OUTSIDE * int(beyond))
            results.append(dict.fromkeys(outputs, 0) if answered is None else answered)
        columns = {name: np.array([each[name] for each in results], np.int64) for name in outputs}
        return np.array(statuses, np.int64), columns

    def _solve_groups(self, packets: Sequence[Mapping[str, int]]) -> Iterator[dict[str, int] | None]:
        """Yield the answers to tasks, slot after slot in each group."""
        slot = 0
        for words in packets:
            more = words.get("more", 0)
            is_next = 0 <= more <= 1 and words.get("problem", 0) == slot
            answered = self._slots[slot].solve(words) if is_next else None
            yield answered
            continues = more == 1 and answered is not None
            slot = (slot + 1) % len(self._slots) if continues else 0

    def _in_slots(
        self, function: str, packets: Sequence[Mapping[str, int]]
    ) -> Iterator[dict[str, int] | None]:
        """Yield the answers to packets that load or read a row of a problem's slot."""
        for words in packets:
            problem = words.get("problem", 0)
            if not 0 <= problem < len(self._slots):
                yield None
            elif function == GOAL:
                yield self._slots[problem].load(words)
            else:
                yield self._slots[problem].read(words["row"])


class _Slot:
    """The goals and the last solution of one problem.

    Rows of a goal are loaded in order, and row 0 begins a new goal. The next solution takes it when all its
    rows are there; until then solutions take the goal before. The words of a row are ``stored``.
    """

    def __init__(self, solver: FixedSolver, stored: Sequence[Word]) -> None:
        self._solver, self._stored = solver, stored
        self._rows = {word.name: np.zeros(solver.shape.knots, np.int64) for word in stored}
        self._loaded = 0
        self._goal: Goal | None = None
        self._last: Solution | None = None

    def load(self, words: Mapping[str, int]) -> dict[str, int] | None:
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

    def solve(self, words: Mapping[str, int]) -> dict[str, int] | None:
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
            "followed": int(before is not None),
        }
        return {f"{SOLVE}.{name}": number for name, number in numbers.items()} | self._row(SOLVE, 0)

    def read(self, knot: int) -> dict[str, int] | None:
        """Return a knot of the last solution; None if there is no such knot, or no solution."""
        if self._last is None or not 0 <= knot <= self._solver.shape.knots:
            return None
        return self._row(PLAN, knot)

    def _row(self, function: str, knot: int) -> dict[str, int]:
        """Return the words of a knot; the last one has neither forces nor gains."""
        assert self._last is not None
        shape, plan = self._solver.shape, self._last.plan

        def number(words: Mapping[str, Integers], name: str) -> int:
            return int(words[name][knot]) if knot < len(words[name]) else 0

        results = {f"{function}.{word.name}": number(plan.forces, word.name) for word in shape.taus}
        for k, term in enumerate(shape.followed):
            results[f"{function}.x[{k}]"] = number(plan.states, term.word.name)
            for each in shape.feedback:
                gain = number(plan.gains, each.stored(term))
                results[f"{function}.K[{each.coordinate},{k}]"] = gain
        return results
