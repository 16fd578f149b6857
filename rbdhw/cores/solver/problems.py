"""What a solver keeps of each of its problems."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Array, Signal

from rbdhw.fixed.solver import SolverShape
from rbdhw.solving import Solved


class Problem:
    """What a solver keeps of a problem: the task, what is kept and followed, and the solution."""

    def __init__(self, shape: SolverShape, k: int, task: int, banks: int, regularisation: int) -> None:
        def signal(name: str, form: Any = 1) -> Any:
            return Signal(form, name=f"{name}_{k}" if shape.problems > 1 else f"{name}_of_problem")

        self.task = signal("task", task)
        self.shift = signal("shift", range(shape.knots))
        self.iterations = signal("iterations", range(shape.iterations + 1))
        self.asked = signal("asked")  # whether it is being solved
        self.goes_on = signal("goes_on")  # whether it needs further iterations
        self.cold = signal("cold")  # whether the solution follows no plan
        self.settled = signal("settled")  # whether the kept trajectory begins with the task's state
        self.bank = signal("bank", range(banks))  # the trajectory that is kept
        self.policies = signal("policies")  # the bank of those that are followed
        self.usable = signal("usable")  # whether there is a policy to follow
        self.swept = signal("swept")  # whether the last sweep has a policy
        self.level = signal("level", regularisation)  # the regularisation of the next sweep
        self.cost = signal("cost", shape.cost.width)
        self.taken = signal("taken", range(shape.iterations + 1))
        self.regularisation = signal("regularisation", regularisation)
        self.status = signal("status", range(max(Solved) + 1))
        self.done = signal("done")
        self.goal_bank = signal("goal_bank")
        self.begun = signal("begun")  # whether a task began with a goal
        self.loaded = signal("loaded", range(shape.knots + 1))  # the rows of the next goal


class Problems:
    """The problems of a solver, of which signals are chosen by number.

    Each has a ``task`` of so many bits, ``banks`` of trajectories, and so many bits for a
    ``regularisation``.
    """

    def __init__(self, shape: SolverShape, task: int, banks: int, regularisation: int) -> None:
        numbers = range(shape.problems)
        self._problems = [Problem(shape, k, task, banks, regularisation) for k in numbers]

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._problems)

    def each(self, name: str) -> Array:
        """Return one of the signals of all problems, to be chosen from."""
        return Array(getattr(problem, name) for problem in self._problems)

    def of(self, number: Any) -> Any:
        """Return the signals of the problem of a number."""
        names = vars(self._problems[0])
        return SimpleNamespace(**{name: self.each(name)[number] for name in names})
