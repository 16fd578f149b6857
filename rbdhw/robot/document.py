"""Read an XML file strictly or tolerantly, and describe each problem in one line."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from math import isfinite
from xml.etree import ElementTree as ET
from xml.parsers import expat

from rbdhw.errors import InputError
from rbdhw.remarks import list_names, without_strict
from rbdhw.robot.model import Vector3
from rbdhw.runtime.files import read
from rbdhw.runtime.number_bounds import NAME_CHARACTERS, URDF_BYTES, Bound

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COUNTS = {1: "a finite number", 3: "three finite numbers", 4: "four finite numbers"}
_COMMENT = "<!--", "-->"
_DECLARATION = re.compile(r"\s*<\?xml\s.*?\?>", re.DOTALL)
_DOCTYPE = re.compile(r"(?:\s|<\?(?>.*?\?>))*+<!DOCTYPE\s*([^\s\[>]*)(\s*>)?", re.DOTALL)


@dataclass(frozen=True)
class _Remark:
    """A problem in one element, and the interpretation chosen."""

    owner: str
    reason: str
    detail: str
    interpretation: str


@dataclass(frozen=True)
class Document:
    """An XML file: its name as the user gave it, its root element, and whether it is read strictly."""

    file: str
    root: ET.Element
    strict: bool = False
    _borne: list[_Remark] = field(default_factory=list)
    _notes: list[str] = field(default_factory=list)

    @property
    def remarks(self) -> tuple[str, ...]:
        """One sentence for each kind of tolerated problem, followed by the notes."""
        alike: dict[tuple[str, str, str], list[_Remark]] = {}
        for remark in self._borne:
            kind = remark.owner.partition(" ")[0]
            alike.setdefault((kind, remark.reason, remark.interpretation), []).append(remark)
        return (*map(_sentence, alike.values()), *self._notes)

    def error(self, element: str, reason: str, expected: str, remedy: str = "") -> InputError:
        """Return the refusal of an element of the file."""
        return InputError(f"{self.file}, {element}", reason, expected, remedy)

    def bear(self, element: str, reason: str, expected: str, interpretation: str, detail: str = "") -> None:
        """Remark ``element: reason (detail); taken ...``; a strict reading raises :meth:`error` instead."""
        self.require(element, f"{reason} ({detail})" if detail else reason, expected, interpretation)
        self._borne.append(_Remark(element, reason, detail, interpretation))

    def require(self, element: str, reason: str, expected: str, interpretation: str) -> None:
        """Raise :meth:`error` in a strict reading; a tolerant reading goes on without a remark."""
        if self.strict:
            raise self.error(element, reason, expected, without_strict(interpretation))

    def note(self, sentence: str) -> None:
        """Add a remark on something that a strict reading accepts, too."""
        self._notes.append(sentence)

    def child(self, parent: ET.Element, tag: str, owner: str) -> ET.Element | None:
        """Return the child ``<tag>`` of ``parent``, or None; of several the first, with a remark."""
        children = parent.findall(tag)
        if len(children) > 1:
            self.bear(owner, f"{len(children)} <{tag}> elements", "at most one", "the first")
        return children[0] if children else None

    def required_child(self, parent: ET.Element, tag: str, owner: str) -> ET.Element:
        """Return the child ``<tag>`` of ``parent``, as :meth:`child` does; InputError if it is missing."""
        child = self.child(parent, tag, owner)
        if child is None:
            raise self.error(owner, f"no <{tag}>", f"<{tag}> in <{parent.tag}>")
        return child

    def text(self, element: ET.Element, attribute: str, owner: str) -> str:
        """Return a non-empty attribute; InputError if it is missing, empty or too long."""
        value = element.get(attribute)
        if value is None or not value.strip():
            raise self.error(owner, f"<{element.tag}> has no {attribute}", f'{attribute}="..."')
        if len(value) > NAME_CHARACTERS:
            reason = f"<{element.tag}> has {attribute} of {len(value):,} characters"
            raise self.error(owner, reason, f"at most {NAME_CHARACTERS:,}")
        return value

    def elements(self, tag: str) -> list[tuple[str, ET.Element]]:
        """Return the children ``<tag>`` of the root element by name; InputError if a name repeats."""
        named: dict[str, ET.Element] = {}
        for element in self.root.findall(tag):
            name = self.text(element, "name", f"<{tag}>")
            if name in named:
                raise self.error(f"{tag} {name!r}", "given twice", f"unique {tag} names")
            named[name] = element
        return list(named.items())

    def number(
        self,
        element: ET.Element,
        attribute: str,
        owner: str,
        bound: Bound | None = None,
        default: float | None = None,
    ) -> float:
        """Return an attribute that is one number, as :meth:`numbers`, or ``default`` if it is missing."""
        if default is not None and element.get(attribute) is None:
            return default
        (value,) = self.numbers(element, attribute, owner, 1, bound)
        return value

    def vector(
        self,
        element: ET.Element,
        attribute: str,
        owner: str,
        bound: Bound | None = None,
        default: Vector3 | None = None,
    ) -> Vector3:
        """Return an attribute of three numbers, as :meth:`numbers`, or ``default`` if it is missing."""
        if default is not None and element.get(attribute) is None:
            return default
        x, y, z = self.numbers(element, attribute, owner, 3, bound)
        return (x, y, z)

    def numbers(
        self, element: ET.Element, attribute: str, owner: str, count: int, bound: Bound | None = None
    ) -> tuple[float, ...]:
        """Return an attribute of ``count`` finite decimal numbers: one, three or four.

        Raises InputError if it is not, or if a number is not within ``bound``.
        """
        words = self.text(element, attribute, owner).split()
        values = [value for value in map(finite, words) if value is not None]
        reason = f'<{element.tag}> has {attribute}="{" ".join(words)}"'
        if not len(values) == len(words) == count:
            raise self.error(owner, reason, _COUNTS[count])
        if bound is not None and not bound.holds(*values):
            raise self.error(owner, reason, bound.expected)
        return tuple(values)


def read_document(path: str | os.PathLike[str], *, strict: bool = False) -> Document:
    """Read the XML file at ``path``.

    Names keep their prefixes, whether these are bound or not, so ``<drake:joint>`` is not a ``<joint>``.
    Comments may contain anything, and blank lines may come before the XML declaration. A file that is not
    UTF-8 is read as Latin-1, unless the reading is strict. Raises InputError if the file cannot be read, is
    too large, has a DOCTYPE that declares more than a name (entities, or another file), or is not well-formed
    XML.
    """
    file = os.fspath(path)
    data = read(path, "the path of a URDF file", URDF_BYTES)
    document = Document(file, ET.Element(""), strict)
    text = _plain(_decode(document, data))
    _check_doctype(file, text)
    builder = ET.TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(text, True)  # in one piece: a token that spans two pieces is scanned twice
    except expat.ExpatError as error:
        raise InputError(file, f"not well-formed XML ({error})", "a URDF file") from None
    return replace(document, root=builder.close())


def _check_doctype(file: str, text: str) -> None:
    """Refuse a DOCTYPE that declares more than a name; ``text`` must have no comments.

    A DOCTYPE can only come before the first element, after white space and processing instructions.
    """
    doctype = _DOCTYPE.match(text)
    if doctype is not None and doctype[2] is None:
        raise InputError(file, f"a DOCTYPE declaration ({doctype[1]})", "plain XML without one")


def _decode(document: Document, data: bytes) -> str:
    """Return the text of a file, which should be UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        document.bear("<robot>", f"not UTF-8 text (byte {error.start})", "a URDF file in UTF-8", "as Latin-1")
        return data.decode("latin-1")


def _plain(text: str) -> str:
    """Return ``text`` without comments or blank lines before its declaration; line numbers stay the same."""
    text = _without_comments(text)
    declaration = _DECLARATION.match(text)
    return _blank(declaration[0]) + text[declaration.end() :] if declaration else text


def _without_comments(text: str) -> str:
    """Replace comments in ``text`` by their line ends; a comment that does not end stays."""
    opening, closing = _COMMENT
    kept: list[str] = []
    start = 0
    while True:
        begin = text.find(opening, start)
        end = text.find(closing, begin + len(opening)) if begin >= 0 else -1
        if end < 0:
            return "".join([*kept, text[start:]])
        end += len(closing)
        kept += [text[start:begin], _blank(text[begin:end])]
        start = end


def _blank(text: str) -> str:
    return "\n" * text.count("\n")


def _sentence(alike: list[_Remark]) -> str:
    """Return one line for remarks with the same reason on elements of one kind."""
    first = alike[0]
    kind, _, name = first.owner.partition(" ")
    details = {remark.detail for remark in alike} - {""}
    detail = first.detail if len(details) == 1 else f"of {name} {first.detail}"
    names = [remark.owner.partition(" ")[2] for remark in alike]
    owner = first.owner if len(alike) == 1 else f"{kind}s {list_names(names)}"
    return f"{owner}: {first.reason}{f' ({detail})' if details else ''}; taken {first.interpretation}"


def finite(word: str) -> float | None:
    """Return the number that ``word`` is in URDF's decimal notation, or None."""
    if not _NUMBER.fullmatch(word):
        return None
    value = float(word)
    return value if isfinite(value) else None
