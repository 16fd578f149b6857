"""Read the robot of a build: load its file, mount it, check it, and choose its root."""

from __future__ import annotations

from pathlib import Path

from rbdhw.frontend.base import load_mounted
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, choose_root
from rbdhw.frontend.solvability import check_solvable
from rbdhw.options.build import PROCESSORS, BuildOptions
from rbdhw.progress import Progress, silent
from rbdhw.robot.model import Robot
from rbdhw.robot.reroot import RootTrial
from rbdhw.target import target


def read(urdf: Path, options: BuildOptions, progress: Progress = silent) -> tuple[Robot, list[RootTrial]]:
    """Return the robot of a URDF file with the requested base, gravity and root, and the roots compared.

    Raises
    ------
    InputError
        If the robot or an option is not supported.
    """
    source = load(urdf, options, progress)
    check_solvable(source, options.functions)
    return rooted(source, options, progress)


def load(urdf: Path, options: BuildOptions, progress: Progress = silent) -> Robot:
    """Return the robot of a URDF file with the requested base and gravity, whatever functions it can have.

    Raises
    ------
    InputError
        If the robot or an option is not supported.
    """
    progress("reading the robot")
    return load_mounted(urdf, options.mounting)


def rooted(
    source: Robot, options: BuildOptions, progress: Progress = silent
) -> tuple[Robot, list[RootTrial]]:
    """Return the robot with the requested root, and the roots compared.

    Raises
    ------
    InputError
        If the link is unknown or cannot be the root, or the robot does not float.
    """
    delays = DEFAULT_DELAYS if options.target in PROCESSORS else target(options.target, PROCESSORS).delays
    return choose_root(source, options.mounting.root, options.functions, options.fext, delays, progress)
