"""Packets through a simulated accelerator."""

import numpy as np

from rbdhw.model.packets import Beats

PATIENCE = 20_000


def exchange(simulation, sent, count, pause=0.0, back_pressure=0.0, seed=0):
    """Return the first ``count`` packets that the simulated accelerator answers."""
    received = []

    async def testbench(ctx):
        received.extend(await drive(ctx, simulation.component, sent, count, pause, back_pressure, seed))

    simulation.run(testbench)
    return beats_of(received, sent)


async def drive(ctx, dut, sent, count, pause=0.0, back_pressure=0.0, seed=0):
    """Send beats, and return the beats of the first ``count`` packets that come back, with their cycles."""
    rng, received = np.random.default_rng(seed), []
    index, packets, silent, cycle = 0, 0, 0, 0
    numbers = [int.from_bytes(bytes(beat), "little") for beat in sent.data]
    while packets < count:
        assert silent < PATIENCE
        offers = index < len(numbers) and (ctx.get(dut.s_axis_tvalid) or rng.random() >= pause)
        ctx.set(dut.s_axis_tvalid, offers)
        if offers:
            ctx.set(dut.s_axis_tdata, numbers[index])
            ctx.set(dut.s_axis_tlast, bool(sent.last[index]))
        takes = rng.random() >= back_pressure
        ctx.set(dut.m_axis_tready, takes)
        went = offers and ctx.get(dut.s_axis_tready)
        came = takes and ctx.get(dut.m_axis_tvalid)
        if came:
            received.append((ctx.get(dut.m_axis_tdata), ctx.get(dut.m_axis_tlast), cycle))
            packets += received[-1][1]
        await ctx.tick()
        cycle += 1
        if went:
            index += 1
            ctx.set(dut.s_axis_tvalid, 0)
        silent = 0 if went or came else silent + 1
    return received


def beats_of(received, sent):
    """Return received beats, which are as wide as those that were sent."""
    size = sent.data.shape[1]
    data = np.array([list(beat.to_bytes(size, "little")) for beat, _, _ in received], np.uint8)
    return Beats(data, np.array([last for _, last, _ in received], np.bool_))
