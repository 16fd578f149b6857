"""Reading an XML file strictly or leniently, and telling what is wrong with it in one line."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from xml.etree import ElementTree as ET

from rbdhw.errors import InputError
from rbdhw.robot.model import Vector3

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_CHUNK = 64


@dataclass(frozen=True)
class Document:
    """An XML file: its name as the user gave it, its root element, and how strictly it is read.

    ``remarks`` is None for a strict reading; a lenient one puts a sentence there for each thing that it takes
    although a strict one would not.
    """

    file: str
    root: ET.Element
    remarks: list[str] | None = None

    def error(self, element: str, reason: str, expected: str) -> InputError:
        """The line ``file: element: reason; expected ...`` as an exception to raise."""
        return _error(self.file, f"{element}: {reason}", expected)

    def bear(self, element: str, reason: str, expected: str, taken: str) -> None:
        """Remark ``element: reason; taken ...``; a strict reading raises :meth:`error` instead."""
        if self.remarks is None:
            raise self.error(element, reason, expected)
        self.remarks.append(f"{element}: {reason}; taken {taken}.")

    def child(self, parent: ET.Element, tag: str, owner: str) -> ET.Element | None:
        """The one child ``<tag>`` of ``parent``, or None; InputError where there are several."""
        found = parent.findall(tag)
        if len(found) > 1:
            raise self.error(owner, f"{len(found)} <{tag}> elements", "at most one")
        return found[0] if found else None

    def required_child(self, parent: ET.Element, tag: str, owner: str) -> ET.Element:
        """The one child ``<tag>`` of ``parent``; InputError where it is missing or there are several."""
        found = self.child(parent, tag, owner)
        if found is None:
            raise self.error(owner, f"no <{tag}>", f"<{tag}> in <{parent.tag}>")
        return found

    def text(self, element: ET.Element, attribute: str, owner: str) -> str:
        """A non-empty attribute; InputError where it is missing or empty."""
        value = element.get(attribute)
        if value is None or not value.strip():
            raise self.error(owner, f"<{element.tag}> has no {attribute}", f'{attribute}="..."')
        return value

    def named(self, tag: str) -> list[tuple[str, ET.Element]]:
        """The outermost element's children ``<tag>`` by name, in document order, each name once."""
        found: dict[str, ET.Element] = {}
        for element in self.root.findall(tag):
            name = self.text(element, "name", f"<{tag}>")
            if name in found:
                raise self.error(f"{tag} {name!r}", "given twice", f"unique {tag} names")
            found[name] = element
        return list(found.items())

    def number(self, element: ET.Element, attribute: str, owner: str, default: float | None = None) -> float:
        """An attribute that is one finite decimal number; ``default`` where it is missing, if given."""
        if default is not None and element.get(attribute) is None:
            return default
        text = self.text(element, attribute, owner)
        value = _finite(text.strip())
        if value is None:
            raise self.error(owner, f'<{element.tag}> has {attribute}="{_one_line(text)}"', "a finite number")
        return value

    def vector(
        self, element: ET.Element, attribute: str, owner: str, default: Vector3 | None = None
    ) -> Vector3:
        """An attribute of three finite decimal numbers; ``default`` where it is missing, if given."""
        if default is not None and element.get(attribute) is None:
            return default
        text = self.text(element, attribute, owner)
        values = [_finite(word) for word in text.split()]
        if len(values) != 3 or any(value is None for value in values):
            reason = f'<{element.tag}> has {attribute}="{_one_line(text)}"'
            raise self.error(owner, reason, "three finite numbers")
        x, y, z = (value for value in values if value is not None)
        return (x, y, z)


def read_document(path: str | os.PathLike[str], remarks: list[str] | None = None) -> Document:
    """The XML file at ``path``, in UTF-8, without a document type declaration.

    ``remarks`` is that of :class:`Document`.

    Raises
    ------
    InputError
        The file cannot be read, is not UTF-8, declares a DOCTYPE (and with it, entities), or is not
        well-formed XML.
    """
    file = os.fspath(path)
    builder = _PlainBuilder(file)
    parser = ET.XMLParser(target=builder)
    text = _read(file)
    try:
        # Small pieces: expat finishes the piece in which a DOCTYPE was refused before it stops.
        for start in range(0, len(text), _CHUNK):
            parser.feed(text[start : start + _CHUNK])
        root = parser.close()
    except ET.ParseError as error:
        raise _error(file, f"not well-formed XML ({error})", "a URDF file") from None
    return Document(file, root, remarks)


class _PlainBuilder(ET.TreeBuilder):
    """Builds the tree of a document that declares no DOCTYPE."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def doctype(self, name: str, *_: object) -> None:
        """Refuse a document type declaration, before the entities in it."""
        raise _error(self._file, f"a DOCTYPE declaration ({_one_line(name)})", "plain XML without one")


def _read(file: str) -> str:
    try:
        return Path(file).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise _error(file, "no such file", "the path of a URDF file") from None
    except IsADirectoryError:
        raise _error(file, "is a directory", "the path of a URDF file") from None
    except UnicodeDecodeError as error:
        raise _error(file, f"not UTF-8 text (byte {error.start})", "a URDF file in UTF-8") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _error(file, f"cannot be read ({reason})", "the path of a URDF file") from None


def _error(file: str, reason: str, expected: str) -> InputError:
    return InputError(f"{file}: {reason}; expected {expected}")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _finite(word: str) -> float | None:
    """The number that ``word`` spells in URDF's decimal notation, or None."""
    if not _NUMBER.fullmatch(word):
        return None
    value = float(word)
    return value if isfinite(value) else None
