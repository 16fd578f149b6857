"""Note the drive properties in a URDF that the equations of motion leave out: friction and rotor inertia.

Viscous friction (damping) and rotor inertia may be asked for (:mod:`rbdhw.robot.drives`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from xml.etree.ElementTree import Element

from rbdhw.remarks import subject
from rbdhw.robot.document import Document, finite
from rbdhw.robot.drives import NO_DRIVES, Drives

_DAMPING, _FRICTION = "damping", "friction"
_ROTOR = ("rotorinertia", "motorinertia", "armature")
"""Names of a rotor's inertia in dialects of URDF, lower case, without prefix and underscores."""


def note_ignored(document: Document, moving: Collection[str], drives: Drives = NO_DRIVES) -> None:
    """Add notes on friction and on rotor inertia of the ``moving`` joints that are not computed, if any."""
    elements = [(name, element) for name, element in document.elements("joint") if name in moving]
    damped = moving if drives.from_file else dict(drives.damping)
    losing = [name for name, element in elements if name not in damped and _loses(element, _DAMPING)]
    rubbing = [name for name, element in elements if _loses(element, _FRICTION)]
    if losing:
        document.note(
            f"{subject('joint', losing)}: damping in <dynamics> is not computed; --damping urdf adds "
            "damping * v to tau"
        )
    if rubbing:
        document.note(
            f"{subject('joint', rubbing)}: friction in <dynamics> is not computed; add friction * sign(v) to "
            "tau after id, or subtract it from tau before fd"
        )
    driven = [name for name, element in elements if any(map(_drives, _numbers(element)))]
    driven += [name for name in _driven_by_transmission(document) if name in moving and name not in driven]
    driven = [name for name in driven if name not in dict(drives.armature)]
    if driven:
        document.note(
            f"{subject('joint', driven)}: the inertia of rotors is not computed; --armature JOINT=J adds "
            "J = (gear ratio)^2 * inertia to the joint's entry on the diagonal of M"
        )


def _loses(joint: Element, attribute: str) -> bool:
    dynamics = joint.find("dynamics")
    return dynamics is not None and bool(finite(dynamics.get(attribute, "0")))


def _driven_by_transmission(document: Document) -> Iterator[str]:
    """Yield the joints of transmissions whose motor has inertia."""
    for transmission in document.root.findall("transmission"):
        if any(map(_drives, _numbers(transmission))):
            joints = transmission.findall("joint")
            yield from (name for name in (joint.get("name") for joint in joints) if name is not None)


def _numbers(element: Element) -> Iterator[tuple[str, str]]:
    """Yield the name and text of every element and attribute of ``element`` and below it.

    An attribute called ``value`` gets the name of its element.
    """
    for part in element.iter():
        yield part.tag, part.text or ""
        yield from ((part.tag if name == "value" else name, text) for name, text in part.items())


def _drives(number: tuple[str, str]) -> bool:
    name, text = number
    return is_rotor(name) and bool(finite(text.strip()))


def is_rotor(name: str) -> bool:
    """Return whether an element or attribute of this name is the inertia of a rotor."""
    return name.rpartition(":")[2].replace("_", "").lower() in _ROTOR
