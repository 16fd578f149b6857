"""Read the joints of a URDF: kind, placement, axis, limits and mimic.

Of the kinds in ``model.py`` these are revolute, continuous, prismatic, planar and floating, which URDF
defines, and ``spherical`` from the dialect that PyBullet reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from xml.etree.ElementTree import Element

from rbdhw.remarks import list_names
from rbdhw.robot.document import Document, finite
from rbdhw.robot.drives import read_damping
from rbdhw.robot.model import UNLIMITED, Joint, JointKind, Limits, Mimic, Placement, Vector3
from rbdhw.robot.origin import URDF_1_2, read_origin, urdf_version
from rbdhw.robot.spatial import SNAP, norm, scale
from rbdhw.runtime.number_bounds import EFFORT, JOINTS, POSITION, RATIO, VELOCITY, Bound

FIXED = "fixed"

_KINDS = {
    kind: JointKind(kind)
    for kind in ("revolute", "continuous", "prismatic", "planar", "spherical", "floating")
}
_WITHOUT_AXIS = (JointKind.SPHERICAL, JointKind.FLOATING)
_INDEPENDENT = "as a joint of its own"
_X: Vector3 = (1.0, 0.0, 0.0)
_Z: Vector3 = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class JointEntry:
    """One ``<joint>``: the links it connects, the child's pose, and the moving joint (None if fixed)."""

    name: str
    parent: str
    child: str
    placement: Placement
    moving: Joint | None


def read_joints(document: Document, links: Iterable[str], damped: bool = False) -> list[JointEntry]:
    """Read every joint, in document order, and resolve the mimics.

    Raises InputError if a joint breaks a rule of :func:`rbdhw.robot.urdf.load_urdf`, names an unknown link,
    or has a child link that another joint has already; or the robot has too many moving joints. ``damped``
    states whether to read the damping, too.
    """
    known = set(links)
    above: dict[str, str] = {}
    edges = []
    for name, element in document.elements("joint"):
        edge = _read_joint(document, name, element)
        if damped and edge.moving is not None:
            damping = read_damping(document, element, edge.moving)
            edge = replace(edge, moving=replace(edge.moving, damping=damping))
        for role, link in (("parent", edge.parent), ("child", edge.child)):
            if link not in known:
                reason = f"unknown {role} link {link!r}"
                raise document.error(f"joint {name!r}", reason, "a link of this file")
        if edge.child in above:
            reason = f"child of both joint {above[edge.child]!r} and joint {name!r}"
            raise document.error(f"link {edge.child!r}", reason, "one parent for each link")
        above[edge.child] = name
        edges.append(edge)
    moving = sum(edge.moving is not None for edge in edges)
    if moving > JOINTS:
        raise document.error("<robot>", f"{moving:,} moving joints", f"at most {JOINTS:,}")
    return _resolve_mimics(document, edges)


def _read_joint(document: Document, name: str, element: Element) -> JointEntry:
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
    return JointEntry(name, parent, child, placement, moving)


def _read_motion(document: Document, name: str, element: Element, placement: Placement) -> Joint:
    owner = f"joint {name!r}"
    kind = _KINDS[document.text(element, "type", owner)]
    axis = _Z if kind in _WITHOUT_AXIS else _read_axis(document, element, owner, kind)
    limits = _read_limits(document, element, owner, kind)
    mimic = _read_mimic(document, element, owner)
    if mimic is not None and kind.nv > 1:
        document.bear(owner, f"{kind}, but with a <mimic>", "a joint of one degree of freedom", _INDEPENDENT)
        mimic = None
    return Joint(name, kind, axis, placement, limits, mimic=mimic)


def _read_axis(document: Document, element: Element, owner: str, kind: JointKind) -> Vector3:
    """Read the joint's axis as a unit vector; it is exact along a frame axis."""
    axis = document.child(element, "axis", owner)
    if axis is None:
        if kind is JointKind.PLANAR:
            document.bear(owner, "no <axis>", "<axis> in <joint>", "as 0 0 1, as Pinocchio does")
            return _Z
        document.bear(owner, "no <axis>", "<axis> in <joint>", "as 1 0 0, as URDF says")
        return _X
    direction = document.vector(axis, "xyz", owner)
    size = max(abs(value) for value in direction)
    if size == 0.0:
        raise document.error(owner, "<axis> is zero", "a direction such as 0 0 1")
    shrunk = scale(1.0 / size, direction)
    x, y, z = (0.0 if abs(value) < SNAP else value for value in scale(1.0 / norm(shrunk), shrunk))
    if [x, y, z].count(0.0) == 2:
        x, y, z = (float(round(value)) for value in (x, y, z))
    if kind is JointKind.PLANAR and (x, y, z) != _Z:
        listed = " ".join(f"{value:g}" for value in direction)
        document.note(
            f"{owner}: planar across {listed}; Pinocchio takes the plane across 0 0 1 whatever <axis> says, "
            "and its coordinates differ"
        )
    return (x, y, z)


def _read_limits(document: Document, element: Element, owner: str, kind: JointKind) -> tuple[Limits, ...]:
    """Read the limits of each degree of freedom; a missing limit is infinite."""
    limit = document.child(element, "limit", owner)
    if limit is None:
        if kind.nv == 1:
            document.require(owner, "no <limit>", "<limit> in <joint>", "as no limit")
        return (UNLIMITED,) * kind.nv
    velocity, effort = (_read_size(document, limit, attribute, owner) for attribute in ("velocity", "effort"))
    lower, upper = -inf, inf
    if kind in (JointKind.REVOLUTE, JointKind.PRISMATIC):
        lower, upper = _read_range(document, limit, owner)
    else:
        _check_unused_range(document, limit, owner, kind)
    return (Limits(lower, upper, velocity, effort),) * kind.nv


def _read_size(document: Document, limit: Element, attribute: str, owner: str) -> float:
    """Read the largest velocity or effort; it is infinite if missing or not plausible."""
    if limit.get(attribute) is None:
        document.require(owner, f"<limit> has no {attribute}", f'{attribute}="..."', "as no limit")
        return inf
    value = document.number(limit, attribute, owner)
    if value < 0.0:
        document.bear(owner, f"<limit> has {attribute} {value:g}", "zero or more", "as no limit")
        return inf
    return value if _is_limit(document, owner, attribute, value, _SIZES[attribute]) else inf


_SIZES = {"velocity": VELOCITY, "effort": EFFORT}


def _is_limit(document: Document, owner: str, attribute: str, value: float, bound: Bound) -> bool:
    """Return whether a limit is within its bound; remark on it if not."""
    if not bound.holds(value):
        document.bear(owner, f"<limit> has {attribute} {value:g}", bound.expected, "as no limit")
        return False
    return True


def _read_range(document: Document, limit: Element, owner: str) -> tuple[float, float]:
    """Read the lower and the upper position limit; both are infinite if neither is given."""
    missing = [attribute for attribute in ("lower", "upper") if limit.get(attribute) is None]
    if len(missing) == 2:
        expected = 'lower="..." and upper="..."'
        document.require(owner, "<limit> has no lower and no upper", expected, "as no limit")
        return -inf, inf
    for attribute in missing:
        interpretation = "as 0, as URDF says" if urdf_version(document) < URDF_1_2 else "as no limit"
        document.bear(owner, f"<limit> has no {attribute}", f'{attribute}="..."', interpretation)
    if missing and urdf_version(document) >= URDF_1_2:
        return -inf, inf
    lower, upper = (document.number(limit, attribute, owner, default=0.0) for attribute in ("lower", "upper"))
    if lower > upper:
        reason = f"<limit> has lower {lower:g} above upper {upper:g}"
        document.bear(owner, reason, "lower <= upper", "the other way round")
        lower, upper = upper, lower
    limits = {"lower": lower, "upper": upper}
    if not all(_is_limit(document, owner, *limit, POSITION) for limit in limits.items()):
        return -inf, inf
    return lower, upper


def _check_unused_range(document: Document, limit: Element, owner: str, kind: JointKind) -> None:
    """Remark on a range of a joint that has none; zeros are what URDF says of a missing range."""
    names = [name for name in ("lower", "upper") if finite(limit.get(name, "0").strip()) != 0.0]
    if names:
        reason = f"{kind}, but <limit> has {list_names(names)}"
        document.bear(owner, reason, "a revolute or prismatic joint", "as no limit, as Pinocchio does")


def _read_mimic(document: Document, element: Element, owner: str) -> Mimic | None:
    mimic = document.child(element, "mimic", owner)
    if mimic is None:
        return None
    if mimic.get("joint") is None:
        document.bear(owner, "<mimic> has no joint", 'joint="..."', _INDEPENDENT)
        return None
    return Mimic(
        joint=document.text(mimic, "joint", owner),
        multiplier=document.number(mimic, "multiplier", owner, RATIO, default=1.0),
        offset=document.number(mimic, "offset", owner, POSITION, default=0.0),
    )


def _resolve_mimics(document: Document, edges: Sequence[JointEntry]) -> list[JointEntry]:
    """Return ``edges`` in which every mimic follows an independent joint of one degree of freedom.

    A mimic of a mimic follows the joint that the other mimic follows. A mimic without a joint that it can
    follow becomes independent.
    """
    joints = {edge.name: edge.moving for edge in edges}
    resolved: dict[str, Mimic | None] = {}
    for name in joints:
        for follower in reversed(_resolve_leader(name, joints)):
            if follower not in resolved:
                resolved[follower] = _resolve_mimic(document, follower, joints, resolved)
    return [
        replace(edge, moving=edge.moving and replace(edge.moving, mimic=resolved[edge.name]))
        for edge in edges
    ]


def _resolve_leader(name: str, joints: Mapping[str, Joint | None]) -> list[str]:
    """Return the chain of joints from ``name`` along its mimics, each joint once."""
    chain: dict[str, None] = {}
    while name in joints and name not in chain:
        chain[name] = None
        joint = joints[name]
        if joint is None or joint.mimic is None:
            break
        name = joint.mimic.joint
    return list(chain)


def _resolve_mimic(
    document: Document,
    name: str,
    joints: Mapping[str, Joint | None],
    resolved: Mapping[str, Mimic | None],
) -> Mimic | None:
    """Return the resolved mimic of joint ``name``, or None if the joint is independent.

    ``joints`` has None for a fixed joint, and ``resolved`` the mimic of the joint that ``name`` mimics.
    """
    joint, owner = joints[name], f"joint {name!r}"
    mimic = joint.mimic if joint is not None else None
    if mimic is None:
        return None
    problem = _mimic_problem(name, mimic.joint, joints)
    if problem is not None:
        document.bear(owner, *problem, _INDEPENDENT)
        return None
    other = resolved[mimic.joint]
    if other is None:
        return mimic
    multiplier, offset = mimic.multiplier * other.multiplier, mimic.multiplier * other.offset + mimic.offset
    reason = f"mimics joint {mimic.joint!r}, which mimics joint {other.joint!r}"
    if not RATIO.holds(multiplier):
        raise document.error(owner, f"{reason}: {multiplier:g} times", RATIO.expected)
    interpretation = f"as {multiplier:g} times joint {other.joint!r} plus {offset:g}"
    document.bear(owner, reason, "a joint that mimics none", interpretation)
    return Mimic(other.joint, multiplier, offset)


def _mimic_problem(name: str, followed: str, joints: Mapping[str, Joint | None]) -> tuple[str, str] | None:
    """Return why joint ``name`` cannot follow ``followed`` and the expectation, or None if it can."""
    if followed not in joints:
        return f"mimics unknown joint {followed!r}", "a joint of this file"
    if followed == name:
        return "mimics itself", "another joint"
    other = joints[followed]
    if other is None:
        return f"mimics the fixed joint {followed!r}", "a joint that moves"
    if other.kind.nv > 1:
        return f"mimics the {other.kind} joint {followed!r}", "a joint of one degree of freedom"
    if name in _resolve_leader(followed, joints):
        assert other.mimic is not None
        reason = f"mimics joint {followed!r}, which mimics joint {other.mimic.joint!r}"
        return reason, "a joint that mimics none"
    return None
