"""The solver equals its bit-exact model, bit for bit, alone and beside other tasks."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from rbdhw.cores.solver.component import SolverComponent
from rbdhw.domain.sampling import sample
from rbdhw.model.packets import encode
from rbdhw.model.responses import respond
from rbdhw.solving import Solved
from tests.support.fixed_solvers import STEP, fixed_solver, plan_of, solver_problem, with_close_limits
from tests.support.marks import long
from tests.support.simulation import Simulation
from tests.support.solved import Bench, SolverWithCore, compare, component, unpacked

KNOTS, ALPHAS, II, SWEEP_II = 3, 2, 4, 112

BEFORE_STEP = 4
"""The cycles from the start of an expansion until its first step may begin, in an interval of the core."""

SHORT_II = 48
"""An interval of the sweep at which its memories are direct."""


@cache
def fixed():
    return fixed_solver("toy", KNOTS, ALPHAS, ii=II)


def core(name="toy", ii=II, time_step=None):
    """Return a core of steps and their derivatives."""
    (built,) = plan_of(name, ii=ii, time_step=time_step).cores
    return built.component(None)


@cache
def simulation():
    return Simulation(SolverWithCore(component(fixed(), core(), SWEEP_II)))


def check_alone(model, solver, iterations):
    """Compare one solution of another solver than that of :func:`simulation`."""
    problem = solver_problem(model.model, model.shape.knots, 0)
    task, goal = model.task(problem, problem["tau"][0]), model.goal(problem)
    dut = SolverWithCore(solver)

    async def testbench(ctx):
        bench = Bench(dut, ctx)
        await bench.load(goal)
        answer, cycles = await bench.solve(task, iterations)
        solution = model.solve(task, goal, iterations)
        assert solution.status is Solved.ITERATIONS
        compare(model, answer, solution)
        assert cycles <= solver.timing.solution(iterations)

    Simulation(dut).run(testbench)


def run(steps):
    """Run steps of a testbench with the simulated solver."""

    async def testbench(ctx):
        await steps(Bench(simulation().component, ctx))

    simulation().run(testbench)


def posed(seed):
    """Return the task and the goal of a problem, with closer limits of forces in its middle steps."""
    problem = solver_problem(fixed().model, KNOTS, seed)
    problem["tau_ref"] = problem["tau"] * np.linspace(0.2, 0.9, KNOTS)[:, np.newaxis]
    goal, close = (fixed().goal(each) for each in (problem, with_close_limits(problem, 0.02)))
    for word in fixed().shape.limits:
        goal.rows[word.name][1:-1] = close.rows[word.name][1:-1]
    return fixed().task(problem, problem["tau"][0]), goal


def following(task, plan):
    """Return a task in the second state of a plan."""
    return task | {state.word.name: int(plan.states[state.word.name][1]) for state in fixed().shape.state}


async def cycles_of_parts(bench, task, iterations):
    """Return the cycles of a solution, those of each of its parts, and the banks of the trials it keeps.

    Those of an expansion count as if the interval of the core began as late as can be; how much longer they
    wait is last.
    """
    get, solver, cycles, beat = bench.ctx.get, bench.solver, 1, 0
    begins = {"expansion": solver.expansion.start, "sweep": solver.sweeper.start}
    begins |= {"forward_pass": solver.forward.start, "curvatures": solver.curvatures.start}
    begun, parts, banks = {}, {name: [] for name in begins}, []
    waits = []
    await bench.start(task, iterations)
    while not get(solver.ends):
        ended = {
            "expansion": get(solver.expansion.ahead),
            "sweep": get(solver.sweeper.ready) and not get(solver.rows.busy),
            "forward_pass": not get(solver.forward.busy),
            "curvatures": not get(solver.curvatures.busy),
        }
        for name in [name for name in begun if ended[name]]:
            parts[name].append(cycles - begun.pop(name))
        begun |= {name: cycles for name, start in begins.items() if get(start)}
        banks += [get(solver.expansion.around)[0]] * get(solver.expansion.start)
        beat = cycles if get(solver.phase_zero_step) else beat
        if get(solver.expansion.start):
            waits.append((beat - cycles - BEFORE_STEP) % II - (II - 1))
        await bench.ctx.tick()
        cycles += 1
    parts["expansion"] = [taken - wait for taken, wait in zip(parts["expansion"], waits, strict=True)]
    return cycles, parts, [*banks, get(solver.expansion.around)[0]], sum(waits)


def test_a_solution_that_begins_at_rest_takes_no_dearer_trial():
    """It is cold, and its slopes lead uphill."""
    task, goal = posed(0)
    task |= {word.name: 0 for word in fixed().shape.step.inputs if word.name.startswith("v[")}
    uphill = {each.name: -goal.rows[each.name] for each in fixed().shape.slopes}
    goal = replace(goal, rows=goal.rows | uphill)

    async def steps(bench):
        await bench.load(goal)
        answer, _ = await bench.solve(task, 1)
        compare(fixed(), answer, fixed().solve(task, goal, 1))

    run(steps)


@pytest.mark.verify
def test_each_part_of_a_solution_takes_the_cycles_stated():
    """What is between the parts is exact, but for a second look at the trials after the one that is kept."""
    timing = simulation().component.solver.timing
    of_first = max(timing.first_pass, timing.curvatures)
    of_each = timing.expansion + timing.swept + timing.forward_pass

    async def steps(bench):
        longest = dict.fromkeys(("expansion", "sweep", "first_pass", "forward_pass", "curvatures"), 0)
        for iterations in [2] + (II - 1) * [1]:
            task, goal = posed(0)
            await bench.load(goal)
            cycles, parts, banks, waits = await cycles_of_parts(bench, task, iterations)
            kept = [(then - bank - 1) % (ALPHAS + 1) for bank, then in pairwise(banks)]
            parts["first_pass"] = [parts["forward_pass"].pop(0)]
            between = cycles - sum(sum(parts[name]) for name in ("expansion", "sweep", "forward_pass"))
            between -= max(*parts["first_pass"], *parts["curvatures"]) + waits
            skipped = sum(ALPHAS - 1 - trial for trial in kept)
            assert between == timing.solution(iterations) - of_first - iterations * of_each - skipped
            longest = {name: max(longest[name], *parts[name]) for name in longest}
            await bench.ctx.tick()
        assert longest.pop("curvatures") == timing.curvatures
        longest["swept"] = longest.pop("sweep")
        for name, cycles in longest.items():  # which wait for the phase of the core that they find
            assert getattr(timing, name) - II < cycles <= getattr(timing, name)

    run(steps)


@pytest.mark.parametrize(("first", "then"), [(0, (7,)), long(1, (1, 7))])
def test_solutions_in_a_loop_are_those_of_the_model_in_the_cycles_stated(first, then):
    """Each follows the one before towards a goal that changes; after one that fails there is none to follow.

    Cycles depend on the phases in which the parts start, and not on numbers.
    """
    most = simulation().component.solver.timing.solution(2)

    async def steps(bench):
        task, goal = posed(first)
        await bench.load(goal)
        solution = fixed().solve(task, goal, 2)
        answer, cycles = await bench.solve(task, 2)
        compare(fixed(), answer, solution)
        assert most - II - 2 * (2 * II + ALPHAS) <= cycles <= most
        for shift, seed in enumerate(then, 1):
            task, (_, goal) = following(task, solution.plan), posed(seed)
            await bench.load(goal)
            solution = fixed().solve(task, goal, 1, solution.plan, shift)
            answer, _ = await bench.solve(task, 1, warm=True, shift=shift)
            compare(fixed(), answer, solution)
        await fail(bench, Solved.NOT_FINITE)

    run(steps)


@pytest.mark.parametrize("iterations", [0, long(2)])
def test_a_problem_takes_the_same_cycles_in_every_phase_of_the_core(iterations):
    async def steps(bench):
        task, goal = posed(0)
        await bench.load(goal)
        taken = set()
        for phase in range(II):
            while not bench.ctx.get(bench.solver.phase_zero_step):
                await bench.ctx.tick()
            for _ in range(phase):
                await bench.ctx.tick()
            taken.add((await bench.solve(task, iterations))[1])
        assert len(taken) == 1

    run(steps)


def failing(name):
    """Return a task and a goal whose solution ends with a status."""
    task, goal = posed(0)
    match name:
        case Solved.NOT_FINITE:
            return task | {"h": fixed().shape.time_word.highest + 1}, goal
        case Solved.INDEFINITE:
            rows = {each.name: np.full(KNOTS, each.format.highest) for each in fixed().shape.slopes}
        case _:
            task |= {state.word.name: 0 for state in fixed().shape.state[fixed().shape.nv :]}
            rows = {each.name: -goal.rows[each.name] for each in fixed().shape.slopes}
    return task, replace(goal, rows={**goal.rows, **rows})


async def fail(bench, status):
    """Compare a solution that ends with a status, and the first trajectory of the next one."""
    task, goal = failing(status)
    await bench.load(goal)
    solution = fixed().solve(task, goal, 20)
    assert solution.status is status
    answer, _ = await bench.solve(task, 20)
    compare(fixed(), answer, solution)
    task, goal = posed(1)
    await bench.load(goal)
    answer, _ = await bench.solve(task, 0, warm=True)
    before = solution.plan if status is Solved.STALLED else None
    compare(fixed(), answer, fixed().solve(task, goal, 0, before))


@pytest.mark.parametrize("status", [Solved.INDEFINITE, long(Solved.STALLED)])
def test_a_solution_that_fails_says_so_and_is_not_followed_without_a_policy(status):
    run(lambda bench: fail(bench, status))


@pytest.mark.parametrize(("beyond", "iterations"), [(0, 0), long(0, 1), long(1, 1), long(1, 20)])
def test_a_state_in_motion_is_followed_from_rest(beyond, iterations):
    """Without an iteration, and from a speed beyond its domain, no trajectory begins with the state."""
    task, goal = posed(0)
    speed = next(state.word for state in fixed().shape.state if state.word.name == "v[0]")
    task |= {"v[0]": speed.highest + 1} if beyond else {}
    solution = fixed().solve(task, goal, iterations)
    ends = Solved.ITERATIONS if iterations and not beyond else Solved.NOT_FINITE
    assert solution.status is ends

    async def steps(bench):
        await bench.load(goal)
        answer, _ = await bench.solve(task, iterations)
        compare(fixed(), answer, solution)

    run(steps)


def test_numbers_that_exceed_their_formats_leave_the_policies_before():
    """The second sweep is in progress when its numbers turn out to be too large."""
    task, goal = posed(3)
    goal = replace(goal, rows={**goal.rows, "tau_slope[1]": 512 * goal.rows["tau_slope[1]"]})
    solution = fixed().solve(task, goal, 3)
    assert (solution.status, solution.iterations, solution.usable) == (Solved.INDEFINITE, 2, True)

    async def steps(bench):
        await bench.load(goal)
        answer, _ = await bench.solve(task, 3)
        compare(fixed(), answer, solution)
        answer, _ = await bench.solve(task, 0, warm=True, shift=1)
        compare(fixed(), answer, fixed().solve(task, goal, 0, solution.plan, 1))

    run(steps)


@pytest.mark.parametrize(
    ("knots", "ii", "sweep_ii", "turns", "waits"),
    [
        long(8, II, SWEEP_II, {}, False),
        long(8, 128, SWEEP_II, {}, True),
        long(8, 1, 40, {"blocks": 3}, False),
        (4, 8, 20, {"blocks": 2}, True),
        long(8, 16, 40, {"blocks": 2}, True),
        long(8, 64, 40, {"together": 3}, True),
    ],
)
def test_a_sweep_reads_no_number_before_it_is_written(knots, ii, sweep_ii, turns, waits):
    """A sweep may take its knots faster than they are expanded, and blocks begin in the middle."""
    model = fixed_solver("toy", knots, 1, ii=ii, **turns)
    solver = component(model, core(ii=ii), sweep_ii)
    timing, problem = solver.timing, solver_problem(model.model, knots, 0)
    assert (timing.ahead > 1) == waits
    task, goal = model.task(problem, problem["tau"][0]), model.goal(problem)
    dut = SolverWithCore(solver)

    async def testbench(ctx):
        bench, sweeper, written, read, cycle = Bench(dut, ctx), solver.sweeper, {}, {}, 0
        await bench.load(goal)
        await bench.start(task, 1)
        while not ctx.get(solver.ready):
            for column in range(len(solver.sweep.columns)):
                if ctx.get(solver.expansion.write_enable[column]):
                    written[ctx.get(getattr(sweeper, f"write_row_{column}"))] = cycle
            if not ctx.get(sweeper.ready) and ctx.get(sweeper.slot) < solver.sweep.rows_of_knot:
                read.setdefault(ctx.get(sweeper.row), cycle)
            await ctx.tick()
            cycle += 1
        compare(model, await bench.results(), model.solve(task, goal, 1))
        assert all(written[row] < read[row] for row in written)
        assert min(read.values()) < max(written.values())

    Simulation(dut).run(testbench)


@pytest.mark.verify
def test_numbers_in_several_lanes_and_a_sweep_with_direct_memories():
    solver, longer = component(fixed(), core(), SHORT_II), component(fixed(), core(), SWEEP_II)
    assert solver.sweep.schedule.timing.direct
    assert not longer.sweep.schedule.timing.direct
    assert len(solver.timing.lanes) > len(longer.timing.lanes) == 1
    assert all(lane.numbers and lane.columns for lane in solver.timing.lanes)
    assert solver.timing.numbers < longer.timing.numbers
    check_alone(fixed(), solver, 2)


@pytest.mark.verify
def test_a_sweep_without_a_policy_is_repeated():
    """Negative weights of forces make the Hessian by the forces indefinite."""
    task, goal = posed(0)
    weights = {f"tau_curvature[{k}]": -8 * goal.rows[f"tau_curvature[{k}]"] for k in range(2)}
    goal = replace(goal, rows={**goal.rows, **weights})
    solution = fixed().solve(task, goal, 2)
    assert solution.regularisation > 0

    async def steps(bench):
        await bench.load(goal)
        answer, _ = await bench.solve(task, 2)
        compare(fixed(), answer, solution)

    run(steps)


def test_a_reset_in_mid_solution_leaves_nothing_behind():
    async def steps(bench):
        task, goal = posed(2)
        for cycles in (40, 333):
            await bench.load(goal)
            await bench.start(task, 3)
            await bench.ctx.tick().repeat(cycles)
            await bench.reset()
            assert not bench.ctx.get(bench.solver.has_goal)
        await bench.load(goal)
        answer, _ = await bench.solve(task, 1, warm=True)
        compare(fixed(), answer, fixed().solve(task, goal, 1))

    run(steps)


def test_other_tasks_take_the_cycles_between():
    """A task of either function waits for a free cycle of the core, and all have the model's results."""
    model, names = fixed().model, core().names
    arrays = sample(model.robot, model.domain, 200, np.random.default_rng(0), model.fext)
    words, served = encode(model, "dstep", arrays), []

    async def steps(bench):
        task, goal = posed(1)
        await bench.load(goal)
        await bench.start(task, 1)
        answer, cycles = await bench.solve_beside(words, served)
        compare(fixed(), answer, fixed().solve(task, goal, 1))
        assert cycles <= bench.solver.timing.solution(1)

    run(steps)
    expected = {name: respond(model, name, words)[1] for name in names}
    assert {name for name, _, _ in served} == set(names)
    assert len(served) > 100
    for name, index, result in served:
        outputs = model.interface.outputs(name)
        assert unpacked(outputs, result) == {
            word.name: int(expected[name][word.name][index]) for word in outputs
        }


@pytest.mark.verify
def test_one_step_and_one_step_length_at_an_interval_of_one():
    model = fixed_solver("toy", 1, 1, ii=1)
    check_alone(model, component(model, core(ii=1), SWEEP_II), 2)


@pytest.mark.verify
def test_a_fixed_time_step():
    model = fixed_solver("toy", 2, 1, ii=II, time_step=STEP)
    check_alone(model, component(model, core(time_step=STEP), SWEEP_II), 1)


def test_cores_and_sweeps_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="core: has no dstep, which a solver needs"):
        component(fixed(), SimpleNamespace(names=("step",)), SWEEP_II)
    two, sweep = replace(fixed().shape, problems=2), simulation().component.solver.sweep
    with pytest.raises(ValueError, match="sweep: 1 problems take turns; expected 2"):
        SolverComponent(shape=two, sweep=sweep, steps=core(), derivatives=core())
