"""The order of a sweep back through knots, whatever the numbers are: real ones or integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.graph.sweeps import Carried, Given, Sweeps

Array = NDArray[Any]

Step = Callable[[int, dict[str, Array]], Mapping[str, Array]]
"""The step of a knot: what it hands on, by the names of the inputs that take it, and its results."""


def sweep_knots(sweeps: Sweeps, numbers: Mapping[str, Array], step: Step) -> dict[str, Array]:
    """Return the results of all knots (..., knots) by name, and what the first one hands on (...,).

    ``numbers`` has the numbers (..., knots) of knots, and those (...,) that all knots read. What the
    last knot takes is zero.
    """
    (sweep,) = sweeps.sweeps
    carried = {name for name, source in sweeps.sources.items() if isinstance(source, Carried)}
    handed: dict[str, Array] = {name: np.zeros((), numbers["g[0]"].dtype) for name in carried}
    results: dict[str, list[Array]] = {}
    for knot in sweep.order(sweeps.links):
        inputs = {
            name: numbers[name][..., knot] if isinstance(source, Given) else numbers[name]
            for name, source in sweeps.sources.items()
            if name not in carried
        }
        outputs = step(knot, inputs | handed)
        handed = {name: outputs[name] for name in carried}
        for name in outputs.keys() - carried:
            results.setdefault(name, []).insert(0, outputs[name])
    return handed | {name: np.stack(np.broadcast_arrays(*rows), axis=-1) for name, rows in results.items()}
