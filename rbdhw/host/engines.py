"""The engines that compute the functions of a generated folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.design.digests import check_digest, digest_of, read_manifest
from rbdhw.design.folder import Design, is_software, read
from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers
from rbdhw.host.binding import Call, bind, decline
from rbdhw.host.methods import results_type
from rbdhw.model.arrays import check_arrays, check_optional
from rbdhw.model.packets import decode, encode
from rbdhw.model.responses import respond
from rbdhw.protocol import FUNCTIONS, PARAMETERS
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import held_values, nominal_parameters
from rbdhw.runtime.files import is_folder
from rbdhw.sim.run import rtl
from rbdhw.software import folder as software_folder
from rbdhw.software.arrays import Array
from rbdhw.software.cuda_library import CudaLibrary
from rbdhw.software.exact_library import ExactLibrary
from rbdhw.software.float_library import REALS, FloatLibrary
from rbdhw.software.folder import Software

Numbers = NDArray[np.float64]

Answer = tuple[Integers, Mapping[str, NDArray[Any]]]
"""The status (N,) and the results by name."""


class Engine(ABC):
    """An engine of the design or the software that a folder had when it was loaded.

    Parameters
    ----------
    folder, digest
        The folder, and the digest of what was read from it.
    content
        What was read.
    """

    reads_folder = False
    """Whether calls read a file of the folder."""

    def __init__(self, folder: Path, digest: str, content: Design | Software) -> None:
        self.folder, self.digest = folder, digest
        self.robot, self.functions, self.fext = content.robot, content.functions, content.fext
        self.manifest = content.manifest
        self.design = content if isinstance(content, Design) else None

    def check_folder(self) -> None:
        """Check that a folder of which calls read a file still has the design that was loaded.

        Raises
        ------
        InputError
            It has another one.
        """
        if self.reads_folder:
            check_digest(self.folder, self.digest)

    @abstractmethod
    def check_optional(self, function: str, arrays: Mapping[str, Numbers]) -> None:
        """Check that the engine reads the optional arrays of a task.

        Raises
        ------
        InputError
            It does not read one of them.
        """

    @abstractmethod
    def compute(self, function: str, tasks: Mapping[str, Numbers], extended: bool) -> Answer:
        """Compute tasks in arrays with an axis of tasks, in the robot's own layout or in Pinocchio's."""

    def binding(self, _function: str, _passed: Sequence[str]) -> Call:
        """Return what computes the simple calls of a function at the cost of C; by default it declines all.

        Parameters
        ----------
        passed
            The names of the arrays that a call brings, in its order.
        """
        return decline


class AcceleratorEngine(Engine):
    """An engine of an accelerator."""

    design: Design

    def check_optional(self, function: str, arrays: Mapping[str, Numbers]) -> None:
        """Check that the program reads the optional arrays of a task."""
        check_optional(self.design, function, arrays)

    def compute(self, function: str, tasks: Mapping[str, Numbers], extended: bool) -> Answer:
        """Compute tasks through the integers of packets."""
        words = encode(self.design, function, check_arrays(self.robot, self.fext, tasks), extended)
        status, found = self.respond(function, words, extended)
        return status, decode(self.design, function, found, extended)

    def respond(
        self, function: str, words: Mapping[str, Integers], extended: bool
    ) -> tuple[Integers, dict[str, Integers]]:
        """Return the status and the output words of tasks; here by the NumPy evaluator."""
        return respond(self.design, function, words, extended)


class RtlEngine(AcceleratorEngine):
    """The Verilog in Verilator."""

    reads_folder = True

    def respond(
        self, function: str, words: Mapping[str, Integers], extended: bool
    ) -> tuple[Integers, dict[str, Integers]]:
        """Return the status and the output words of tasks."""
        self.check_folder()
        found = rtl(self.folder, self.design, function, words, extended=extended)
        self.check_folder()
        return found


class ModelEngine(AcceleratorEngine):
    """The bit-exact model in C."""

    def __init__(self, folder: Path, digest: str, content: Design) -> None:
        super().__init__(folder, digest, content)
        self._library = ExactLibrary(content)

    def compute(self, function: str, tasks: Mapping[str, Numbers], extended: bool) -> Answer:
        """Compute tasks; the C converts between arrays and integers."""
        inputs, outputs = self._library.arrays(function)
        checked = _as_held(self.robot, check_arrays(self.robot, self.fext, tasks))
        results = _results(outputs, len(tasks["q"]), extended, np.float64)
        status = self._library.compute(function, _given(inputs, checked, np.float64), results)
        return status, results

    def binding(self, function: str, passed: Sequence[str]) -> Call:
        """Return what computes the simple calls of a function."""
        sides = self._library.arrays(function)
        entry = self._library.entry(function)
        return bind(
            entry, *sides, passed, self.robot, _result(function, sides[1]), single=False, has_status=True
        )


class GoldenEngine(Engine):
    """The golden model in float64, whose status is always zero."""

    def check_optional(self, function: str, arrays: Mapping[str, Numbers]) -> None:
        """Accept all arrays; the golden model computes what they could give."""

    def compute(self, function: str, tasks: Mapping[str, Numbers], extended: bool) -> Answer:
        """Compute tasks."""
        checked = check_arrays(self.robot, self.fext, tasks)
        results = golden.evaluate(self.robot, function, checked, extended)
        return np.zeros(len(checked["q"]), np.int64), results


class SoftwareEngine(Engine):
    """The functions in C or CUDA in floating point, whose status is always zero."""

    def __init__(self, folder: Path, digest: str, content: Software, number: str) -> None:
        super().__init__(folder, digest, content)
        arrays = {function: content.arrays(function) for function in content.functions}
        library = CudaLibrary if content.target == "cuda" else FloatLibrary
        self._library = library(content.sources, arrays, number)

    def check_optional(self, function: str, arrays: Mapping[str, Numbers]) -> None:
        """Check that the function has parameters for the optional arrays of a task."""
        known = {own.name for own in self._library.arrays(function)[0]}
        for name in FUNCTIONS[function].optional_inputs:
            if name in arrays and name not in known:
                remedy = "generate with --algorithm products=dense"
                raise InputError(
                    f"array '{name}'", "this build solves with factors of its own", "none", remedy
                )

    def compute(self, function: str, tasks: Mapping[str, Numbers], extended: bool) -> Answer:
        """Compute tasks."""
        inputs, outputs = self._library.arrays(function)
        checked = _as_held(self.robot, check_arrays(self.robot, self.fext, tasks))
        results = _results(outputs, len(tasks["q"]), extended, self._library.dtype)
        self._library.compute(function, _given(inputs, checked, self._library.dtype), results)
        return np.zeros(len(tasks["q"]), np.int64), results

    def binding(self, function: str, passed: Sequence[str]) -> Call:
        """Return what computes the simple calls of a function; a GPU has none."""
        if not isinstance(self._library, FloatLibrary):
            return decline
        sides, single = self._library.arrays(function), self._library.dtype == np.float32
        entry = self._library.entry(function)
        return bind(
            entry, *sides, passed, self.robot, _result(function, sides[1]), single=single, has_status=False
        )


ACCELERATOR_ENGINES = {"model": ModelEngine, "numpy": AcceleratorEngine, "rtl": RtlEngine}
GOLDEN = "golden"


def open_engine(folder: Path, name: str | None) -> tuple[str, Engine]:
    """Return an engine of a folder and its name; None is the folder's first.

    Raises
    ------
    InputError
        The folder is not complete, or does not have the engine.
    """
    if not is_folder(folder):
        raise InputError(str(folder), "no such folder", "one that `rbdhw generate` wrote")
    digest = digest_of(folder)
    software = is_software(read_manifest(folder))
    known = (*(REALS if software else ACCELERATOR_ENGINES), GOLDEN)
    name = name or known[0]
    if name not in known:
        raise InputError(f"engine '{name}'", f"unknown for {folder}", f"one of {', '.join(known)}")
    content = software_folder.read(folder) if software else read(folder)
    check_digest(folder, digest)  # of one design, whatever was written meanwhile
    if name == GOLDEN:
        return name, GoldenEngine(folder, digest, content)
    if isinstance(content, Software):
        return name, SoftwareEngine(folder, digest, content, name)
    return name, ACCELERATOR_ENGINES[name](folder, digest, content)


def _as_held(robot: Robot, tasks: Mapping[str, Numbers]) -> Mapping[str, Numbers]:
    """Return arrays with the numbers that are held in place of inertial parameters, if there are any."""
    if robot.loaded is None:
        return tasks
    nominal = nominal_parameters(robot)
    given = tasks.get(PARAMETERS, np.broadcast_to(nominal, (len(tasks["q"]), *nominal.shape)))
    return {**tasks, PARAMETERS: held_values(robot, given)}


def _given(
    inputs: tuple[Array, ...], tasks: Mapping[str, Numbers], dtype: type[Any]
) -> dict[str, NDArray[Any]]:
    """Return the arrays that a C function reads."""
    return {own.name: np.ascontiguousarray(tasks[own.name], dtype) for own in inputs if own.name in tasks}


def _result(function: str, outputs: tuple[Array, ...]) -> type[Any]:
    """Return the type of the results of a call without optional ones."""
    return results_type(function, tuple(own.name for own in outputs if not own.optional))


def _results(
    outputs: tuple[Array, ...], tasks: int, extended: bool, dtype: type[Any]
) -> dict[str, NDArray[Any]]:
    """Return empty arrays for results."""
    return {own.name: np.empty((tasks, *own.shape), dtype) for own in outputs if extended or not own.optional}
