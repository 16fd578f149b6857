"""Calls of compiled functions: addresses of arrays, and batches divided among threads."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from rbdhw.software.arrays import Array

TASKS_OF_A_THREAD = 1024
"""The fewest tasks for which a thread is worth its start."""


def address(array: NDArray[Any]) -> ctypes.c_void_p:
    """Return the address of an array's first number."""
    return ctypes.c_void_p(array.ctypes.data)


def in_order(
    sides: tuple[Iterable[Array], Iterable[Array]],
    inputs: Mapping[str, NDArray[Any]],
    outputs: Mapping[str, NDArray[Any]],
) -> list[NDArray[Any] | None]:
    """Return arrays in the order of a C function's parameters, with None for those that are missing."""
    found = [inputs.get(own.name) for own in sides[0]]
    return found + [outputs.get(own.name) for own in sides[1]]


def addresses(
    arrays: Iterable[NDArray[Any] | None], part: slice = slice(None)
) -> list[ctypes.c_void_p | None]:
    """Return the addresses of tasks in arrays, with None for those that are missing."""
    return [None if array is None else address(array[part]) for array in arrays]


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
