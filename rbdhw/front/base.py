"""The mode of the base, by name, as tasks bring it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.errors import InputError, unknown
from rbdhw.protocol import BASE_HELD, FUNCTIONS
from rbdhw.robot.model import Robot

FIXED, FLOATING, GIVEN = MODES = ("fixed", "floating", "given")
"""The modes: held at rest, free, or held and moving as the task says."""

Array = NDArray[np.float64]


def chosen_base(robot: Robot, function: str, base: Any, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays by which tasks choose the mode of the base.

    ``base`` is one of :data:`MODES` for all tasks, or one for each task, and ``arrays`` are the other arrays
    of the tasks. Raises InputError if the tasks of this build do not choose; a mode is unknown; a base that
    is fixed moves, or the acceleration of one that is given is missing.
    """
    if not robot.base_chosen:
        mode = FLOATING if robot.floats else GIVEN if robot.base_given else FIXED
        raise InputError("base", f"the base of this build is {mode}", "none", "generate with --base any")
    names = np.array(base)
    if names.ndim > 1 or names.dtype.kind != "U":
        raise InputError("base", repr(base), f"one of {', '.join(MODES)}, or one for each task")
    for name in np.unique(names):
        if name not in MODES:
            raise unknown("base", str(name), MODES)
    if "base_a" in FUNCTIONS[function].base_choice and GIVEN in names and "base_a" not in arrays:
        expected = "the acceleration of the base, for base='given'"
        raise InputError("array 'base_a'", "missing", expected, "use base='fixed' for a base at rest")
    for name in ("v", "a", "base_a"):
        if name in arrays:
            _check_rest(name, names == FIXED, arrays[name][..., :6])
    return {BASE_HELD: np.where(names == FLOATING, 0.0, 1.0)}


def _check_rest(name: str, fixed: Any, motion: Array) -> None:
    """Check that the motion (N, 6) or (6,) of a fixed base is zero."""
    try:
        moves = np.logical_and(fixed, motion.any(axis=-1))
    except ValueError:
        reason = f"{np.shape(fixed)[0]} modes of {motion.shape[0]} tasks"
        raise InputError("base", reason, "one for each task, or one for all") from None
    if moves.any():
        reason = "the base is fixed, but its entries are not zero"
        remedy = "use base='given' for one that moves"
        raise InputError(f"array '{name}'", reason, "zeros at the base", remedy)
