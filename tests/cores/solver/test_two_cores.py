"""A solver with a core of steps and one of derivatives, or on an array, equals its model, bit for bit."""

import pytest

from rbdhw.errors import InputError
from rbdhw.model.solver_words import _check_formats
from tests.support.fixed_solvers import solver_problem
from tests.support.packet_script import accelerator_of
from tests.support.simulation import Simulation
from tests.support.solved import Bench, SolverWithCore, compare
from tests.support.solver_script import APART, Script, cores, planned, problems

ARRAY = {"core": "array", "ii": 32}


@pytest.mark.verify
@pytest.mark.parametrize(
    "options",
    [
        APART,
        ARRAY,
        cores((("step", "id"), 8), (("dstep",), 4)),
        APART | {"problems": 2},
        APART | {"blocks": 2, "width": 27},
    ],
)
def test_solutions_beside_other_tasks(options):
    plan = planned(**options)
    script, (first, second) = Script(plan.accelerator), problems(2)
    slots = range(script.solver.shape.problems)
    for slot in slots:
        script.goal(first, slot)
    script.group(*[(first, 1)] * len(slots), extended=True)
    script.others(3, 1)
    script.goal(second)
    script.plans()
    script.others(3, 2)
    script.group((second, 1, 1))
    script.plans()
    script.check(Simulation(accelerator_of(plan)), pause=0.2, back_pressure=0.3, seed=3)


def test_derivatives_take_states_with_more_bits():
    assert max(planned(problems=2, **APART).solver.shape.finer.values()) > 0


@pytest.mark.parametrize("options", [APART, ARRAY, cores((("step", "id"), 8), (("dstep",), 4)), {"ii": 32}])
@pytest.mark.verify
def test_a_problem_takes_the_same_cycles_in_every_phase_of_both_cores(options):
    """The first one comes as soon as the solver is ready after a reset."""
    plan = planned(**options)
    solver = plan.solver.component(plan.cores, [core.component(None) for core in plan.cores], None).solver
    model = Script(plan.accelerator).solver
    problem = solver_problem(model.model, model.shape.knots, 0)
    task, goal = model.task(problem, problem["tau"][0]), model.goal(problem)
    dut, taken = SolverWithCore(solver), set()

    async def testbench(ctx):
        bench = Bench(dut, ctx)
        await bench.load(goal)
        for phase in range(solver.timing.phases):
            while not ctx.get(solver.phase_zero_dstep):
                await ctx.tick()
            for _ in range(phase):
                await ctx.tick()
            answer, cycles = await bench.solve(task, 1)
            taken.add(cycles)
        compare(model, answer, model.solve(task, goal, 1))

    Simulation(dut).run(testbench)
    (cycles,) = taken
    assert cycles <= solver.timing.solution(1)


def test_intervals_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="cores: step starts every 4 cycles, and dstep every 6"):
        planned(**cores((("step", "id"), 4), (("dstep",), 6)))


def test_derivatives_of_fewer_bits_are_refused():
    shape = planned(problems=2, **APART).solver.shape
    with pytest.raises(InputError, match=r"cores: q\[0\] has 30 bits in step and 29 in dstep"):
        _check_formats(shape.dstep, shape.step)
