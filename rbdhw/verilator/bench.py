"""The cocotb bench: sends request packets to the accelerator and records the responses.

It runs inside the simulator, which :mod:`rbdhw.verilator.simulator` starts in a folder of its own. The bench
reads ``job.json`` and, for each pair of streams, ``requests_<pair>.npz`` from this folder and writes
``responses_<pair>.npz`` to it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
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
    """The beats to send on a pair of streams, as integers, and the parameters of the traffic.

    ``bubbles`` is the probability per cycle that a beat is held back, ``back_pressure`` the probability that
    the receiver is not ready. The bench gives up after ``patience`` cycles without a transfer on any pair. It
    expects ``surplus`` answers beyond one for each request.
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
    """Reset the accelerator, run the jobs, and write the records."""
    folder = Path.cwd()
    ports, settings = prefixes(dut), json.loads((folder / "job.json").read_text())
    jobs, size = _load(folder, len(ports), settings)
    for requests, responses in ports:
        getattr(dut, f"{requests}_tvalid").value = 0
        getattr(dut, f"{responses}_tready").value = 0
    dut.rst.value = 1
    Clock(dut.clk, 2, unit="ns").start()
    for _ in range(RESET_CYCLES):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    pairs = [Pair(dut, names, job) for names, job in zip(ports, jobs, strict=True)]
    await run(dut, pairs)
    for k, pair in enumerate(pairs):
        _save(folder / f"responses_{k}.npz", pair.record, size)


def prefixes(dut: Any) -> list[tuple[str, str]]:
    """Return the prefixes of the ports of each pair of streams."""
    if hasattr(dut, "s_axis_tvalid"):
        return [("s_axis", "m_axis")]
    pairs: list[tuple[str, str]] = []
    while hasattr(dut, f"s_axis_{len(pairs)}_tvalid"):
        pairs.append((f"s_axis_{len(pairs)}", f"m_axis_{len(pairs)}"))
    return pairs


class Pair:
    """Sends the beats of a job to one pair of streams, and receives beats."""

    def __init__(self, dut: Any, names: tuple[str, str], job: Job) -> None:
        self.job = job
        self.record = Record()
        self.expected = sum(job.last) + job.surplus
        self.answered = 0
        self._rng = random.Random(job.seed)
        self._in_valid, self._in_ready, self._in_last, self._in_data = _port(dut, names[0])
        self._out_valid, self._out_ready, self._out_last, self._out_data = _port(dut, names[1])
        self._offering = self._ready = False
        self._waiting: tuple[int, bool] | None = None  # the beat offered while the receiver was not ready

    def step(self, cycle: int) -> bool:
        """Look at the ports after a clock edge and set the inputs; return whether a beat was transferred."""
        sent, taken = self._end_offer(cycle), self._take(cycle)
        if not self._offering and len(self.record.sent) < len(self.job.beats):
            self._offer()
        if self._ready != (self._rng.random() >= self.job.back_pressure):
            self._ready = not self._ready
            self._out_ready.value = self._ready
        return sent or taken

    def _end_offer(self, cycle: int) -> bool:
        if not (self._offering and self._in_ready.value == 1):
            return False
        self.record.sent.append(cycle)
        self._offering = False
        self._in_valid.value = 0
        return True

    def _take(self, cycle: int) -> bool:
        if self._out_valid.value != 1:
            self.record.violations += self._waiting is not None
            self._waiting = None
            return False
        beat = (int(self._out_data.value), self._out_last.value == 1)
        self.record.violations += self._waiting is not None and self._waiting != beat
        self._waiting = None if self._ready else beat
        if self._ready:
            self.record.beats.append(beat[0])
            self.record.last.append(beat[1])
            self.record.taken.append(cycle)
            self.answered += beat[1]
        return self._ready

    def _offer(self) -> None:
        """Offer the next beat, unless there is a bubble."""
        if self._rng.random() >= self.job.bubbles:
            index = len(self.record.sent)
            self._offering = True
            self._in_valid.value = 1
            self._in_data.value = self.job.beats[index]
            self._in_last.value = self.job.last[index]


async def run(dut: Any, pairs: Sequence[Pair]) -> None:
    """Send all beats, and receive beats until every packet has a response."""
    edge, patience = RisingEdge(dut.clk), max(pair.job.patience for pair in pairs)
    cycle = quiet = 0
    while quiet < (patience if any(pair.answered < pair.expected for pair in pairs) else LINGER_CYCLES):
        await edge
        cycle, quiet = cycle + 1, quiet + 1
        moved = [pair.step(cycle) for pair in pairs]
        quiet = 0 if any(moved) else quiet


def _port(dut: Any, name: str) -> list[Any]:
    return [getattr(dut, f"{name}_{signal}") for signal in ("tvalid", "tready", "tlast", "tdata")]


def _load(folder: Path, pairs: int, settings: dict[str, Any]) -> tuple[list[Job], int]:
    """Return the job of each pair, idle without requests, and the bytes of a beat."""
    jobs, size = [], 0
    for k in range(pairs):
        path, parameters = folder / f"requests_{k}.npz", settings | {"seed": settings["seed"] + k}
        if not path.exists():
            jobs.append(Job([], [], **parameters | {"surplus": 0}))
            continue
        with np.load(path) as requests:
            data, last = requests["data"], requests["last"]
        beats = [int.from_bytes(row.tobytes(), "little") for row in data]
        jobs.append(Job(beats, last.tolist(), **parameters))
        size = data.shape[1]
    return jobs, size


def _save(path: Path, record: Record, size: int) -> None:
    data = b"".join(beat.to_bytes(size, "little") for beat in record.beats)
    np.savez(
        path,
        data=np.frombuffer(data, np.uint8).reshape(len(record.beats), size),
        last=np.array(record.last, np.bool_),
        sent=np.array(record.sent, np.int64),
        taken=np.array(record.taken, np.int64),
        violations=np.array(record.violations),
    )
