"""Calls of compiled functions at the cost of C, if they need neither conversion nor explanation.

A binding (``binding.c``, compiled once for a Python and a NumPy) takes the arrays of a call as they are. It
returns None if an array has another type, layout or shape, a number outside of its limits, a choice that is
neither zero nor one, or a unit vector of another length. Then the engine converts and explains. So a rule
about arrays stands in one place, and bindings only recognise what certainly keeps to all of them.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from importlib.machinery import ExtensionFileLoader
from importlib.resources import files
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Protocol

import numpy as np

from rbdhw.engines.compiled import Library
from rbdhw.engines.engine import Array, Call, decline, results_type
from rbdhw.protocol import CHOICES
from rbdhw.robot.model import Robot
from rbdhw.robot.pinocchio import UNIT_SLACK
from rbdhw.robot.unit_length import unit_vectors
from rbdhw.software.calls import TASKS_OF_A_THREAD
from rbdhw.software.compiler import CompilerError, compile_library

MODULE = "rbdhw_binding"

Limits = Callable[[str], tuple[Array, Array]]
"""Returns the lowest and the highest numbers of an array, for the shape of one task."""


class BindableLibrary(Library, Protocol):
    """A library whose functions a binding can call."""

    has_status: bool

    def entry(self, function: str) -> int:
        """Return the address of ``void f(size_t tasks, void *const *arrays)``: inputs, results and status."""


def bind(
    library: BindableLibrary, robot: Robot, limits: Limits, function: str, passed: Sequence[str]
) -> Call:
    """Return the binding of a compiled function; :func:`decline` if its calls always need the engine.

    A call brings the inputs ``passed``, in this order. The others are NULL. Calls with numbers outside of
    their limits need the engine.
    """
    module = _module()
    inputs, outputs = library.arrays(function)
    results = [array for array in outputs if not array.optional]
    needed = {array.name for array in inputs if not array.optional and array.name != "fext"}
    if module is None or not needed <= set(passed) or not inputs:
        return decline
    names = [array.name for array in inputs]
    units = unit_vectors(robot, robot.nq)
    call: Call = module.Binding(
        address=library.entry(function),
        inputs=tuple(array.shape if array.name in passed else None for array in inputs),
        outputs=tuple(array.shape for array in results),
        result=results_type(function, tuple(array.name for array in results)),
        single=library.dtype == np.float32,
        has_status=library.has_status,
        most_tasks=TASKS_OF_A_THREAD,
        units=tuple(
            (names.index("q"), unit.columns.start, unit.columns.stop - unit.columns.start) for unit in units
        ),
        slack=UNIT_SLACK,
        choices=tuple(array.name in CHOICES for array in inputs),
        limits=tuple(
            np.stack([np.broadcast_to(limit, array.shape) for limit in limits(array.name)], axis=-1).tobytes()
            if array.name in passed
            else b""
            for array in inputs
        ),
    )
    return call


@cache
def _module() -> ModuleType | None:
    """Return the compiled module; None where Python's headers or a compiler are missing."""
    headers = Path(sysconfig.get_paths()["include"])
    if not (headers / "Python.h").exists():
        return None
    source = files("rbdhw.engines").joinpath("binding.c").read_text(encoding="utf-8")
    of_versions = f"/* Python {sys.version} NumPy {np.__version__} */\n"
    flags = [f"-I{headers}", f"-I{np.get_include()}"]
    try:
        library = compile_library(
            {"binding.c": of_versions + source}, ["binding.c"], flags, what="the calls from Python, once"
        )
    except CompilerError:
        return None
    loader = ExtensionFileLoader(MODULE, str(library))
    spec = spec_from_loader(MODULE, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module
