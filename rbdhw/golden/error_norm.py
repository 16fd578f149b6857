"""How far results are from the golden model's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NORM = "Frobenius norm of a task's whole result, relative to golden's or to the floor, the larger"
"""What :func:`relative_errors` measures, for the manifest."""


def relative_errors(
    results: Mapping[str, Array], reference: Mapping[str, Array], floor: float = 0.0
) -> Array:
    """Per task (N,) the Frobenius norm of all arrays' differences over that of the reference.

    Parameters
    ----------
    floor
        A reference whose norm is smaller counts as large as this, in the unit of the results. Where it is
        zero, a reference of zeros is matched by zeros alone: any other result errs infinitely.
    """
    difference = norms({name: results[name] - reference[name] for name in reference})
    size = np.maximum(norms(reference), floor)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0.0, 0.0, difference / size)


def norms(arrays: Mapping[str, Array]) -> Array:
    """Per task (N,) the Frobenius norm of all arrays."""
    rows = [array.reshape(len(array), -1) for array in arrays.values()]
    found: Array = np.linalg.norm(np.hstack(rows), axis=1)
    return found
