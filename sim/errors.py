"""How far results are from the golden model's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NORM = "Frobenius norm of a task's whole result, relative to golden's"
"""What :func:`relative_errors` measures, for the manifest."""


def relative_errors(results: Mapping[str, Array], reference: Mapping[str, Array]) -> Array:
    """Per task (N,) the Frobenius norm of all arrays' differences over that of the reference.

    A reference that is zero altogether is matched by zeros alone: any other result errs infinitely.
    """
    difference = _norm({name: results[name] - reference[name] for name in reference})
    size = _norm(reference)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0.0, 0.0, difference / size)


def _norm(arrays: Mapping[str, Array]) -> Array:
    rows = [array.reshape(len(array), -1) for array in arrays.values()]
    norm: Array = np.linalg.norm(np.hstack(rows), axis=1)
    return norm
