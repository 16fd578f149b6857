"""Read a URDF file into a ``Robot``; tolerable problems become remarks.

The reader uses ``<link>`` with its ``<inertial>`` elements, and ``<joint>`` with type, origin, axis, limit,
mimic, parent and child, and ``<dynamics damping>`` if it is asked for. It ignores what has no part in the
dynamics, such as ``<visual>``, and all else with a remark (:mod:`rbdhw.robot.vocabulary`,
:mod:`rbdhw.robot.ignored`).

A file must describe a tree of links with unique names. Its numbers must be finite and, except for limits,
within :mod:`rbdhw.runtime.number_bounds`. An axis must not be zero, and a mass must not be negative. A
floating joint that moves any mass must be the only joint that moves a link relative to the root link and the
links fixed to it. The root link is then the world, and its own inertia has no effect.

Other problems are tolerated. The interpretation is mostly that of Pinocchio, and ``Robot.remarks`` describes
it:

============================================== ==========================================
problem                                        interpretation
============================================== ==========================================
the robot has no name                          the name of the file
an element occurs twice                        the first (for ``<inertial>`` the sum)
no ``<axis>``                                  1 0 0 (for a planar joint 0 0 1)
a negative velocity or effort limit            no limit
a lower limit above the upper                  the two exchanged
only one of lower and upper                    0 for the other (no limit in version 1.2)
a mimic without a joint that it can follow     an independent joint
a mimic of a mimic                             a mimic of the joint which that one follows
a limit beyond those of ``number_bounds``      no limit
an inertia that no rigid body has              unchanged
``<inertia>`` without all six entries          a point mass
``<inertial>`` without a mass                  no inertia
a floating joint elsewhere, without mass       fixed
a body that moves no inertia                   unchanged; its mass matrix is singular
an element that xacro should have expanded     ignored
bytes that are not UTF-8                       read as Latin-1
an element or attribute that is not used       ignored
a quaternion that is zero or not of length 1   no rotation, or divided by its length
a quaternion before version 1.1                ignored
a range of a joint that has none               no limit
============================================== ==========================================

A missing limit is infinite, without a remark; :func:`rbdhw.domain.bounds.input_domain` adds a remark if it
has to assume another bound. The velocity and effort limits of a joint apply to each of its degrees of
freedom; lower and upper have no meaning for a continuous joint. ``Robot.remarks`` also lists properties in
the file that are not modelled (see :mod:`rbdhw.robot.ignored`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from pathlib import Path

from rbdhw.robot.document import Document, read_document
from rbdhw.robot.drives import NO_DRIVES, Drives, with_drives
from rbdhw.robot.ignored import note_ignored
from rbdhw.robot.inertial import needs_inertia, negative_moment, read_inertia
from rbdhw.robot.joints import JointEntry, read_joints
from rbdhw.robot.model import BASE, Body, Inertia, JointKind, Placement, Robot
from rbdhw.robot.origin import read_origin, urdf_version
from rbdhw.robot.spatial import add_inertia, compose, move_inertia
from rbdhw.robot.vocabulary import XACRO, note_unused


def load_urdf(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    joint_order: str = "pinocchio",
    drives: Drives = NO_DRIVES,
) -> Robot:
    """Read the robot that the URDF file at ``path`` describes, on a fixed base.

    Bodies are numbered depth first. The joints of a link, including fixed ones, are in the order of their
    names, as Pinocchio visits them, or in the order of the file. Body frames are the URDF's link frames.
    Rotation entries within 1e-9 of 0 or 1 are made exact. A link on a fixed joint is merged, with its
    inertia, into the body that carries it. Joints may be revolute, continuous, prismatic, planar, floating,
    spherical (as in PyBullet) or fixed.

    The module's docstring says what a file must be, and how tolerated problems are understood. Raises
    InputError if the file cannot be read or breaks a rule. The message names the file, the element, the
    reason and the expectation.

    Parameters
    ----------
    strict
        Refuse the problems in the module's table, and missing limits.
    joint_order
        One of :data:`rbdhw.robot.mounting.JOINT_ORDERS`.
    drives
        The rotor inertia and the viscous friction that joints have; none by default.
    """
    document = read_document(path, strict=strict)
    name = _check_root(document)
    inertias = _read_links(document)
    edges = read_joints(document, inertias, drives.from_file)
    base = _find_base(document, inertias, edges)
    if joint_order == "pinocchio":
        edges.sort(key=lambda edge: edge.name)
    robot = _merge(name, base, inertias, edges)
    _check_tree(document, inertias, edges, robot)
    if floating := _astray(robot):
        _check_weightless(document, robot, floating)
        robot = _merge(name, base, inertias, _fixed(edges, robot, floating))
    _check_inertia(document, robot)
    note_unused(document)
    note_ignored(document, {body.joint.name for body in robot.bodies}, drives)
    return replace(with_drives(robot, drives), joint_order=joint_order, remarks=document.remarks)


def _check_root(document: Document) -> str:
    """Return the robot's name; InputError if the file is not a URDF or not expanded by xacro."""
    root = document.root
    if root.tag != "robot":
        raise document.error(f"<{root.tag}>", "not a URDF", "<robot> as the outermost element")
    for tag in dict.fromkeys(element.tag for element in root if element.tag.startswith(XACRO)):
        expected = "the URDF that xacro makes of the file"
        if root.find("link") is None:
            remedy = f"run: xacro {document.file} > expanded.urdf"
            raise document.error(f"<{tag}>", "not expanded", expected, remedy)
        document.bear(f"<{tag}>", "not expanded", expected, "without it")
    urdf_version(document)
    name = root.get("name", "")
    if not name.strip():
        name = Path(document.file).stem
        document.bear("<robot>", "has no name", 'name="..."', f"as {name!r}")
        return name
    return document.text(root, "name", "<robot>")


def _read_links(document: Document) -> dict[str, Inertia]:
    """Return each link's inertia in its own frame, in document order."""
    inertias = {}
    for name, link in document.elements("link"):
        owner, elements = f"link {name!r}", link.findall("inertial")
        if len(elements) > 1:
            document.note(f"{owner}: {len(elements)} <inertial> elements; taken their sum, not the first")
        parts = (read_inertia(document, part, owner, read_origin(document, part, owner)) for part in elements)
        inertias[name] = reduce(add_inertia, parts, Inertia())
    if not inertias:
        raise document.error("<robot>", "no <link>", "at least one")
    return inertias


def _find_base(document: Document, links: Iterable[str], edges: Iterable[JointEntry]) -> str:
    """Return the one link that is not the child of a joint."""
    children = {edge.child for edge in edges}
    roots = [link for link in links if link not in children]
    if not roots:
        cycle = _cycle(next(iter(links)), edges)
        raise document.error("<robot>", f"no root link, but a cycle of {cycle}", "a tree with one root link")
    if len(roots) > 1:
        listed = ", ".join(repr(root) for root in roots)
        raise document.error("<robot>", f"{len(roots)} root links: {listed}", "one root link")
    return roots[0]


def _cycle(start: str, edges: Iterable[JointEntry]) -> str:
    """Return the cycle that the path upward from ``start`` ends in, as text, parents first."""
    above = {edge.child: edge.parent for edge in edges}
    seen: dict[str, None] = {}
    while start not in seen:
        seen[start] = None
        start = above[start]
    links = list(seen)
    loop = links[links.index(start) :]
    return " -> ".join(repr(link) for link in [*reversed(loop), loop[-1]])


def _merge(name: str, base: str, inertias: dict[str, Inertia], edges: Iterable[JointEntry]) -> Robot:
    """Build the tree below ``base``: one body per moving joint; links on fixed joints are merged."""
    below: dict[str, list[JointEntry]] = {link: [] for link in inertias}
    for edge in edges:
        below[edge.parent].append(edge)
    bodies: list[Body] = []
    fixed: list[tuple[str, str]] = []
    placements: list[Placement] = []
    base_inertia = inertias[base]
    # Each entry: a joint to visit, the body that carries its parent link, that link's pose in the body.
    waiting = [(edge, BASE, Placement()) for edge in reversed(below[base])]
    while waiting:
        edge, carrier, frame = waiting.pop()
        placement = compose(frame, edge.placement)
        if edge.moving is not None:
            joint = replace(edge.moving, placement=placement)
            above = base if carrier == BASE else bodies[carrier].name
            parent_link = "" if edge.parent == above else edge.parent
            bodies.append(Body(edge.child, carrier, joint, inertias[edge.child], parent_link=parent_link))
            carrier, placement = len(bodies) - 1, Placement()
        else:
            merged = move_inertia(inertias[edge.child], placement)
            if carrier == BASE:
                base_inertia = add_inertia(base_inertia, merged)
            else:
                body = bodies[carrier]
                bodies[carrier] = replace(body, inertia=add_inertia(body.inertia, merged))
            fixed.append((edge.child, base if carrier == BASE else bodies[carrier].name))
            placements.append(placement)
        waiting.extend((child, carrier, placement) for child in reversed(below[edge.child]))
    robot = Robot(name, base, tuple(bodies), base_inertia)
    return replace(robot, fixed_links=tuple(fixed), fixed_placements=tuple(placements))


def _check_tree(document: Document, links: Iterable[str], edges: Iterable[JointEntry], robot: Robot) -> None:
    """Raise InputError if links are not in the tree; as there is one root, they are in or below a cycle."""
    reached = {robot.base, *(body.name for body in robot.bodies), *(link for link, _ in robot.fixed_links)}
    for link in links:
        if link not in reached:
            cycle = _cycle(link, edges)
            raise document.error(f"link {link!r}", f"in or below a cycle of {cycle}", "a tree of links")


def _astray(robot: Robot) -> list[int]:
    """Return the bodies that float, but not as the only ones that move relative to the root."""
    on_base = [i for i, body in enumerate(robot.bodies) if body.parent == BASE]
    floating = [i for i, body in enumerate(robot.bodies) if body.joint.kind is JointKind.FLOATING]
    return [i for i in floating if on_base != [i]]


def _check_weightless(document: Document, robot: Robot, floating: Iterable[int]) -> None:
    """Remark on bodies that float astray and move no mass, which may as well be fixed; refuse others."""
    for k in floating:
        below = [i for i in range(len(robot.bodies)) if k in robot.path(i)]
        joint, expected = robot.bodies[k].joint.name, "the one joint that moves links relative to the root"
        if any(robot.bodies[i].inertia != Inertia() for i in below):
            reason = f"floating away from the root link {robot.base!r}"
            remedy = 'describe what floats in a file of its own (docs/joints.md, "Free bodies")'
            raise document.error(f"joint {joint!r}", reason, expected, remedy)
        interpretation = "as fixed, which changes no force of another joint"
        reason = "floating away from the root link, without mass"
        document.bear(f"joint {joint!r}", reason, expected, interpretation)


def _fixed(edges: Iterable[JointEntry], robot: Robot, bodies: Iterable[int]) -> list[JointEntry]:
    """Return the joints with those of some bodies fixed."""
    names = {robot.bodies[i].joint.name for i in bodies}
    return [replace(edge, moving=None) if edge.name in names else edge for edge in edges]


def _check_inertia(document: Document, robot: Robot) -> None:
    """Remark on a body whose joint moves no inertia; a strict reading raises InputError."""
    unmoved = needs_inertia(robot)
    if unmoved is None:
        return
    body = robot.bodies[unmoved]
    owner, joint = f"link {body.name!r}", f"joint {body.joint.name!r}"
    negative = negative_moment(body.inertia)
    if negative:
        reason = f"has a moment of inertia of {negative:.6g} kg m^2, and {joint} meets no resistance"
        document.bear(owner, reason, "positive moments", "as it is, with a mass matrix that is not definite")
        return
    document.bear(
        owner,
        f"has no inertia about or along {joint}, and carries none",
        "an <inertial> there or on a link that moves with it",
        "as it is, with a singular mass matrix",
    )
