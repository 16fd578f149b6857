"""Number formats of the step of a sweep back, from the iterations of a solver in double precision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.graph.interpret import edge_value, node_values
from rbdhw.graph.knots import sweep_knots
from rbdhw.graph.sweeps import Sweeps

Array = NDArray[np.float64]

HEADROOM_BITS = 3
"""The bits of headroom over the largest value that was observed."""


def knot_magnitudes(
    sweeps: Sweeps, sampled: Iterable[Mapping[str, Array]], headroom_bits: int = HEADROOM_BITS
) -> list[float]:
    """Return the largest magnitude of each node of a knot's step, with headroom.

    ``sampled`` are the numbers of sweeps, as :func:`rbdhw.graph.knots.sweep_knots` takes them.
    """
    (sweep,) = sweeps.sweeps
    largest = np.zeros(len(sweep.step.nodes))

    def step(_knot: int, inputs: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        values = node_values(sweep.step, inputs)
        np.maximum(largest, [np.abs(value).max() for value in values], out=largest)
        return {name.partition(".")[2]: edge_value(values, edge) for name, edge in sweep.step.outputs}

    for numbers in sampled:
        sweep_knots(sweeps, numbers, step)
    return np.ldexp(largest, headroom_bits).tolist()
