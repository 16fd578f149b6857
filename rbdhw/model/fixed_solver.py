"""A solver of optimal control in the integers of an accelerator, bit for bit.

It is made of the models of ``step`` and ``dstep``, of the feedback and the costs of rollouts, and of the
sweep back. An iteration takes the derivatives of all steps, a sweep finds gains and changes of the forces,
and a forward pass follows the trajectory with them, in trials with the step lengths 1, 1/2, 1/4, ... The
cheapest trial replaces the trajectory unless it costs more. Costs within a tolerance are equal, and of equal
trials the one with the longest step is kept: near the optimum costs no longer tell trials apart, and the
longest step ends nearest to it. A sweep without a policy is repeated with a larger regularisation. If all
trials cost more, the regularisation is raised, and otherwise lowered.

Forces that are held leave a robot at rest where it is, and one in motion would soon leave its domain. So a
first trajectory that holds forces begins at rest, where the robot is. Its trials begin with the state of the
task, and the gains around rest slow the robot down. The cheapest of these is kept, whatever the trajectory
from rest costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rbdhw.fixed.cost import stage_cost, weighted_residuals
from rbdhw.fixed.descent import lowered, raised, with_tolerance
from rbdhw.fixed.format import Integers, round_half_up
from rbdhw.fixed.knots import REGULARISATION
from rbdhw.fixed.rollout import next_state, wrapped
from rbdhw.fixed.scaled import Scaled
from rbdhw.fixed.solver import SolverShape
from rbdhw.fixed.solver_numbers import Factor
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.fixed_sweep import FixedSweep
from rbdhw.model.responses import Words, respond
from rbdhw.model.solver_goal import Goal, encoded, goal_of
from rbdhw.solving import Solved

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BlockValues:
    """What a sweep handed on to the first knots of blocks, and the states (N + 1,) of its trajectory."""

    states: Words
    words: Mapping[int, Words | None]


@dataclass(frozen=True)
class Plan:
    """A trajectory and the gains around it: what a solver keeps.

    ``states`` are words (N + 1,), with those of the positions of frames, which the first row has not.
    ``forces`` are words (N,) in the names of ``step``, and ``gains`` words (N,) in the names of stored gains.
    ``values`` are those of the sweep that found the gains, in sweeps in blocks.
    """

    states: Words
    forces: Words
    gains: Words
    values: BlockValues | None = None


@dataclass(frozen=True)
class Solution:
    """The plan of a solver and its cost; ``regularisation`` is the word that the last sweep took.

    The ``status`` is NOT_FINITE if a step of the first trajectory was flagged, or if that began at rest and
    no trial from the state of the task was kept; the plan is then that from rest. It is INDEFINITE also if
    a number of a knot exceeds its format. It is never CONVERGED: a sweep on words has no expected decrease.
    Without a sweep that found gains these are zero, and the plan is not ``usable`` for the next solution.
    """

    plan: Plan
    cost: int
    iterations: int
    regularisation: int
    status: Solved
    usable: bool


@dataclass(frozen=True)
class _Trials:
    """Trajectories: words (trials, N + 1) and (trials, N), costs, and whether a step was flagged."""

    states: Words
    forces: Words
    cost: Integers
    flagged: NDArray[np.bool_]

    def plan(self, trial: int, around: Plan) -> Plan:
        """Return a trial with the gains of the plan that it followed."""
        states, forces = (
            {name: words[trial] for name, words in each.items()} for each in (self.states, self.forces)
        )
        return replace(around, states=states, forces=forces)


@dataclass(frozen=True)
class FixedSolver:
    """The solver of an accelerator that :func:`rbdhw.model.solver_words.with_solver` returned."""

    model: AcceleratorModel

    @property
    def sweep(self) -> FixedSweep:
        assert self.model.sweep is not None
        return self.model.sweep

    @property
    def shape(self) -> SolverShape:
        assert self.model.interface.solver is not None
        return self.model.interface.solver

    def goal(self, problem: Mapping[str, Array]) -> Goal:
        """Return the words of a problem's goal, as :func:`rbdhw.model.solver_goal.goal_of`."""
        return goal_of(self.model, problem)

    def task(self, problem: Mapping[str, Array], tau: Array) -> dict[str, int]:
        """Return the words of a first state, of forces (nv,) that a first guess holds, and of constants."""
        q, v = (problem[name][np.newaxis] for name in ("q", "v"))
        words = encoded(self.model, q, v, tau[np.newaxis], problem.get("h"))
        return {word.name: int(words[word.name][0]) for word in self.shape.step.inputs}

    # Solutions

    def solve(
        self, task: Mapping[str, int], goal: Goal, iterations: int, before: Plan | None = None, shift: int = 0
    ) -> Solution:
        """Return the solution of a task.

        The first trajectory is that of a plan ``before``, ``shift`` steps later, with its last step repeated;
        without one the forces of the task are held, from rest. A first trajectory with a flagged step ends
        the solution.
        """
        if before is not None:
            task = self._near(task, before, shift)
        settled = before is not None or all(task[each] == 0 for each in self._rates)
        first = self._begin(task, goal, before, shift)
        none = {name: np.zeros(self.shape.knots, np.int64) for name in self._gain_names}
        around = Plan({}, {}, none, None if before is None else before.values)
        plan, cost, regularisation, taken = first.plan(0, around), int(first.cost[0]), 0, 0
        if first.flagged[0]:
            return Solution(plan, cost, 0, 0, Solved.NOT_FINITE, usable=False)
        status, added, usable = Solved.ITERATIONS, 0, False
        while status is Solved.ITERATIONS and taken < iterations:
            taken += 1
            plan = self._with_near_values(task, goal, plan)
            numbers, fits = self.numbers(task, goal, plan)
            swept, added, values = None, regularisation, None
            if fits:
                swept, added, values = self._sweep(numbers, regularisation, plan)
            usable = swept is not None if fits else usable
            if swept is None:
                status = Solved.INDEFINITE
                plan = plan if usable else replace(plan, gains=none)
                break
            regularisation, plan = added, replace(plan, gains=self._gains(task, swept), values=values)
            trials = self._forward(task, goal, plan, self._changes(task, swept), self.shape.alphas)
            best = _best(trials, cost if settled else None)
            if best is not None:
                plan, cost, settled = trials.plan(best, plan), int(trials.cost[best]), True
                regularisation = lowered(regularisation)
            else:
                regularisation = raised(regularisation)
                status = Solved.STALLED if regularisation > self._most else status
        if not settled and status is not Solved.INDEFINITE:
            status = Solved.NOT_FINITE
        return Solution(plan, cost, taken, added, status, usable)

    @property
    def _rates(self) -> list[str]:
        """The names of the words of a velocity."""
        return [each.word.name for each in self.shape.rates]

    def _near(self, task: Mapping[str, int], plan: Plan, shift: int) -> dict[str, int]:
        """Return a task whose quaternions have the signs that are nearer to those of a plan's step.

        Errors of the feedback are differences of elements, and both signs are the same orientation.
        """
        step = {name: int(words[shift]) for name, words in plan.states.items()}
        near = dict(task)
        for joint in self.shape.wide:
            near |= joint.near(task, step)
        return near

    @cached_property
    def _gain_names(self) -> list[str]:
        return [each.stored(term) for each in self.shape.feedback for term in each.terms]

    @property
    def _most(self) -> int:
        """The word of the largest regularisation."""
        return self.shape.inputs[REGULARISATION].format.highest

    def _begin(self, task: Mapping[str, int], goal: Goal, before: Plan | None, shift: int) -> _Trials:
        """Return the first trajectory."""
        steps = np.minimum(np.arange(self.shape.knots) + shift, self.shape.knots - 1)
        none = np.zeros(self.shape.knots, np.int64)
        if before is None:
            states = {state.word.name: none for state in self.shape.state}
            forces = {word.name: none + task[word.name] for word in self.shape.taus}
            around = Plan(states, forces, dict.fromkeys(self._gain_names, none))
            task = {**task, **dict.fromkeys(self._rates, 0)}
        else:
            states, forces, gains = (
                {name: words[steps] for name, words in each.items()}
                for each in (before.states, before.forces, before.gains)
            )
            around = Plan(states, forces, gains, before.values)
        return self._forward(task, goal, around, {word.name: none for word in self.shape.taus}, 1)

    def _forward(
        self, task: Mapping[str, int], goal: Goal, around: Plan, changes: Words, trials: int
    ) -> _Trials:
        """Return trials around a plan, with the changes (N,) of forces and step lengths 1, 1/2, ..."""
        shape, none = self.shape, np.zeros(trials, np.int64)
        words = {word.name: none + task[word.name] for word in shape.step.inputs}
        state = {each.word.name: words.get(each.word.name, none) for each in shape.carried}
        states, applied, cost, flagged = [state], [], none, none != 0
        for k in range(shape.knots):
            row = {name: int(column[k]) for name, column in goal.rows.items()}
            forces = self._forces(around, changes, k, state, row)
            status, results = respond(self.model, "step", words | state | forces)
            flagged = flagged | (status != 0)
            state, beyond = wrapped(shape.carried, next_state(shape.step, shape.carried, results))
            flagged = flagged | beyond
            differences, _ = weighted_residuals(shape.differences, state, row)
            cost = cost + stage_cost(shape.terms, state | forces, row, differences)
            states.append(state)
            applied.append(forces)
        return _Trials(_stacked(states), _stacked(applied), cost, flagged)

    def _forces(
        self, around: Plan, changes: Words, k: int, state: Words, row: Mapping[str, int]
    ) -> dict[str, Integers]:
        """Return the forces (trials,) of a step with a goal's ``row``, in states (trials,) before it."""
        references = {
            str(term.reference): int(around.states[term.word.name][k]) for term in self.shape.followed
        }
        gains = {name: int(words[k]) for name, words in around.gains.items()}
        added = {each.force.name: each.added(state, references, gains) for each in self.shape.feedback}
        forces: dict[str, Integers] = {}
        halvings = range(len(next(iter(state.values()))))
        for word, (least, most) in zip(self.shape.taus, self.shape.limits_of_forces, strict=True):
            change = np.array([round_half_up(int(changes[word.name][k]), j) for j in halvings])
            total = int(around.forces[word.name][k]) + change + added.get(word.name, 0)
            forces[word.name] = np.clip(total, row[least.name], row[most.name])
        return forces

    # The sweep

    def _sweep(
        self, numbers: Words, regularisation: int, plan: Plan
    ) -> tuple[Words | None, int, BlockValues | None]:
        """Return the results of a sweep, or None, the regularisation that it takes, and values of blocks.

        Blocks begin with those of the sweep before. Without one each begins where the one behind it ends.
        """
        while regularisation <= self._most:
            starts = dict.fromkeys(self.shape.block_starts) if plan.values is None else plan.values.words
            values = dict(starts)
            swept = self.sweep.sweep({**numbers, REGULARISATION: np.array(regularisation)}, values)
            if not swept.overflow and not swept.indefinite:
                return swept.words, regularisation, BlockValues(plan.states, values)
            regularisation = raised(regularisation)
        return None, regularisation, None

    def numbers(self, task: Mapping[str, int], goal: Goal, plan: Plan) -> tuple[dict[str, Integers], bool]:
        """Return the numbers (N + 1,) of all knots, and whether all fit their formats."""
        shape, none = self.shape, np.zeros(self.shape.knots + 1, np.int64)
        constants = {word.name: none[:-1] + task[word.name] for word in shape.constants}
        before = {name: words[:-1] for name, words in plan.states.items()}
        words = {**constants, **before, **plan.forces}
        finer = {name: words[name] << zeros for name, zeros in shape.finer.items()}
        status, results = respond(self.model, "dstep", finer)
        sources = [results[word.name] for word in shape.dstep.outputs]
        judged = {**{name: words[1:] for name, words in plan.states.items()}, **plan.forces}
        for term, reference in zip(shape.terms, shape.references, strict=True):
            sources.append(term.error(judged[term.word.name], goal.rows[reference]))
        for copy in shape.copies:
            states = plan.states.get(copy.word.name, none)
            sources.append(
                goal.rows[copy.word.name] if copy.of_goal else states[1:] if copy.behind else states[:-1]
            )
        sources += self._changes_of_state(plan)
        numbers = {word.name: none.copy() for word in self.sweep.taken}
        for each in shape.curvatures:
            numbers[each.number][slice(1, None) if each.of_next_knot else slice(0, -1)] = goal.rows[
                each.word.name
            ]
        for name, constant in shape.last.items():
            numbers[name][-1] = constant
        fits = not np.any(status)
        factors = _factor_values(shape.number_factors, {**task, **goal.rows})
        for number in shape.numbers:
            word, beyond = number.limited(sources[number.place], factors[number.by])
            of_next = shape.is_of_next_knot(number.name)
            numbers[number.name][slice(1, None) if of_next else slice(0, -1)] = word
            fits = fits and not np.any(beyond)
        return numbers, fits

    def _changes_of_state(self, plan: Plan) -> list[Integers]:
        """Return how far the states behind steps (N,) have moved since the sweep before.

        They count for the first knots of blocks alone, so all others are zero.
        """
        pairs, changes = zip(self.shape.changes_of_state, self.shape.state, strict=False), list[Integers]()
        for each, state in pairs:
            change = np.zeros(self.shape.knots, np.int64)
            if plan.values is not None:
                name, knots = state.word.name, np.array(self.shape.block_starts)
                moved = plan.states[name][knots + 1] - plan.values.states[name][knots + 1]
                change[knots] = each.rounded(moved)
            changes.append(change)
        return changes

    def _with_near_values(self, task: Mapping[str, int], goal: Goal, plan: Plan) -> Plan:
        """Return a plan without the values of blocks if a change of its states exceeds its format."""
        changes = self._changes_of_state(plan)
        factors = _factor_values(self.shape.number_factors, {**task, **goal.rows})
        numbers = self.shape.numbers[len(self.shape.numbers) - len(changes) :]
        beyond = (
            number.limited(change, factors[number.by])[1]
            for number, change in zip(numbers, changes, strict=True)
        )
        return replace(plan, values=None) if any(map(np.any, beyond)) else plan

    def _gains(self, task: Mapping[str, int], swept: Words) -> Words:
        gains = {name: np.zeros(self.shape.knots, np.int64) for name in self._gain_names}
        return gains | self._policy_words(task, swept, self.shape.gains)

    def _changes(self, task: Mapping[str, int], swept: Words) -> Words:
        changes = {word.name: np.zeros(self.shape.knots, np.int64) for word in self.shape.taus}
        return changes | self._policy_words(task, swept, self.shape.changes)

    def _policy_words(
        self, task: Mapping[str, int], swept: Words, results: Sequence[Scaled]
    ) -> dict[str, Integers]:
        """Return words (N,) of a policy's results, limited to their formats."""
        sources = [swept[word.name.partition(".")[2]][:-1] for word in self.shape.policy]
        factors = _factor_values(self.shape.policy_factors, task)
        return {each.name: each.limited(sources[each.place], factors[each.by])[0] for each in results}


def _best(trials: _Trials, cost: int | None) -> int | None:
    """Return the trial with the longest step among the cheapest, if they cost no more than the last one.

    If there is none to compare with, the cheapest are good enough.
    """
    allowed = [int(total) for total, flagged in zip(trials.cost, trials.flagged, strict=True) if not flagged]
    if not allowed or (cost is not None and min(allowed) > with_tolerance(cost)):
        return None
    most = with_tolerance(min(allowed))
    return int(np.argmax(~trials.flagged & (trials.cost <= most)))


def _factor_values(factors: Sequence[Factor], words: Mapping[str, Integers | int]) -> list[Integers | int]:
    """Return the factors: constants, and words of these names."""
    return [words[each.name] if each.constant is None else each.constant for each in factors]


def _stacked(steps: Sequence[Words]) -> dict[str, Integers]:
    """Return words (trials, steps) of words (trials,) of all steps."""
    return {name: np.stack([each[name] for each in steps], axis=1) for name in steps[0]}
