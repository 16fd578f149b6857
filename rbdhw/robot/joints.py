"""The joints of a URDF: their kinds, where they are, along or about what they move, and how far.

Of the kinds in ``model.py`` these are revolute, continuous, prismatic, planar and floating, as URDF has them,
and ``spherical`` from the dialect that PyBullet reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from xml.etree.ElementTree import Element

from rbdhw.robot.document import Document
from rbdhw.robot.model import UNLIMITED, Joint, JointKind, Limits, Mimic, Placement, Vector3
from rbdhw.robot.spatial import SNAP, norm, rotation_rpy, scale

FIXED = "fixed"

_KINDS = {
    kind.value: kind
    for kind in (
        JointKind.REVOLUTE,
        JointKind.CONTINUOUS,
        JointKind.PRISMATIC,
        JointKind.PLANAR,
        JointKind.SPHERICAL,
        JointKind.FLOATING,
    )
}
_WITHOUT_AXIS = (JointKind.SPHERICAL, JointKind.FLOATING)
_ORIGIN: Vector3 = (0.0, 0.0, 0.0)
_X: Vector3 = (1.0, 0.0, 0.0)
_Z: Vector3 = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Edge:
    """One ``<joint>``: the links it connects, the child's pose, and the moving joint (None if fixed)."""

    name: str
    parent: str
    child: str
    placement: Placement
    moving: Joint | None


def read_joints(document: Document, links: Iterable[str]) -> list[Edge]:
    """Every joint, in document order; each link is the child of one joint at most.

    Raises
    ------
    InputError
        A joint's element breaks a rule of :func:`rbdhw.robot.urdf.load_urdf`, or names something unknown.
    """
    known = set(links)
    above: dict[str, str] = {}
    edges = []
    for name, element in document.named("joint"):
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
    _check_mimics(document, {edge.name: edge.moving for edge in edges})
    return edges


def read_origin(document: Document, element: Element, owner: str) -> Placement:
    """The pose in ``<origin>``, or none: each of xyz and rpy is zero where it is missing."""
    origin = document.child(element, "origin", owner)
    if origin is None:
        return Placement()
    translation = document.vector(origin, "xyz", owner, default=_ORIGIN)
    return Placement(rotation_rpy(document.vector(origin, "rpy", owner, default=_ORIGIN)), translation)


def _read_joint(document: Document, name: str, element: Element) -> Edge:
    owner = f"joint {name!r}"
    kind = document.text(element, "type", owner)
    if kind != FIXED and kind not in _KINDS:
        raise document.error(owner, f"unsupported type {kind!r}", f"one of {', '.join([*_KINDS, FIXED])}")
    placement = read_origin(document, element, owner)
    parent, child = (
        document.text(document.required_child(element, tag, owner), "link", owner)
        for tag in ("parent", "child")
    )
    moving = _read_motion(document, name, element, placement) if kind in _KINDS else None
    if moving is None and element.find("mimic") is not None:
        document.bear(owner, "fixed, but with a <mimic>", "a joint that moves", "as fixed")
    return Edge(name, parent, child, placement, moving)


def _read_motion(document: Document, name: str, element: Element, placement: Placement) -> Joint:
    """The moving joint at ``placement``."""
    owner = f"joint {name!r}"
    kind = _KINDS[document.text(element, "type", owner)]
    axis = _Z if kind in _WITHOUT_AXIS else _read_axis(document, element, owner)
    limits = _read_limits(document, element, owner, kind)
    mimic = _read_mimic(document, element, owner)
    if mimic is not None and kind.nv > 1:
        raise document.error(owner, f"{kind}, but with a <mimic>", "a joint of one degree of freedom")
    return Joint(name, kind, axis, placement, limits, mimic=mimic)


def _read_axis(document: Document, element: Element, owner: str) -> Vector3:
    """The joint's axis as a unit vector, exact where it lies along a frame axis."""
    axis = document.child(element, "axis", owner)
    if axis is None:
        document.bear(owner, "no <axis>", "<axis> in <joint>", "as 1 0 0")
        return _X
    given = document.vector(axis, "xyz", owner)
    size = max(abs(value) for value in given)
    if size == 0.0:
        raise document.error(owner, "<axis> is zero", "a direction")
    shrunk = scale(1.0 / size, given)
    x, y, z = (0.0 if abs(value) < SNAP else value for value in scale(1.0 / norm(shrunk), shrunk))
    if [x, y, z].count(0.0) == 2:
        x, y, z = (float(round(value)) for value in (x, y, z))
    return (x, y, z)


def _read_limits(document: Document, element: Element, owner: str, kind: JointKind) -> tuple[Limits, ...]:
    """The limits of each degree of freedom; none where a joint of several has no ``<limit>``."""
    limit = document.child(element, "limit", owner)
    if limit is None and kind.nv > 1:
        return (UNLIMITED,) * kind.nv
    if limit is None:
        document.bear(owner, "no <limit>", "<limit> in <joint>", "as zeros")
        limit = Element("limit", dict.fromkeys(("lower", "upper", "velocity", "effort"), "0"))
    velocity, effort = (
        _read_limit(document, limit, attribute, owner) for attribute in ("velocity", "effort")
    )
    for attribute, value in (("velocity", velocity), ("effort", effort)):
        if value < 0.0:
            raise document.error(owner, f"<limit> has {attribute} {value:g}", "zero or more")
    if kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
        return (Limits(-inf, inf, velocity, effort),) * kind.nv
    lower, upper = (_read_limit(document, limit, attribute, owner) for attribute in ("lower", "upper"))
    if lower > upper:
        raise document.error(owner, f"<limit> has lower {lower:g} above upper {upper:g}", "lower <= upper")
    return (Limits(lower, upper, velocity, effort),)


def _read_limit(document: Document, limit: Element, attribute: str, owner: str) -> float:
    """One number of ``<limit>``; a lenient reading takes zero where it is missing."""
    if limit.get(attribute) is None:
        document.bear(owner, f"<limit> has no {attribute}", f'{attribute}="..."', "as 0")
        return 0.0
    return document.number(limit, attribute, owner)


def _read_mimic(document: Document, element: Element, owner: str) -> Mimic | None:
    """Which joint this one follows, if any."""
    mimic = document.child(element, "mimic", owner)
    if mimic is None:
        return None
    return Mimic(
        joint=document.text(mimic, "joint", owner),
        multiplier=document.number(mimic, "multiplier", owner, default=1.0),
        offset=document.number(mimic, "offset", owner, default=0.0),
    )


def _check_mimics(document: Document, joints: Mapping[str, Joint | None]) -> None:
    """InputError unless each mimic follows an independent joint of one degree of freedom.

    ``joints`` are the moving joints by name, None where a joint is fixed.
    """
    for name, joint in joints.items():
        if joint is None or joint.mimic is None:
            continue
        owner, followed = f"joint {name!r}", joint.mimic.joint
        if followed not in joints:
            raise document.error(owner, f"mimics unknown joint {followed!r}", "a joint of this file")
        if followed == name:
            raise document.error(owner, "mimics itself", "another joint")
        other = joints[followed]
        if other is None:
            raise document.error(owner, f"mimics the fixed joint {followed!r}", "a joint that moves")
        if other.kind.nv > 1:
            reason = f"mimics the {other.kind} joint {followed!r}"
            raise document.error(owner, reason, "a joint of one degree of freedom")
        if other.mimic is not None:
            reason = f"mimics joint {followed!r}, which mimics joint {other.mimic.joint!r}"
            raise document.error(owner, reason, "a joint that mimics none")
