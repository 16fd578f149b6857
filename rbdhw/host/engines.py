"""The engines that compute the functions of a generated folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdhw import golden
from rbdhw.design.digests import read_manifest
from rbdhw.design.folder import Design, is_software, read
from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers
from rbdhw.protocol import FUNCTIONS, PARAMETERS
from rbdhw.robot.model import Robot
from rbdhw.robot.parameters import held_values, nominal_parameters
from rbdhw.sim.arrays import check_arrays, check_optional
from rbdhw.sim.model import respond
from rbdhw.sim.packets import NOT_FINITE, check_finite, decode, encode
from rbdhw.sim.run import rtl
from rbdhw.software import folder as software_folder
from rbdhw.software.arrays import Array
from rbdhw.software.cuda_library import CudaLibrary
from rbdhw.software.exact_library import ExactLibrary
from rbdhw.software.float_library import REALS, FloatLibrary

Numbers = NDArray[np.float64]

Answer = tuple[Integers, Mapping[str, NDArray[Any]]]
"""The status (N,) and the results by name."""


class Engine(ABC):
    """An engine; ``functions`` are the functions of the folder."""

    robot: Robot
    functions: tuple[str, ...]
    fext: tuple[int, ...]

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


class AcceleratorEngine(Engine):
    """An engine of an accelerator."""

    def __init__(self, folder: Path, design: Design) -> None:
        self.folder, self.design = folder, design
        self.robot, self.functions, self.fext = design.robot, design.functions, design.fext

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

    def respond(
        self, function: str, words: Mapping[str, Integers], extended: bool
    ) -> tuple[Integers, dict[str, Integers]]:
        """Return the status and the output words of tasks."""
        return rtl(self.folder, self.design, function, words, extended=extended)


class ModelEngine(AcceleratorEngine):
    """The bit-exact model in C."""

    def __init__(self, folder: Path, design: Design) -> None:
        super().__init__(folder, design)
        self._library = ExactLibrary(design)

    def compute(self, function: str, tasks: Mapping[str, Numbers], extended: bool) -> Answer:
        """Compute tasks; the C converts between arrays and integers."""
        inputs, outputs = self._library.arrays(function)
        given = _given(function, inputs, _as_held(self.robot, _own_layout(self, tasks)), np.float64)
        results = _results(outputs, len(tasks["q"]), extended, np.float64)
        status = self._library.compute(function, given, results)
        if np.any(status & NOT_FINITE):
            for name, array in given.items():
                check_finite(name, array)
        return status, results


class GoldenEngine(Engine):
    """The golden model in float64, whose status is always zero."""

    def __init__(self, robot: Robot, functions: tuple[str, ...], fext: tuple[int, ...]) -> None:
        self.robot, self.functions, self.fext = robot, functions, fext

    def check_optional(self, function: str, arrays: Mapping[str, Numbers]) -> None:
        """Accept all arrays; the golden model computes what they could give."""

    def compute(self, function: str, tasks: Mapping[str, Numbers], extended: bool) -> Answer:
        """Compute tasks."""
        checked = check_arrays(self.robot, self.fext, tasks)
        results = golden.evaluate(self.robot, function, checked, extended)
        return np.zeros(len(checked["q"]), np.int64), results


class SoftwareEngine(Engine):
    """The functions in C or CUDA in floating point, whose status is always zero."""

    def __init__(self, software: software_folder.Software, number: str) -> None:
        self.robot, self.functions, self.fext = software.robot, software.functions, software.fext
        arrays = {function: software.arrays(function) for function in software.functions}
        library = CudaLibrary if software.target == "cuda" else FloatLibrary
        self._library = library(software.sources, arrays, number)

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
        own = _own_layout(self, tasks)
        for name, array in own.items():
            check_finite(name, array)
        given = _given(function, inputs, _as_held(self.robot, own), self._library.dtype)
        results = _results(outputs, len(own["q"]), extended, self._library.dtype)
        self._library.compute(function, given, results)
        return np.zeros(len(own["q"]), np.int64), results


ACCELERATOR_ENGINES = {"model": ModelEngine, "numpy": AcceleratorEngine, "rtl": RtlEngine}
GOLDEN = "golden"


def open_engine(folder: Path, name: str | None) -> tuple[str, Engine]:
    """Return an engine of a folder and its name; None is the folder's first.

    Raises
    ------
    InputError
        The folder is not complete, or does not have the engine.
    """
    software = is_software(read_manifest(folder)) if folder.is_dir() else False
    known = (*(REALS if software else ACCELERATOR_ENGINES), GOLDEN)
    name = name or known[0]
    if name not in known:
        raise InputError(f"engine '{name}'", f"unknown for {folder}", f"one of {', '.join(known)}")
    if software:
        source = software_folder.read(folder)
        if name != GOLDEN:
            return name, SoftwareEngine(source, name)
        return name, GoldenEngine(source.robot, source.functions, source.fext)
    design = read(folder)
    if name != GOLDEN:
        return name, ACCELERATOR_ENGINES[name](folder, design)
    return name, GoldenEngine(design.robot, design.functions, design.fext)


_CHECKED = {"fext", "Minv", PARAMETERS}
"""Arrays whose numbers have to meet conditions that C does not check."""


def _own_layout(engine: Engine, tasks: Mapping[str, Numbers]) -> Mapping[str, Numbers]:
    """Return arrays in the robot's own layout, checked unless C checks all of their conditions."""
    robot = engine.robot
    quaternions = robot.nq != robot.nv
    if tasks["q"].shape[1:] == (robot.nq,) and not quaternions and not tasks.keys() & _CHECKED:
        return tasks
    return check_arrays(robot, engine.fext, tasks)


def _as_held(robot: Robot, tasks: Mapping[str, Numbers]) -> Mapping[str, Numbers]:
    """Return arrays with the numbers that are held in place of inertial parameters, if there are any."""
    if robot.loaded is None:
        return tasks
    nominal = nominal_parameters(robot)
    given = tasks.get(PARAMETERS, np.broadcast_to(nominal, (len(tasks["q"]), *nominal.shape)))
    return {**tasks, PARAMETERS: held_values(robot, given)}


def _given(
    function: str, inputs: tuple[Array, ...], tasks: Mapping[str, Numbers], dtype: type[Any]
) -> dict[str, NDArray[Any]]:
    """Return the arrays that a C function reads; their shapes are checked."""
    count, given = len(tasks["q"]), {}
    for own in inputs:
        if own.name in tasks:
            given[own.name] = np.ascontiguousarray(tasks[own.name], dtype)
            if given[own.name].shape != (count, *own.shape):
                reason = f"shape {tasks[own.name].shape}"
                raise InputError(f"array '{own.name}'", reason, f"{(count, *own.shape)}")
        elif not own.optional and own.name != "fext":
            needed = ", ".join(each.name for each in inputs if not each.optional)
            raise InputError(f"array '{own.name}'", "missing", f"{needed} for {function}")
    return given


def _results(
    outputs: tuple[Array, ...], tasks: int, extended: bool, dtype: type[Any]
) -> dict[str, NDArray[Any]]:
    """Return empty arrays for results."""
    return {own.name: np.empty((tasks, *own.shape), dtype) for own in outputs if extended or not own.optional}
