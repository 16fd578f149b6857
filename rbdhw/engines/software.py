"""Engines of software: the functions in floating point, in C and in CUDA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from numpy.typing import NDArray

from rbdhw.engines.binding import bind
from rbdhw.engines.compiled import compute
from rbdhw.engines.engine import Answer, Array, Call, Engine, SolvingEngine, Source
from rbdhw.errors import InputError
from rbdhw.model.limits import limits_of
from rbdhw.protocol import FUNCTIONS
from rbdhw.software.cuda_library import CudaLibrary
from rbdhw.software.float_library import FloatLibrary, SoftwareLibrary
from rbdhw.software.folder import Software
from rbdhw.software.solver_library import Sampling, SolverLibrary


class SoftwareEngine(Engine):
    """The functions of software, whose status is always zero. The name is that of the numbers' type."""

    library: ClassVar[type[SoftwareLibrary]]

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name, source)
        software = source.content
        assert isinstance(software, Software)
        arrays = {function: software.arrays(function) for function in software.functions}
        self._library = self.library(software.sources, arrays, name)

    def check_optional(self, function: str, arrays: Mapping[str, Array]) -> None:
        known = {array.name for array in self._library.arrays(function)[0]}
        for name in FUNCTIONS[function].optional_inputs:
            if name in arrays and name not in known:
                reason = "this build solves with factors of its own"
                remedy = "generate with --algorithm products=dense"
                raise InputError(f"array '{name}'", reason, "none", remedy)

    def compute(self, function: str, tasks: Mapping[str, Array], extended: bool) -> Answer:
        return compute(self._library, self.robot, function, tasks, extended)


class CEngine(SoftwareEngine, SolvingEngine):
    """Software for processors."""

    library = FloatLibrary
    _library: FloatLibrary

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name, source)
        software = source.content
        assert isinstance(software, Software)
        self._solver = (
            SolverLibrary(
                software.sources, self.robot, software.solver.knots, name, momentum=software.solver.momentum
            )
            if software.solver is not None
            else None
        )

    def solve_all(
        self, problems: Mapping[str, Array], iterations: int, tolerance: float
    ) -> dict[str, NDArray[Any]]:
        assert self._solver is not None
        return self._solver.solve(problems, iterations, tolerance)

    def follow(
        self, problem: Mapping[str, Array], sampling: Sampling, steps: int, every: int
    ) -> dict[str, NDArray[Any]]:
        assert self._solver is not None
        return self._solver.roll_out(problem, sampling, steps, every)

    def mean_of_samples(
        self, problems: Mapping[str, Array], sampling: Sampling, count: int, temperature: float
    ) -> dict[str, NDArray[Any]]:
        assert self._solver is not None
        return self._solver.mean_of_samples(problems, sampling, count, temperature)

    def binding(self, function: str, passed: Sequence[str]) -> Call:
        limits = partial(limits_of, self.robot, self.source.content.domain)
        return bind(self._library, self.robot, limits, function, passed)


class CudaEngine(SoftwareEngine):
    """Software for a GPU."""

    library = CudaLibrary
