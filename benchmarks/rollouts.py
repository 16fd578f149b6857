"""The table of rollouts: cycles of a step alone and of many, beside other tasks, and bytes over the link."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.rows import Row, Rows
from rbdhw.design.folder import Design, read, write
from rbdhw.domain.sampling import sample
from rbdhw.model.packets import encode, merge, requests
from rbdhw.model.rollouts.codec import prepare
from rbdhw.model.rollouts.packets import rollout_requests, row_requests
from rbdhw.model.traffic import packet_bytes
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate
from rbdhw.protocol import COST, GAINS, ROLLOUT
from rbdhw.protocol import SAMPLES as SAMPLES_PART
from rbdhw.robots import path
from rbdhw.rtl.step_products import preparation_products
from rbdhw.verilator import bulk
from rbdhw.verilator.simulator import Disturbance

BITS = 24
STEPS = 64
"""The steps of each rollout."""

SAMPLES = 4096
"""The rollouts of which the time is stated."""

SIMULATED = 512
"""The rollouts that are simulated. The rate of one full core does not depend on their number."""

VARIANTS: tuple[tuple[tuple[str, ...], tuple[float, ...]], ...] = (
    ((), (0.0, 1.0)),
    ((SAMPLES_PART, COST), (0.0,)),
    ((GAINS,), (0.0,)),
    ((SAMPLES_PART, COST, GAINS), (0.0,)),
)
"""The parts that rollouts have, and the tasks of inverse dynamics for each step beside them."""


def rollout_rows(
    robot: str = "iiwa14",
    simulated: int = SIMULATED,
    steps: int = STEPS,
    variants: Sequence[tuple[tuple[str, ...], tuple[float, ...]]] = VARIANTS,
) -> Rows:
    """Return the cycles of rollouts with some parts, and what they send, beside as many round trips."""
    return [row for parts, shares in variants for row in _build_rows(robot, simulated, steps, parts, shares)]


def _build_rows(
    robot: str, simulated: int, steps: int, parts: tuple[str, ...], shares: tuple[float, ...]
) -> Rows:
    options = BuildOptions(
        functions=("id", "rollout"), width=BITS, samples=1024, horizon=steps, rollout=parts
    )
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as name:
        folder = Path(name) / "design"
        write(generate(path(robot), options), folder)
        design, simulator = read(folder), bulk.build(folder)
        alone = _cycles(design, simulator, 1, steps, 0.0)
        rows: Rows = [_row("1", steps, alone, alone / steps)]
        for share in shares:
            cycles = _cycles(design, simulator, simulated, steps, share)
            rows.append(_row(f"{simulated}", steps, cycles, cycles / (simulated * steps), share))
        packed = _bytes(design, steps) | {"products": len(preparation_products(design.interface))}
    return [row | packed | {"parts": ", ".join(parts) or "none"} for row in rows]


def _row(samples: str, steps: int, cycles: int, per_rollout: float, share: float = 0.0) -> Row:
    return {"rollouts": samples, "steps": steps, "others": share, "cycles": cycles, "each": per_rollout}


def _cycles(design: Design, simulator: Path, tasks: int, steps: int, share: float) -> int:
    """Return the cycles from the first beat of a rollout to the last beat of all answers.

    Tasks of inverse dynamics stand between the rollouts, ``share`` for each step.
    """
    drawn = sample(design.robot, design.domain, tasks, np.random.default_rng(0), design.fext)
    arrays = {name: drawn[name] for name in ("q", "v", "h")} | {"tau": np.zeros((steps, design.robot.nv))}
    prepared, ones = prepare(design, arrays, 0), np.ones(tasks, np.int64)
    others, loads = round(share * steps), 0
    packets = {name: row_requests(design, prepared.rows, name) for name in design.interface.row_commands}
    places = {}
    for name, rows in packets.items():
        places[name] = loads + np.arange(len(rows))
        loads += len(rows)
    places[ROLLOUT] = starts = loads + (1 + others) * np.arange(tasks)
    packets[ROLLOUT] = rollout_requests(
        design, prepared.words, steps * ones, 0 * ones, np.arange(tasks), states=False
    )
    if others:
        places["id"] = (starts[:, np.newaxis] + 1 + np.arange(others)).ravel()
        tags = np.arange(tasks * others)
        words = encode(design, "id", {name: drawn[name][tags % tasks] for name in ("q", "v", "a")})
        packets["id"] = requests(design, "id", tags, words)
    asked = merge(places, packets)
    (outcome,) = bulk.exchange(simulator, [asked], Disturbance())
    first = int(outcome.sent[np.flatnonzero(asked.last)[loads - 1] + 1])
    return int(outcome.taken[-1]) - first + 1


def _bytes(design: Design, steps: int) -> Row:
    """Return the bytes of a rollout both ways, of the rows that all share, and of as many steps by link."""
    interface = design.interface

    def size(function: str) -> int:
        return sum(packet_bytes(interface, function))

    return {
        "bytes": size(ROLLOUT),
        "rows": steps * sum(map(size, interface.row_commands)),
        "round trips": steps * size("step"),
    }


def rollout_layout(rows: Rows) -> Rows:
    """Return a line for each run; the time is that of :data:`SAMPLES` rollouts at the same rate."""
    return [
        {
            "`--rollout`": row["parts"],
            "products": row["products"],
            "rollouts": row["rollouts"],
            "other tasks a step": f"{row['others']:g}",
            "cycles": f"{row['cycles']:,}",
            "cycles a step": f"{row['each']:.3g}",
            f"{SAMPLES:,} rollouts, 125 MHz": (
                "-" if row["rollouts"] == "1" else f"{row['each'] * SAMPLES * row['steps'] / 125e3:.2f} ms"
            ),
            "bytes of a rollout": f"{row['bytes']:,}",
            "of its steps by the link": f"{row['round trips']:,}",
        }
        for row in rows
    ]
