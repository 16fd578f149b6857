"""The table of horizons: points of a trajectory, alone and beside other tasks, and their bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from rbdhw.bench.rows import Rows
from rbdhw.config import BuildOptions, CoreRequest
from rbdhw.design.folder import Design, read, write
from rbdhw.design.traffic import packet_bytes
from rbdhw.domain.sampling import sample
from rbdhw.pipeline import generate
from rbdhw.robots import bundled
from rbdhw.sim import bulk
from rbdhw.sim.packets import Beats, encode, merge, requests
from rbdhw.sim.verilator import Disturbance

BITS = 24

POINTS = (1, 10, 100)
"""The points of a horizon."""

SHARES = (0.0, 0.5, 1.0)
"""Tasks of inverse dynamics for each point."""

CORES = (CoreRequest(("drk4",), 4), CoreRequest(("id", "dfd"), 4))
"""The cores of the build: one for ``drk4``, and one for other tasks and for the round trips it replaces."""

STREAMS = 2
"""The pairs of streams, 1,024 bits each: an answer of ``drk4`` takes seven beats."""


def horizon_rows(
    name: str = "iiwa14",
    cores: tuple[CoreRequest, ...] = CORES,
    points: Sequence[int] = POINTS,
    among: Iterable[float] = SHARES,
) -> Rows:
    """Return the cycles of horizons of ``drk4`` in Verilator, with some other tasks for each point."""
    functions = tuple(function for core in cores for function in core.functions)
    options = BuildOptions(functions, width=BITS, samples=1024, cores=cores, streams=STREAMS, data_width=1024)
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        write(generate(bundled()[name], options), Path(folder) / "design")
        design, simulator = read(Path(folder) / "design"), bulk.build(Path(folder) / "design")
        return [
            {
                "points": count,
                "others": share,
                "cycles": _cycles(design, simulator, count, round(share * count)),
                "bytes": sum(packet_bytes(design.interface, "drk4")),
                "round trips": 4 * sum(packet_bytes(design.interface, "dfd", extended=True)),
            }
            for share in among
            for count in points
        ]


def _cycles(design: Design, simulator: Path, points: int, others: int) -> int:
    """Return the cycles from the first beat of a request to the last beat of all answers.

    Points and other tasks, of which there are no more, are dealt out to the pairs of streams in turn.
    """
    parts = [
        (len(range(pair, points, STREAMS)), len(range(pair, others, STREAMS)))
        for pair in range(min(points, STREAMS))
    ]
    records = bulk.exchange(simulator, [_requests(design, *own) for own in parts], Disturbance())
    return int(max(own.taken[-1] for own in records) - min(own.sent[0] for own in records)) + 1


def _requests(design: Design, points: int, others: int) -> Beats:
    """Return the beats of points, with other tasks evenly between them."""
    times = np.concatenate([np.arange(points) / points, (np.arange(others) + 0.5) / max(others, 1)])
    order = np.argsort(np.argsort(times, kind="stable"))
    places = {"drk4": order[:points]} | ({"id": order[points:]} if others else {})
    packets = {}
    for function, own in places.items():
        arrays = sample(design.robot, design.domain, len(own), np.random.default_rng(0), design.fext)
        packets[function] = requests(design, function, own, encode(design, function, arrays))
    return merge(places, packets)


def horizon_layout(rows: Rows) -> Rows:
    """Return a line for each number of points and of other tasks."""
    return [
        {
            "points": row["points"],
            "other tasks a point": f"{row['others']:g}",
            "cycles": f"{row['cycles']:,}",
            "bytes of a point": f"{row['bytes']:,}",
            "of four round trips of ΔFD": f"{row['round trips']:,}",
        }
        for row in rows
    ]
