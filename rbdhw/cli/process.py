"""How a command line runs and ends.

The exit status is 0 for success. It is 1 for a negative result: a mismatch, an error beyond the budget, too
many flagged tasks, missed timing, or a failing tool. It is 2 for bad input, a design too large for its
device, a board that fails, or a missing program or extra; the message is one line. After an interruption it
is 128 plus the number of the signal, and if nobody reads the output any more it is that of SIGPIPE.
"""

from __future__ import annotations

import io
import signal
import sys
from contextlib import suppress
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from rbdhw.errors import DriverError, Failure, InputError, one_line

FOUND_WRONG, BAD_INPUT = 1, 2
UNREAD = 128 + signal.SIGPIPE


def run_commands(commands: typer.Typer, name: str) -> None:
    """Run commands and exit. Every expected failure prints one line on the error stream."""
    _prepare_streams()
    try:
        status = commands(prog_name=name, standalone_mode=False)
        sys.stdout.flush()
        sys.exit(status)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # the commands print through typer, which exits
            _end_unread()
        raise
    except BrokenPipeError:
        _end_unread()
    except TyperException as error:
        if error.format_message():  # empty without a command: the help is already printed
            _print_refusal(_usage(error, commands, name))
        sys.exit(BAD_INPUT)
    except InputError as error:
        _print_refusal(error)
        sys.exit(BAD_INPUT)
    except DriverError as error:
        print(f"rbdhw: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except Failure as error:
        print(f"rbdhw: {error}", file=sys.stderr)
        sys.exit(FOUND_WRONG)
    except OSError as error:
        where, reason = str(error.filename or "standard output"), error.strerror or str(error)
        _print_refusal(InputError(where, reason, "a place that can be read and written"))
        sys.stdout = io.StringIO()  # buffered output must not fail a second time at exit
        sys.exit(BAD_INPUT)


def _end_unread() -> NoReturn:
    """Exit as a program that is stopped by SIGPIPE, with nothing left to print at exit."""
    sys.stdout = sys.stderr = io.StringIO()
    sys.exit(UNREAD)


def _print_refusal(error: InputError) -> None:
    with suppress(OSError):  # the status tells it, too
        print(f"rbdhw: {one_line(str(error))}", file=sys.stderr)


def _prepare_streams() -> None:
    """Make printing safe for names that cannot be encoded, and for a missing output stream."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, io.StringIO())
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _usage(error: TyperException, commands: typer.Typer, name: str) -> InputError:
    """Return the refusal of a command line, with the command whose help describes the correct usage."""
    known = getattr(typer.main.get_command(commands), "commands", {})
    command = " ".join([name, *(word for word in sys.argv[1:2] if word in known)])
    message = " ".join(error.format_message().split()).removesuffix(".")
    reason = f"{message[:1].lower()}{message[1:]}"
    return InputError("command line", reason, f"what `{command} --help` describes")
