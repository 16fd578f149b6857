"""The rows of policies equal the scaled gains and changes of the model, however many are computed at once."""

from types import SimpleNamespace

import numpy as np
import pytest

from rbdhw.cores.solver.policy import PolicyRows
from rbdhw.cores.solver.timing import SolverTiming
from rbdhw.fixed.feedback import GAIN
from rbdhw.fixed.format import Format
from rbdhw.rtl.scaler import LATENCY
from tests.support.bits import pack, unpack
from tests.support.fixed_solvers import fixed_solver
from tests.support.simulation import Simulation
from tests.support.solved import packed

SHAPE = fixed_solver("toy", 3, 2).shape
ITEMS = (*SHAPE.gains, *SHAPE.changes)


def timing(between):
    """Return the timing of a solver whose sweep puts out a policy every ``between`` cycles."""
    sweep = SimpleNamespace(between=1, schedule=SimpleNamespace(ii=between))
    return SolverTiming(SHAPE, sweep, 0, 0, 1, 1)


def random_words(formats, rng):
    return [int(rng.integers(each.lowest, each.highest + 1)) for each in formats]


def row_of(policy, factors):
    """Return the gains of all forces, and the changes."""
    words = [each.limited(np.array(policy[each.place]), factors[each.by])[0] for each in ITEMS]
    return [int(word) for word in words[: len(SHAPE.gains)]], [
        int(word) for word in words[len(SHAPE.gains) :]
    ]


@pytest.mark.parametrize(("between", "lanes"), [(100, 1), (24, 2), (11, 5), (LATENCY + 2 + 1, 10)])
def test_rows_are_there_before_the_next_policy(between, lanes):
    assert len(timing(between).policy_lanes) == lanes
    assert timing(between).policy <= between
    dut, rng = PolicyRows(timing=timing(between)), np.random.default_rng(lanes)
    task = {word.name: int(rng.integers(1, word.highest)) for word in SHAPE.step.inputs}
    factors = [task[each.name] if each.constant is None else each.constant for each in SHAPE.policy_factors]
    formats = [word.format for word in SHAPE.policy]
    gain_formats = [Format(GAIN.width, 0)] * len(SHAPE.gains)
    change_formats = [word.format for word in SHAPE.taus]

    async def testbench(ctx):
        ctx.set(dut.task, packed(SHAPE.step.inputs, task))
        for step in (2, 1):
            policy = random_words(formats, rng)
            ctx.set(dut.policy, pack(formats, policy))
            ctx.set(dut.step, step)
            ctx.set(dut.take, 1)
            await ctx.tick()
            ctx.set(dut.take, 0)
            ctx.set(dut.policy, 0)
            written = []
            for cycle in range(1, between):
                if ctx.get(dut.write_enable):
                    written.append(cycle)
                    gains, changes = row_of(policy, factors)
                    assert ctx.get(dut.write_step) == step
                    assert unpack(gain_formats, ctx.get(dut.gains)) == gains
                    assert unpack(change_formats, ctx.get(dut.changes)) == changes
                await ctx.tick()
            assert written == [timing(between).policy - 1]  # in the next cycle it is in the memory

    Simulation(dut).run(testbench)
