"""The compiled functions in floating point, called from Python: libraries of software, and those of C."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.software.arrays import Sides
from rbdhw.software.calls import PACKED, Arrays, addresses, divide, entry_of, in_order, packed_call
from rbdhw.software.compiler import compile_library, load_library

REALS: dict[str, tuple[str, type[Any]]] = {
    "float64": ("double", np.float64),
    "float32": ("float", np.float32),
}
"""The types of numbers: in C and in NumPy."""

FLAGS = ("-ffp-contract=fast",)
"""Options of C: products and sums are fused where the processor can; the range reduction stays exact."""


class SoftwareLibrary(ABC):
    """The functions of a folder of software, each compiled when it is first called.

    Parameters
    ----------
    sources
        The texts of the sources by name.
    number
        One of :data:`REALS`.
    threads
        The most threads of a call of C; by default one for each processor.
    """

    has_status = False

    def __init__(
        self,
        sources: Mapping[str, str],
        arrays: Mapping[str, Sides],
        number: str = "float64",
        flags: Sequence[str] = (),
        threads: int | None = None,
    ) -> None:
        real, self.dtype = REALS[number]
        self._sources, self._arrays = dict(sources), dict(arrays)
        self._flags, self._threads = (f"-DRBDHW_REAL={real}", *flags), threads
        self._library = cache(self._compile)

    def arrays(self, function: str) -> Sides:
        """Return the inputs and results of a function in the order of the C function's parameters."""
        return self._arrays[function]

    @abstractmethod
    def compute(self, function: str, inputs: Arrays, outputs: Arrays) -> None:
        """Compute N tasks in arrays by name, with an axis of N before the shapes of :meth:`arrays`."""

    @abstractmethod
    def _compile(self, function: str) -> ctypes.CDLL:
        """Return the library of one function."""


class FloatLibrary(SoftwareLibrary):
    """The functions of :func:`rbdhw.software.floating.dynamics_files`."""

    def compute(self, function: str, inputs: Arrays, outputs: Arrays) -> None:
        """Compute N tasks, in arrays of type ``dtype`` with the shapes of :meth:`arrays` behind an axis of N.

        All are in C order; or in all of them the first axis varies fastest and the others are in C order,
        which is faster for a large batch. Arrays that are missing are not read or written.
        """
        arrays = in_order(self.arrays(function), inputs, outputs)
        tasks = len(inputs["q"])
        by_columns = all(_is_by_columns(array) for array in arrays if array is not None)
        call = getattr(self._library(function), f"rbdhw_{function}{'_columns' * by_columns}")
        sizes = [ctypes.c_size_t(tasks)] * by_columns

        def compute(part: slice) -> None:
            call(ctypes.c_size_t(part.stop - part.start), *sizes, *addresses(arrays, part))

        divide(compute, tasks, self._threads)

    def entry(self, function: str) -> int:
        """Return the address of a function that takes its arrays together (:func:`packed_call`)."""
        return entry_of(self._library(function))

    def _compile(self, function: str) -> ctypes.CDLL:
        source, what = f"dynamics_{function}.c", f"{function} in C, once; engine golden needs no compiler"
        call = packed_call("dynamics.h", function, self.arrays(function), status=self.has_status)
        sources = self._sources | {PACKED: call}
        return load_library(compile_library(sources, [source, PACKED], [*FLAGS, *self._flags], what=what))


def _is_by_columns(array: NDArray[Any]) -> bool:
    """Return whether the axis of tasks varies fastest."""
    return len(array) > 1 and np.moveaxis(array, 0, -1).flags.c_contiguous
