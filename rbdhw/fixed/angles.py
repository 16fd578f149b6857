"""Reduction of angles to less than a turn."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

TURN = 2.0 * math.pi
"""2 pi in double precision."""

TURN_REST = 2.4492935982947064e-16
"""2 pi minus :data:`TURN`."""


def drop_turns(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return angles (rad) without their whole turns, in about (-2 pi, 2 pi), exact to rounding.

    The remainder by :data:`TURN` is exact; each turn that it drops is :data:`TURN_REST` too short. Angles
    below one turn are returned unchanged. The C of :mod:`rbdhw.software.exact` computes the same bits.
    """
    rest = np.fmod(angles, TURN)
    turns = np.rint((angles - rest) / TURN)
    reduced: NDArray[np.float64] = rest - turns * TURN_REST
    return reduced
