"""The manifest's latencies equal those of single tasks in the Verilog, without contention."""

from __future__ import annotations

import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from rbdhw.design.folder import Design, read, write
from rbdhw.domain.sampling import sample
from rbdhw.model.packets import encode, merge, requests
from rbdhw.options.build import DATA_WIDTHS, NUMBERS, BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robots import path
from rbdhw.verilator.simulator import Harness, make_simulator

HARNESS = Path(__file__).with_name("alone.cpp")


def measured(folder: Path, work: Path) -> dict[str, list[int]]:
    """Return the latencies of a task of each function: first alone, then at each phase of the interval."""
    design = read(folder)
    executable = make_simulator(folder, work, Harness({HARNESS.name: HARNESS.read_bytes()}))
    packets = {function: request(design, function) for function in design.functions}
    places = {(function, False): np.array([k]) for k, function in enumerate(packets)}
    beats = merge(places, {(function, False): packet for function, packet in packets.items()})
    np.column_stack([beats.data, beats.last]).tofile(work / "requests")
    command = [str(executable), str(work / "requests"), str(design.manifest["ii"])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    return {name: [int(x) for x in line.split()] for name, line in zip(packets, lines, strict=True)}


def request(design: Design, function: str):
    """Return the packet of a random plain task."""
    arrays = sample(design.robot, design.domain, 1, np.random.default_rng(3), design.fext)
    return requests(design, function, np.array([1]), encode(design, function, arrays))


def cases():
    """Return core, interval, number format, bits of TDATA, and functions."""
    short = [("pipeline", 12, "float32", 32), ("array", 9, "fixed", 512)]
    for core, number, width in product(("pipeline", "array"), NUMBERS, DATA_WIDTHS):
        ii = 9 if core == "array" else {32: 12, 128: 3}.get(width, 1)
        case = (core, ii, number, width)
        if case in short:
            yield *case, ("id", "minv")
        yield pytest.param(*case, DEFAULT_FUNCTIONS, marks=pytest.mark.verify)
    yield pytest.param("array", 32, "fixed", 32, DEFAULT_FUNCTIONS, marks=pytest.mark.verify)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("core", "ii", "number", "data_width", "functions"), list(cases()))
def test_a_task_alone_takes_the_cycles_of_the_manifest(tmp_path, core, ii, number, data_width, functions):
    """At each other phase a task waits up to II - 1 cycles more.

    A preceding response of another function costs one cycle more.
    """
    options = BuildOptions(
        functions, ii=ii, width=18, core=core, number=number, data_width=data_width, samples=256
    )
    write(generate(path("toy"), options), tmp_path / "design")
    told = read(tmp_path / "design").manifest["functions"]
    for k, (function, (first, *others)) in enumerate(measured(tmp_path / "design", tmp_path).items()):
        least = told[function]["latency_cycles"]
        assert sorted(others) == list(range(least, least + ii)), function
        assert first == others[-1] + (k > 0), function
        assert told[function]["latency_us"] == round(
            least / read(tmp_path / "design").manifest["clock_mhz"], 4
        )
