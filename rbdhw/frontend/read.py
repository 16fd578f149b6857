"""The robot of a build: read from its file, mounted, checked, and seen from the root asked for."""

from __future__ import annotations

from pathlib import Path

from rbdhw.config import BuildOptions
from rbdhw.frontend.base import load_mounted
from rbdhw.frontend.build_graph import choose_root
from rbdhw.frontend.solvability import check_solvable
from rbdhw.progress import Progress, silent
from rbdhw.protocol import FUNCTIONS
from rbdhw.robot.model import Robot
from rbdhw.robot.reroot import RootTrial
from rbdhw.target import target


def read(urdf: Path, options: BuildOptions, progress: Progress = silent) -> tuple[Robot, list[RootTrial]]:
    """The robot in a URDF file as it is mounted, and the roots that were tried for it.

    Raises
    ------
    InputError
        For a robot or option that cannot be built.
    """
    options.check(tuple(FUNCTIONS))
    delays = target(options.target).delays
    progress("reading the robot")
    source = load_mounted(urdf, options.mounting)
    check_solvable(source, options.functions)
    return choose_root(source, options.mounting.root, options.functions, options.fext, delays, progress)
