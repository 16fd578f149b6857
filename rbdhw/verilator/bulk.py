"""The accelerator in Verilator for many tasks, with a harness in C++ instead of the cocotb bench.

Requests, traffic and record are the same, but there is no Python in the simulator: it processes ten times as
many tasks per minute. Each simulator has one thread. Several simulators in parallel are faster than one with
several threads, which on two cores is even slower than one thread.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rbdhw.design.replacement import VERILOG
from rbdhw.model.packets import Beats
from rbdhw.verilator.simulator import Disturbance, Exchange, Harness, make_simulator
from rbdhw.verilator.tools import clean_environment, failure

_MODEL, _HEADER = "bulk_model.cpp", "bulk.h"
"""The part of the bench that depends on the design; the other is in :mod:`rbdhw.verilator.library`."""

_SAIF = "activity.saif"
"""The file that a traced simulator writes where it runs."""

_NUMBERED = re.compile(r"\bs_axis_(\d+)_tvalid\b")
"""A port of one of several pairs of streams."""

_ONE_PAIR = "pair(s_axis, m_axis)"
"""The ports of a design with one pair of streams, as the harness has them."""


def build(directory: Path, cache: Path | None = None, *, traced: bool = False) -> Path:
    """Return the simulator of the Verilog in a design folder for :func:`exchange`, kept like the others.

    A ``traced`` one counts the toggles of all signals.

    Raises
    ------
    InputError, SimulationError
        As :func:`rbdhw.verilator.simulator.make_simulator`.
    """
    source, header = (
        files("rbdhw.verilator").joinpath(name).read_text("utf-8") for name in (_MODEL, _HEADER)
    )
    numbers = sorted(set(_NUMBERED.findall((directory / VERILOG).read_text(encoding="utf-8"))))
    if numbers:
        several = " ".join(f"pair(s_axis_{k}, m_axis_{k})" for k in numbers)
        source = source.replace(_ONE_PAIR, several)
    options = ("--trace-saif",) if traced else ()
    harness = Harness({_MODEL: source.encode()}, options, headers={_HEADER: header.encode()})
    return make_simulator(directory, cache, harness)


def exchange(
    executable: Path, requests: Sequence[Beats], traffic: Disturbance, *, saif: Path | None = None
) -> list[Exchange]:
    """Send packets to each pair of streams and receive as many; several simulations may run at once.

    Pairs for which there are no requests stand idle. A traced simulator's toggles are written to ``saif``.

    Raises SimulationError if the simulation does not finish.
    """
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as name:
        work = Path(name)
        numbers = (traffic.bubbles, traffic.back_pressure, traffic.seed, traffic.patience, traffic.surplus)
        for k, beats in enumerate(requests):
            np.column_stack([beats.data, beats.last]).tofile(work / f"requests_{k}")
        violations = _simulate(executable, [name, *map(repr, numbers)])
        if saif is not None:
            shutil.move(work / _SAIF, saif)
        return [_read_record(work, k, beats, violations[k]) for k, beats in enumerate(requests)]


def _read_record(work: Path, pair: int, requests: Beats, violations: int) -> Exchange:
    size = requests.data.shape[1]
    beat = np.dtype([("data", "u1", (size,)), ("last", "u1"), ("taken", "<i8")])
    beats = np.fromfile(work / f"responses_{pair}", beat)
    responses = Beats(beats["data"].copy(), beats["last"] != 0)
    taken: NDArray[np.int64] = beats["taken"].astype(np.int64)
    return Exchange(responses, np.fromfile(work / f"sent_{pair}", "<i8"), taken, violations)


def _simulate(executable: Path, arguments: list[str]) -> list[int]:
    """Run the simulator; return the number of violations at each pair of streams."""
    done = subprocess.run(
        [str(executable), *arguments],
        cwd=arguments[0],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=clean_environment(),
        check=False,
    )
    if done.returncode:
        log = executable.parent.parent / "simulation.log"
        log.write_bytes(done.stdout + done.stderr)
        raise failure("simulation", f"exit status {done.returncode}", log)
    return list(map(int, done.stdout.split()))
