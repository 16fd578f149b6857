"""Packets of a solver among tasks of other functions: the hardware answers as the model, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest

from rbdhw.model.packets import MALFORMED, OUTSIDE
from rbdhw.model.solver_codec import goal_words, plan_words
from rbdhw.protocol import GOAL, PLAN
from rbdhw.rtl.shell import Accelerator
from rbdhw.solving import Solved
from tests.support.fixed_solvers import solver_problem, with_close_limits
from tests.support.marks import long
from tests.support.packet_script import accelerator_of
from tests.support.simulation import Simulation
from tests.support.solver_script import APART, Script, planned, problems, simulation

TWO = {"problems": 2, **APART}
"""Two problems, and a core of steps beside that of derivatives."""


@pytest.mark.verify
def test_a_loop_of_solutions_beside_other_tasks():
    """Goals change while a solution is in progress; each solution takes the goal that was complete before."""
    script, (first, second) = Script(planned().accelerator), problems(2)
    second = with_close_limits(second, 0.01)
    script.goal(first)
    status, solved = script.solve(first, 2, extended=True)
    assert (status[0], solved["solve.solved"][0]) == (0, Solved.ITERATIONS)
    assert solved["solve.K[0,0]"][0] != 0
    script.others(4, 1)
    script.goal(second)
    script.plan()
    _, followed = script.solve(first, 1, follow=1)
    assert followed["solve.tau[0]"][0] != solved["solve.tau[0]"][0]
    assert (solved["solve.followed"][0], followed["solve.followed"][0]) == (0, 1)
    script.plan(0, 3)
    script.check(simulation(), pause=0.2, back_pressure=0.3, seed=3)


@pytest.mark.parametrize("options", [long({"problems": 1}), TWO], ids=["one", "two"])
def test_bad_input_is_answered_and_changes_nothing(options):
    script, (problem,) = Script(planned(**options).accelerator), problems(1, **APART)
    goal = goal_words(script.solver, script.solver.goal(problem))

    def row(k, **words):
        asked = {name: numbers[k : k + 1] for name, numbers in goal.items()} | {"row": np.array([k])}
        return script.send(GOAL, asked | {name: np.array([number]) for name, number in words.items()})[0][0]

    assert script.solve(problem, 1)[0][0] == MALFORMED  # before its goal
    assert script.plan(0)[0][0] == MALFORMED  # before a solution
    assert row(0) == 0
    assert row(2) == MALFORMED  # leaves a gap
    assert row(1, row=-1) == MALFORMED
    assert script.solve(problem, 1)[0][0] == MALFORMED  # of a part of a goal
    assert row(1, **{"x_weight[0]": -1}) == OUTSIDE  # negative, so zero
    assert row(1, row=3) == MALFORMED
    assert row(1, **{"tau_min[1]": 5, "tau_max[1]": 4}) == MALFORMED  # they cross
    highest = next(word.highest for word in script.solver.shape.taus if word.name == "tau[1]")
    beyond = {"tau_min[1]": highest + 1, "tau_max[1]": highest + 2}
    assert row(1, **beyond) == OUTSIDE  # both are limited, and equal
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
    for held, iterations in ((0, 1), (1, 0)):  # that solution has no gains, so the next one holds forces
        assert script.solve(problem, iterations, follow=0)[1]["solve.followed"][0] == held
    script.check(simulation(**options))


def test_a_group_of_two_problems():
    """Others come between its answers, and one that fails leaves the other one alone."""
    script, (first, second) = Script(planned(**TWO).accelerator), problems(2, **APART)
    script.goal(first)
    assert tuple(script.group((first, 0), (second, 0))[0]) == (0, MALFORMED)  # slot 1 has no goal
    script.goal(second, 1)
    two = (first, 1), (second, 1)
    assert tuple(script.group(*two, others={("iterations", 1): 4})[0]) == (0, MALFORMED)
    script.others(2, 1)
    status, answers = script.group((first, 2, 1), (second, 1), extended=True)
    assert (tuple(status), tuple(answers["solve.followed"])) == ((0, 0), (1, 0))
    word = next(word for word in script.solver.shape.step.inputs if word.name == "v[0]")
    status, answers = script.group(*two, others={("v[0]", 0): word.highest + 1})
    assert tuple(status) == (OUTSIDE, 0)
    assert tuple(answers["solve.solved"]) == (Solved.NOT_FINITE, Solved.ITERATIONS)
    goal = script.solver.goal(first)
    steep = {each.name: np.full(3, each.format.highest) for each in script.solver.shape.slopes}
    script.send(GOAL, goal_words(script.solver, replace(goal, rows=goal.rows | steep)))
    status, answers = script.group(*two)
    assert tuple(answers["solve.solved"]) == (Solved.INDEFINITE, Solved.ITERATIONS)
    script.plans()
    script.check(simulation(**TWO), pause=0.2, back_pressure=0.3, seed=3)


@pytest.mark.verify
@pytest.mark.parametrize("number", ["fixed", "float32"])
def test_groups_of_problems_are_answered_in_order(number):
    """A task that is refused begins the solutions of those before it, and takes no place in a group."""
    plan = planned(problems=3, number=number)
    script, (first, second, third) = Script(plan.accelerator), problems(3)
    ok, refused = (0, 0, 0), MALFORMED
    for slot, problem in enumerate((first, second)):
        script.goal(problem, slot)
    two = (first, 1), (second, 2)
    assert tuple(script.group(*two, (third, 1))[0]) == (0, 0, refused)  # slot 2 has no goal
    script.goal(third, 2)
    assert tuple(script.group(*two, (third, 3), extended=True)[0]) == ok
    script.others(5, 1)
    script.plans()
    script.goal(third, 0)  # which the next task of slot 0 takes
    assert tuple(script.group((first, 1, 1), (second, 1, 2), (third, 0, 0))[0]) == ok
    script.plans()
    _, answers = script.group((first, 1, 1), (second, 1), (third, 1, 0))
    assert tuple(answers["solve.followed"]) == (1, 0, 0)
    three = (first, 1, 1), (second, 1, 1), (third, 1, 1)
    bad = {("iterations", 1): 4}
    assert tuple(script.group(*three, others=bad)[0]) == (0, refused, refused)  # the next slot is 0
    assert tuple(script.group(*three, others={**bad, ("problem", 2): 0})[0]) == (0, refused, 0)
    assert tuple(script.sent(three, (0, 2))) == (0, refused)
    assert tuple(script.sent(three, (0, 1, 1, 2))) == (0, 0, refused, refused)
    assert tuple(script.sent(three, (1, 0, 2))) == (refused, 0, refused)
    for beyond in (3, -1):
        assert tuple(script.group(*two, others={("problem", 1): beyond})[0]) == (0, refused)
    assert script.group((first, 1), others={("more", 0): 2})[0][0] == refused
    words = {**plan_words(script.solver), "problem": np.array([3, -1, 0, 2])}
    assert tuple(script.send(PLAN, words)[0]) == (refused, refused, 0, 0)
    words = goal_words(script.solver, script.solver.goal(first)) | {"problem": np.array([3, -1, 2])}
    assert tuple(script.send(GOAL, words)[0]) == (refused, refused, refused)  # the last one leaves a gap
    script.plans()
    script.check(simulation(problems=3, number=number), pause=0.2, back_pressure=0.3, seed=3)


def test_solvers_and_interfaces_that_do_not_belong_together_are_refused():
    plan = planned(problems=2)
    cores = [core.component(None) for core in plan.cores]
    with pytest.raises(ValueError, match="solver: is None; expected one if the interface has its commands"):
        Accelerator(cores=cores, interface=plan.interface)
    solver = plan.solver.component(plan.cores, [plan.cores[0].component(None)], None)
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
    script.check(Simulation(accelerator_of(plan)), pause=0.2, back_pressure=0.3, seed=3)
