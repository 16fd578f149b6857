"""The exceptions that end a command with a one-line message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

LONGEST_LINE, KEPT_END = 2000, 500
"""The most characters of a line on the error stream, and the characters kept at the end of a longer one."""

LEAST_BEGINNING = 4
"""The characters from which on a name at the beginning of a longer one says what is meant."""


@dataclass(eq=False)  # not frozen: Python's own context managers set __traceback__
class InputError(Exception):
    """Bad input: a file, an option or a request that cannot be served.

    The command line prints it as one line and exits with status 2.
    """

    where: Final[str]
    """What is refused: an option, a file, or an element of it. The parts are separated by commas, the
    outermost first: ``robot.urdf, joint 'elbow'``."""
    reason: Final[str]
    """What is wrong there."""
    expected: Final[str] = ""
    """What would be accepted; empty if the reason says it all."""
    remedy: Final[str] = ""
    """What to do, as a command: ``generate with --ii 8``; empty if it is what is expected."""

    def __post_init__(self) -> None:
        super().__init__(self.where, self.reason, self.expected, self.remedy)  # what pickle passes on

    def __str__(self) -> str:
        expected = f"expected {self.expected}" if self.expected else ""
        return f"{self.where}: {'; '.join(filter(None, (self.reason, expected, self.remedy)))}"

    def within(self, outer: object) -> InputError:
        """Return the same refusal of an element of ``outer``, such as a file."""
        return replace(self, where=f"{outer}, {self.where}")


def unknown(where: str, value: str, known: Sequence[str]) -> InputError:
    """Return the refusal of a value that is none of the known ones, with the nearest of these if any is."""
    near = nearest(value, known)
    remedy = "" if near is None else f"the nearest is {near}"
    return InputError(where, f"'{value}' is unknown", f"one of {', '.join(known)}", remedy)


def nearest(value: str, known: Sequence[str]) -> str | None:
    """Return the known name that a value begins with, as a part's full number does, or else is most like."""
    by_lower = {name.lower(): name for name in known}
    begun = [name for name in by_lower if len(name) >= LEAST_BEGINNING and value.lower().startswith(name)]
    near = [max(begun, key=len)] if begun else get_close_matches(value.lower(), by_lower, 1)
    return by_lower[near[0]] if near else None


class Failure(Exception):
    """A program that was started failed, or a result is wrong. The message is one line.

    The command line prints it and exits with status 1.
    """


class InternalError(Failure):
    """A defect of this program, found by one of its own checks."""


class DriverError(Exception):
    """A call of the driver failed: ``code`` of ``rbdhw_transport.h``, and its text as the ``reason``.

    The command line prints it and exits with status 2.
    """

    def __init__(self, code: int, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.code, self.reason = code, reason


def told_apart(number: float, limit: float, digits: int = 6) -> tuple[str, str]:
    """Return a number and a limit as text, with digits that tell on which side of the limit the number is.

    The number has ``digits`` digits, or as many more as that takes.
    """
    texts = [(f"{number:.{k}g}", f"{limit:g}") for k in range(digits, 17)]
    side = (number > limit) - (number < limit)
    for text, bound in texts:
        if (float(text) > float(bound)) - (float(text) < float(bound)) == side:
            return text, bound
    return repr(number), repr(limit)


def one_line(text: str) -> str:
    """Return ``text`` as one printable line: control characters are escaped, a long text loses its middle."""
    if len(text) > LONGEST_LINE:
        text = f"{text[: LONGEST_LINE - KEPT_END]} ... {text[-KEPT_END:]}"
    return printable(text)


def printable(text: str, kept: str = "") -> str:
    """Return ``text`` with the characters escaped that do not print, but for those of ``kept``.

    Names in a file may hold control characters, and characters that turn the direction of what follows.
    """
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)
