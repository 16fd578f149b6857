"""The list scheduler compared with optimal schedules, which CP-SAT finds for small problems.

The formulation states the rules of the verifier in whole picoseconds and shares no code with either.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from itertools import product

import pytest
from hypothesis import given
from ortools.sat.python import cp_model

from rbdhw.cores.pipeline.limb_sharing import find_shared_limbs, limb_inputs
from rbdhw.explore.algorithm_search import make_plan
from rbdhw.fixed.program import Program
from rbdhw.graph.twins import Group, delays
from rbdhw.options.build import BuildOptions
from rbdhw.passes.twins import find_twins
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.schedule.list_scheduler import schedule
from rbdhw.schedule.model import Problem, Schedule, Time
from rbdhw.schedule.problem import problem
from rbdhw.schedule.twins import shareable
from rbdhw.schedule.verify import verify
from rbdhw.target import target
from tests.support.builds import graph_of, model_of, program_of
from tests.support.marks import long, some
from tests.support.schedule_problems import problems, small, twinned

PICOSECONDS = 1000
"""Picoseconds in a nanosecond."""


def picoseconds(nanoseconds: float) -> int:
    """Convert a delay of the target to picoseconds; it has no fraction of one."""
    return round(nanoseconds * PICOSECONDS)


def span(problem: Problem, schedule: Schedule) -> int:
    """Return the cycles from a task's start to the last result, plus one for the register that holds it."""
    ends = (start.cycle + step.latency for step, start in zip(problem.steps, schedule.starts, strict=True))
    return max(ends, default=0) + 1


@dataclass(frozen=True)
class Optimum:
    """The shortest schedule found, and a lower bound of the span."""

    schedule: Schedule
    bound: int


class Formulation:
    """A formulation of the shortest schedule of a problem, at most as long as a ``known`` one.

    Times are integers: a cycle times ``cycle``, plus at most the usable picoseconds within the cycle. Their
    order is by cycle first and by offset next. Each twin starts a fixed number of cycles
    after the first of its group.
    """

    def __init__(self, problem: Problem, known: Schedule) -> None:
        self.problem = problem
        self.period = math.floor(problem.period * PICOSECONDS + 1e-6)
        self.cycle = self.period + 1
        self.last = span(problem, known) - 1
        self.model = cp_model.CpModel()
        self.cycles: dict[int, cp_model.IntVar] = {}
        self.moments: dict[int, cp_model.LinearExpr] = {}
        for group in problem.groups:
            self._add_group(group)
        self._order()
        self._share()
        self._minimise()
        for i, start in enumerate(known.starts):
            self.model.add_hint(self.cycles[i], start.cycle)

    def _add_group(self, group: Group) -> None:
        """Add the starts of a step and its twins: each within its cycle, twins at equal distances."""
        steps = [self.problem.steps[i] for i in group]
        room = self.period - max(picoseconds(step.setup) for step in steps)
        free = 0 if any(step.registered for step in steps) else room
        offset = self.model.new_int_var(0, free, f"offset_{group[0]}")
        for i, later in zip(group, delays(len(group), self.problem.ii), strict=True):
            self.cycles[i] = self.model.new_int_var(0, self.last, f"cycle_{i}")
            self.moments[i] = self.cycles[i] * self.cycle + offset
            self.model.add(self.cycles[i] == self.cycles[group[0]] + later)

    def _order(self) -> None:
        """Require that every step starts after its operands are ready."""
        producer = {value: i for i, step in enumerate(self.problem.steps) for value in step.results}
        for i, step in enumerate(self.problem.steps):
            for value in self.problem.available.keys() & step.operands:
                self.model.add(self.cycles[i] >= self.problem.available[value])
            for j in {producer[value] for value in step.operands if value in producer}:
                before = self.problem.steps[j]
                begun = self.cycles[j] * self.cycle if before.latency else self.moments[j]
                stands = begun + before.latency * self.cycle + picoseconds(before.delay)
                self.model.add(self.moments[i] >= stands)

    def _share(self) -> None:
        """Require that no slot has more steps on a resource than it has units."""
        pools: dict[tuple[str, int], list[int]] = defaultdict(list)
        for i, step in enumerate(self.problem.steps):
            if step.resource is not None:
                pools[step.resource.value, step.limbs].append(i)
        for steps in pools.values():
            limit = self.problem.limit(self.problem.steps[steps[0]])
            if limit < len(steps):
                slots = [self._slots(i) for i in steps]
                for slot in range(self.problem.ii):
                    self.model.add(sum(row[slot] for row in slots) <= limit)

    def _slots(self, i: int) -> list[cp_model.IntVar]:
        """Return for each slot whether a step starts in it."""
        ii = self.problem.ii
        starts = [self.model.new_bool_var(f"slot_{i}_{slot}") for slot in range(ii)]
        task = self.model.new_int_var(0, self.last // ii, f"task_{i}")
        self.model.add_exactly_one(starts)
        self.model.add(self.cycles[i] == task * ii + sum(slot * starts[slot] for slot in range(ii)))
        return starts

    def _minimise(self) -> None:
        self.end = self.model.new_int_var(0, self.last, "end")
        for i, step in enumerate(self.problem.steps):
            self.model.add(self.end >= self.cycles[i] + step.latency)
        self.model.minimize(self.end)

    def solve(self, seconds: float = 20.0) -> Optimum:
        """Solve with one thread, a fixed seed and a limit of the solver's deterministic time."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        solver.parameters.max_deterministic_time = seconds
        status = solver.solve(self.model)
        assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        starts = [divmod(solver.value(moment), self.cycle) for _, moment in sorted(self.moments.items())]
        schedule = Schedule(tuple(Time(cycle, offset / PICOSECONDS) for cycle, offset in starts))
        verify(self.problem, schedule)
        return Optimum(schedule, math.ceil(solver.best_objective_bound - 1e-6) + 1)


def assert_near_optimum(task: Problem) -> None:
    """The list scheduler's span is within a tenth of the least."""
    result = schedule(task)
    verify(task, result)
    assert span(task, result) <= 1.1 * Formulation(task, result).solve().bound


@given(problems())
def test_random_problems(task):
    assert_near_optimum(task)


@pytest.mark.parametrize(("device", "ii"), some(product(["ecp5-85", "xcvu9p"], [1, 2, 3, 4, 6, 8, 16]), 3))
def test_inverse_dynamics_of_the_toy(device, ii):
    assert_near_optimum(problem(program_of("toy", 18), target(device), None, ii))


@cache
def toy() -> Program:
    """The schedule is of all functions of the toy."""
    options = BuildOptions(functions=DEFAULT_FUNCTIONS, width=18, samples=512, target="ecp5-85")
    return make_plan(load_urdf(path("toy")), options).program


@pytest.mark.parametrize("ii", some(zip([1, 2, 3, 4, 6, 8, 12, 16, 24]), 3))
def test_all_functions_of_the_toy(ii):
    assert_near_optimum(problem(toy(), target("ecp5-85"), None, ii))


@pytest.mark.parametrize(
    ("device", "ii"),
    [
        ("ecp5-85", 2),
        *(long(*case) for case in product(["ecp5-85", "xcvu9p"], [1, 2, 4, 8, 16])),
    ],
)
def test_inverse_dynamics_of_the_iiwa(device, ii):
    assert_near_optimum(problem(program_of("iiwa14", 18), target(device), None, ii))


@pytest.mark.parametrize("ii", [4, 8])
def test_limbs_that_share(ii):
    program, robot = program_of("hyq", 18), model_of("hyq").robot
    twins = find_twins(graph_of("hyq"), limb_inputs(robot, find_shared_limbs(robot, "on", ii)))
    task = problem(program, target("xcvu9p"), None, ii, shareable(program, twins.groups))
    assert task.twins
    assert_near_optimum(task)


@pytest.mark.parametrize("task", [small(), twinned()])
def test_the_formulation_finds_the_schedule_by_hand(task):
    solution = Formulation(*task).solve()
    assert solution.bound == span(task[0], solution.schedule) == span(*task)
