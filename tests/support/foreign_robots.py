"""The URDF files of packages that others publish, and the comparison of their dynamics with Pinocchio's."""

from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np

from rbdhw.errors import InputError
from rbdhw.frontend.functions import trace
from rbdhw.frontend.solvability import check_solvable
from rbdhw.golden.pinocchio import Reference
from rbdhw.robot.model import Robot
from rbdhw.robot.urdf import load_urdf
from tests.support.graph_results import TASKS, prepared, results
from tests.support.strategies import random_states

SMALL = 8
"""The most degrees of freedom of a robot whose forward dynamics are compared, too."""


def urdf_files(package: str) -> list[Path]:
    """Return the URDF files of an installed package; none if it is not installed."""
    try:
        installed = files(package) or ()
    except PackageNotFoundError:
        return []
    return sorted(Path(str(file.locate())).resolve() for file in installed if file.suffix == ".urdf")


@cache
def compare(path: Path) -> str:
    """Check that a file is refused clearly, or has Pinocchio's dynamics; return which of these it is."""
    robot = _read(path)
    if isinstance(robot, InputError):
        assert robot.where.startswith(str(path))
        assert robot.reason
        assert robot.expected
        return "refused"
    if not robot.bodies:
        return "without a joint that moves"
    reference = _reference(path, robot)
    if reference is None:
        return "refused by Pinocchio"
    functions = ["id", "fd"] if robot.nv <= SMALL and _is_solvable(robot) else ["id"]
    arrays = random_states(robot, TASKS, seed=len(robot.bodies))
    computed = results(trace(prepared(robot), functions, ()), robot, arrays, functions)
    for function in functions:
        for name, expected in reference.evaluate(function, arrays).items():
            actual = computed.get(function, {}).get(name, np.zeros_like(expected))
            np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    return "compared"


def _read(path: Path) -> Robot | InputError:
    try:
        return load_urdf(path)
    except InputError as refusal:
        return refusal


def _reference(path: Path, robot: Robot) -> Reference | None:
    try:
        return Reference.read(path, robot)
    except InputError:
        return None


def _is_solvable(robot: Robot) -> bool:
    try:
        check_solvable(robot, ["fd"])
    except InputError:
        return False
    return True
