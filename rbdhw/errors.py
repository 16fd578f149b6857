"""The one exception that means: what the user gave cannot be used."""


class InputError(Exception):
    """Bad input, told in one line: the file, the element, the reason, and what was expected.

    The command line prints the line and exits with status 2.
    """
