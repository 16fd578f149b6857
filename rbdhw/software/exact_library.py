"""The compiled bit-exact model, called from Python."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import WordName
from rbdhw.fixed.format import Integers
from rbdhw.model.accelerator import AcceleratorModel
from rbdhw.model.responses import Response, Words
from rbdhw.protocol import MPPI, SOLVE
from rbdhw.software.arrays import Sides, arrays_of
from rbdhw.software.calls import PACKED, Arrays, addresses, divide, entry_of, in_order, packed_call
from rbdhw.software.compiler import compile_library, load_library
from rbdhw.software.exact import model_files
from rbdhw.software.exact_means import model_means_files
from rbdhw.software.exact_solver import model_solver_files

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
        flags = _flags(self._model, (function,))
        what = f"{function} of the bit-exact model, once; engine numpy needs no compiler"
        call = packed_call("model.h", function, self.arrays(function), status=self.has_status)
        sources, flags = self._sources | {PACKED: call}, [*flags, *self._flags]
        return load_library(compile_library(sources, ["model.c", PACKED], flags, what=what))


class ExactCommands:
    """Commands in C since their last reset: those of a source beside ``model.c``.

    ``library`` has its functions, which take ``memory``, a structure of its header, or ``count`` of them.
    """

    def __init__(
        self,
        model: AcceleratorModel,
        files: Mapping[str, str],
        structure: str,
        steps: Sequence[str],
        what: str,
        flags: Sequence[str],
        count: int = 1,
    ) -> None:
        self._interface = model.interface
        source, header = files
        size = _SIZE.format(header=header, structure=structure)
        flags = [*_flags(model, steps), *flags]
        what = f"{what} of the bit-exact model, once; engine numpy needs no compiler"
        compiled = ["model.c", source, SIZE]
        sources = model_files(model) | dict(files) | {SIZE: size}
        self.library = load_library(compile_library(sources, compiled, flags, what=what))
        self.library.rbdhw_size.restype = ctypes.c_size_t
        self.memory = ctypes.create_string_buffer(count * self.library.rbdhw_size())

    def respond(self, function: str, words: Words, extended: bool = False) -> Response:
        """Return the statuses and the output words (N,) of packets of one of the commands."""
        inputs_ = [words[word.name] for word in self._interface.inputs(function, extended)]
        names = [word.name for word in self._interface.outputs(function, extended)]
        inputs = np.ascontiguousarray(np.array(inputs_, np.int64).T)
        results, status = np.zeros((len(inputs), len(names)), np.int64), np.zeros(len(inputs), np.uint8)
        arrays: list[NDArray[Any] | None] = [inputs, results, status] if names else [inputs, status]
        call = getattr(self.library, f"rbdhw_{function}_words")
        call(self.memory, ctypes.c_size_t(len(inputs)), *addresses(arrays), extended)
        return status.astype(np.int64), dict(zip(names, results.T, strict=True))


class ExactSolver(ExactCommands):
    """``model_solver.c``, which answers as :class:`rbdhw.model.solver_session.SolverSession`."""

    def __init__(self, model: AcceleratorModel, flags: Sequence[str] = ()) -> None:
        shape, steps = model.interface.solver, ("step", "dstep")
        assert shape is not None
        files = model_solver_files(model)
        super().__init__(model, files, "rbdhw_solver", steps, SOLVE, flags, shape.problems)


class ExactMeans(ExactCommands):
    """``model_mppi.c``, which answers as :class:`rbdhw.model.rollouts.mean_session.MeanSession`."""

    def __init__(self, model: AcceleratorModel, flags: Sequence[str] = ()) -> None:
        files, steps = model_means_files(model), (model.interface.step.name,)
        super().__init__(model, files, "rbdhw_sampler", steps, MPPI, flags)


SIZE = "size.c"
_SIZE = """#include "{header}"

size_t rbdhw_size(void)
{{
    return sizeof(struct {structure});
}}
"""


def _flags(model: AcceleratorModel, functions: Sequence[str]) -> list[str]:
    """Return the compiler's options with which ``model.c`` has these functions alone."""
    flags = ["-ffp-contract=off"]
    flags += [f"-DRBDHW_OMIT_{name.upper()}" for name in model.functions if name not in functions]
    sizes = (len(model.program_of(name).operations_of(name)) for name in functions)
    return [*flags, "-O0"] if max(sizes) > MOST_OPTIMISED else flags
