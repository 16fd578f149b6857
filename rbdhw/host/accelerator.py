"""The functions of a generated folder as methods of an object."""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbdhw.design.digests import read_manifest
from rbdhw.design.folder import read
from rbdhw.design.model import AcceleratorModel
from rbdhw.errors import InputError
from rbdhw.fixed.format import Integers
from rbdhw.protocol import BASE, FUNCTIONS, VECTORS
from rbdhw.robot.model import Robot
from rbdhw.sim.arrays import check_arrays, check_optional
from rbdhw.sim.model import respond
from rbdhw.sim.packets import NOT_FINITE, check_finite, decode, encode
from rbdhw.sim.run import golden_results, rtl
from rbdhw.software.exact_library import ExactLibrary

Array = NDArray[np.float64]

ENGINES = ("model", "numpy", "rtl", "golden")


class Accelerator:
    """The functions of a folder that ``rbdhw generate`` wrote: ``acc.dfd(q, v, tau)``.

    There is a method for each function of the folder. Arrays have the order and units of Pinocchio; a ``q``
    with the columns of Pinocchio's own model is converted. An array without the axis of tasks is one task;
    among batches it serves all tasks. Results are named tuples: the arrays of
    :data:`rbdhw.protocol.FUNCTIONS` and ``status``, which is zero for results within the declared accuracy.

    Parameters
    ----------
    folder
        The folder.
    engine
        ``model``: the bit-exact model in C, compiled at the first call of each function. ``numpy``: the same
        in NumPy. ``rtl``: the Verilog in Verilator. ``golden``: float64, with a status of zero.

    Raises
    ------
    InputError
        The folder is not complete, or the engine is unknown.
    """

    def __init__(self, folder: str | PathLike[str], engine: str | None = None) -> None:
        self.folder = Path(folder)
        self.engine = engine or ENGINES[0]
        if self.engine not in ENGINES:
            raise InputError(f"engine '{engine}'", "unknown", f"one of {', '.join(ENGINES)}")
        self._design = read(self.folder)
        self.manifest: dict[str, Any] = read_manifest(self.folder)
        self._library = ExactLibrary(self._design)

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self._design.robot

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of the folder."""
        return self._design.functions

    def __repr__(self) -> str:
        functions = ", ".join(self.functions)
        return f"<accelerator {self.folder} of robot {self.robot.name!r}: {functions}; engine {self.engine}>"

    if TYPE_CHECKING:

        def __getattr__(self, function: str) -> Callable[..., Any]: ...

    def _call(self, function: str, arrays: Mapping[str, Any], extended: bool) -> Any:
        """Compute a function for one task or a batch, and return its named results."""
        if function not in self.functions:
            expected = f"one of {', '.join(self.functions)}"
            raise InputError(f"function '{function}'", f"not in {self.folder}", expected)
        given = {name: np.asarray(array, np.float64) for name, array in arrays.items() if array is not None}
        check_optional(self._design, function, given)
        one = all(array.ndim == _DIMENSIONS.get(name, 1) for name, array in given.items())
        tasks = _broadcast(given)
        extended = extended or any(name in given for name in FUNCTIONS[function].optional_inputs)
        status, results = self._compute(function, self._converted(tasks), extended)
        found = [array[0] if one else array for array in results.values()]
        return _results(function, tuple(results))(*found, int(status[0]) if one else status)

    def _converted(self, tasks: dict[str, Array]) -> dict[str, Array]:
        """Return arrays in the robot's own layout, checked as far as no engine checks them."""
        width = tasks["q"].shape[1]
        plain = width == self.robot.nq and not _needs_checks(self.robot) and not tasks.keys() & _CHECKED
        return tasks if plain and self.engine == "model" else check_arrays(self._design, tasks)

    def _compute(
        self, function: str, tasks: dict[str, Array], extended: bool
    ) -> tuple[Integers, dict[str, Array]]:
        """Return the status and the results of checked tasks."""
        design: AcceleratorModel = self._design
        if self.engine == "model":
            return self._compute_in_c(function, tasks, extended)
        if self.engine == "golden":
            results = golden_results(self._design, function, tasks, extended)
            return np.zeros(len(tasks["q"]), np.int64), dict(results)
        words = encode(design, function, tasks, extended)
        if self.engine == "rtl":
            status, found = rtl(self.folder, self._design, function, words, extended=extended)
        else:
            status, found = respond(design, function, words, extended)
        return status, decode(design, function, found, extended)

    def _compute_in_c(
        self, function: str, tasks: dict[str, Array], extended: bool
    ) -> tuple[Integers, dict[str, Array]]:
        count = len(tasks["q"])
        inputs, outputs = self._library.arrays(function)
        given = {}
        for own in inputs:
            if own.name in tasks:
                given[own.name] = np.ascontiguousarray(tasks[own.name])
                if given[own.name].shape[1:] != own.shape:
                    reason = f"shape {tasks[own.name].shape}"
                    raise InputError(f"array '{own.name}'", reason, str((count, *own.shape)))
            elif not own.optional and own.name != "fext":
                needed = ", ".join(each.name for each in inputs if not each.optional)
                raise InputError(f"array '{own.name}'", "missing", f"{needed} for {function}")
        results = {own.name: np.empty((count, *own.shape)) for own in outputs if extended or not own.optional}
        status = self._library.compute(function, given, results)
        if np.any(status & NOT_FINITE):
            for name, array in given.items():
                check_finite(name, array)
        return status, results


_DIMENSIONS = {"fext": 2, "Minv": 2}
"""The dimensions of the arrays of one task that are not vectors."""

_CHECKED = {"fext", "Minv"}
"""Arrays whose numbers have to meet conditions besides the domain."""


def _needs_checks(robot: Robot) -> bool:
    """Return whether configurations contain quaternions."""
    return robot.nq != robot.nv


def _broadcast(given: Mapping[str, Array]) -> dict[str, Array]:
    """Return arrays with an axis of tasks; arrays of one task serve all tasks.

    Raises
    ------
    InputError
        Batches differ in length.
    """
    batches = {name: len(array) for name, array in given.items() if array.ndim > _DIMENSIONS.get(name, 1)}
    if len(set(batches.values())) > 1:
        found = ", ".join(f"{size} of {name}" for name, size in batches.items())
        raise InputError("arrays", found, "as many tasks in each")
    tasks = next(iter(batches.values()), 1)
    return {
        name: array if name in batches else np.broadcast_to(array, (tasks, *array.shape))
        for name, array in given.items()
    }


@cache
def _results(function: str, arrays: tuple[str, ...]) -> Callable[..., Any]:
    """Return the type of a function's results."""
    return namedtuple(f"{function}_results", [*arrays, "status"])


def _method(function: str) -> Callable[..., Any]:
    """Return the method that computes a function; its signature has the function's arrays."""
    own = FUNCTIONS[function]
    required = [name for name in own.inputs if name not in (*BASE, "fext")]
    chosen = [name for name in own.inputs if name not in required]
    kinds = inspect.Parameter
    parameters = [kinds("self", kinds.POSITIONAL_OR_KEYWORD)]
    parameters += [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in required]
    parameters += [kinds(name, kinds.KEYWORD_ONLY, default=None) for name in (*chosen, *own.optional_inputs)]
    if own.optional_outputs:
        parameters.append(kinds("extended", kinds.KEYWORD_ONLY, default=False))
    signature = inspect.Signature(parameters)
    names = [*required]

    def method(self: Accelerator, *positional: Any, **named: Any) -> Any:
        if len(positional) != len(names) or named:
            arguments = signature.bind(self, *positional, **named).arguments
            extended = arguments.pop("extended", False)
            del arguments["self"]
            return self._call(function, arguments, extended)
        return self._call(function, dict(zip(names, positional, strict=True)), False)

    method.__name__ = function
    method.__qualname__ = f"Accelerator.{function}"
    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__doc__ = _describe(function)
    return method


def _describe(function: str) -> str:
    """Return the documentation of a method: shapes for one task, before which batches have an axis."""
    own = FUNCTIONS[function]
    shapes = {name: "(nv,)" if name in VECTORS else "(nv, nv)" for name in own.outputs + own.optional_outputs}
    given = ", ".join(f"``{name}`` {shape}" for name, shape in shapes.items())
    optional = (
        f" ``{'``, ``'.join(own.optional_outputs)}`` with ``extended``." if own.optional_outputs else ""
    )
    return f"Return the {own.title}: {given}, and ``status``.{optional}"


for _function in FUNCTIONS:
    setattr(Accelerator, _function, _method(_function))
