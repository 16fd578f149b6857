"""The derivatives of joint forces by inertial parameters in C, beside Pinocchio in C++."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.builds import robot_of, tasks_of
from benchmarks.pinocchio_cpp import BUILDS, REGRESSOR, Build, measure
from benchmarks.processors import ROBOTS, STATES, speed, speed_row
from benchmarks.rows import Rows
from benchmarks.timing import timed_software
from rbdhw.options.build import BuildOptions
from rbdhw.pipeline import generate_software
from rbdhw.robot.mounting import Mounting
from rbdhw.robots import bundled
from rbdhw.software.float_library import REALS
from rbdhw.software.folder import Software


def software_of_regressor(name: str, base: str) -> Software:
    """Return the regressor of all links of a bundled robot in C."""
    links = tuple(body.name for body in robot_of(name, base).bodies)
    options = BuildOptions((REGRESSOR,), target="c", mounting=Mounting(base, frames=links))
    return generate_software(bundled()[name], options)


def regressor_rows(robots: Iterable[tuple[str, str]] = ROBOTS, builds: Sequence[Build] = BUILDS) -> Rows:
    """Return the speed of the regressor of all links in C and in Pinocchio, on one core."""
    rows = []
    for name, base in robots:
        theirs = measure(bundled()[name], base, (REGRESSOR,), builds=builds)[REGRESSOR]
        software, tasks = software_of_regressor(name, base), tasks_of(name, base, STATES)
        double, single = (speed(timed_software(software, number), REGRESSOR, tasks) for number in REALS)
        row = {"robot": name, "base": base, "function": REGRESSOR}
        rows.append(row | speed_row(theirs, double, single))
    return rows
