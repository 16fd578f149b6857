"""The block ``accelerator_axi`` of a design in Verilator, driven through its ports."""

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rbdhw.design.replacement import AXI_VERILOG, VERILOG
from rbdhw.model.packets import Beats
from rbdhw.registers.map import COUNTERS, counter_address
from rbdhw.verilator.simulator import _bench_environment, _cocotb_harness, make_simulator

Steps = Sequence[Sequence[Any]]
"""A program of :mod:`tests.support.block_bench`."""

_PORTS = """\
`verilator_config
public_flat_rw -module "{top}" -var "*clk"
public_flat_rw -module "{top}" -var "*rst"
public_flat_rw -module "{top}" -var "*s_axi*"
public_flat_rw -module "{top}" -var "*m_axis_*"
public_flat_rw -module "{top}" -var "*interrupt"
"""


def build_block(design: Path, folder: Path) -> Path:
    """Return the simulator of the block of a design, built in a folder."""
    texts = [(design / name).read_text() for name in (AXI_VERILOG, VERILOG)]
    return build_top("accelerator_axi", texts, folder)


def build_top(top: str, texts: Sequence[str], folder: Path) -> Path:
    """Return the simulator of the module ``top`` of some Verilog, built in a folder."""
    (folder / VERILOG).write_text("\n".join(texts))
    (folder / "manifest.json").write_text(json.dumps({"name": top}))
    harness = _cocotb_harness(top)
    ports = {"ports.vlt": _PORTS.format(top=top).encode()}
    return make_simulator(folder, None, replace(harness, files={**harness.files, **ports}))


def simulate(
    executable: Path,
    programs: Mapping[str, Steps] | Steps,
    clocks: Mapping[str, int] | None = None,
    seed: int = 0,
    reset_cycles: int = 4,
) -> Any:
    """Run a program, or one for each block by the prefix of its ports; return the results of its steps.

    ``clocks`` are the periods of all clocks in nanoseconds. With two of them, streams have ``stream_clk``.
    """
    periods = {"clk": 8} if clocks is None else dict(clocks)
    prefix = "stream_" if "stream_clk" in periods else ""
    job = {
        "clocks": periods,
        "clock": f"{prefix}clk",
        "reset": f"{prefix}rst",
        "reset_cycles": reset_cycles,
        "seed": seed,
        "programs": programs if isinstance(programs, Mapping) else {"": programs},
    }
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as name:
        folder = Path(name)
        (folder / "job.json").write_text(json.dumps(job))
        environment = _bench_environment(executable.name, folder)
        environment["COCOTB_TEST_MODULES"] = "tests.support.block_bench"
        done = subprocess.run(
            [str(executable)], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert (folder / "results.json").exists(), done.stdout[-4000:] + done.stderr[-1000:]
        results = json.loads((folder / "results.json").read_text())
    return results if isinstance(programs, Mapping) else results[""]


def counter_steps() -> list[list[Any]]:
    """Return the steps that read all counters."""
    return [["count", counter_address(name)] for name in COUNTERS]


def packets_of(beats: Beats) -> list[str]:
    """Return the packets of some beats, as hexadecimal digits."""
    ends = np.flatnonzero(beats.last) + 1
    return [beats.data[a:b].tobytes().hex() for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def beats_of(packets: Sequence[str], size: int) -> Beats:
    """Return packets as beats of so many bytes."""
    texts = [bytes.fromhex(text) for text in packets]
    last = np.concatenate([[*[False] * (len(text) // size - 1), True] for text in texts])
    return Beats(np.frombuffer(b"".join(texts), np.uint8).reshape(-1, size), last)
