"""Packets of a solver among tasks of other functions: the hardware answers as the model, bit for bit."""

from functools import cache

import numpy as np
import pytest

from rbdhw.domain.sampling import sample
from rbdhw.model.fixed_solver import FixedSolver
from rbdhw.model.packets import MALFORMED, OUTSIDE, Beats, answers, encode, merge, requests, responses
from rbdhw.model.responses import respond
from rbdhw.model.solver_codec import goal_words, task_words
from rbdhw.model.solver_session import SolverSession
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import plan_build
from rbdhw.protocol import GOAL, PLAN, SOLVE, SOLVER_COMMANDS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.rtl.shell import Accelerator
from rbdhw.solving import Solved
from tests.support.fixed_solvers import solver_problem
from tests.support.packet_bench import exchange
from tests.support.simulation import Simulation


@cache
def planned(name="toy", **options):
    """Return the plan of an accelerator that solves."""
    sizes = {
        "width": 18,
        "ii": 8,
        "knots": 3,
        "alphas": 2,
        "iterations": 3,
        "samples": 256,
        "data_width": 128,
    }
    return plan_build(load_urdf(path(name)), BuildOptions(("solve", "id"), **sizes | options))


def accelerator(plan):
    cores = [core.component(None) for core in plan.cores]
    solver = plan.solver.component(cores[plan.cores.index(plan.solver.core)], None)
    return Accelerator(cores=cores, interface=plan.interface, solver=solver)


@cache
def simulation():
    return Simulation(accelerator(planned()))


class Script:
    """Packets, each with the model's answer."""

    def __init__(self, model):
        self.model, self.solver, self.session = model, FixedSolver(model), SolverSession(model)
        self.asked, self.answered = [], []

    def send(self, function, words, extended=False):
        """Send packets with words (N,), and return the statuses and the words of the model's answers."""
        tags = np.arange(len(next(iter(words.values()))))
        if function in SOLVER_COMMANDS:
            status, results = self.session.respond(function, words, extended)
        else:
            status, results = respond(self.model, function, words, extended)
        self.asked.append(requests(self.model, function, tags, words, extended))
        self.answered.append(
            (function, extended, responses(self.model, function, tags, status, results, extended))
        )
        return status, results

    def goal(self, problem):
        return self.send(GOAL, goal_words(self.solver, self.solver.goal(problem)))

    def solve(self, problem, iterations, follow=None, extended=False, others=()):
        """Send a problem, with ``others`` in place of some of its words."""
        task = task_words(self.solver, problem, iterations, follow)
        task |= {name: np.array([number]) for name, number in dict(others).items()}
        return self.send(SOLVE, task, extended)

    def plan(self, *rows):
        return self.send(PLAN, {"row": np.array(rows or range(self.solver.shape.knots + 1))})

    def others(self, count, seed):
        """Send tasks of the other functions."""
        arrays = sample(self.model.robot, self.model.domain, count, np.random.default_rng(seed), ())
        for name in ("id", "step", "dstep"):
            self.send(name, encode(self.model, name, arrays))

    @property
    def beats(self) -> Beats:
        first = np.cumsum([0, *map(len, self.asked)])
        places = {k: first[k] + np.arange(len(packets)) for k, packets in enumerate(self.asked)}
        return merge(places, dict(enumerate(self.asked)))

    def compare(self, beats):
        """Compare all answers, which come in order for each function."""
        kinds = {(function, extended) for function, extended, _ in self.answered}
        total = 0
        for kind in kinds:
            expected = np.concatenate([packets for *own, packets in self.answered if tuple(own) == kind])
            found = answers(self.model, beats, kind[1])[kind[0]]
            np.testing.assert_array_equal(found.packets, expected)
            total += len(expected)
        assert np.count_nonzero(beats.last) == total


def check(script, simulation, **traffic):
    count = sum(len(packets) for packets in script.asked)
    script.compare(exchange(simulation, script.beats, count, **traffic))


def problems(count):
    model = planned().accelerator
    return [solver_problem(model, 3, seed) for seed in range(count)]


def test_a_loop_of_solutions_beside_other_tasks():
    """Goals change while a solution is in progress; each solution takes the goal that was complete before."""
    script, (first, second) = Script(planned().accelerator), problems(2)
    script.goal(first)
    status, solved = script.solve(first, 2, extended=True)
    assert (status[0], solved["solve.solved"][0]) == (0, Solved.ITERATIONS)
    assert solved["solve.K[0,0]"][0] != 0
    script.others(4, 1)
    script.goal(second)
    script.plan()
    _, followed = script.solve(first, 1, follow=1)
    assert followed["solve.tau[0]"][0] != solved["solve.tau[0]"][0]
    script.plan(0, 3)
    check(script, simulation(), pause=0.2, back_pressure=0.3, seed=3)


def test_bad_input_is_answered_and_changes_nothing():
    script, (problem,) = Script(planned().accelerator), problems(1)
    goal = goal_words(script.solver, script.solver.goal(problem))

    def row(k, **words):
        own = {name: numbers[k : k + 1] for name, numbers in goal.items()} | {"row": np.array([k])}
        return script.send(GOAL, own | {name: np.array([number]) for name, number in words.items()})[0][0]

    assert script.solve(problem, 1)[0][0] == MALFORMED  # before its goal
    assert script.plan(0)[0][0] == MALFORMED  # before a solution
    assert row(0) == 0
    assert row(2) == MALFORMED  # leaves a gap
    assert row(1, row=-1) == MALFORMED
    assert script.solve(problem, 1)[0][0] == MALFORMED  # of a part of a goal
    assert row(1, **{"x_weight[0]": -1}) == OUTSIDE  # negative, so zero
    assert row(1, row=3) == MALFORMED
    assert row(2) == row(1) == 0
    for wrong in ({"iterations": 4}, {"iterations": -1}, {"warm": 2}, {"shift": 3}):
        assert script.solve(problem, 1, others=wrong)[0][0] == MALFORMED
    status, solved = script.solve(problem, 1)
    assert (status[0], solved["solve.iterations"][0]) == (0, 1)
    assert row(0) == 0  # of another goal, which is never complete
    assert script.plan(4)[0][0] == MALFORMED
    word = next(word for word in script.solver.shape.step.inputs if word.name == "v[0]")
    status, solved = script.solve(problem, 3, follow=0, others={"v[0]": word.highest + 1})
    assert (status[0], solved["solve.solved"][0]) == (OUTSIDE, Solved.NOT_FINITE)
    script.plan()
    check(script, simulation())


def test_solvers_and_interfaces_that_do_not_belong_together_are_refused():
    plan = planned()
    cores = [core.component(None) for core in plan.cores]
    with pytest.raises(ValueError, match="solver: is None; expected one if the interface has its commands"):
        Accelerator(cores=cores, interface=plan.interface)
    solver = plan.solver.component(plan.cores[0].component(None), None)
    with pytest.raises(ValueError, match="solver: is around another core"):
        Accelerator(cores=cores, interface=plan.interface, solver=solver)


@pytest.mark.verify(minutes=12)
def test_an_arm_solves_through_packets():
    plan = planned("iiwa14", knots=2, ii=32, width=27)
    script = Script(plan.accelerator)
    first, second = (solver_problem(plan.accelerator, 2, seed) for seed in range(2))
    script.goal(first)
    _, solved = script.solve(first, 2, extended=True)
    assert solved["solve.solved"][0] == Solved.ITERATIONS
    script.goal(second)
    script.others(3, 1)
    script.plan()
    script.solve(second, 1, follow=1)
    script.plan(0)
    check(script, Simulation(accelerator(plan)), pause=0.2, back_pressure=0.3, seed=3)
