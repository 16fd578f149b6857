"""The accelerator in Verilator for many tasks: a harness in C++ instead of the cocotb bench.

The same requests, the same kind of traffic and the same record of it, without Python in the simulator: ten
times as many tasks a minute. Each simulator has one thread: several side by side do more than one with
several, which on two cores is slower even by itself.
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
    """The simulator of the Verilog in a design folder for :func:`exchange`, kept as the other ones.

    Raises
    ------
    InputError, SimulationError
        As :func:`rbdhw.sim.verilator.make_simulator`.
    """
    source = files("rbdhw.sim").joinpath(_SOURCE).read_bytes()
    return make_simulator(directory, cache, Harness({_SOURCE: source}))


def exchange(executable: Path, requests: Beats, traffic: Disturbance) -> Exchange:
    """Send packets to the accelerator and collect as many; several may run at once.

    Raises
    ------
    SimulationError
        Where the simulation does not come to its end.
    """
    size = requests.data.shape[1]
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as work:
        paths = [Path(work) / name for name in ("requests", "responses", "sent")]
        numbers = (traffic.bubbles, traffic.back_pressure, traffic.seed, traffic.patience)
        np.column_stack([requests.data, requests.last]).tofile(paths[0])
        violations = _simulate(executable, [*map(str, paths), *map(repr, numbers)])
        beats = np.fromfile(paths[1], _beat(size))
        responses = Beats(beats["data"].copy(), beats["last"] != 0)
        taken: NDArray[np.int64] = beats["taken"].astype(np.int64)
        return Exchange(responses, np.fromfile(paths[2], "<i8"), taken, violations)


def _beat(size: int) -> np.dtype[np.void]:
    """A record of a beat that came out."""
    return np.dtype([("data", "u1", (size,)), ("last", "u1"), ("taken", "<i8")])


def _simulate(executable: Path, arguments: list[str]) -> int:
    """Run the simulator; the violations that it tells."""
    command = [str(executable), *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        log = executable.parent.parent / "simulation.log"
        log.write_bytes(done.stdout + done.stderr)
        raise failure("simulation", f"exit status {done.returncode}", log)
    return int(done.stdout)
