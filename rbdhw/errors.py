"""The one exception that means: what the user gave cannot be used."""

from __future__ import annotations

LONGEST_LINE, KEPT_END = 2000, 500
"""Characters of a line on the error stream, and how many of a longer one are kept at its end."""


class InputError(Exception):
    """Bad input, told in one line: the file, the element, the reason, and what was expected.

    The command line prints the line and exits with status 2.
    """


def one_line(text: str) -> str:
    """``text`` as one line of a terminal: no control characters, and of a long one only both ends."""
    if len(text) > LONGEST_LINE:
        text = f"{text[: LONGEST_LINE - KEPT_END]} ... {text[-KEPT_END:]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
