"""Latencies of tasks that are alone in a simulated accelerator."""

import subprocess
from pathlib import Path

import numpy as np

from rbdhw.design.folder import Design, read
from rbdhw.domain.sampling import sample
from rbdhw.model.packets import encode, merge, requests
from rbdhw.verilator.simulator import Harness, make_simulator

HARNESS = Path(__file__).with_name("alone.cpp")


def measured(folder: Path, work: Path, interval: int | None = None) -> dict[str, list[int]]:
    """Return the latencies of a task of each function: first alone, then at each phase of an interval.

    Without one it is that of the design.
    """
    design = read(folder)
    executable = make_simulator(folder, work, Harness({HARNESS.name: HARNESS.read_bytes()}))
    packets = {function: request(design, function) for function in design.functions}
    places = {(function, False): np.array([k]) for k, function in enumerate(packets)}
    beats = merge(places, {(function, False): packet for function, packet in packets.items()})
    np.column_stack([beats.data, beats.last]).tofile(work / "requests")
    command = [str(executable), str(work / "requests"), str(interval or design.manifest["ii"])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    return {name: [int(x) for x in line.split()] for name, line in zip(packets, lines, strict=True)}


def request(design: Design, function: str):
    """Return the packet of a random plain task."""
    arrays = sample(design.robot, design.domain, 1, np.random.default_rng(3), design.fext)
    return requests(design, function, np.array([1]), encode(design, function, arrays))
