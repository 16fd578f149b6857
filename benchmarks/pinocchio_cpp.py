"""The speed of Pinocchio called from C++, on one thread: a baseline without the overhead of Python.

The program ``pinocchio_cpp.cpp`` is compiled against the headers of the ``pin`` wheel and kept in the user's
cache. It computes each function in several ways, all of them with Pinocchio's algorithms. Every result is
compared with that of Pinocchio in Python before the figures of the fastest way are reported. Times are
processor times, so that other processes hardly count. Mimics are independent joints.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rbdhw.arrays import ARRAYS
from rbdhw.boards.tools import LAST_LINES, ToolError
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.frontend.read import mount
from rbdhw.golden import evaluate
from rbdhw.golden.error_norm import relative_errors
from rbdhw.golden.pinocchio import Reference
from rbdhw.protocol import CONTACT, DEFAULT_FUNCTIONS, FUNCTIONS
from rbdhw.robot.model import Robot
from rbdhw.robot.mounting import Mounting
from rbdhw.robot.urdf import load_urdf
from rbdhw.runtime.cache import find_or_make
from rbdhw.runtime.extras import check_installed, not_installed

Array = NDArray[np.float64]
Arrays = Mapping[str, Array]

BASES = ("fixed", "floating")

BATCH = 1024
"""The number of tasks of a batch, whose results are all stored."""

ROUNDS = 15
"""The number of measurements of each figure, which is their median."""

TOLERANCE = 1e-9
"""The largest relative error of a result (Frobenius norm of a task's whole result)."""

CONTACT_TOLERANCE = 1e-6
"""The same of functions with contacts, whose damping may be a small share of what they solve."""

RESULTS = {"cfd": ("a",), "dcfd": ("da_dq", "da_dv", "da_dtau")}
"""The results that are compared of functions with contacts."""

REGRESSOR = "regressor"
"""The function that is measured alone, by the parameters of all links."""

Contacts = Sequence[tuple[str, str]]
"""The links of contacts, and the kind of each."""

_OPTIONS = (
    "-std=c++17",
    "-DNDEBUG",
    "-w",
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)
"""The options of every build; the definitions are those that Pinocchio demands of its users."""

_SOURCE = "pinocchio_cpp.cpp"

_VERSIONS = ("pinocchio/config.hpp", "eigen3/Eigen/src/Core/util/Macros.h")
"""The headers that contain the versions of Pinocchio and Eigen."""


@dataclass(frozen=True)
class Build:
    """A name for the compiler's options of the program."""

    name: str
    options: tuple[str, ...]


NATIVE = Build("native", ("-O3", "-march=native"))
"""Pinocchio's algorithms are compiled in the program, for this machine. This takes minutes, once."""

WHEEL = Build("wheel", ("-O3", "-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION", "-lpinocchio_default"))
"""Pinocchio's algorithms are those that the wheel has compiled, for every x86-64 machine."""

BUILDS = (NATIVE, WHEEL)


@dataclass(frozen=True)
class Figures:
    """The speed of a function on one core.

    Parameters
    ----------
    way
        The calls of Pinocchio.
    build
        The name of the :class:`Build` of the program.
    nanoseconds
        The time of a call, repeated for a few states that stay in the L1 cache.
    tasks_per_second
        The rate for a batch of tasks whose results are all stored.
    """

    way: str
    build: str
    nanoseconds: float
    tasks_per_second: float


@dataclass(frozen=True)
class Outcome:
    """The figures of one way to compute a function, and its results (N, ...) in golden's arrays."""

    function: str
    figures: Figures
    results: dict[str, Array]


def measure(
    urdf: str | os.PathLike[str],
    base: str = "fixed",
    functions: Sequence[str] = DEFAULT_FUNCTIONS,
    states: Arrays | None = None,
    builds: Sequence[Build] = BUILDS,
    rounds: int = ROUNDS,
    contacts: Contacts = (),
) -> dict[str, Figures]:
    """Return the figures of the fastest way to compute each function, after a check of all results.

    Parameters
    ----------
    urdf
        The robot's file.
    base
        The robot's base: ``fixed`` or ``floating``.
    functions
        Names of :data:`rbdhw.protocol.DEFAULT_FUNCTIONS`, or with contacts of :data:`RESULTS`, or
        :data:`REGRESSOR` alone.
    states
        The tasks: ``q`` (N, nq), ``v``, ``a``, ``tau`` (N, nv). By default :data:`BATCH` random tasks over
        the robot's domain, always the same.
    builds
        The builds of the program that are compared.
    rounds
        The number of measurements of each figure.
    contacts
        The contacts that all tasks have.

    Raises
    ------
    InputError
        Pinocchio, Eigen or the compiler is missing; the file, the base or a function is refused.
    ToolError
        The compiler or the program fails, or a result differs from Pinocchio's in Python by more than
        :data:`TOLERANCE`.
    """
    fastest: dict[str, Figures] = {}
    for outcome in run(urdf, base, functions, states, builds, rounds, contacts):
        best = fastest.get(outcome.function, outcome.figures)
        fastest[outcome.function] = min(best, outcome.figures, key=lambda figures: figures.nanoseconds)
    return fastest


def run(
    urdf: str | os.PathLike[str],
    base: str = "fixed",
    functions: Sequence[str] = DEFAULT_FUNCTIONS,
    states: Arrays | None = None,
    builds: Sequence[Build] = BUILDS,
    rounds: int = ROUNDS,
    contacts: Contacts = (),
) -> list[Outcome]:
    """Return the outcomes of all ways to compute each function; see :func:`measure`."""
    alone = REGRESSOR in functions
    known = tuple(RESULTS) if contacts else (REGRESSOR,) if alone else DEFAULT_FUNCTIONS
    if base not in BASES:
        raise InputError(f"base '{base}'", "not measured with Pinocchio", f"one of {', '.join(BASES)}")
    for function in functions:
        if function not in known:
            raise InputError(f"function '{function}'", "unknown", f"one of {', '.join(known)}")
    robot = load_urdf(urdf)
    frames = tuple(body.name for body in mount(robot, Mounting(base)).bodies) if alone else ()
    mounting = Mounting(base, frames=frames, contacts=tuple(contacts), contact_axes="local")
    robot = mount(robot, mounting)
    reference = Reference.read(urdf, robot)
    if states is None:
        states = sample(robot, input_domain(robot), BATCH, np.random.default_rng(0))
        states.pop(CONTACT, None)  # all contacts
    with tempfile.TemporaryDirectory(prefix="rbdhw-") as folder:
        exchange = _Exchange(reference, states, Path(folder))
        outcomes = [outcome for build in builds for outcome in exchange.run(build, functions, rounds)]
    _check(outcomes, reference, states)
    return outcomes


def build_program(build: Build, folder: Path) -> Path:
    """Return the program, compiled unless it is in the user's cache.

    Parameters
    ----------
    folder
        Where the program is kept if the user's cache is not writable.

    Raises
    ------
    InputError
        Pinocchio, Eigen or the compiler is missing.
    ToolError
        The compiler fails.
    """
    prefix, compiler = _find_prefix(), _find_compiler()
    includes = ("include", "include/eigen3")
    command = [compiler, *_OPTIONS, *(f"-isystem{prefix / name}" for name in includes)]
    linking = [f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}", *build.options]
    source = files("benchmarks").joinpath(_SOURCE).read_bytes()

    def compile_program(work: Path) -> Path:
        (work / _SOURCE).write_bytes(source)
        _run([*command, str(work / _SOURCE), *linking, "-o", str(work / "program")])
        return work / "program"

    digest = hashlib.sha256(source + "\0".join([*command, *linking]).encode())
    for query in (["--version"], [*build.options, "-Q", "--help=target"]):  # the second: what "native" means
        digest.update(_run([compiler, *query]))
    for header in _VERSIONS:
        digest.update((prefix / "include" / header).read_bytes())
    return find_or_make(f"pinocchio-{digest.hexdigest()[:16]}", compile_program, folder)


def _find_prefix() -> Path:
    """Return the folder whose ``include`` and ``lib`` have Pinocchio and its dependencies."""
    check_installed("pinocchio")
    spec = find_spec("pinocchio")
    assert spec is not None
    assert spec.origin is not None
    prefix = Path(spec.origin).parents[4]  # lib/python3.x/site-packages/pinocchio/__init__.py
    if not (prefix / "include/eigen3").is_dir():
        raise not_installed("cmeel-eigen", "test")
    return prefix


def _find_compiler() -> str:
    name = os.environ.get("CXX", "g++")
    path = shutil.which(name)
    if path is None:
        raise InputError(name, "not found", "a C++ compiler", "install g++ from your system's packages")
    return path


class _Exchange:
    """Tasks for the program, written to files in a folder, and their results."""

    def __init__(self, reference: Reference, states: Arrays, folder: Path) -> None:
        self._free, self._folder, self._tasks = reference.free, folder, len(states["q"])
        self._touches = bool(reference.robot.contacts.places)
        drives = [zip(states["q"], states["v"], states[name], strict=True) for name in ("a", "tau")]
        (q, v, a), (_, _, tau) = (
            zip(*(self._free.convert_task(*task) for task in tasks), strict=True) for tasks in drives
        )
        text = _model_text(self._free.model) + _contacts_text(self._free.model, reference.robot)
        (folder / "model").write_text(text, encoding="utf-8")
        (folder / "states").write_bytes(b"".join(np.stack(array).tobytes() for array in (q, v, a, tau)))

    def run(self, build: Build, functions: Sequence[str], rounds: int) -> list[Outcome]:
        """Run the program and return the outcomes of all ways."""
        paths = [str(self._folder / name) for name in ("model", "states", "results")]
        features = ["-DCONTACTS"] * self._touches + ["-DREGRESSOR"] * (REGRESSOR in functions)
        program = build_program(replace(build, options=(*features, *build.options)), self._folder)
        printed = _run([str(program), *paths, str(self._tasks), str(rounds), *functions]).decode()
        outcomes = []
        with (self._folder / "results").open("rb") as file:
            for line in printed.splitlines():
                function, nanoseconds, rate, way = line.split(maxsplit=3)
                figures = Figures(way, build.name, float(nanoseconds), float(rate))
                outcomes.append(Outcome(function, figures, self._read_results(function, file)))
        return outcomes

    def _read_results(self, function: str, file: BinaryIO) -> dict[str, Array]:
        """Read the results of one way and return them in the robot's coordinates."""
        nv = self._free.model.nv
        if function == REGRESSOR:
            return {"Y": self._read_regressor(file)}
        outputs = _outputs(function)
        shape = ARRAYS[outputs[0]].shape({"nv": nv})
        count = self._tasks * len(outputs) * math.prod(shape)
        numbers = np.fromfile(file, count=count).reshape(self._tasks, len(outputs), *shape)
        tasks = (
            numbers.swapaxes(-1, -2) if len(shape) == 2 else numbers
        )  # the program's matrices are by columns
        return {
            name: np.stack([self._free.reduce(array) for array in tasks[:, i]])
            for i, name in enumerate(outputs)
        }

    def _read_regressor(self, file: BinaryIO) -> Array:
        """Read the joint forces (N, nv, links, 10) by the parameters of each joint's link."""
        nv, columns = self._free.model.nv, 10 * (self._free.model.njoints - 1)
        forces = np.fromfile(file, count=self._tasks * columns * nv).reshape(-1, nv)
        ours = np.stack([self._free.reduce(force) for force in forces])
        return ours.reshape(self._tasks, columns // 10, 10, -1).transpose(0, 3, 1, 2)


def _model_text(model: Any) -> str:
    """Return Pinocchio's model as the program reads it."""
    lines = [[model.njoints - 1, *model.gravity.linear]]
    for i in range(1, model.njoints):
        joint, pose, inertia = model.joints[i], model.jointPlacements[i], model.inertias[i]
        axis = getattr(joint.extract(), "axis", np.zeros(3))
        placed = [*pose.rotation.ravel(), *pose.translation]
        body = [inertia.mass, *inertia.lever, *inertia.inertia.ravel()]
        lines.append([model.parents[i], joint.shortname(), *axis, *placed, *body])
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


def _contacts_text(model: Any, robot: Robot) -> str:
    """Return the contacts as the program reads them; the frame of a link is that of its joint."""
    contacts, joints = robot.contacts, {body.name: body.joint.name for body in robot.bodies}
    lines: list[list[Any]] = [[contacts.damping, len(contacts.places)]]
    for contact in contacts.places:
        joint, placement = model.getJointId(joints[contact.frame.body]), contact.frame.placement
        lines.append([joint, contact.rows, *np.ravel(placement.rotation), *placement.translation])
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


def _outputs(function: str) -> tuple[str, ...]:
    """Return the results of a function that are compared."""
    return RESULTS.get(function, FUNCTIONS[function].outputs)


def _expected(function: str, reference: Reference, states: Arrays) -> Arrays:
    """Return the results by Pinocchio in Python; those with contacts and regressors by the golden model."""
    if function == REGRESSOR:
        return evaluate(reference.robot, function, states)
    if function in RESULTS:
        return {name: evaluate(reference.robot, function, states)[name] for name in RESULTS[function]}
    drive = "tau" if FUNCTIONS[function].takes_force else "a"
    tasks = zip(states["q"], states["v"], states[drive], strict=True)
    rows = [reference.free.task(function, *task) for task in tasks]
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def _check(outcomes: Sequence[Outcome], reference: Reference, states: Arrays) -> None:
    """Raise ToolError if a result differs from the expected one."""
    for function in {outcome.function: None for outcome in outcomes}:
        expected = _expected(function, reference, states)
        most = CONTACT_TOLERANCE if function in RESULTS else TOLERANCE
        for outcome in (outcome for outcome in outcomes if outcome.function == function):
            error = np.max(relative_errors(outcome.results, expected))
            if not error <= most:
                raise ToolError(
                    f"pinocchio_cpp: {function} by {outcome.figures.way} differs from Pinocchio's in Python "
                    f"by {error:.1e} (relative); expected at most {most:g}"
                )


def _run(command: Sequence[str]) -> bytes:
    """Run a program to its end and return its output; ToolError if it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").splitlines()[-LAST_LINES:]
        failure = f"{Path(command[0]).name} failed (exit status {done.returncode})"
        raise ToolError("\n  ".join([failure, *lines]))
    return done.stdout
