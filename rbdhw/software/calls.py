"""Calls of compiled functions: addresses of arrays, and batches divided among threads."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from rbdhw.software.arrays import Sides

TASKS_OF_A_THREAD = 1024
"""The fewest tasks for which a thread is worth its start."""


Arrays = Mapping[str, NDArray[Any]]
"""Arrays by name, with an axis of N tasks before the shape of each."""


def in_order(sides: Sides, inputs: Arrays, outputs: Arrays) -> list[NDArray[Any] | None]:
    """Return arrays in the order of a C function's parameters, with None for those that are missing."""
    ordered = [inputs.get(array.name) for array in sides[0]]
    return ordered + [outputs.get(array.name) for array in sides[1]]


def addresses(
    arrays: Iterable[NDArray[Any] | None], part: slice = slice(None)
) -> list[ctypes.c_void_p | None]:
    """Return the addresses of tasks in arrays, with None for those that are missing."""
    return [None if array is None else ctypes.c_void_p(array[part].ctypes.data) for array in arrays]


PACKED = "call.c"
"""The source of :func:`packed_call`, which a library has beside those of its function."""


def packed_call(header: str, function: str, sides: Sides, *, status: bool) -> str:
    """Return C of ``rbdhw_call(tasks, arrays)``, which takes a function's arrays together.

    These are the inputs, the results that are not optional, and the status if the function writes one.
    """
    count, arguments = 0, ["tasks"]
    for array in (*sides[0], *sides[1]):
        if array.optional and array not in sides[0]:
            arguments.append("0")
        else:
            arguments.append(f"arrays[{count}]")
            count += 1
    arguments += [f"arrays[{count}]"] * status
    call = f"RBDHW_NAME({function})({', '.join(arguments)})"
    return f'#include "{header}"\n\nvoid rbdhw_call(size_t tasks, void *const *arrays)\n{{\n    {call};\n}}\n'


def entry_of(library: ctypes.CDLL) -> int:
    """Return the address of the function of :func:`packed_call` in a library."""
    address = ctypes.cast(library.rbdhw_call, ctypes.c_void_p).value
    assert address is not None
    return address


def divide(
    compute: Callable[[slice], None], tasks: int, threads: int | None, fewest: int = TASKS_OF_A_THREAD
) -> None:
    """Call ``compute`` with slices that together are all tasks, on up to ``threads`` threads at a time.

    ``threads`` is one for each processor if it is None; each has at least ``fewest`` tasks.
    """
    used = min(threads or os.cpu_count() or 1, tasks // fewest)
    if used < 2:
        compute(slice(0, tasks))
        return
    ends = [tasks * k // used for k in range(used + 1)]
    with ThreadPoolExecutor(used) as pool:
        list(pool.map(compute, [slice(*pair) for pair in pairwise(ends)]))
