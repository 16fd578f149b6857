"""Read the robot of a build: load its file, mount it, check it, and choose its root.

The base is fixed, floats, or moves as each task gives.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from rbdhw.errors import InputError
from rbdhw.frontend.build_graph import DEFAULT_DELAYS, choose_root
from rbdhw.frontend.embedding import embed_loops
from rbdhw.frontend.solvability import check_functions
from rbdhw.options.build import PROCESSORS, BuildOptions
from rbdhw.progress import Progress, silent
from rbdhw.remarks import warn
from rbdhw.robot.link_frames import choose_contacts, choose_frames, choose_loops, choose_spheres
from rbdhw.robot.model import Robot
from rbdhw.robot.mounting import ANY_BASE, INERTIAS, NO_LINKS, PAYLOAD, PER_TASK, Links, Mounting
from rbdhw.robot.parameters import leaf_link, load_inertias
from rbdhw.robot.reroot import RootTrial
from rbdhw.robot.urdf import load_urdf
from rbdhw.target import target


def read(urdf: Path, options: BuildOptions, progress: Progress = silent) -> tuple[Robot, list[RootTrial]]:
    """Return the robot of a URDF file with the requested base, gravity and root, and the roots compared."""
    source = load(urdf, options, progress)
    check_functions(source, options.functions)
    return rooted(source, options, progress)


def load(urdf: Path, options: BuildOptions, progress: Progress = silent) -> Robot:
    """Return the robot of a URDF file with the requested base and gravity, whatever functions it can have."""
    progress("reading the robot")
    return replace(load_mounted(urdf, options.mounting), tracks=options.tracks)


def rooted(
    source: Robot, options: BuildOptions, progress: Progress = silent
) -> tuple[Robot, list[RootTrial]]:
    """Return the robot with the requested root, and the roots compared (:func:`choose_root`)."""
    delays = DEFAULT_DELAYS if options.target in PROCESSORS else target(options.target, PROCESSORS).delays
    return choose_root(source, options.mounting.root, options.functions, options.fext, delays, progress)


def mount(robot: Robot, mounting: Mounting) -> Robot:
    """Return ``robot`` with the requested base, frames, contacts, loops and gravity.

    A robot whose URDF has a floating base keeps it. InputError if the motion of the base is to be given by
    tasks, but the base floats; if a frame, or that of a contact, is of an unknown link, or of one that does
    not move; if a loop joins no two bodies; or if one cannot be embedded that should be.
    """
    robot = embed_loops(robot, mounting.embedded_loops)
    if mounting.base in ("floating", ANY_BASE) and not robot.floats:
        robot = robot.with_floating_base()
    if mounting.base == ANY_BASE:
        robot = replace(robot, base_chosen=True)
    if mounting.base == "given":
        if robot.floats:
            reason = f"'{robot.bodies[0].name}' floats by joint '{robot.bodies[0].joint.name}'"
            expected = "a robot whose root has no freedom of its own"
            raise InputError("base", reason, expected, "use --base floating")
        robot = replace(robot, base_given=True)
    if mounting.frames:
        robot = choose_frames(robot, mounting.frames, mounting.frame_axes)
    if mounting.contacts:
        robot = choose_contacts(robot, mounting.contacts, mounting.contact_axes)
    if mounting.held_loops:
        robot = choose_loops(robot, mounting.held_loops)
    if mounting.contact_gains == PER_TASK:
        robot = replace(robot, contacts=replace(robot.contacts, by_task=True))
    if mounting.spheres:
        robot = choose_spheres(robot, mounting.spheres)
    if mounting.time_step is not None:
        robot = replace(robot, time_step=mounting.time_step)
    robot = _load(robot, mounting.parameters)
    if isinstance(mounting.gravity, str):
        return replace(robot, gravity_given=True)
    return robot if mounting.gravity is None else replace(robot, gravity=mounting.gravity)


def _load(robot: Robot, links: Links) -> Robot:
    if links == NO_LINKS:
        return robot
    if links == INERTIAS:
        return load_inertias(robot, [body.name for body in robot.bodies if body.inertia.mass > 0.0])
    if links == PAYLOAD:
        return load_inertias(robot, [leaf_link(robot)], payload=True)
    return load_inertias(robot, (links,) if isinstance(links, str) else links)


def load_mounted(path: str | os.PathLike[str], mounting: Mounting) -> Robot:
    """Return the robot of a URDF file with the requested base and gravity; print its remarks to stderr."""
    robot = load_urdf(path, strict=mounting.strict, joint_order=mounting.joint_order, drives=mounting.drives)
    warn(f"{path}: {remark}" for remark in robot.remarks)
    robot = mount(robot, mounting)
    if not robot.bodies:
        raise InputError(os.fspath(path), f"robot '{robot.name}' has no moving joint", "at least one")
    return robot
