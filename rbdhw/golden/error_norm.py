"""The error of results relative to the golden model's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NORM = "Frobenius norm of a task's whole result, relative to golden's or to the floor, the larger"
"""A description of :func:`relative_errors` for the manifest."""


def relative_errors(
    results: Mapping[str, Array], reference: Mapping[str, Array], floor: float = 0.0
) -> Array:
    """Return for each task (N,) the Frobenius norm of the differences over that of the reference.

    The norms are over all arrays together.

    Parameters
    ----------
    floor
        The least norm of the reference to divide by, in the unit of the results. If it is zero and the
        reference is zero, the error is zero for zero results and infinite for others.
    """
    difference = norms({name: results[name] - reference[name] for name in reference})
    size = np.maximum(norms(reference), floor)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0.0, 0.0, difference / size)


def norms(arrays: Mapping[str, Array]) -> Array:
    """Return for each task (N,) the Frobenius norm of all arrays together."""
    rows = [array.reshape(len(array), -1) for array in arrays.values()]
    found: Array = np.linalg.norm(np.hstack(rows), axis=1)
    return found
