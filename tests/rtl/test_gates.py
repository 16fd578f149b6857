# amaranth: UnusedElaboratable=no
# ruff: noqa: ERA001 (the line above is for Amaranth)
"""The gates of ``accelerator_axi`` tell rollouts from other tasks; other tests have the whole block."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.sim import SimulatorContext

from rbdhw.model.interface import Interface
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import CODES
from rbdhw.robots import path
from rbdhw.rtl.gates import AnswerGate, RequestGate
from tests.support.simulation import Simulation

PACKETS = [("rollout", 3), ("step", 1), ("step", 2), ("rollout", 1), ("load", 2), ("rollout", 2)]
"""Functions and beats."""


@pytest.fixture(scope="module")
def interface(without_verilog: None) -> Interface:  # noqa: ARG001
    options = BuildOptions(("rollout",), width=18, data_width=32, ii=4, horizon=4, samples=256)
    return generate(path("toy"), options).interface


def told(dut: RequestGate | AnswerGate, event: Any, packets: list[tuple[str, int]]) -> list[bool]:
    """Return what the gate says at each event while packets pass, one beat a cycle.

    The beats behind the first look like headers of other functions.
    """
    verdicts = []

    async def bench(ctx: SimulatorContext) -> None:
        ctx.set(dut.o.ready, 1)
        if isinstance(dut, RequestGate):
            ctx.set(dut.enable, 1)
        for function, beats in packets:
            for beat in range(beats):
                ctx.set(dut.i.p.data, (CODES[function] ^ (7 if beat else 0)) << 16)
                ctx.set(dut.i.p.last, beat == beats - 1)
                ctx.set(dut.i.valid, 1)
                if ctx.get(event):
                    verdicts.append(bool(ctx.get(dut.rollout)))
                await ctx.tick()

    Simulation(dut).run(bench)
    return verdicts


def test_requests_of_rollouts_are_told(interface: Interface) -> None:
    dut = RequestGate(interface=interface)
    assert told(dut, dut.entered, PACKETS) == [function == "rollout" for function, _ in PACKETS]


def test_answers_of_rollouts_are_told(interface: Interface) -> None:
    """The last one is still in the gate's register."""
    dut = AnswerGate(interface=interface)
    verdicts = told(dut, dut.left, [*PACKETS, ("step", 1)])
    assert verdicts == [function == "rollout" for function, _ in PACKETS]
