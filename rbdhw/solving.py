"""What every solver of optimal control does alike: its statuses, and in floating point its rules."""

from __future__ import annotations

from enum import IntEnum


class Solved(IntEnum):
    """The status of a solution."""

    CONVERGED = 0
    """No more than the tolerance can be gained."""
    ITERATIONS = 1
    """The iterations ended before."""
    STALLED = 2
    """No step length decreased the cost, with any regularisation."""
    INDEFINITE = 3
    """The Hessian by the forces was not positive, with any regularisation."""
    NOT_FINITE = 4
    """The cost of the first trajectory was not finite."""


LEAST_REGULARISATION, MOST_REGULARISATION = 1e-8, 1e8
"""The range of what is added to the diagonal of the Hessian by the forces, in steps of ten; or zero."""

SUFFICIENT_DECREASE = 0.1
"""The share of the expected decrease of the cost from which on a step length is taken."""
