"""Means of samples among other tasks: the hardware answers as the model, bit for bit."""

from functools import cache

import numpy as np
import pytest

from rbdhw.fixed.softmin import MOST_EXPONENT, MOST_SAMPLES, SCALE
from rbdhw.model.packets import MALFORMED
from rbdhw.options.build import BuildOptions, CoreRequest, Mounting
from rbdhw.pipeline import plan_build
from rbdhw.protocol import LOAD, LOAD_COST, LOAD_RESIDUAL, MPPI
from rbdhw.robot.model import BASE, JointKind
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.rtl.mppi import queued
from tests.support.marks import long
from tests.support.means import Script
from tests.support.mechanisms import mechanism
from tests.support.packet_bench import beats_of, drive
from tests.support.packet_script import accelerator_of
from tests.support.reset_bench import ResetBench
from tests.support.simulation import Simulation
from tests.support.tracking import tracking

HORIZON = 5

TREE = mechanism([JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.CONTINUOUS], [BASE, 0, 0], 2)


@cache
def planned():
    return plan(("mppi", "id"))


def plan(functions, robot=None, frames=(), **options):
    sizes = {"width": 18, "horizon": HORIZON, "hold": 2, "samples": 256, "data_width": 128}
    robot = robot or load_urdf(path("toy"))
    robot = tracking(robot, *frames) if frames else robot
    return plan_build(robot, BuildOptions(functions, **(sizes | options)))


@cache
def simulation():
    return Simulation(accelerator_of(planned()))


@pytest.mark.parametrize("traffic", [long({}), {"pause": 0.3, "back_pressure": 0.4, "seed": 3}])
def test_means_beside_other_tasks_and_rollouts(traffic):
    """Each begins with the last one, some steps later, and takes what was loaded since."""
    script = Script(planned().accelerator)
    script.load(0)
    status, first = script.mppi(1)
    assert (status[0], first["mppi.counted"][0]) == (0, 20)
    script.mean()
    script.others(6, 1)
    _, second = script.mppi(2, samples=33, shift=1)
    assert second["mppi.tau[0]"][0] != first["mppi.tau[0]"][0]
    script.others(3, 2)
    script.rollouts(4, 5, HORIZON)
    script.mean(0, HORIZON - 1)
    script.load(6, rows=2)
    script.rollouts(2, 7, 2)
    script.mppi(3, samples=1, shift=HORIZON - 1)
    script.mean()
    script.check(simulation(), **traffic)


@pytest.mark.parametrize(
    ("functions", "options"),
    [
        (
            ("mppi",),
            {"mounting": Mounting(time_step=0.01), "ii": 3, "horizon": 7, "hold": 1, "cost_rows": 2},
        ),
        long(("mppi", "id"), {"number": "float32", "width": 16}),
        long(("id", "mppi"), {"cores": (CoreRequest(("mppi",), 2), CoreRequest(("id",), 4))}),
        long(("mppi", "solve"), {"ii": 8, "knots": 3, "alphas": 2, "iterations": 2, "cost_rows": 2}),
        long(("mppi", "id"), {"width": 30}),
        long(("mppi",), {"cost_rows": 2}),
        long(("mppi", "id"), {"cost_rows": 7, "number": "float32", "width": 16, "ii": 2}),
        long(("mppi", "id"), {"cost_rows": 1, "frames": ("tip", "upper_arm")}),
        long(("mppi",), {"robot": TREE, "ii": 4, "frames": ("b1", "b2@0.1:0.2:0.3")}),
        long(("mppi", "id"), {"number": "float32", "width": 16, "frames": ("tip",)}),
        long(
            ("mppi", "solve"),
            {"ii": 8, "knots": 3, "alphas": 2, "iterations": 2, "cost_rows": 1, "frames": ("tip",)},
        ),
    ],
)
def test_other_builds(functions, options):
    built = plan(functions, **options)
    script = Script(built.accelerator)
    script.load(0)
    assert script.mppi(1, samples=21)[1]["mppi.counted"][0] > 0
    script.others(2, 1)
    script.mppi(2, samples=6, shift=1)
    script.mean()
    script.check(Simulation(accelerator_of(built)), pause=0.1, back_pressure=0.1)


def test_a_request_that_waits_loads_no_row():
    """Its number of samples is in the place of a row's number, and is that of the next row."""
    script = Script(planned().accelerator)
    script.load(0)
    script.mppi(1, samples=3)
    for _ in range(2):
        script.mppi(2, samples=HORIZON)
    script.mean()
    script.check(simulation())


def test_samples_that_leave_the_domain_weigh_nothing():
    script = Script(planned().accelerator)
    script.check_mppi_that_leaves()
    script.check(simulation())


def test_samples_that_leave_in_the_last_step_weigh_nothing():
    script = Script(planned().accelerator)
    script.check_mppi_that_leaves_at_the_end(24)
    script.check(simulation())


@pytest.mark.parametrize("exponent", [long(0), long(18), MOST_EXPONENT])
def test_temperatures_from_the_lowest_to_the_highest(exponent):
    script = Script(planned().accelerator)
    script.load(1)
    for scale in (0, 1, SCALE.highest):
        script.mppi(4, samples=6, scale=scale, exponent=exponent)
        script.mean()
    script.check(simulation())


@pytest.mark.verify
def test_samples_with_a_residual_beyond_its_format_weigh_nothing():
    """All coefficients are the largest; residuals that exceed the format are flagged as in the model."""
    built = plan(("mppi",), cost_rows=2)
    script = Script(built.accelerator)
    assert script.mppi(1)[0][0] == MALFORMED
    script.load(0)
    words = {word.name: word for word in script.model.interface.inputs(LOAD_RESIDUAL)}
    largest = {name: np.array([word.highest]) for name, word in words.items()}
    rows = {name: each.copy() for name, each in script.session.rows[LOAD_COST].items()}
    limit = next(word.highest for word in script.model.interface.inputs(LOAD_COST) if word.name == "y[1]")
    script.send(LOAD_RESIDUAL, largest | {"row": np.array([1])})
    script.send(LOAD_RESIDUAL, largest | {"row": np.array([2])})  # there is none
    counted = []
    for share in (0.0, 0.75, 1.0):
        rows["y[1]"][-1] = -int(share * limit)
        script.send(LOAD_COST, rows | {"row": np.arange(HORIZON)})
        counted.append(int(script.mppi(5, samples=20, size=0.9)[1]["mppi.counted"][0]))
        script.rollouts(3, 5, HORIZON)
        script.mean()
    assert counted[0] > counted[-1]
    script.check(Simulation(accelerator_of(built)), pause=0.1, back_pressure=0.1)


def test_bad_input_is_answered_and_changes_nothing():
    script = Script(planned().accelerator)
    assert script.mppi(1)[0][0] == MALFORMED  # before its rows
    assert script.mean(0)[0][0] == MALFORMED
    script.load(0, rows=HORIZON - 1)
    assert script.mppi(1)[0][0] == MALFORMED  # of a part of them
    assert script.mean(HORIZON - 2, HORIZON - 1)[0].tolist() == [0, MALFORMED]
    script.load(0)
    for wrong in (
        {"samples": 0},
        {"samples": MOST_SAMPLES + 1},
        {"seed": -1},
        {"scale": -1},
        {"exponent": MOST_EXPONENT + 1},
        {"exponent": -1},
        {"shift": HORIZON},
        {"shift": -1},
    ):
        assert script.mppi(1, **wrong)[0][0] == MALFORMED
    assert script.mean(-1, 0)[0].tolist() == [MALFORMED, 0]
    assert script.mppi(1)[0][0] == 0
    script.mean()
    script.check(simulation(), pause=0.2)


@pytest.mark.parametrize("waits", [(420,), long((5, 60, 150, 330, 450, 480))])
def test_after_a_reset_in_the_middle_of_a_mean_all_is_as_after_power_up(waits):
    dut = accelerator_of(planned())
    bench, script, broken = ResetBench(dut), Script(planned().accelerator), Script(planned().accelerator)
    assert script.mppi(7)[0][0] == MALFORMED
    script.load(2)
    script.mppi(3)
    script.mean()
    broken.load(1)
    broken.mppi(2, samples=60)
    loads = 2 * HORIZON

    async def testbench(ctx):
        for cycles in waits:
            await drive(ctx, dut, broken.beats, loads)
            await ctx.tick().repeat(cycles)
            ctx.set(dut.s_axis_tvalid, 0)
            await bench.restart(ctx)
            script.compare(beats_of(await drive(ctx, dut, script.beats, script.count), script.beats))

    Simulation(bench).run(testbench)


def test_the_time_of_a_mean_does_not_depend_on_numbers():
    """States, seeds and temperatures; also if some samples, or all, leave the domain."""
    script, asked = Script(planned().accelerator), []
    script.load(0, deviation=1.0)
    loads = script.beats
    highest = {word.name: word.highest for word in script.model.interface.inputs(MPPI)}
    counted = []
    for draw, others in enumerate(
        ({}, {"exponent": 0}, {"scale": 0, "shift": 3}, {"v[0]": highest["v[0]"]}, {"h": highest["h"] + 1})
    ):
        script.asked.clear()
        counted.append(int(script.mppi(draw, samples=15, size=0.9, **others)[1]["mppi.counted"][0]))
        asked.append(script.beats)
    assert counted[-1] == 0 < min(counted[:-1]) < max(counted)

    async def testbench(ctx):
        await drive(ctx, simulation().component, loads, 2 * HORIZON)
        times = []
        for beats in (asked[0], *asked):  # behind the answers to loads, the first one waits for its turn
            *_, (_, _, cycle) = await drive(ctx, simulation().component, beats, 1)
            times.append(cycle)
        assert len(set(times[1:])) == 1
        assert times[0] > 15 * HORIZON

    simulation().run(testbench)


def test_there_is_room_for_the_costs_of_two_rounds():
    assert [queued(flights) for flights in (1, 3, 4, 45)] == [4, 8, 16, 128]


def test_rows_have_words_of_forces_and_of_costs():
    assert planned().interface.row_commands == (LOAD, LOAD_COST)
