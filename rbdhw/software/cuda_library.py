"""The compiled functions in CUDA, called from Python, and NVIDIA's compiler."""

from __future__ import annotations

import ctypes
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.errors import InputError
from rbdhw.software.calls import Arrays, addresses, in_order
from rbdhw.software.compiler import command_in, compile_library, load_library
from rbdhw.software.float_library import SoftwareLibrary

VARIABLE = "NVCC"
"""The environment variable that sets the command."""

IN_WHEEL = Path("cu13", "bin", "nvcc")
"""The program in the wheels' package ``nvidia``."""

FLAGS = ("-O3", "-std=c++17")
"""Options of every compilation. Not among them is --use_fast_math, whose sines are wrong for large angles."""

GPUS = ("-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]")
"""The library runs on GPUs of compute capability 8.0 and later; the driver translates it for newer ones."""


class CudaLibrary(SoftwareLibrary):
    """The functions of ``dynamics.cu``."""

    def compute(self, function: str, inputs: Arrays, outputs: Arrays) -> None:
        """Compute N tasks, in arrays with an axis of N before the shapes of :meth:`arrays`.

        They are copied to columns and back unless the axis of tasks varies fastest. Inputs that are missing
        are zeros, or absent if they are optional. Results that are missing are not written. InputError if a
        call of CUDA fails, for example because there is no GPU.
        """
        tasks = len(inputs["q"])
        sides = self.arrays(function)
        needed = {
            array.name: array.shape for array in sides[0] if not array.optional and array.name not in inputs
        }
        zeros = {name: np.zeros((tasks, *shape)) for name, shape in needed.items()}
        arrays = in_order(sides, {**inputs, **zeros}, outputs)
        columns = [None if array is None else self._columns(array) for array in arrays]
        call = getattr(self._library(function), f"rbdhw_{function}_columns")
        count = ctypes.c_size_t(tasks)
        error = call(count, count, *addresses(columns))
        if error:
            raise InputError(
                f"CUDA function {function}",
                f"CUDA error {error}",
                "a GPU of compute capability 8.0 or later, and its driver",
                "use engine golden",
            )
        for array, column in list(zip(arrays, columns, strict=True))[len(sides[0]) :]:
            if array is not None and column is not None:
                array[...] = np.moveaxis(column, -1, 0)

    def _columns(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array with the axis of tasks last, copied if its numbers are not in that order."""
        return np.ascontiguousarray(np.moveaxis(array, 0, -1), self.dtype)

    def _compile(self, function: str) -> ctypes.CDLL:
        others = [name for name in self._arrays if name != function]
        flags = [*self._flags, *(f"-DRBDHW_OMIT_{name.upper()}" for name in others)]
        compiler = (*find_nvcc(), *FLAGS, *GPUS, "-Xcompiler=-fPIC", "-shared")
        what = f"{function} in CUDA, once; engine golden needs no compiler"
        return load_library(compile_library(self._sources, ["dynamics.cu"], flags, compiler, what))


def find_nvcc() -> tuple[str, ...]:
    """Return the command of nvcc: the variable NVCC, the wheel's program, or the one on PATH."""
    command = command_in(VARIABLE, "the path of nvcc")
    if command:
        return command
    package = find_spec("nvidia")
    folders = package.submodule_search_locations if package is not None else None
    for name in (*(str(folder / IN_WHEEL) for folder in map(Path, folders or ())), "nvcc"):
        path = shutil.which(name)
        if path is not None:
            return (path,)
    remedy = "run: pip install '.[cuda]', or use engine golden"
    raise InputError("nvcc", "not installed", "NVIDIA's compiler of CUDA 12 or later", remedy)
