"""The compiled solver, called from Python."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import MEAN_OUTPUTS, SOLVE_OUTPUTS
from rbdhw.robot.model import Robot
from rbdhw.software.calls import addresses, divide
from rbdhw.software.compiler import compile_library, load_library
from rbdhw.software.float_library import FLAGS, REALS
from rbdhw.software.solver import SOURCE, inputs_of, sizes_of

OPTIMISED = ("-O3",)
"""Without it, one problem takes half as long again: loops over rows are not unrolled."""

ALIGNMENT = 64
"""Of the solver's memory, in bytes."""

PROBLEMS_OF_A_THREAD = 64
"""The fewest problems for which a thread is worth its start and its memory."""


@dataclass(frozen=True)
class Sampling:
    """Normal samples that are added to forces: those of accelerators for these seeds.

    Parameters
    ----------
    std
        Standard deviations (K, nv); None adds nothing.
    seeds
        The seeds (N,) of rollouts; of a mean that of each problem, whose further samples have the next ones,
        modulo 2^31.
    hold
        The steps for which a sample is held.
    correlation
        That of a sample and the next one, from 0 to below 1: a filter of first order, which keeps variances.
    """

    std: NDArray[np.float64] | None
    seeds: NDArray[np.int64]
    hold: int = 1
    correlation: float = 0.0


def solutions_of(
    robot: Robot, steps: int, answers: Sequence[Mapping[str, NDArray[Any]]]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of the solutions of P problems from those of each; P may be zero."""
    return _together(SOLVE_OUTPUTS, sizes_of(robot, steps, 0), answers)


def means_of(
    robot: Robot, steps: int, answers: Sequence[Mapping[str, NDArray[Any]]]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of the means of samples of P problems from those of each; P may be zero."""
    return _together(MEAN_OUTPUTS, sizes_of(robot, steps, 0), answers)


def _together(
    outputs: Mapping[str, tuple[str | int, ...]],
    sizes: Mapping[str | int, int],
    answers: Sequence[Mapping[str, NDArray[Any]]],
) -> dict[str, NDArray[Any]]:
    return {
        name: np.reshape(
            [answer[name] for answer in answers], (len(answers), *(sizes[axis] for axis in axes))
        )
        for name, axes in outputs.items()
    }


class _Samples(ctypes.Structure):
    """``struct rbdhw_samples``."""

    _fields_ = (
        ("std", ctypes.c_void_p),
        ("seeds", ctypes.c_void_p),
        ("hold", ctypes.c_int),
        ("correlation", ctypes.c_double),
    )


def _samples_structure(std: NDArray[Any] | None, seeds: NDArray[np.uint32], sampling: Sampling) -> Any:
    deviations = None if std is None else std.ctypes.data
    structure = _Samples(deviations, seeds.ctypes.data, sampling.hold, sampling.correlation)
    return ctypes.byref(structure)


class SolverLibrary:
    """The solver of :func:`rbdhw.software.solver.solver_files`, compiled when it is first called.

    Parameters
    ----------
    sources
        The texts of the folder's sources by name.
    knots
        The number of steps.
    number
        One of :data:`rbdhw.software.float_library.REALS`.
    threads
        The most threads of a call; by default one for each processor.
    momentum
        Whether momentum may cost something.
    """

    def __init__(
        self,
        sources: Mapping[str, str],
        robot: Robot,
        knots: int,
        number: str = "float64",
        flags: Sequence[str] = (),
        threads: int | None = None,
        momentum: bool = False,
    ) -> None:
        real, self.dtype = REALS[number]
        self._sources, self._robot, self._knots = dict(sources), robot, knots
        self._inputs = inputs_of(robot, momentum)
        self._flags = [*FLAGS, *OPTIMISED, f"-DRBDHW_REAL={real}", *flags]
        self._threads, self._local = threads, local()

    def solve(
        self, problems: Mapping[str, NDArray[Any]], iterations: int, tolerance: float
    ) -> dict[str, NDArray[Any]]:
        """Return the solutions of problems, whose arrays have an axis of problems before all others."""
        arrays = {name: np.ascontiguousarray(array, self.dtype) for name, array in problems.items()}
        count, rows = len(arrays["q"]), arrays["C"].shape[1] if "C" in arrays else 0
        sizes = sizes_of(self._robot, self._knots, rows)
        results = {
            name: np.empty(
                (count, *(sizes[axis] for axis in axes)),
                np.int32 if name in ("iterations", "status") else self.dtype,
            )
            for name, axes in SOLVE_OUTPUTS.items()
        }

        def compute(part: slice) -> None:
            problem, solution = (
                (ctypes.c_void_p * len(names))(*addresses(map(side.get, names), part))
                for side, names in ((arrays, self._inputs), (results, tuple(results)))
            )
            self._library.rbdhw_solve(
                ctypes.c_void_p(self._workspace(rows)),
                ctypes.c_size_t(part.stop - part.start),
                ctypes.c_size_t(rows),
                ctypes.c_int(iterations),
                self._real(tolerance),
                problem,
                solution,
            )

        divide(compute, count, self._threads, PROBLEMS_OF_A_THREAD)
        return results

    def roll_out(
        self, problem: Mapping[str, NDArray[Any]], sampling: Sampling, steps: int, every: int
    ) -> dict[str, NDArray[Any]]:
        """Return ``states`` (N, M, nq + nv) and ``cost`` (N,) of rollouts of one problem from N first states.

        ``q`` and ``v`` have an axis of rollouts; that of the other arrays has a length of one.
        """
        arrays = {name: np.ascontiguousarray(array, self.dtype) for name, array in problem.items()}
        count, rows = len(arrays["q"]), arrays["C"].shape[1] if "C" in arrays else 0
        answers = (steps - 1) // every + 1 if every else 1
        states = np.empty((count, answers, arrays["states"].shape[-1]), self.dtype)
        results = {"states": states, "cost": np.empty(count, self.dtype)}
        seeds, std = self._samples(sampling)

        def compute(part: slice) -> None:
            shared = {name: array for name, array in arrays.items() if name not in ("q", "v")}
            first = addresses([arrays["q"], arrays["v"]], part)
            others = addresses(map(shared.get, self._inputs[2:]), slice(0, 1))
            self._library.rbdhw_rollout(
                ctypes.c_void_p(self._workspace(rows)),
                ctypes.c_size_t(part.stop - part.start),
                ctypes.c_size_t(rows),
                ctypes.c_int(steps),
                ctypes.c_int(every),
                (ctypes.c_void_p * (2 + len(others)))(*first, *others),
                _samples_structure(std, seeds[part], sampling),
                (ctypes.c_void_p * 2)(*addresses(results.values(), part)),
            )

        divide(compute, count, self._threads, PROBLEMS_OF_A_THREAD)
        return results

    def mean_of_samples(
        self, problems: Mapping[str, NDArray[Any]], sampling: Sampling, count: int, temperature: float
    ) -> dict[str, NDArray[Any]]:
        """Return the means of ``count`` samples of each problem, whose arrays have an axis of problems."""
        arrays = {name: np.ascontiguousarray(array, self.dtype) for name, array in problems.items()}
        many, rows = len(arrays["q"]), arrays["C"].shape[1] if "C" in arrays else 0
        sizes = sizes_of(self._robot, self._knots, rows)
        results = {
            name: np.empty((many, *(sizes[axis] for axis in axes)), self.dtype)
            for name, axes in MEAN_OUTPUTS.items()
        }
        seeds, std = self._samples(sampling)
        whole = slice(0, many)
        self._library.rbdhw_mppi(
            ctypes.c_void_p(self._workspace(rows)),
            ctypes.c_size_t(many),
            ctypes.c_size_t(rows),
            ctypes.c_size_t(count),
            self._real(temperature),
            (ctypes.c_void_p * len(self._inputs))(*addresses(map(arrays.get, self._inputs), whole)),
            _samples_structure(std, seeds, sampling),
            (ctypes.c_void_p * len(results))(*addresses(results.values(), whole)),
        )
        return results

    def _samples(self, sampling: Sampling) -> tuple[NDArray[np.uint32], NDArray[Any] | None]:
        std = None if sampling.std is None else np.ascontiguousarray(sampling.std, self.dtype)
        return np.ascontiguousarray(sampling.seeds, np.uint32), std

    @property
    def _real(self) -> Any:
        return ctypes.c_float if self.dtype == np.float32 else ctypes.c_double

    def _workspace(self, rows: int) -> int:
        """Return the aligned address of enough memory, which is that of the thread."""
        size = self._library.rbdhw_solver_bytes(ctypes.c_size_t(rows))
        memory = getattr(self._local, "memory", None)
        if memory is None or len(memory) < size + ALIGNMENT:
            memory = self._local.memory = np.empty(size + ALIGNMENT, np.uint8)
        address: int = memory.ctypes.data
        return -(-address // ALIGNMENT) * ALIGNMENT

    @cached_property
    def _library(self) -> ctypes.CDLL:
        path = compile_library(self._sources, [SOURCE], self._flags, what="solve in C, once")
        library = load_library(path)
        library.rbdhw_solver_bytes.restype = ctypes.c_size_t
        return library
