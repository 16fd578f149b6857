"""The order of a sweep back through knots, whatever the numbers are: real ones or integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.errors import InputError
from rbdhw.graph.sweeps import Carried, Given, Sweeps

Array = NDArray[Any]

Step = Callable[[int, dict[str, Array]], Mapping[str, Array]]
"""The step of a knot: what it hands on, by the names of the inputs that take it, and its results."""


Values = MutableMapping[int, Mapping[str, Array] | None]
"""What is handed on to the first knots of blocks, by these; None if nothing is known."""


DISPLACEMENT, OFFSET, QUATERNION = "displacement", "offset", "quaternion"
REFERENCE, ATTITUDE = "reference", "attitude"
"""The arrays of numbers of joints of several degrees of freedom: :mod:`rbdhw.frontend.knot_states`."""

POSITION_ROW, POSITION_SLOPE, POSITION_WEIGHT = OF_POSITIONS = "P", "G", "W"
"""The arrays of numbers of costs of frames' positions: :mod:`rbdhw.frontend.knot_step`."""

OF_NEXT_KNOT = OFFSET, QUATERNION, REFERENCE, *OF_POSITIONS
"""The arrays that belong to the state behind a step, which costs something."""


def block_starts(steps: int, blocks: int) -> list[int]:
    """Return the knots with which blocks of so many steps begin, but for the last knot, from the end on.

    All blocks but the last have the same number of knots.
    """
    length = block_length(steps, blocks)
    return [steps - k * length for k in range(1, blocks)]


def block_length(steps: int, blocks: int) -> int:
    """Return the most knots of a block."""
    return -(-(steps + 1) // blocks)


def check_blocks(steps: int, blocks: int) -> None:
    """Refuse a number of blocks of which some have no knots; InputError names lower ones."""
    if not _has_knots(steps, blocks):
        fewer = [str(count) for count in range(1, blocks) if _has_knots(steps, count)]
        reason = (
            f"{steps} steps do not make {blocks} blocks of the same number of knots, but for the last one"
        )
        raise InputError("blocks", reason, f"fewer, such as {', '.join(fewer)}")


def _has_knots(steps: int, blocks: int) -> bool:
    """Return whether each block has a knot."""
    return min(block_starts(steps, blocks), default=0) >= 0


def sweep_knots(
    sweeps: Sweeps, numbers: Mapping[str, Array], step: Step, values: Values | None = None
) -> dict[str, Array]:
    """Return the results of all knots (..., knots) by name, and what the first one hands on (...,).

    ``numbers`` has the numbers (..., knots) of knots, and those (...,) that all knots read. What the
    last knot takes is zero. A knot of ``values`` takes these, unless there are None, and what was handed on
    to it takes their place.
    """
    (sweep,) = sweeps.sweeps
    carried = {name for name, source in sweeps.sources.items() if isinstance(source, Carried)}
    given = next(name for name, source in sweeps.sources.items() if isinstance(source, Given))
    handed: dict[str, Array] = {name: np.zeros((), numbers[given].dtype) for name in carried}
    results: dict[str, list[Array]] = {}
    values = {} if values is None else values
    for knot in sweep.order(sweeps.links):
        if knot in values:
            earlier, values[knot] = values[knot], handed
            handed = handed if earlier is None else dict(earlier)
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
