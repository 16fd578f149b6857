"""The compiled functions in CUDA, called from Python."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.errors import InputError
from rbdhw.software.arrays import Array
from rbdhw.software.calls import address
from rbdhw.software.compiler import compile_library
from rbdhw.software.float_library import REALS
from rbdhw.software.nvcc import FLAGS, find_nvcc

GPUS = (
    "-gencode=arch=compute_80,code=sm_80",
    "-gencode=arch=compute_90,code=[sm_90,compute_90]",
)
"""The library runs on GPUs of compute capability 8.0 and later; the driver translates it for newer ones."""


class CudaLibrary:
    """The functions of ``dynamics.cu``, each compiled when it is first called.

    Parameters
    ----------
    sources
        The texts of :data:`rbdhw.software.cuda.CUDA_FILES` by name.
    arrays
        The inputs and results of each function, in the order of the CUDA function's parameters.
    number
        One of :data:`rbdhw.software.float_library.REALS`.
    flags
        Further options of the compiler.
    """

    def __init__(
        self,
        sources: Mapping[str, str],
        arrays: Mapping[str, tuple[tuple[Array, ...], tuple[Array, ...]]],
        number: str = "float32",
        flags: Sequence[str] = (),
    ) -> None:
        real, self.dtype = REALS[number]
        self._sources, self._arrays = dict(sources), dict(arrays)
        self._flags = (f"-DRBDHW_REAL={real}", *flags)
        self._library = cache(self._compile)

    def arrays(self, function: str) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """Return the inputs and results of a function in the order of the CUDA function's parameters."""
        return self._arrays[function]

    def compute(
        self, function: str, inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]
    ) -> None:
        """Compute N tasks.

        Parameters
        ----------
        inputs, outputs
            Arrays by name, with the shapes of :meth:`arrays` behind an axis of N. They are copied to columns
            and back unless the axis of tasks varies fastest. Inputs that are missing are zeros, or absent if
            they are optional. Results that are missing are not written.

        Raises
        ------
        InputError
            A call of CUDA fails, for example because there is no GPU.
        """
        tasks = len(inputs["q"])
        columns: list[NDArray[Any] | None] = []
        for own in self._arrays[function][0]:
            given = inputs.get(own.name)
            if given is None and not own.optional:
                given = np.zeros((tasks, *own.shape))
            columns.append(None if given is None else self._columns(given))
        results = {
            own.name: self._columns(outputs[own.name]) if own.name in outputs else None
            for own in self._arrays[function][1]
        }
        call = getattr(self._library(function), f"rbdhw_{function}_columns")
        count = ctypes.c_size_t(tasks)
        addresses = [None if array is None else address(array) for array in (*columns, *results.values())]
        error = call(count, count, *addresses)
        if error:
            raise InputError(
                f"CUDA function {function}",
                f"CUDA error {error}",
                "a GPU of compute capability 8.0 or later, and its driver",
                "use engine golden",
            )
        for name, array in results.items():
            if array is not None:
                outputs[name][...] = np.moveaxis(array, -1, 0)

    def _columns(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array with the axis of tasks last, copied if its numbers are not in that order."""
        return np.ascontiguousarray(np.moveaxis(array, 0, -1), self.dtype)

    def _compile(self, function: str) -> ctypes.CDLL:
        """Return the library of one function; the others are left out."""
        others = [name for name in self._arrays if name != function]
        flags = [*self._flags, *(f"-DRBDHW_OMIT_{name.upper()}" for name in others)]
        compiler = (*find_nvcc(), *FLAGS, *GPUS, "-Xcompiler=-fPIC", "-shared")
        return ctypes.CDLL(str(compile_library(self._sources, ["dynamics.cu"], flags, compiler)))
