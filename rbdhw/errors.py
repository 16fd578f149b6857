"""The exceptions that end a command with one line: bad input, and defects found by checks of our own."""

from __future__ import annotations

LONGEST_LINE, KEPT_END = 2000, 500
"""Characters of a line on the error stream, and how many of a longer one are kept at its end."""


class InputError(Exception):
    """Bad input, told in one line: the file, the element, the reason, and what was expected.

    The command line prints the line and exits with status 2.
    """


class InternalError(Exception):
    """A defect of this program that a check of its own found, told in one line.

    The command line prints the line and exits with status 1.
    """


def one_line(text: str) -> str:
    """``text`` as one line of a terminal: no control characters, and of a long one only both ends."""
    if len(text) > LONGEST_LINE:
        text = f"{text[: LONGEST_LINE - KEPT_END]} ... {text[-KEPT_END:]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
