"""A simulated core of a sweep back, and what the bit-exact model says of the same words."""

from dataclasses import replace

import numpy as np

from rbdhw.cores.sweep.component import SweepComponent
from tests.support.bits import unpack
from tests.support.simulation import Simulation


def image(sweep, words):
    """Return the integers of the memory by row and column, for words (problems, knots)."""
    return {
        (sweep.row(knot, problem) + row, column): int(integer)
        for name, (row, column) in sweep.places.items()
        for (problem, knot), integer in np.ndenumerate(words[name])
    }


def simulated(sweep, runs, slot=None):
    """Return for each run, of words (problems, knots), the policies by knot and problem, and the cycles.

    A policy is its integers, then overflow and indefinite. The first run starts while the core rests, and
    each other in this cycle of the interval, if one is given.
    """
    core, answers = SweepComponent(sweep), []
    formats = [word.format for word in sweep.program.outputs[sweep.sweeps.function]]

    async def testbench(ctx):
        held = {}
        for words in runs:
            changed = dict(image(sweep, words).items() - held.items())
            held |= changed
            for (row, column), integer in changed.items():
                ctx.set(core.write_enable, 1 << column)
                ctx.set(getattr(core, f"write_row_{column}"), row)
                ctx.set(getattr(core, f"write_data_{column}"), integer)
                await ctx.tick()
            ctx.set(core.write_enable, 0)
            ctx.set(core.regularisation, int(words["regularisation"]))
            while ctx.get(core.slot) != slot if answers and slot is not None else not ctx.get(core.rests):
                await ctx.tick()
            assert ctx.get(core.ready)
            ctx.set(core.start, 1)
            await ctx.tick()
            ctx.set(core.start, 0)
            policies, cycles = {}, 1
            while not ctx.get(core.ready):
                if ctx.get(core.valid):
                    status = (core.overflow, core.indefinite)
                    key = ctx.get(core.knot), ctx.get(core.problem)
                    assert key not in policies
                    policies[key] = [*unpack(formats, ctx.get(core.policy)), *map(ctx.get, status)]
                await ctx.tick()
                cycles += 1
            answers.append((policies, cycles))

    Simulation(core).run(testbench)
    return answers


def expected(fixed, words):
    """Return the same policies by the bit-exact model; a status is that of all knots so far."""
    problems, knots = words["g[0]"].shape
    names = [word.name.partition(".")[2] for word in fixed.program.outputs["knot"]]
    policies = {}
    for first in range(knots):
        behind = {name: word if word.ndim < 2 else word[:, first:] for name, word in words.items()}
        sweeps = replace(fixed.sweeps, links=knots - first)
        swept = replace(fixed, sweeps=sweeps).sweep(behind)
        for problem in range(problems):
            row = [int(swept.words[name][problem, 0]) for name in names]
            status = swept.overflow, swept.indefinite
            policies[first, problem] = [*row, *(int(each[problem]) for each in status)]
    return policies
