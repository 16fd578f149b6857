"""Read the robot of a build: load its file, mount it, check it, and choose its root."""

from __future__ import annotations

from pathlib import Path

from rbdhw.config import PROCESSORS, BuildOptions
from rbdhw.frontend.base import load_mounted
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, choose_root
from rbdhw.frontend.solvability import check_solvable
from rbdhw.option_checks import check_options
from rbdhw.progress import Progress, silent
from rbdhw.protocol import FUNCTIONS
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
    check_options(options, tuple(FUNCTIONS))
    delays = DEFAULT_DELAYS if options.target in PROCESSORS else target(options.target).delays
    progress("reading the robot")
    source = load_mounted(urdf, options.mounting)
    check_solvable(source, options.functions)
    return choose_root(source, options.mounting.root, options.functions, options.fext, delays, progress)
