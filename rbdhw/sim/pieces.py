"""Pieces of many random tasks: their size, and the random numbers of each."""

from __future__ import annotations

import numpy as np

from rbdhw.model.interface import Interface

PIECE_TASKS = 16_384
"""The most tasks in a piece."""

PIECE_WORDS = 1 << 22
"""The most result words in a piece; a piece stores about ten times as many numbers."""

SIMULATED, CONFIRMED = 1, 2
"""What tasks are drawn for. Never zero: random numbers without this part chose the number formats."""


def piece_tasks(interface: Interface) -> int:
    """Return the tasks of a piece; the number determines the draws, so it does not depend on the machine."""
    most = max(len(function.returned(extended=True)) for function in interface.computed)
    return max(1, min(PIECE_TASKS, PIECE_WORDS // most))


def piece_rng(seed: int, start: int, purpose: int) -> np.random.Generator:
    """Return the random numbers of the piece that begins with task ``start``."""
    return np.random.default_rng([seed, start, purpose])
