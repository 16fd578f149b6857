"""A URDF file becomes a ``Robot``, strictly: what the file does not say clearly is refused.

Read are ``<link>`` with its ``<inertial>`` elements and ``<joint>`` with type, origin, axis, limit, mimic,
parent and child. Ignored are ``<visual>``, ``<collision>``, ``<material>``, ``<transmission>``,
``<gazebo>``, ``<dynamics>`` and whatever else a URDF may carry.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from rbdhw.robot.document import Document, read_document
from rbdhw.robot.inertial import needs_inertia, read_inertia
from rbdhw.robot.joints import Edge, read_joints, read_origin
from rbdhw.robot.model import BASE, Body, Inertia, JointKind, Placement, Robot
from rbdhw.robot.spatial import add_inertia, compose, move_inertia


def load_urdf(
    path: str | os.PathLike[str], remarks: list[str] | None = None, *, joint_order: str = "pinocchio"
) -> Robot:
    """The robot that the URDF file at ``path`` describes, on a fixed base.

    Bodies are numbered depth first. The joints of a link, fixed ones included, come in the order of their
    names, as Pinocchio visits them, or in the order of the file. Body
    frames are the URDF's link frames; rotation entries within 1e-9 of 0 or 1 are made exact. A link on
    a fixed joint is merged, with its inertia, into the body that carries it. Joints may be revolute,
    continuous, prismatic, planar, floating, spherical (as PyBullet has them) or fixed.

    What the file has to say, beyond being a tree of links:

    - every revolute, continuous, prismatic or planar joint an ``<axis>`` that is not zero;
    - every revolute or prismatic joint a ``<limit>`` with lower, upper, velocity and effort; a
      continuous one with velocity and effort (number formats come from these ranges; velocity and
      effort may be zero, and lower and upper mean nothing on a continuous joint). Other joints may have
      one: its velocity and effort hold for each degree of freedom;
    - every ``<mimic>``, on a joint of one degree of freedom, another such joint that mimics none;
    - a floating joint, if any, is the only one that moves a link relative to the root link and what is
      fixed to it: the root link is the world then, where its own inertia is not felt;
    - every ``<inertial>`` a mass and all six inertia entries, such as a rigid body can have. A link may
      have several, each with its own origin, which are summed, or none where nothing needs its
      inertia: the root, links on fixed joints, and links that carry moving bodies of some inertia.

    Parameters
    ----------
    remarks
        A list asks for a lenient reading, which adds to it one sentence for each thing that breaks these
        rules but is taken nevertheless: inertias that no rigid body has (as they are), a robot without a
        name (the file's), a joint without an ``<axis>`` (x, as URDF says), without a ``<limit>`` or a number
        in it (zero), and a ``<mimic>`` on a fixed joint (fixed). Their element is named, the file is not.

    joint_order
        One of :data:`rbdhw.config.JOINT_ORDERS`.

    Raises
    ------
    InputError
        The file cannot be read or breaks one of these rules; the line names file, element, reason and
        what was expected.
    """
    document = read_document(path, remarks)
    name = _check_root(document)
    inertias = _read_links(document)
    edges = read_joints(document, inertias)
    base = _find_base(document, inertias, edges)
    if joint_order == "pinocchio":
        edges.sort(key=lambda edge: edge.name)
    robot = replace(_merge(name, base, inertias, edges), joint_order=joint_order)
    _check_tree(document, inertias, edges, robot)
    _check_floating(document, robot)
    unmoved = needs_inertia(robot)
    if unmoved is not None:
        body = robot.bodies[unmoved]
        raise document.error(
            f"link {body.name!r}",
            f"has no inertia about or along joint {body.joint.name!r}, and carries none",
            "an <inertial> there or on a link that moves with it",
        )
    return robot


def _check_root(document: Document) -> str:
    """The robot's name; InputError where the file is XML but no expanded URDF."""
    root = document.root
    if root.tag != "robot":
        raise document.error(f"<{root.tag}>", "not a URDF", "<robot> as the outermost element")
    for element in root:
        namespace, _, tag = element.tag.rpartition("}")
        if namespace.endswith("xacro"):
            raise document.error(f"<xacro:{tag}>", "not expanded", "the URDF that xacro makes of the file")
    if root.get("name") is None:
        stem = Path(document.file).stem
        document.bear("<robot>", "<robot> has no name", 'name="..."', f"as {stem!r}")
        return stem
    return document.text(root, "name", "<robot>")


def _read_links(document: Document) -> dict[str, Inertia]:
    """Each link's inertia in its own frame, in document order."""
    inertias = {}
    for name, link in document.named("link"):
        inertias[name] = _total(
            read_inertia(
                document, element, f"link {name!r}", read_origin(document, element, f"link {name!r}")
            )
            for element in link.findall("inertial")
        )
    if not inertias:
        raise document.error("<robot>", "no <link>", "at least one")
    return inertias


def _total(inertias: Iterable[Inertia]) -> Inertia:
    total = Inertia()
    for inertia in inertias:
        total = add_inertia(total, inertia)
    return total


def _find_base(document: Document, links: Iterable[str], edges: Iterable[Edge]) -> str:
    """The one link that is no joint's child."""
    children = {edge.child for edge in edges}
    roots = [link for link in links if link not in children]
    if not roots:
        cycle = _cycle(next(iter(links)), edges)
        raise document.error("<robot>", f"no root link, but a cycle of {cycle}", "a tree with one root link")
    if len(roots) > 1:
        listed = ", ".join(repr(root) for root in roots)
        raise document.error("<robot>", f"{len(roots)} root links: {listed}", "one root link")
    return roots[0]


def _cycle(start: str, edges: Iterable[Edge]) -> str:
    """The links of the cycle that going up from ``start`` ends in, parents first."""
    above = {edge.child: edge.parent for edge in edges}
    seen: list[str] = []
    while start not in seen:
        seen.append(start)
        start = above[start]
    loop = seen[seen.index(start) :]
    return " -> ".join(repr(link) for link in [*reversed(loop), loop[-1]])


def _merge(name: str, base: str, inertias: dict[str, Inertia], edges: Iterable[Edge]) -> Robot:
    """The tree below ``base``: a body per moving joint, links on fixed joints merged into bodies."""
    below: dict[str, list[Edge]] = {link: [] for link in inertias}
    for edge in edges:
        below[edge.parent].append(edge)
    bodies: list[Body] = []
    fixed: list[tuple[str, str]] = []
    base_inertia = inertias[base]
    # Each entry: a joint to visit, the body that carries its parent link, that link's pose in the body.
    waiting = [(edge, BASE, Placement()) for edge in reversed(below[base])]
    while waiting:
        edge, carrier, frame = waiting.pop()
        placement = compose(frame, edge.placement)
        if edge.moving is not None:
            joint = replace(edge.moving, placement=placement)
            bodies.append(Body(edge.child, carrier, joint, inertias[edge.child]))
            carrier, placement = len(bodies) - 1, Placement()
        else:
            merged = move_inertia(inertias[edge.child], placement)
            if carrier == BASE:
                base_inertia = add_inertia(base_inertia, merged)
            else:
                body = bodies[carrier]
                bodies[carrier] = replace(body, inertia=add_inertia(body.inertia, merged))
            fixed.append((edge.child, base if carrier == BASE else bodies[carrier].name))
        waiting.extend((child, carrier, placement) for child in reversed(below[edge.child]))
    return Robot(name, base, tuple(bodies), base_inertia, fixed_links=tuple(fixed))


def _check_tree(document: Document, links: Iterable[str], edges: Iterable[Edge], robot: Robot) -> None:
    """InputError where links are left out of the tree: with one root, they hang from a cycle."""
    reached = {robot.base, *(body.name for body in robot.bodies), *(link for link, _ in robot.fixed_links)}
    for link in links:
        if link not in reached:
            cycle = _cycle(link, edges)
            raise document.error(f"link {link!r}", f"in or below a cycle of {cycle}", "a tree of links")


def _check_floating(document: Document, robot: Robot) -> None:
    """InputError where a floating joint is not the only one that moves something relative to the root."""
    on_base = [body for body in robot.bodies if body.parent == BASE]
    for body in robot.bodies:
        if body.joint.kind is JointKind.FLOATING and on_base != [body]:
            raise document.error(
                f"joint {body.joint.name!r}",
                f"floating away from the root link {robot.base!r}",
                "the one joint that moves links relative to the root",
            )
