"""The cycles of a solver's parts, which do not depend on its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from rbdhw.cores.solver.near_signs import SIGN_CYCLES
from rbdhw.cores.sweep.array import SweepArray
from rbdhw.fixed.scaled import Scaled
from rbdhw.fixed.solver import SolverShape
from rbdhw.fixed.solver_numbers import Curvature
from rbdhw.rtl.preparation import LIMITED
from rbdhw.rtl.rollout_cost import cost_latency
from rbdhw.rtl.rollout_gains import feedback_latency
from rbdhw.rtl.scaler import LATENCY
from rbdhw.rtl.state_error import ERROR_CYCLES

STARTS = 2
"""The cycles from the start of a sweep that rests to its first interval."""

WRITTEN_IN = 4
"""The part of an interval of the sweep, as a divisor, in which numbers and policies of a knot are written.

A sweep waits for the first numbers, and a forward pass for the last policy."""

READ_IN = 4
"""The cycles in which an expansion reads two rows of a step and starts its derivatives."""


class Lane(NamedTuple):
    """Numbers of a knot that are written one after the other, and the columns of the sweep's memory."""

    numbers: list[Scaled]
    columns: list[int]


@dataclass(frozen=True)
class SolverTiming:
    """The cycles of a solver around a core that takes a step every ``ii`` cycles.

    Derivatives of steps start every ``dstep_ii`` cycles, in the same core or in another one; one interval is
    a multiple of the other. ``step`` and ``dstep`` are the latencies of both functions. Forces of a step may
    come up to ``late`` cycles after the rest. Cycles of parts are those for all problems, which take turns.
    """

    shape: SolverShape
    sweep: SweepArray
    step: int
    dstep: int
    ii: int
    dstep_ii: int
    late: int = 0

    @property
    def phases(self) -> int:
        """The cycles after which both cores are in the same phase again."""
        return max(self.ii, self.dstep_ii)

    @property
    def banks(self) -> int:
        """The trajectories of a problem that are kept: the one that is followed, and trials.

        With blocks there is the one before, too.
        """
        return self.shape.alphas + 1 + (self.shape.blocks > 1)

    # Forward passes

    @property
    def fed_back(self) -> int:
        """The cycles from a state to the forces that follow from it."""
        return feedback_latency(len(self.shape.followed)) + LIMITED

    @property
    def before(self) -> int:
        """The cycles from a state to its step, which starts so that its forces are there in time."""
        return max(self.fed_back - self.late, 0)

    @property
    def forces(self) -> int:
        """The cycles from a state until the core takes the forces of its step."""
        return self.before + self.late

    @property
    def after(self) -> int:
        """The cycles from the last turn of a pass to its end.

        In its last round a pass takes no steps and writes the last states. The costs of the round before are
        there some cycles after that.
        """
        differences = self.shape.differences
        cost = cost_latency(len(self.shape.costs) - len(differences), differences)
        of_costs = self.before + self.step + cost + 2
        return max(of_costs - self.slots_of_round * self.ii, self.forces + 2)

    @property
    def slots_of_round(self) -> int:
        """The intervals of the core from a step of a trial to its next one."""
        return max(-(-(self.before + self.step) // self.ii), self.trials)

    @property
    def trials(self) -> int:
        """The trials of all problems in a pass."""
        return self.shape.problems * self.shape.alphas

    @property
    def waits(self) -> int:
        """The cycles from the state after a step of a trial to its next turn."""
        return self.slots_of_round * self.ii - self.before - self.step

    @property
    def first_pass(self) -> int:
        """The most cycles of the pass that follows the first trajectory."""
        return self._cycles_of_pass(self.trials - self.shape.alphas + 1)

    @property
    def forward_pass(self) -> int:
        """The most cycles of a pass with all step lengths."""
        return self._cycles_of_pass(self.trials)

    def _cycles_of_pass(self, trials: int) -> int:
        return (self.shape.knots * self.slots_of_round + trials) * self.ii + self.after + 1

    # Sweeps

    @cached_property
    def lanes(self) -> tuple[Lane, ...]:
        """What writes the numbers of a knot at the same time, the one with the most first.

        There are as few as it takes for :data:`WRITTEN_IN`, or as the sweep has columns.
        """
        places, cycles = self.sweep.places, self.interval // WRITTEN_IN
        most = len({places[number.name][1] for number in self.shape.numbers if number.name in places})
        divisions = [self.divide(count) for count in range(1, most + 1)]
        return next((lanes for lanes in divisions if len(lanes[0].numbers) <= cycles), divisions[-1])

    def divide(self, count: int) -> tuple[Lane, ...]:
        """Return the lanes of so many groups of columns, of which each has about as many numbers."""
        of_column: dict[int, list[Scaled]] = {column: [] for column in range(len(self.sweep.columns))}
        for number in self.shape.numbers:  # one that the sweep does not read has no place
            of_column[self.sweep.places.get(number.name, (0, 0))[1]].append(number)
        lanes = [Lane([], []) for _ in range(count)]
        for column in sorted(of_column, key=lambda column: -len(of_column[column])):
            lane = min(lanes, key=lambda lane: len(lane.numbers))
            lane.numbers.extend(of_column[column])
            lane.columns.append(column)
        return tuple(sorted(lanes, key=lambda lane: -len(lane.numbers)))

    @property
    def numbers(self) -> int:
        """The most numbers of a knot that are written one after the other."""
        return len(self.lanes[0].numbers)

    @property
    def period(self) -> int:
        """The cycles from a step to the next one in an expansion, or to that of the next problem."""
        return -(-max(self.numbers, self.read_in) // self.dstep_ii) * self.dstep_ii

    @property
    def read_in(self) -> int:
        """The cycles in which an expansion reads the rows of a step and starts its derivatives."""
        return READ_IN + (self.shape.blocks > 1)

    @property
    def in_progress(self) -> int:
        """The steps of an expansion that the core has begun when the derivatives of one are there."""
        return 1 + (self.dstep - 1 - ERROR_CYCLES) // self.period

    @property
    def steps(self) -> int:
        """The steps of all problems."""
        return self.shape.problems * self.shape.knots

    @property
    def ahead(self) -> int:
        """The fewest steps that are expanded before a sweep begins, which then never reads before a write.

        Both take knots at equal distances, but blocks begin in the middle of a horizon.
        """
        behind = (k - self._read(k) * self.interval // self.period for k in range(self.steps))
        return 1 + max(0, *behind)

    def _read(self, number: int) -> int:
        """Return the intervals of the sweep until it first reads a number of a step of an expansion.

        A step has numbers of its knot and of the knot behind it.
        """
        back, problem = divmod(number, self.shape.problems)
        knots = self.shape.knots - back - 1, self.shape.knots - back
        return min(self.sweep.row(knot, problem) // self.sweep.rows_of_knot for knot in knots)

    @property
    def expansion(self) -> int:
        """The most cycles of an expansion until a sweep may begin."""
        of_last = self.dstep_ii + self.dstep + self.numbers + LATENCY + self.read_in
        return self.period * (self.ahead - 1) + of_last

    @property
    def interval(self) -> int:
        """The cycles from one policy of a sweep to the next one."""
        return self.sweep.schedule.ii

    @property
    def starting(self) -> int:
        """The most cycles from the start of a sweep to its first interval.

        The sweep rests before that, or ended so short a time ago that its last interval goes on. There are a
        pass and an expansion between two sweeps, and both may wait for the core or not.
        """
        since_last = self.forward_pass + self.expansion - (self.ii - 1) - (self.dstep_ii - 1)
        return max(self.sweep.between * self.interval - since_last, STARTS)

    @property
    def swept(self) -> int:
        """The most cycles of a sweep, from its start until the policy of the first step is written."""
        return self.starting + self.sweep.cycles + self.policy

    @property
    def policy(self) -> int:
        """The cycles from a policy until its row is written."""
        return len(self.policy_lanes[0]) + LATENCY + 2

    @cached_property
    def policy_lanes(self) -> tuple[tuple[Scaled, ...], ...]:
        """What writes the gains and changes of a policy at the same time, the one with the most first.

        There are as few as it takes for :data:`WRITTEN_IN`, and before the next policy is there.
        """
        items = (*self.shape.gains, *self.shape.changes)
        cycles = max(self.interval // WRITTEN_IN, 1)
        most = -(-len(items) // -(-len(items) // cycles))
        return tuple(items[k : k + most] for k in range(0, len(items), most))

    @property
    def curvatures(self) -> int:
        """The cycles until all curvatures of goals are in the memory of the sweep."""
        return self.steps * self.curvature_turns + 2

    @cached_property
    def curvature_columns(self) -> dict[int, list[Curvature]]:
        """The curvatures of a row that are written one after the other, by their column of the memory."""
        columns: dict[int, list[Curvature]] = {}
        for each in self.shape.curvatures:  # one that the sweep does not read has no place
            if each.number in self.sweep.places:
                columns.setdefault(self.sweep.places[each.number][1], []).append(each)
        return columns

    @property
    def curvature_turns(self) -> int:
        """The cycles in which the curvatures of a row are written, at least those in which it is read."""
        return max(2, *map(len, self.curvature_columns.values()))

    @property
    def choice(self) -> int:
        """The most cycles of an iteration beside its parts: two looks at each trial, and two beginnings."""
        return 2 + 2 * self.trials

    @property
    def iteration(self) -> int:
        """The most cycles of an iteration whose sweep is not repeated."""
        return self.expansion + self.swept + self.forward_pass + self.choice

    @property
    def without_values(self) -> int:
        """The most cycles by which an iteration takes longer that knows no values with which blocks begin."""
        of_each = self.sweep.between * self.interval + self.sweep.cycles + self.policy + 1
        return (self.shape.blocks - 1) * of_each

    def solution(self, iterations: int) -> int:
        """Return the most cycles of a solution in which no sweep is repeated."""
        first = max(self.first_pass, self.curvatures) + 2 + 2 * self.shape.problems + self.phases - 1
        first += self.without_values if iterations else 0
        first += (SIGN_CYCLES + 1) * self.shape.problems if self.shape.wide else 0
        return first + iterations * self.iteration
