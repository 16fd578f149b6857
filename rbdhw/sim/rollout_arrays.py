"""The arrays of rollouts beside those of ``step``: what a build takes, and whether they are usable."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rbdhw.design.model import AcceleratorModel
from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers
from rbdhw.protocol import SAMPLES
from rbdhw.sim.packets import check_finite

Array = NDArray[np.float64]

SEED = "seed"

MOST_SEED, MOST_SEED_OF_SINGLES = (1 << 31) - 1, 1 << 24
"""The largest seed. A single holds every integer up to the second."""


def check_samples(
    model: AcceleratorModel, arrays: Mapping[str, Array], tasks: int, steps: int
) -> tuple[Array, Integers | None]:
    """Return the standard deviations (K, nv) and the seeds (N,), which are None if no samples are drawn.

    Raises
    ------
    InputError
        The build draws no samples, or an array is not usable.
    """
    assert model.interface.rollout is not None
    none = np.zeros((steps, model.robot.nv))
    if SAMPLES not in model.interface.rollout.parts:
        for name in ("std", SEED):
            if name in arrays:
                remedy = f"generate with --rollout {SAMPLES}"
                raise InputError(f"array '{name}'", "this build draws no samples", remedy=remedy)
        return none, None
    if "std" in arrays and SEED not in arrays:
        raise InputError(f"array '{SEED}'", "missing", "a seed for each rollout, or one for all")
    return _check_deviations(model, arrays.get("std", none), steps), _check_seeds(model, arrays, tasks)


def _check_deviations(model: AcceleratorModel, given: Array, steps: int) -> Array:
    """Return the standard deviations of each step."""
    array, nv = np.asarray(given, np.float64), model.robot.nv
    if array.shape not in ((nv,), (steps, nv)):
        raise InputError("array 'std'", f"shape {array.shape}", f"({steps}, {nv}), or ({nv},) for all steps")
    check_finite("std", np.atleast_2d(array))
    most = np.abs(np.asarray(model.domain.bounds["tau"])).max(axis=1)
    rows = np.broadcast_to(array, (steps, nv))
    places = np.argwhere((rows < 0.0) | (rows > most))
    if len(places):
        row, column = places[0].tolist()
        where, found = f"array 'std', row {row}, column {column}", f"{rows[row, column]:g}"
        raise InputError(where, found, f"0 to {most[column]:g}, the largest force")
    return rows


def _check_seeds(model: AcceleratorModel, arrays: Mapping[str, Array], tasks: int) -> Integers:
    """Return the seed of each rollout."""
    given = np.asarray(arrays.get(SEED, 0))
    if given.shape not in ((), (tasks,)):
        raise InputError(f"array '{SEED}'", f"shape {given.shape}", f"({tasks},), or one for all")
    most = MOST_SEED_OF_SINGLES if model.interface.converts else MOST_SEED
    seeds = np.broadcast_to(given, (tasks,)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~((seeds >= 0) & (seeds <= most) & (seeds == np.floor(seeds))))
    if len(bad):
        where, found = f"array '{SEED}', row {bad[0]}", f"{seeds[bad[0]]:g}"
        raise InputError(where, found, f"integers from 0 to {most}")
    return seeds.astype(np.int64)
