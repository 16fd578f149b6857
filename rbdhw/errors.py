"""The exceptions that end a command with a one-line message: bad input and internal defects."""

from __future__ import annotations

LONGEST_LINE, KEPT_END = 2000, 500
"""The most characters of a line on the error stream, and the characters kept at the end of a longer one."""


class InputError(Exception):
    """Bad input. The message is one line: the file, the element, the reason, and what was expected.

    The command line prints it and exits with status 2.
    """


class InternalError(Exception):
    """A defect of this program, found by one of its own checks. The message is one line.

    The command line prints it and exits with status 1.
    """


def one_line(text: str) -> str:
    """Return ``text`` as one printable line: control characters are escaped, a long text loses its middle."""
    if len(text) > LONGEST_LINE:
        text = f"{text[: LONGEST_LINE - KEPT_END]} ... {text[-KEPT_END:]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
