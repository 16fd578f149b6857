"""The cocotb bench of ``accelerator_axi``: cocotbext-axi drives its streams and its registers.

It runs inside the simulator, which :mod:`tests.support.block` starts in a folder. ``job.json`` there has the
periods of the clocks and, for each block of the top module, a program: a list of steps. Their results are
written to ``results.json``.
"""

import json
import logging
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Combine, RisingEdge, with_timeout
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)

PATIENCE = 400
"""Microseconds after which a step is given up."""


@cocotb.test()
async def run(dut: Any) -> None:
    """Start the clocks, leave the reset, and run all programs at the same time."""
    job = json.loads(Path("job.json").read_text())
    for name, period in job["clocks"].items():
        cocotb.start_soon(Clock(getattr(dut, name), period, unit="ns").start())
    logging.getLogger("cocotb").setLevel(logging.WARNING)
    clock, reset = getattr(dut, job["clock"]), getattr(dut, job["reset"])
    blocks = [Block(dut, prefix, clock, reset, job["seed"]) for prefix in job["programs"]]
    reset.value = 1
    await ClockCycles(clock, job["reset_cycles"])
    reset.value = 0
    tasks = [
        cocotb.start_soon(block.run(steps))
        for block, steps in zip(blocks, job["programs"].values(), strict=True)
    ]
    await Combine(*tasks)
    results = dict(zip(job["programs"], (block.results for block in blocks), strict=True))
    Path("results.json").write_text(json.dumps(results))


class Block:
    """A block, whose ports begin with a prefix."""

    def __init__(self, dut: Any, prefix: str, clock: Any, reset: Any, seed: int) -> None:
        self.clock = clock
        self.results: list[Any] = []
        self._rng = random.Random(seed)
        self._interrupt = getattr(dut, f"{prefix}interrupt")
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, f"{prefix}s_axi"), clock, reset)
        suffixes = ("_0", "_1") if hasattr(dut, f"{prefix}s_axis_0_tvalid") else ("",)
        names = [(f"{prefix}s_axis{suffix}", f"{prefix}m_axis{suffix}") for suffix in suffixes]
        self.sources = [AxiStreamSource(AxiStreamBus.from_prefix(dut, s), clock, reset) for s, _ in names]
        self.sinks = [AxiStreamSink(AxiStreamBus.from_prefix(dut, m), clock, reset) for _, m in names]
        for part in (*self.sources, *self.sinks, self.registers.write_if, self.registers.read_if):
            part.log.setLevel(logging.WARNING)

    async def run(self, steps: list[list[Any]]) -> None:
        """Run the steps, one after the other; each adds a result."""
        for name, *arguments in steps:
            step = getattr(self, f"_{name}")(*arguments)
            self.results.append(await with_timeout(cocotb.start_soon(step), PATIENCE, "us"))

    async def _send(self, packets: list[str], pair: int = 0) -> None:
        """Begin to send packets."""
        for packet in packets:
            self.sources[pair].send_nowait(AxiStreamFrame(bytes.fromhex(packet)))

    async def _receive(self, count: int, pair: int = 0) -> list[str]:
        """Receive packets."""
        frames = [await self.sinks[pair].recv() for _ in range(count)]
        return [bytes(frame.tdata).hex() for frame in frames]

    async def _received(self) -> list[str]:
        """Return the packets that came and were not received."""
        return [bytes(sink.recv_nowait().tdata).hex() for sink in self.sinks for _ in range(sink.count())]

    async def _write(self, address: int, word: int) -> None:
        await self.registers.write_dword(address, word)

    async def _read(self, address: int) -> int:
        return int(await self.registers.read_dword(address))

    async def _count(self, address: int) -> int:
        """Return a counter, its low word first."""
        low = await self._read(address)
        return low | await self._read(address + 4) << 32

    async def _until(self, address: int, mask: int, value: int) -> None:
        """Read a register until its bits under a mask have a value."""
        while await self._read(address) & mask != value:
            pass

    async def _wait(self, cycles: int) -> None:
        await ClockCycles(self.clock, cycles)

    async def _stall(self, source: float, sink: float) -> None:
        """Hold beats back, and do not accept beats, with these probabilities."""
        for each in self.sources:
            each.set_pause_generator(self._pauses(source))
        for each in self.sinks:
            each.set_pause_generator(self._pauses(sink))

    async def _stop(self, stopped: bool) -> None:
        """Accept no answers, or accept all."""
        for sink in self.sinks:
            sink.clear_pause_generator()
            sink.pause = stopped

    async def _interrupt_line(self) -> int:
        return int(self._interrupt.value)

    async def _until_interrupt(self) -> None:
        if self._interrupt.value != 1:
            await RisingEdge(self._interrupt)

    def _pauses(self, share: float) -> Iterator[bool]:
        while True:
            yield self._rng.random() < share
