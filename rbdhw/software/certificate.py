"""Certificates: C that bounds the error of a single answer, whoever computed it.

A wrong acceleration leaves a residual, ``tau`` minus the inverse dynamics at it, which double precision gives
but for its rounding. The error is the inverse mass matrix times the residual, and the entries of that
matrix are bounded in all configurations by :func:`rbdhw.golden.mobility.mobilities`. The same holds for the
columns of ``Minv`` (``M Minv = 1``) and of the derivatives (``M da_dq = -dtau_dq``).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rbdhw.domain.bounds import Domain
from rbdhw.domain.graph_inputs import graph_ranges
from rbdhw.errors import InputError
from rbdhw.frontend.build_graph import prepare
from rbdhw.golden.mobility import mobilities
from rbdhw.protocol import CERTIFIED
from rbdhw.robot.model import Robot
from rbdhw.software.arrays import Array
from rbdhw.software.c_text import fill
from rbdhw.software.calls import addresses
from rbdhw.software.compiler import compile_library, load_library
from rbdhw.software.floating import dynamics_files, float_arrays, heading, trace_sources
from rbdhw.software.rounding import Rounding, rounding_of

NEEDED = {"fd": ("id",), "minv": ("m",), "dfd": ("fd", "did")}
"""Of each function that has certificates, the functions in double precision that they take."""

FLAGS = ("-ffp-contract=fast",)


@dataclass(frozen=True)
class _Certificate:
    """A certified function, as the templates show it."""

    name: str
    robot: Robot
    loaded: bool
    rounding: Mapping[str, Mapping[str, str]]
    change: str
    """A bound of the change of ``dtau_dq`` by a unit of all accelerations."""

    @cached_property
    def inputs(self) -> tuple[Array, ...]:
        return float_arrays(self.robot, self.name, self.loaded, False)[0]

    @property
    def parameters(self) -> str:
        names = [array.name for array in self.inputs] + list(CERTIFIED[self.name])
        return ", ".join(
            [f"const double *{name}" for name in names]
            + [f"double *{name}_error" for name in CERTIFIED[self.name]]
        )

    def arguments(self, function: str, **replaced: str) -> str:
        """Return the inputs of one task of another function: those of task t, or what replaces them."""
        texts = []
        for array in float_arrays(self.robot, function, self.loaded, False)[0]:
            text = f"{array.name} + t * {array.size}"
            optional = f"{array.name} ? {text} : 0" if array.name == "fext" else text
            texts.append(replaced.get(array.name, optional))
        return ", ".join(texts)


def certificate_files(
    robot: Robot, domain: Domain, fext: Sequence[int], functions: Sequence[str]
) -> dict[str, str]:
    """Return the sources by name: ``certificate.c``, its header, and the functions that it calls.

    ``fext`` are the bodies that take an external force.

    Raises
    ------
    InputError
        The robot's inverse mass matrix has no bound (:func:`mobilities`), or there is no function.
    """
    if not functions:
        raise InputError("certify", "no function has certificates", f"one of {', '.join(NEEDED)}")
    needed = list(dict.fromkeys(other for function in functions for other in NEEDED[function]))
    mobility = mobilities(robot, np.asarray(domain.bounds["q"]))
    links = tuple(robot.bodies[i].name for i in fext)
    sources = trace_sources(prepare(robot, needed, links, most_traced=0), needed)
    ranges = graph_ranges(robot, domain, fext)
    rounding = {
        source.function: rounding_of(source.graph, ranges) for source in sources if source.function != "fd"
    }
    certificates = [
        _Certificate(function, robot, bool(fext), _texts(rounding), _change(rounding))
        for function in functions
    ]
    shown = {"heading": heading(robot), "certificates": certificates}
    return {
        **dynamics_files(robot, sources, fext, prefix="rbdhw_double_"),
        "certificate.h": fill("certificate.h", **shown),
        "certificate.c": fill(
            "certificate.c",
            **shown,
            mobility=", ".join(map(repr, mobility.tolist())),
            matrices=functions != ["fd"],
        ),
    }


def _texts(rounding: Mapping[str, Rounding]) -> dict[str, dict[str, str]]:
    """Return the rounding of each function's results at rest, and its part by the largest acceleration."""
    return {
        function: {name: repr(error) for name, error in each.still.items()}
        | {f"{name}_by_a": repr(error) for name, error in each.by_acceleration.items()}
        for function, each in rounding.items()
    }


def _change(rounding: Mapping[str, Rounding]) -> str:
    return repr(rounding["did"].change["dtau_dq"]) if "did" in rounding else "0.0"


class Certificates:
    """The certificates of a design's functions, compiled when they are first asked for."""

    def __init__(self, robot: Robot, domain: Domain, fext: Sequence[int]) -> None:
        self._robot, self._domain, self._fext = robot, domain, tuple(fext)
        self._calls: dict[str, ctypes.CDLL] = {}

    def bounds(
        self,
        function: str,
        tasks: Mapping[str, NDArray[np.float64]],
        results: Mapping[str, NDArray[np.float64]],
    ) -> dict[str, NDArray[np.float64]]:
        """Return bounds of the errors of N answers: ``a_error`` of ``a``, and so on, of the same shapes.

        Raises
        ------
        InputError
            As :func:`certificate_files`.
        """
        if function not in self._calls:
            files = certificate_files(self._robot, self._domain, self._fext, [function])
            units = [name for name in files if name.endswith(".c")]
            what = f"the certificate of {function}, once"
            self._calls[function] = load_library(compile_library(files, units, FLAGS, what=what))
        inputs = float_arrays(self._robot, function, bool(self._fext), False)[0]
        given = [tasks.get(array.name) for array in inputs] + [results[name] for name in CERTIFIED[function]]
        arrays = [None if array is None else np.ascontiguousarray(array, np.float64) for array in given]
        errors = {f"{name}_error": np.empty(results[name].shape) for name in CERTIFIED[function]}
        call = getattr(self._calls[function], f"rbdhw_certify_{function}")
        call(ctypes.c_size_t(len(tasks["q"])), *addresses([*arrays, *errors.values()]))
        return errors
