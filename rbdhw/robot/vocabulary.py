"""Remark on elements and attributes of a URDF that stand where one is read, and are not.

They are misspelt, of another dialect, or of URDF itself and not used. What has no part in the dynamics needs
no remark: visuals, collisions and contacts, materials, sensors, controllers and their limits, transmissions
(:mod:`rbdhw.robot.ignored` looks for rotors in these), and names with a namespace of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from xml.etree.ElementTree import Element

from rbdhw.robot.document import Document
from rbdhw.robot.ignored import is_rotor
from rbdhw.robot.joints import FIXED
from rbdhw.robot.origin import QUATERNION

ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "robot": ("name", "version"),
    "link": ("name", "type"),
    "inertial": (),
    "joint": ("name", "type"),
    "origin": ("xyz", "rpy", QUATERNION),
    "mass": ("value",),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
    "parent": ("link",),
    "child": ("link",),
    "axis": ("xyz",),
    "limit": ("lower", "upper", "velocity", "effort"),
    "mimic": ("joint", "multiplier", "offset"),
    "dynamics": ("damping", "friction"),
}
"""The attributes of each element that is read; the type of a link means nothing."""

CHILDREN: Mapping[str, tuple[str, ...]] = {
    "robot": ("link", "joint", "material", "transmission", "gazebo", "sensor", "ros2_control"),
    "link": ("inertial", "visual", "collision", "collision_checking", "self_collision_checking", "contact"),
    "inertial": ("origin", "mass", "inertia"),
    "joint": (
        *("origin", "parent", "child", "axis", "limit", "mimic", "dynamics"),
        *("calibration", "safety_controller"),
    ),
}
"""The elements in each element that has some: those that are read or have no part in the dynamics."""

XACRO = "xacro:"
"""The prefix of elements that xacro expands."""

_OF_FIXED = ("origin", "parent", "child")
"""The elements in a fixed joint that are read."""

_INSTEAD = {("limit", "acceleration"): "; acceleration in [joints.NAME] of a domain file bounds it"}
"""What does the same as an attribute of URDF that is not used."""


def note_unused(document: Document) -> None:
    """Remark on elements and attributes beside those that are read; a strict reading refuses them."""
    root = document.root
    _check(document, root, "<robot>")
    for name, link in document.elements("link"):
        owner = f"link {name!r}"
        _check(document, link, owner)
        for inertial in link.findall("inertial"):
            _check(document, inertial, owner)
            _check_all(document, inertial, owner)
    for name, joint in document.elements("joint"):
        owner = f"joint {name!r}"
        _check(document, joint, owner)
        _check_all(document, joint, owner, _OF_FIXED if joint.get("type") == FIXED else ATTRIBUTES)


def _check_all(
    document: Document, element: Element, owner: str, tags: Iterable[str] = tuple(ATTRIBUTES)
) -> None:
    for child in element:
        if child.tag in tags:
            _check(document, child, owner)


def _check(document: Document, element: Element, owner: str) -> None:
    """Remark on the attributes, elements and text in ``element`` that are not used."""
    tag, children = element.tag, dict.fromkeys(child.tag for child in element)
    attributes, elements = ATTRIBUTES[tag], CHILDREN.get(tag, ())
    for name in filter(_is_plain, element.keys()):
        if name not in attributes:
            _remark(document, owner, f"<{tag}> has {name}", attributes, _INSTEAD.get((tag, name), ""))
    for child in filter(_is_plain, children):
        if child not in elements:
            _remark(document, owner, f"<{tag}> has <{child}>", [f"<{known}>" for known in elements])
    if not elements and (element.text or "").strip():
        _remark(document, owner, f"<{tag}> has text", attributes)
    if element is not document.root:  # there the whole file is not expanded
        for child in [child for child in children if child.startswith(XACRO)]:
            expected = "the URDF that xacro makes of the file"
            document.bear(owner, f"<{child}> in <{tag}> is not expanded", expected, "without it")


def _is_plain(name: str) -> bool:
    """Return whether a name has no namespace and is not that of a rotor, which has a remark of its own."""
    return ":" not in name and name != "xmlns" and not is_rotor(name)


def _remark(document: Document, owner: str, what: str, known: Sequence[str], instead: str = "") -> None:
    expected = f"only {', '.join(known)}" if known else "nothing there"
    document.bear(owner, f"{what}, which is not used", expected, f"without it{instead}")
