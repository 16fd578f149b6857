"""Calls of compiled functions: addresses of arrays, and batches divided among threads."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

TASKS_OF_A_THREAD = 1024
"""The fewest tasks for which a thread is worth its start."""


def address(array: NDArray[Any]) -> ctypes.c_void_p:
    """Return the address of an array's first number."""
    return ctypes.c_void_p(array.ctypes.data)


def divide(compute: Callable[[slice], None], tasks: int, threads: int | None) -> None:
    """Call ``compute`` with slices that together are all tasks, on up to ``threads`` threads at a time.

    ``threads`` is one for each processor if it is None.
    """
    used = min(threads or os.cpu_count() or 1, tasks // TASKS_OF_A_THREAD)
    if used < 2:
        compute(slice(0, tasks))
        return
    ends = [tasks * k // used for k in range(used + 1)]
    with ThreadPoolExecutor(used) as pool:
        list(pool.map(compute, [slice(*pair) for pair in pairwise(ends)]))
