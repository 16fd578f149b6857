"""The accelerator in Verilator for many tasks, with a harness in C++ instead of the cocotb bench.

Requests, traffic and record are the same, but there is no Python in the simulator: it processes ten times as
many tasks per minute. Each simulator has one thread. Several simulators in parallel are faster than one with
several threads, which on two cores is even slower than one thread.
"""

from __future__ import annotations

import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rbdhw.sim.packets import Beats
from rbdhw.sim.tools import failure
from rbdhw.sim.verilator import Disturbance, Exchange, Harness, make_simulator

_SOURCE = "bulk.cpp"


def build(directory: Path, cache: Path | None = None) -> Path:
    """Return the simulator of the Verilog in a design folder for :func:`exchange`, kept like the others.

    Raises
    ------
    InputError, SimulationError
        As :func:`rbdhw.sim.verilator.make_simulator`.
    """
    source = files("rbdhw.sim").joinpath(_SOURCE).read_bytes()
    return make_simulator(directory, cache, Harness({_SOURCE: source}))


def exchange(executable: Path, requests: Beats, traffic: Disturbance) -> Exchange:
    """Send packets to the accelerator and receive as many; several simulations may run at once.

    Raises
    ------
    SimulationError
        If the simulation does not finish.
    """
    size = requests.data.shape[1]
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as work:
        paths = [Path(work) / name for name in ("requests", "responses", "sent")]
        numbers = (traffic.bubbles, traffic.back_pressure, traffic.seed, traffic.patience, traffic.surplus)
        np.column_stack([requests.data, requests.last]).tofile(paths[0])
        violations = _simulate(executable, [*map(str, paths), *map(repr, numbers)])
        beats = np.fromfile(paths[1], _beat(size))
        responses = Beats(beats["data"].copy(), beats["last"] != 0)
        taken: NDArray[np.int64] = beats["taken"].astype(np.int64)
        return Exchange(responses, np.fromfile(paths[2], "<i8"), taken, violations)


def _beat(size: int) -> np.dtype[np.void]:
    """Return the record type of a received beat."""
    return np.dtype([("data", "u1", (size,)), ("last", "u1"), ("taken", "<i8")])


def _simulate(executable: Path, arguments: list[str]) -> int:
    """Run the simulator; return the number of violations."""
    command = [str(executable), *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        log = executable.parent.parent / "simulation.log"
        log.write_bytes(done.stdout + done.stderr)
        raise failure("simulation", f"exit status {done.returncode}", log)
    return int(done.stdout)
