"""A URDF file becomes a ``Robot``, strictly: what the file does not say clearly is refused.

Read are ``<link>`` with its ``<inertial>`` elements and ``<joint>`` with type, origin, axis, limit,
parent and child. Ignored are ``<visual>``, ``<collision>``, ``<material>``, ``<transmission>``,
``<gazebo>``, ``<dynamics>`` and whatever else a URDF may carry.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from rbdhw.robot.document import Document, read_document
from rbdhw.robot.inertial import needs_inertia, read_inertia
from rbdhw.robot.model import (
    BASE,
    Body,
    Inertia,
    Joint,
    JointKind,
    Limits,
    Placement,
    Robot,
    Vector3,
)
from rbdhw.robot.spatial import (
    SNAP,
    add_inertia,
    compose,
    move_inertia,
    norm,
    rotation_rpy,
    scale,
)

_KINDS = {kind.value: kind for kind in (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)}
_FIXED = "fixed"
_ORIGIN: Vector3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class _Edge:
    """One ``<joint>``: the links it connects, the child's pose, and the moving joint (None if fixed)."""

    name: str
    parent: str
    child: str
    placement: Placement
    moving: Joint | None


def load_urdf(path: str | os.PathLike[str]) -> Robot:
    """The robot that the URDF file at ``path`` describes, on a fixed base.

    Bodies are numbered depth first, children in the order in which the file gives their joints. Body
    frames are the URDF's link frames; rotation entries within 1e-9 of 0 or 1 are made exact. A link on
    a fixed joint is merged, with its inertia, into the body that carries it. Joints may be revolute,
    continuous, prismatic or fixed.

    What the file has to say, beyond being a tree of links:

    - every moving joint an ``<axis>`` that is not zero;
    - every revolute or prismatic joint a ``<limit>`` with lower, upper, velocity and effort; a
      continuous one with velocity and effort (number formats come from these ranges; velocity and
      effort may be zero, and lower and upper mean nothing on a continuous joint);
    - every ``<inertial>`` a mass and all six inertia entries, such as a rigid body can have. A link may
      have several, each with its own origin, which are summed, or none where nothing needs its
      inertia: the root, links on fixed joints, and links that carry moving bodies of some inertia.

    Raises
    ------
    InputError
        The file cannot be read or breaks one of these rules; the line names file, element, reason and
        what was expected.
    """
    document = read_document(path)
    name = _check_root(document)
    inertias = _read_links(document)
    edges = _read_joints(document, inertias)
    base = _find_base(document, inertias, edges)
    robot = _merge(name, base, inertias, edges)
    _check_tree(document, inertias, edges, robot)
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
    return document.text(root, "name", "<robot>")


def _named(document: Document, tag: str) -> list[tuple[str, Element]]:
    """The robot's links or joints by name, in document order, each name once."""
    found: dict[str, Element] = {}
    for element in document.root.findall(tag):
        name = document.text(element, "name", f"<{tag}>")
        if name in found:
            raise document.error(f"{tag} {name!r}", "given twice", f"unique {tag} names")
        found[name] = element
    return list(found.items())


def _read_links(document: Document) -> dict[str, Inertia]:
    """Each link's inertia in its own frame, in document order."""
    inertias = {}
    for name, link in _named(document, "link"):
        inertias[name] = _total(
            read_inertia(
                document, element, f"link {name!r}", _read_origin(document, element, f"link {name!r}")
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


def _read_joints(document: Document, links: Iterable[str]) -> list[_Edge]:
    """Every joint, in document order; each link is the child of one joint at most."""
    known = set(links)
    above: dict[str, str] = {}
    edges = []
    for name, element in _named(document, "joint"):
        edge = _read_joint(document, name, element)
        for role, link in (("parent", edge.parent), ("child", edge.child)):
            if link not in known:
                raise document.error(
                    f"joint {name!r}", f"unknown {role} link {link!r}", "a link of this file"
                )
        if edge.child in above:
            raise document.error(
                f"link {edge.child!r}",
                f"child of both joint {above[edge.child]!r} and joint {name!r}",
                "one parent for each link",
            )
        above[edge.child] = name
        edges.append(edge)
    return edges


def _read_joint(document: Document, name: str, element: Element) -> _Edge:
    owner = f"joint {name!r}"
    kind = document.text(element, "type", owner)
    if kind != _FIXED and kind not in _KINDS:
        raise document.error(owner, f"unsupported type {kind!r}", f"one of {', '.join([*_KINDS, _FIXED])}")
    if element.find("mimic") is not None:
        raise document.error(owner, "mimics another joint", "an independent joint, or a fixed one")
    placement = _read_origin(document, element, owner)
    parent, child = (
        document.text(document.required_child(element, tag, owner), "link", owner)
        for tag in ("parent", "child")
    )
    moving = None
    if kind in _KINDS:
        axis = _read_axis(document, element, owner)
        moving = Joint(
            name, _KINDS[kind], axis, placement, _read_limits(document, element, owner, _KINDS[kind])
        )
    return _Edge(name, parent, child, placement, moving)


def _read_origin(document: Document, element: Element, owner: str) -> Placement:
    """The pose in ``<origin>``, or none: each of xyz and rpy is zero where it is missing."""
    origin = document.child(element, "origin", owner)
    if origin is None:
        return Placement()
    translation = document.vector(origin, "xyz", owner, default=_ORIGIN)
    return Placement(rotation_rpy(document.vector(origin, "rpy", owner, default=_ORIGIN)), translation)


def _read_axis(document: Document, element: Element, owner: str) -> Vector3:
    """The joint's axis as a unit vector, exact where it lies along a frame axis."""
    given = document.vector(document.required_child(element, "axis", owner), "xyz", owner)
    size = max(abs(value) for value in given)
    if size == 0.0:
        raise document.error(owner, "<axis> is zero", "a direction")
    shrunk = scale(1.0 / size, given)
    x, y, z = (0.0 if abs(value) < SNAP else value for value in scale(1.0 / norm(shrunk), shrunk))
    if [x, y, z].count(0.0) == 2:
        x, y, z = (float(round(value)) for value in (x, y, z))
    return (x, y, z)


def _read_limits(document: Document, element: Element, owner: str, kind: JointKind) -> tuple[Limits, ...]:
    limit = document.required_child(element, "limit", owner)
    velocity, effort = (document.number(limit, attribute, owner) for attribute in ("velocity", "effort"))
    for attribute, value in (("velocity", velocity), ("effort", effort)):
        if value < 0.0:
            raise document.error(owner, f"<limit> has {attribute} {value:g}", "zero or more")
    if kind is JointKind.CONTINUOUS:
        return (Limits(float("-inf"), float("inf"), velocity, effort),)
    lower, upper = (document.number(limit, attribute, owner) for attribute in ("lower", "upper"))
    if lower > upper:
        raise document.error(owner, f"<limit> has lower {lower:g} above upper {upper:g}", "lower <= upper")
    return (Limits(lower, upper, velocity, effort),)


def _find_base(document: Document, links: Iterable[str], edges: Iterable[_Edge]) -> str:
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


def _cycle(start: str, edges: Iterable[_Edge]) -> str:
    """The links of the cycle that going up from ``start`` ends in, parents first."""
    above = {edge.child: edge.parent for edge in edges}
    seen: list[str] = []
    while start not in seen:
        seen.append(start)
        start = above[start]
    loop = seen[seen.index(start) :]
    return " -> ".join(repr(link) for link in [*reversed(loop), loop[-1]])


def _merge(name: str, base: str, inertias: dict[str, Inertia], edges: Iterable[_Edge]) -> Robot:
    """The tree below ``base``: a body per moving joint, links on fixed joints merged into bodies."""
    below: dict[str, list[_Edge]] = {link: [] for link in inertias}
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


def _check_tree(document: Document, links: Iterable[str], edges: Iterable[_Edge], robot: Robot) -> None:
    """InputError where links are left out of the tree: with one root, they hang from a cycle."""
    reached = {robot.base, *(body.name for body in robot.bodies), *(link for link, _ in robot.fixed_links)}
    for link in links:
        if link not in reached:
            cycle = _cycle(link, edges)
            raise document.error(f"link {link!r}", f"in or below a cycle of {cycle}", "a tree of links")
