"""Solutions with costs of frames' positions: the hardware answers as the model, bit for bit."""

from functools import cache

import numpy as np
import pytest

from rbdhw.cores.solver.forward import ForwardPass
from rbdhw.options.build import CoreRequest
from rbdhw.robot.model import JointKind
from rbdhw.solving import Solved
from tests.support.fixed_solvers import fixed_solver, plan_of, posed, solver_problem
from tests.support.floating_robots import two_legs
from tests.support.marks import long
from tests.support.mechanisms import mechanism
from tests.support.simulation import Simulation
from tests.support.solved import Bench, SolverWithCore, compare, component, packed
from tests.support.solver_script import Script, planned, simulation
from tests.support.tracking import tracking, two_frames

KNOTS, ALPHAS, II, SWEEP_II = 3, 2, 4, 112

APART = CoreRequest(("step",), 2), CoreRequest(("dstep", "id"), 8)
"""Cores of steps and of their derivatives, with their intervals."""


def toy(_name):
    return two_frames()


def ball(_name):
    return tracking(mechanism([JointKind.SPHERICAL], [-1], 4), "b0@0.1:0.2:0.3")


def legs(_name):
    return tracking(two_legs(), "b1@0.1:0.2:0.3", "b0")


@pytest.mark.parametrize(
    "options",
    [
        long({"make": toy}),
        long({"make": toy, "problems": 2}, minutes=1),
        long({"make": toy, "blocks": 2, "width": 27}, minutes=1),
        long({"make": toy, "number": "float32"}, minutes=1),
        long({"make": toy, "cores": APART, "ii": None}, minutes=1),
        long({"make": ball, "knots": 2, "ii": 16}, minutes=2),
        long({"make": legs, "knots": 2, "ii": 16, "width": 27}, minutes=6),
    ],
)
def test_a_loop_of_solutions_beside_other_tasks(options):
    """Weights of positions change with the goals, and so does the solution."""
    model = planned(**options).accelerator
    script, knots = Script(model), options.get("knots", KNOTS)
    slots = range(script.solver.shape.problems)
    one, other = (solver_problem(model, knots, seed) for seed in range(2))
    light = one | {"position_weight": 0.1 * one["position_weight"]}
    for slot in slots:
        script.goal(one, slot)
    _, first = script.group(*[(one, 1)] * len(slots), extended=True)
    assert first["solve.solved"][0] == Solved.ITERATIONS
    script.others(4, 1)
    script.goal(light)
    script.plans()
    _, again = script.group((one, 1), extended=True)
    assert any(again[name][0] != words[0] for name, words in first.items() if name.startswith("solve.K"))
    script.goal(other)
    script.group((light, 2, 1))
    script.plans()
    script.check(simulation(**options), pause=0.2, back_pressure=0.3, seed=3)


@cache
def fixed():
    return fixed_solver(two_frames, KNOTS, ALPHAS, ii=II)


@cache
def solver():
    (core,) = plan_of(two_frames, ii=II).cores
    return component(fixed(), core.component(None), SWEEP_II)


@pytest.mark.verify
def test_rows_of_trajectories_have_the_positions_behind_steps():
    """A first trajectory, one from an iteration, and one that follows that one, from its second step on."""
    _, task, goal = posed(fixed(), 0)
    _, later, heavy = posed(fixed(), 1)
    first, solved = (fixed().solve(task, goal, iterations) for iterations in (0, 2))
    followed = fixed().solve(later, heavy, 1, solved.plan, 1)
    names = [each.word.name for each in fixed().shape.tracked]
    assert not np.array_equal(solved.plan.states[names[0]], first.plan.states[names[0]])
    dut = SolverWithCore(solver())

    async def testbench(ctx):
        bench = Bench(dut, ctx)
        await bench.load(goal)
        for iterations, expected in ((0, first), (2, solved)):
            answer, cycles = await bench.solve(task, iterations)
            compare(fixed(), answer, expected)
            assert cycles <= solver().timing.solution(iterations)
        await bench.load(heavy)
        answer, _ = await bench.solve(later, 1, warm=True, shift=1)
        compare(fixed(), answer, followed)

    Simulation(dut).run(testbench)


def results(**others):
    """Return packed results of a step, which are zero but for others."""
    outputs = fixed().shape.step.outputs
    return packed(outputs, dict.fromkeys((word.name for word in outputs), 0) | others)


def test_a_position_beyond_its_format_flags_a_step():
    """The largest result of a step with more bits than a position is rounded to one that has no word."""
    shape = fixed().shape
    finest = max(
        (shape.step.outputs[each.place] for each in shape.tracked), key=lambda word: word.format.width
    )
    (kept,) = (each.word for each in shape.tracked if shape.step.outputs[each.place] is finest)
    half = 1 << finest.format.binary_point - kept.format.binary_point - 1
    assert finest.format.binary_point > kept.format.binary_point
    dut = ForwardPass(timing=solver().timing, slots=solver().cores["step"].slots)
    _, task, _ = posed(fixed(), 0)

    async def testbench(ctx):
        ctx.set(dut.task[0], packed(shape.step.inputs, task))
        ctx.set(dut.takes, 1)
        limits = {least.name: least.lowest for least, _ in shape.limits_of_forces}
        limits |= {most.name: most.highest for _, most in shape.limits_of_forces}
        ctx.set(dut.limits, packed(shape.limits, limits))
        for number, flags in ((finest.format.highest, 0b11), (finest.format.highest - half, 0), (-half, 0)):
            ctx.set(dut.result, results(**{finest.name: number}))
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            while ctx.get(dut.busy):
                await ctx.tick()
            assert ctx.get(dut.flags) == flags

    Simulation(dut).run(testbench)
