"""The cocotb bench: sends request packets to the accelerator and records the responses.

It runs inside the simulator, which :mod:`rbdhw.sim.verilator` starts in a folder of its own. The bench reads
``job.json`` and ``requests.npz`` from this folder and writes ``responses.npz`` to it.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

RESET_CYCLES = 4
LINGER_CYCLES = 64
"""Cycles to wait for surplus responses after the last expected one."""


@dataclass(frozen=True)
class Job:
    """The beats to send, as integers, and the parameters of the traffic.

    ``bubbles`` is the probability per cycle that a beat is held back, ``back_pressure`` the probability that
    the receiver is not ready. The bench gives up after ``patience`` cycles without a transfer. It expects
    ``surplus`` answers beyond one for each request.
    """

    beats: list[int]
    last: list[bool]
    bubbles: float
    back_pressure: float
    seed: int
    patience: int
    surplus: int


@dataclass
class Record:
    """The result: the cycles in which beats were sent, and the received beats with their cycles (``taken``).

    ``violations`` counts cycles in which an offered beat changed before the receiver was ready.
    """

    sent: list[int] = field(default_factory=list)
    beats: list[int] = field(default_factory=list)
    last: list[bool] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    violations: int = 0


@cocotb.test()
async def exchange(dut: Any) -> None:
    """Reset the accelerator, run the job, and write the record."""
    folder = Path.cwd()
    job, size = _load(folder)
    dut.s_axis_tvalid.value = 0
    dut.m_axis_tready.value = 0
    dut.rst.value = 1
    Clock(dut.clk, 2, unit="ns").start()
    for _ in range(RESET_CYCLES):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    _save(folder, await run(dut, job), size)


async def run(dut: Any, job: Job) -> Record:
    """Send all beats, and receive beats until every packet has a response."""
    record, rng, edge = Record(), random.Random(job.seed), RisingEdge(dut.clk)
    in_valid, in_ready, in_last, in_data = _port(dut, "s_axis")
    out_valid, out_ready, out_last, out_data = _port(dut, "m_axis")
    expected, total = sum(job.last) + job.surplus, len(job.beats)
    offering = ready = False
    waiting: tuple[int, bool] | None = None  # the beat offered while the receiver was not ready
    answered = cycle = quiet = 0
    while quiet < (job.patience if answered < expected else LINGER_CYCLES):
        await edge
        cycle, quiet = cycle + 1, quiet + 1
        if offering and in_ready.value == 1:
            record.sent.append(cycle)
            offering, quiet = False, 0
            in_valid.value = 0
        if out_valid.value == 1:
            beat = (int(out_data.value), out_last.value == 1)
            record.violations += waiting is not None and waiting != beat
            waiting = None if ready else beat
            if ready:
                record.beats.append(beat[0])
                record.last.append(beat[1])
                record.taken.append(cycle)
                answered, quiet = answered + beat[1], 0
        else:
            record.violations += waiting is not None
            waiting = None
        if not offering and len(record.sent) < total and rng.random() >= job.bubbles:
            offering, place = True, len(record.sent)
            in_valid.value = 1
            in_data.value = job.beats[place]
            in_last.value = job.last[place]
        if ready != (rng.random() >= job.back_pressure):
            ready = not ready
            out_ready.value = ready
    return record


def _port(dut: Any, name: str) -> list[Any]:
    return [getattr(dut, f"{name}_{signal}") for signal in ("tvalid", "tready", "tlast", "tdata")]


def _load(folder: Path) -> tuple[Job, int]:
    """Return the job, and the bytes of a beat."""
    traffic = json.loads((folder / "job.json").read_text())
    with np.load(folder / "requests.npz") as requests:
        data, last = requests["data"], requests["last"]
    beats = [int.from_bytes(row.tobytes(), "little") for row in data]
    return Job(beats, last.tolist(), **traffic), data.shape[1]


def _save(folder: Path, record: Record, size: int) -> None:
    data = b"".join(beat.to_bytes(size, "little") for beat in record.beats)
    np.savez(
        folder / "responses.npz",
        data=np.frombuffer(data, np.uint8).reshape(len(record.beats), size),
        last=np.array(record.last, np.bool_),
        sent=np.array(record.sent, np.int64),
        taken=np.array(record.taken, np.int64),
        violations=np.array(record.violations),
    )
