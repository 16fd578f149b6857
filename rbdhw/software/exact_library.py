"""The compiled bit-exact model, called from Python."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

import numpy as np

from rbdhw.arrays import WordName
from rbdhw.fixed.format import Integers
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.responses import Response, Words
from rbdhw.software.arrays import Sides, arrays_of
from rbdhw.software.calls import PACKED, Arrays, addresses, divide, entry_of, in_order, packed_call
from rbdhw.software.compiler import compile_library, load_library
from rbdhw.software.exact import model_files

MOST_OPTIMISED = 40_000
"""The most operations of a function that is compiled with optimisation, which takes a minute for so many.
Without optimisation a larger function compiles several times as fast, and is still much faster than NumPy."""


class ExactLibrary:
    """The functions of ``model.c``, each compiled when it is first called.

    Calls are thread-safe. Large batches are divided among up to ``threads`` threads, by default one for each
    processor.
    """

    dtype, has_status = np.float64, True

    def __init__(
        self, model: AcceleratorModel, threads: int | None = None, flags: Sequence[str] = ()
    ) -> None:
        self._model = model
        self._sources = model_files(model)
        self._threads = threads
        self._flags = tuple(flags)
        self._given = {WordName.parse(word).array for word in model.inputs}
        self._library = cache(self._compile)

    def arrays(self, function: str) -> Sides:
        """Return the inputs and results of a function in the order of the C function's parameters."""
        return arrays_of(self._model.robot, function, self._given)

    def respond(self, function: str, words: Words, extended: bool = False) -> Response:
        """Return the answer to tasks, as :func:`rbdhw.model.responses.respond`."""
        tasks = len(next(iter(words.values())))
        inputs_ = [words[word.name] for word in self._model.interface.inputs(function, extended)]
        names = [word.name for word in self._model.interface.outputs(function, extended)]
        inputs = np.ascontiguousarray(np.array(inputs_, np.int64).reshape(len(inputs_), tasks).T)
        results, status = np.zeros((tasks, len(names)), np.int64), np.zeros(tasks, np.uint8)
        call = getattr(self._library(function), f"rbdhw_{function}_words")

        def compute(part: slice) -> None:
            call(ctypes.c_size_t(len(status[part])), *addresses([inputs, results, status], part), extended)

        divide(compute, tasks, self._threads)
        return status.astype(np.int64), dict(zip(names, results.T, strict=True))

    def compute(self, function: str, inputs: Arrays, outputs: Arrays) -> Integers:
        """Compute N tasks and return their status (N,).

        Arrays are C-contiguous, of float64, with the shapes of :meth:`arrays` behind an axis of N. Those that
        are missing are not read or written.
        """
        arrays = in_order(self.arrays(function), inputs, outputs)
        status = np.zeros(len(inputs["q"]), np.uint8)
        call = getattr(self._library(function), f"rbdhw_{function}")

        def compute(part: slice) -> None:
            call(ctypes.c_size_t(len(status[part])), *addresses([*arrays, status], part))

        divide(compute, len(status), self._threads)
        return status.astype(np.int64)

    def entry(self, function: str) -> int:
        """Return the address of a function that takes its arrays together (:func:`packed_call`)."""
        return entry_of(self._library(function))

    def _compile(self, function: str) -> ctypes.CDLL:
        """Return the library of one function; the others are left out."""
        others = [name for name in self._model.functions if name != function]
        flags = ["-ffp-contract=off", *(f"-DRBDHW_OMIT_{name.upper()}" for name in others)]
        if len(self._model.program_of(function).operations_of(function)) > MOST_OPTIMISED:
            flags.append("-O0")
        what = f"{function} of the bit-exact model, once; engine numpy needs no compiler"
        call = packed_call("model.h", function, self.arrays(function), status=self.has_status)
        sources, flags = self._sources | {PACKED: call}, [*flags, *self._flags]
        return load_library(compile_library(sources, ["model.c", PACKED], flags, what=what))
